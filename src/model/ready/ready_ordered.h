/* ready_ordered.h -- the shortest tree for known ready times when only neighbours are
 * combined. SPDX-License-Identifier: MIT
 *
 * merge: T is enough iff there is an ordered binary tree whose leaf i has at most the depth
 * floor((T - ready) / B). By Yeung's test: a running sum is rounded up to a multiple of
 * 2^-depth and 2^-depth added, leaf by leaf; it must not pass 1. Kept as a stack of bits,
 * that is O(n) for a T, and O(n log n) in all: T is some ready time plus k B.
 *
 * Overlap: the holder of an interval does not matter; so with G(i, j) the least time for
 * the result of i .. j and H the same but for single nodes, where it is what counts when
 * they receive once more (ready + min(d, c) if absent),
 *
 *     G(i, j) = min over k of max(G(k+1, j) + B, H(i, k) + A), and the mirror image
 *
 * G grows with its interval, so that the two terms cross once in k: O(n^2 log n). For early
 * with d > c a node's port and processor count apart: lists of pairs that no other pair beats in both, O(n^3) and more. */
#ifndef CV_READY_ORDERED_H
#define CV_READY_ORDERED_H
#include "model/ready/ready_tree.h"

/* With overlap every interval is looked at. */
enum { CV_READY_ORDERED_MOST = 5000, CV_READY_ORDERED_LATE_MOST = 400 };

/* A tree over neighbours: node i sends to parent[i], which receives its senders by
 * turn[i], from 0. Arrays of n, the caller's. */
struct cv_ordered_tree {
    uint32_t *parent, *turn;
};

/* The shortest such tree; its length. `tree` may be NULL. */
enum cleave_status cv_ready_ordered(const struct cv_ready_job *job,
                                    struct cv_ordered_tree *tree, double *out_s,
                                    struct cleave_error *err);

#endif
