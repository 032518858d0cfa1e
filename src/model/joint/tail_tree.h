/* tail_tree.h -- trees whose weighted mean of tails is small. SPDX-License-Identifier: MIT
 *
 * A tree with an order of reception gives every node a tail q: so long before the end its
 * own partial must be ready. Born at s before the end and with m senders,
 *
 *     q = s,  or  s + m B (merge),  s + B + (m - 1) A (absent),  s + m c (early)
 *
 * For weights y a tree with a small sum of y q is wanted. Without overlap Huffman's tree is
 * the best; for equal weights Varn's, which grows the earliest slot again and again. Else
 * no quick way to the best is known: trees for ready times ln(y) / s (ready_tree.h), which
 * are within d + c of the bound H(y) / s, are tried beside Varn's, and the greatest weight
 * gets the shortest tail. */
#ifndef CV_TAIL_TREE_H
#define CV_TAIL_TREE_H
#include "model/ready/ready_times.h"

/* Costs and model; n and ready times are not used. */
struct cv_tail_costs {
    double d, c;
    enum cleave_ready_model model;
};

/* A tree for n nodes; arrays are the caller's. */
struct cv_tail_tree {
    uint32_t *parent, *turn; /* turn: at the receiver, from 0       */
    double *tails;
};

/* Room for trees of up to n nodes, in the arena; NULL when memory is short. What it needs
 * beside the arena cv_tail_room_done gives back. */
struct cv_tail_workspace;
struct cv_tail_workspace *cv_tail_room_new(struct cv_arena *arena, uint32_t n,
                                           const struct cv_tail_costs *costs);

void cv_tail_room_done(struct cv_tail_workspace *room);

/* Varn's tree; the sum of its tails. Exact for merge, absent, and early with d <= c. */
double cv_varn_tree(struct cv_tail_workspace *room, uint32_t n, struct cv_tail_tree *out);

/* A tree for `weights`; the weighted sum of its tails. */
double cv_tail_tree(struct cv_tail_workspace *room, const double *weights, uint32_t n,
                    struct cv_tail_tree *out);

#endif
