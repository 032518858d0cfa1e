/* ready_tree.h -- the shortest tree for known ready times. SPDX-License-Identifier: MIT
 *
 * Time runs backwards from the end T. A slot t is a place where a node may be born: its
 * transfer begins at T - t. The chain that lives there can grow: a child is born at t + B,
 * a fresh slot, and the chain goes on at t + A. In the end some node owns the chain; node i
 * can own one that stops at a slot of level l iff l <= T - ready. The level of a fresh slot
 * is t, of one whose chain has grown t + mu (mu = min(d, c) if absent, else 0).
 *
 * For a given T: take nodes by decreasing ready time. Grow every slot whose chain could
 * stop after growing; then give the node the slot with the greatest t of those it may have.
 * If there is none, T is too short. (docs/theory/ready.md has the proof.)
 *
 * Slots grow in order of their times, so fresh slots and chains that go on each come in
 * order too: a queue for each kind, whose front grows and whose back is given away, makes
 * it O(n) for a T, after sorting once. The least T lies between the bounds of ready_times.h
 * and is found by halving: a T that is too short says below which no other will do, and a
 * tree found says which T it needs.
 *
 * For early with d > c levels depend on how a chain has grown; there the same rules are a
 * heuristic, tried in two forms, with heaps (ready_tree.c). */
#ifndef CV_READY_TREE_H
#define CV_READY_TREE_H
#include "model/ready/ready_times.h"

struct cv_ready_planner;

/* Room for up to n nodes, in the arena, and for jobs that are not cv_ready_is_exact only
 * if asked for; NULL when memory is short. Nothing else is allocated later. */
struct cv_ready_planner *cv_ready_planner_new(struct cv_arena *arena, uint32_t n,
                                              bool exact);

/* Whether some tree takes at most time_s, and then which: parent[i] receives from i,
 * CV_NO_NODE at the root. `root` is the node that must have the result, or CV_NO_NODE.
 * *out_s is what the tree needs, or, if there is none, below which there is none. For
 * early with d > c, `false` means that none was found. */
bool cv_ready_decide(struct cv_ready_planner *planner, const struct cv_ready_job *job,
                     uint32_t root, double time_s, uint32_t *parent, double *out_s);

/* The shortest tree. Returns its length in reversed time, which execution does not exceed. */
double cv_ready_tree(struct cv_ready_planner *planner, const struct cv_ready_job *job,
                     uint32_t root, uint32_t *parent);

#endif
