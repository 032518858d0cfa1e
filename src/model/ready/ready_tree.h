/* ready_tree.h -- the shortest tree for known ready times. SPDX-License-Identifier: MIT
 *
 * Time runs backwards from the end T. A slot t is a place where a node may be born: its
 * transfer begins at T - t. The chain that lives there can grow: a child is born at t + B,
 * a fresh slot, and the chain continues at t + A. In the end some node owns the chain; node i
 * can own one that stops at a slot of level l iff l <= T - ready. The level of a fresh slot
 * is t, of one whose chain has grown t + mu (mu = min(d, c) if absent, else 0).
 *
 * For a given T: take nodes by decreasing ready time. Grow every slot whose chain could
 * stop after growing; then give the node the slot with the greatest t of those it may have.
 * If there is none, T is too short. (docs/theory/ready.md has the proof.)
 *
 * Slots grow in order of their times, so fresh slots and older chains each come in order: a queue for each kind, whose front grows and whose back is given away, makes
 * it O(n) for a T, after sorting once. The least T lies between the bounds
 * and is found by halving: a T that is too short says below which no other will do, and a
 * tree found says which T it needs.
 *
 * For early with d > c levels depend on how a chain has grown; there the same rules are a
 * heuristic, tried in two forms, with heaps (ready_tree.c). */
#ifndef CV_READY_TREE_H
#define CV_READY_TREE_H
#include <cleave/error.h>
#include <cleave/policy.h>
#include <stdbool.h>
#include <stdint.h>
#include "model/reduce/reduce_tree.h"

/* A reduction with ready times; the array is borrowed, times are finite and >= 0. */
struct cv_ready_job {
    uint32_t n;
    const double *ready_s;
    double d, c;
    enum cleave_ready_model model;
};

/* Constants of growth in reversed time (see above): A of the model, B, and the level
 * of a slot above its time once its chain has grown. */
struct cv_ready_steps {
    double a, b, mu;
};
struct cv_ready_steps cv_ready_steps(const struct cv_ready_job *job);

/* Whether the greedy above is proved to be optimal: not for early with d > c. */
bool cv_ready_is_exact(const struct cv_ready_job *job);

/* Execute a tree as soon as possible. Senders are received in the order they ask, ties by number, in O(n log m); or, unless
 * `turn` is NULL, in the order of their turns at the receiver, from 0. */
enum cleave_status cv_ready_execute(const struct cv_ready_job *job,
                                    const uint32_t *parent, const uint32_t *turn,
                                    struct cv_arena *arena, struct cv_tree_run *out,
                                    struct cleave_error *err);

/* The root s of exp(-s A) + exp(-s B) = 1; ln 2 / B for A = B; INFINITY if B is 0. */
double cv_ready_rate(double a, double b);

/* ln(sum of exp(s ready)) / s. Slot t of a tree in reversed time has the mass exp(-s t);
 * growth keeps the sum, so the ends of n nodes have at most 1 together, and each is
 * before its deadline. Not for early with d > c: -INFINITY. */
double cv_ready_kraft(const struct cv_ready_job *job);

/* The times before the end at which nodes join the shortest tree for equal times: no tree
 * has the j-th node earlier. */
void cv_ready_births(const struct cv_ready_steps *steps, uint32_t n, double *out);

/* max over j of a(j) + s(j), a decreasing, s the times before the end at which nodes join
 * the shortest tree for equal times; and the last node's own step. `sorted` is ready_s in
 * decreasing order; `room` has n numbers. */
double cv_ready_prefix(const struct cv_ready_job *job, const double *sorted,
                       double *room);

/* The greater of the two; NAN when memory is short. */
double cv_ready_bound(const struct cv_ready_job *job);

struct cv_ready_planner;

/* A planner for up to n nodes, in the arena, and for jobs that are not cv_ready_is_exact
 * only on demand; NULL when memory is short. Allocates nothing later. */
struct cv_ready_planner *cv_ready_planner_new(struct cv_arena *arena, uint32_t n,
                                              bool exact);

/* The shortest tree: parent[i] receives from i, CV_NO_NODE at the root. `root` is the node that
 * must have the result, or CV_NO_NODE. Returns its length in reversed time, which the execution
 * does not exceed. For early with d > c the tree may not be the shortest. */
double cv_ready_tree(struct cv_ready_planner *planner, const struct cv_ready_job *job,
                     uint32_t root, uint32_t *parent);

#endif
