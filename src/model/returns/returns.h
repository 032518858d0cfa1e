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
 * On a master with one message each way at a time (duplex) that is all; on a master that handles one message in all (single) sends come before returns and in addition the sum
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

/* Costs of a round trip of one worker: per unit of load, and once. */
struct cv_trip {
    double send_s, compute_s, back_s;
    double send_fixed_s, compute_fixed_s, back_fixed_s;
};

/* An instance. Costs per unit: send_s > 0, compute_s > 0, back_s >= 0; fixed >= 0. */
struct cv_returns {
    const struct cv_trip *trips;
    uint32_t n;
    bool single;                   /* one message at a time in all; false: one each way */
    struct cv_step_budget *budget; /* borrowed: limit of searches, or NULL */
};

struct cv_round_trip {
    uint32_t n;     /* workers that take part                                        */
    uint32_t *send; /* n workers in the order of sending                             */
    uint32_t *back; /* the same workers in the order of returning                    */
    double *units;  /* per worker of the instance; 0: takes no part */
    double work;    /* sum of units                                                  */
    double lifespan_s;
    bool optimal; /* proved best of its kind: see the solver */
};

/* The instance of a load: results of `ratio` units per unit of load return over the
 * return link; packing or unpacking a unit costs a worker `packaging_s`. With ratio 0
 * nothing is sent back. NULL when memory is short. */
struct cv_trip *cv_trips(const struct cleave_worker *workers, uint32_t n, double ratio,
                         double packaging_s, struct cv_arena *arena);

/* No fixed costs: work is proportional to the lifespan. */
bool cv_returns_linear(const struct cv_returns *returns);
/* Whether back_s / send_s, the delta of the theory, is the same for all. */
bool cv_returns_uniform(const struct cv_returns *returns, double *out_ratio);

/* First sent, first returned. Uniform ratio, no fixed costs: the best order and the best
 * set (a prefix of it; on a single port the last may have the share that fills the port),
 * `optimal` among FIFO schedules. Else an order and a set found by improvement.
 * O(n log n) without fixed costs. */
enum cleave_status cv_returns_fifo(const struct cv_returns *returns, double lifespan_s,
                                   struct cv_arena *arena, struct cv_round_trip *out,
                                   struct cleave_error *err);
/* First sent, last returned; `optimal` among LIFO schedules in the same cases. */
enum cleave_status cv_returns_lifo(const struct cv_returns *returns, double lifespan_s,
                                   struct cv_arena *arena, struct cv_round_trip *out,
                                   struct cleave_error *err);
/* FIFO with every worker, whatever the port allows (the closed form of the theory):
 * the best order, proved without fixed costs if ratios are equal. With fixed costs
 * units may be negative. */
enum cleave_status cv_returns_fifo_all(const struct cv_returns *returns,
                                       double lifespan_s, struct cv_arena *arena,
                                       struct cv_round_trip *out,
                                       struct cleave_error *err);

/* The n workers of `send` and `back`, none idle: the solution of the linear system.
 * Units may be negative and a single port overfull. */
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
/* The return order that is best when results are small: workers by nondecreasing
 * send_s, returns by nonincreasing tau y / u, shares as in cv_returns_given. y are the
 * shares if results took no time, u the worth of a second more in each row; tau is
 * send_s, or back_s if ratios differ. `keys` (or NULL) gets tau y / u per worker for a
 * lifespan of 1. `optimal` only for n = 1. */
enum cleave_status cv_returns_small(const struct cv_returns *returns, double lifespan_s,
                                    struct cv_arena *arena, struct cv_round_trip *out,
                                    double *keys, struct cleave_error *err);

/* Time of all messages of a schedule. */
double cv_returns_port_s(const struct cv_returns *returns,
                         const struct cv_round_trip *trip);

/* The instance read backwards in time: sends and returns change places, so a ratio
 * above 1 becomes one below. Needs back_s > 0. */
enum cleave_status cv_returns_interchange(const struct cv_returns *returns,
                                          struct cv_arena *arena, struct cv_returns *out,
                                          struct cleave_error *err);
/* Convert a schedule of one of the two instances to the other, in place. */
void cv_returns_interchange_back(struct cv_round_trip *trip);

/* For two workers with the same compute_s and ratio > 0, and send_s of the slower
 * link: FIFO does more than LIFO, faster link first, iff send_s of the faster link is
 * above this value. */
double cv_returns_crossover(double compute_s, double ratio, double send_s);

/* A solver for cv_returns_for_work. */
struct cv_returns_solver {
    enum cleave_status (*solve)(void *context, const struct cv_returns *returns,
                                double lifespan_s, struct cv_arena *arena,
                                struct cv_round_trip *out, struct cleave_error *err);
    void *context;
    bool searches; /* for orders, which takes long: it is called a few times only */
};
extern const struct cv_returns_solver cv_returns_solver_fifo, cv_returns_solver_lifo;

/* The least lifespan in which the solver does `work`, and the schedule: one call and a
 * scaling without fixed costs, some calls with them. */
enum cleave_status cv_returns_for_work(const struct cv_returns *returns,
                                       const struct cv_returns_solver *solver,
                                       double work, struct cv_arena *arena,
                                       struct cv_round_trip *out,
                                       struct cleave_error *err);

#endif
