/* greedy_tree.h -- the shortest tree for equal costs, with or without a limit.
 * SPDX-License-Identifier: MIT
 *
 * Time runs backwards from the end. Node 0 holds the result at 0. Nodes are inserted one
 * by one below the node M that could have received from them latest, that is, whose time
 * s is least:
 *
 *     no limit, or at most K reducers       at most K transfers at a time
 *     s_i  = s_M + c + d                    s_i  = max(s_M + c, s_(i-K)) + d
 *     s_M += max(d, c)                      s_M  = max(s_M + c, s_i - c)
 *
 * With K reducers only the first K nodes may be chosen. Each is optimal for its model.
 * Among equal s the lowest index is taken (exactly so where the sums are exact and the
 * transfers are not limited; the times never depend on it).
 *
 * Linear time: the least s never decreases, since what comes back is never below it. So
 * the times of new nodes and those of chosen nodes both come in non-decreasing order; two
 * queues of which the heads are compared take the place of a heap. Rounding is monotone
 * and changes none of this. The queues are the result arrays: new nodes are in index
 * order, which is rev_s, and the node chosen in step i is parent[i], with its time kept
 * in start_s[i] until the end. No memory is needed beyond the result, 20 bytes per node. */
#ifndef CV_GREEDY_TREE_H
#define CV_GREEDY_TREE_H
#include <cleave/error.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "model/reduce/reduce_tree.h"

/* At most one of the two; 0: no limit. */
struct cv_greedy_limit {
    uint32_t transfers; /* at the same time            */
    uint32_t reducers;  /* nodes that receive anything */
};

struct cv_greedy_tree {
    uint32_t n;
    double length_s;
    uint32_t *parent; /* node 0 is the root                                           */
    double *rev_s;    /* end of the transfer, backwards from the end; non-decreasing  */
    double *start_s;  /* length - rev: the latest begin of the transfer, in forward
                         time; NAN for the root. Under a limit on transfers this is
                         the schedule to follow.                                      */
};

/* Arrays for n nodes; false when memory is short. */
bool cv_greedy_tree_room(struct cv_greedy_tree *tree, struct cv_arena *arena, uint32_t n);

/* Fill a tree that has room. O(n). */
enum cleave_status cv_greedy_tree_plan(struct cv_greedy_tree *tree, double d, double c,
                                       const struct cv_greedy_limit *limit,
                                       struct cleave_error *err);

/* Fill a tree that has room, for tree->n nodes with costs c[i] >= 0. The root is the node
 * with the least c; rev_s is by node, so not sorted. */
enum cleave_status cv_greedy_unequal_plan(struct cv_greedy_tree *tree, double d,
                                          const double *c, struct cleave_error *err);

#endif
