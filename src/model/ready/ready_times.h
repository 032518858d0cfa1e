/* ready_times.h -- partials that become ready at given times: what trees take, and bounds.
 * SPDX-License-Identifier: MIT
 *
 * Node i holds its partial from ready_s[i] on. A transfer takes d, a combination c; let
 * A = max(d, c), B = d + c. Three models of a node:
 *
 *     merge    one thing at a time, from its ready time on; a pair is combined in B
 *     absent   transfers and combinations overlap; nothing, not even receiving, before
 *     early    the same, but it receives before, and combines from its ready time on
 *
 * Senders that ask at t(1) <= ... <= t(m) let a node be ready at
 *
 *     max over j of t(j) + B + (m - j) A, and its own a + m B, a + B + (m - 1) A, a + m c
 *
 * in the three models (A := B in the first). */
#ifndef CV_READY_TIMES_H
#define CV_READY_TIMES_H
#include <stdbool.h>
#include <stdint.h>
#include <cleave/error.h>
#include <cleave/policy.h>
#include "model/reduce/reduce_tree.h"

/* A reduction with ready times; the array is borrowed, times are finite and >= 0. */
struct cv_ready_job {
    uint32_t n;
    const double *ready_s;
    double d, c;
    enum cleave_ready_model model;
};

/* Constants of growth in reversed time (ready_tree.h): A of the model, B, and the level
 * of a slot above its time once its chain has grown. */
struct cv_ready_steps {
    double a, b, mu;
};
struct cv_ready_steps cv_ready_steps(const struct cv_ready_job *job);

/* Whether the greedy of ready_tree.h is proved to be optimal: not for early with d > c. */
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

/* max over j of a(j) + s(j), a decreasing, s the times before the end at which nodes join
 * the shortest tree for equal times; and the last node's own step. `sorted` is ready_s in
 * decreasing order; `room` has n numbers. */
double cv_ready_prefix(const struct cv_ready_job *job, const double *sorted,
                       double *room);

/* The greater of the two; NAN when memory is short. */
double cv_ready_bound(const struct cv_ready_job *job);

#endif
