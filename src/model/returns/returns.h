/* returns.h -- one round of work whose results come back to the master.
 * SPDX-License-Identifier: MIT
 *
 * A worker that takes part gets one message, computes, and sends one message back. Sends
 * follow each other from time 0 without a pause; returns follow each other in some order
 * and end at the lifespan L. With p, R and r the times that one worker's work message,
 * computation and result take, fixed costs included, worker i has the row
 *
 *     sum of p up to i (sending order) + R_i + sum of r from i on (return order) <= L.
 *
 * On a master with one message each way at a time (duplex) that is all; on one that
 * handles one message at all (single) sends come before returns and in addition the sum
 * of all p and r is at most L.
 *
 * Every solver here maximises the work done in a lifespan; cv_returns_for_work turns that
 * into the least time for given work. Docs: docs/theory/returns.md. */
#ifndef CV_RETURNS_H
#define CV_RETURNS_H
#include <cleave/platform.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/step_budget.h"

/* What a round trip costs one worker: per unit of load, and once if it takes part. */
struct cv_trip {
    double send_s, compute_s, back_s;
    double send_fixed_s, compute_fixed_s, back_fixed_s;
};

/* An instance. Costs per unit: send_s > 0, compute_s > 0, back_s >= 0; fixed >= 0. */
struct cv_returns {
    const struct cv_trip *trips;
    uint32_t n;
    bool single; /* one message at a time in all; false: one each way */
    struct cv_step_budget
        *budget; /* borrowed: how far searches may go; NULL: as they like */
};

/* Who takes part, in which orders, with how much. */
struct cv_round_trip {
    uint32_t n;     /* workers that take part                                        */
    uint32_t *send; /* n workers in the order of sending                             */
    uint32_t *back; /* the same workers in the order of returning                    */
    double *units;  /* per worker of the instance (all of them); 0: takes no part    */
    double work;    /* sum of units                                                  */
    double lifespan_s;
    bool optimal; /* proved best of its kind: the solver's head says which kind      */
};

/* The instance of a load on workers: results of `ratio` units per unit of load, sent back
 * over the return link; packing and unpacking one unit costs a worker `packaging_s`. With
 * ratio 0 nothing is sent back. NULL when memory is short. */
struct cv_trip *cv_trips(const struct cleave_worker *workers, uint32_t n, double ratio,
                         double packaging_s, struct cv_arena *arena);

/* No fixed costs: work is proportional to the lifespan. */
bool cv_returns_linear(const struct cv_returns *returns);
/* back_s / send_s is the same for all: the delta of the theory, in *out_ratio. */
bool cv_returns_uniform(const struct cv_returns *returns, double *out_ratio);

/* First sent, first returned. Uniform ratio, no fixed costs: the best order and the best
 * set (a prefix of it; on a single port the last may have the share that fills the port),
 * `optimal` among FIFO schedules. Else an order and a set found by improvement.
 * O(n log n) without fixed costs. */
enum cleave_status cv_returns_fifo(const struct cv_returns *returns, double lifespan_s,
                                   struct cv_arena *arena, struct cv_round_trip *out,
                                   struct cleave_error *err);
/* First sent, last returned; the same promises among LIFO schedules. */
enum cleave_status cv_returns_lifo(const struct cv_returns *returns, double lifespan_s,
                                   struct cv_arena *arena, struct cv_round_trip *out,
                                   struct cleave_error *err);
/* FIFO with every worker, whatever the port allows (the closed form of the theory): the
 * best order among these, proved without fixed costs when ratios are equal. With fixed
 * costs units may be negative, as in cv_returns_tight. */
enum cleave_status cv_returns_fifo_all(const struct cv_returns *returns,
                                       double lifespan_s, struct cv_arena *arena,
                                       struct cv_round_trip *out,
                                       struct cleave_error *err);

/* The n workers named by `send` and `back` (the same workers), none idle: the solution of
 * the linear system, in which units may be negative and a single port overfull. */
enum cleave_status cv_returns_tight(const struct cv_returns *returns,
                                    const uint32_t *send, const uint32_t *back,
                                    uint32_t n, double lifespan_s, struct cv_arena *arena,
                                    struct cv_round_trip *out, struct cleave_error *err);
/* The best shares for the given orders: workers may be left out (duplex), or wait
 * (single). `optimal` when that is proved; it is for n <= 16, and without fixed costs for
 * any n when the port is single or the orders are FIFO or LIFO. */
enum cleave_status cv_returns_given(const struct cv_returns *returns,
                                    const uint32_t *send, const uint32_t *back,
                                    uint32_t n, double lifespan_s, struct cv_arena *arena,
                                    struct cv_round_trip *out, struct cleave_error *err);
/* The return order that is best when results are small: workers by nondecreasing send_s,
 * returns by nonincreasing tau y / u, shares as in cv_returns_given. y are the shares if
 * results took no time, u what a second more would be worth to each worker; tau is send_s
 * (back_s where ratios differ). `keys` (may be NULL) gets tau y / u per worker, of a lifespan
 * of 1 as in print. `optimal` is not claimed, except for n = 1. */
enum cleave_status cv_returns_small(const struct cv_returns *returns, double lifespan_s,
                                    struct cv_arena *arena, struct cv_round_trip *out,
                                    double *keys, struct cleave_error *err);

/* Time of all messages of a schedule together: what a single port must find room for. */
double cv_returns_port_s(const struct cv_returns *returns,
                         const struct cv_round_trip *trip);

/* The instance that is this one read backwards in time: sends and returns change places,
 * so a ratio above 1 becomes one below. Needs back_s > 0. */
enum cleave_status cv_returns_interchange(const struct cv_returns *returns,
                                          struct cv_arena *arena, struct cv_returns *out,
                                          struct cleave_error *err);
/* Turn a schedule of one of the two instances into one of the other, in place: both
 * orders are reversed and change places, the shares stay. */
void cv_returns_interchange_back(struct cv_round_trip *trip);

/* Two workers with the same compute_s and ratio > 0, the slower link with send_s: FIFO
 * does more than LIFO, the faster link first, iff the faster link's send_s is above this
 * value (which is below send_s). */
double cv_returns_crossover(double compute_s, double ratio, double send_s);

/* A solver as above, for cv_returns_for_work. */
struct cv_returns_solver {
    enum cleave_status (*solve)(void *context, const struct cv_returns *returns,
                                double lifespan_s, struct cv_arena *arena,
                                struct cv_round_trip *out, struct cleave_error *err);
    void *context;
    bool searches; /* it looks for orders, which takes long: ask it a few times only    */
};
/* The least lifespan in which the solver does `work`, and the schedule: one call and a
 * scaling without fixed costs, some calls with them. */
enum cleave_status cv_returns_for_work(const struct cv_returns *returns,
                                       const struct cv_returns_solver *solver,
                                       double work, struct cv_arena *arena,
                                       struct cv_round_trip *out,
                                       struct cleave_error *err);

#endif
