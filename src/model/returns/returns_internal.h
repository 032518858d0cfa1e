/* returns_internal.h -- shared by the solvers for rounds with results.
 * SPDX-License-Identifier: MIT
 *
 * Rows: row and column k of a matrix of given orders belong to worker send[k].
 *
 * Chains: shares along one order, first returned is first sent (FIFO) or last sent (LIFO).
 * `order` is the order of sending; shares are by place in it. */
#ifndef CV_RETURNS_INTERNAL_H
#define CV_RETURNS_INTERNAL_H
#include "base/fail.h"
#include "model/returns/returns.h"

/* Time of one unit for a worker alone; its fixed time. */
static inline double cv_trip_unit_s(const struct cv_trip *trip)
{
    return trip->send_s + trip->compute_s + trip->back_s;
}

static inline double cv_trip_once_s(const struct cv_trip *trip)
{
    return trip->send_fixed_s + trip->compute_fixed_s + trip->back_fixed_s;
}

bool cv_trips_equal(const struct cv_trip *a, const struct cv_trip *b);

/* CLEAVE_EINPUT unless costs and lifespan are in their ranges. */
enum cleave_status cv_returns_check(const struct cv_returns *returns, double lifespan_s,
                                    struct cleave_error *err);
/* CLEAVE_EINPUT unless `back` orders the workers of `send`, all of them different. */
enum cleave_status cv_returns_check_orders(const struct cv_returns *returns,
                                           const uint32_t *send, const uint32_t *back,
                                           uint32_t n, struct cv_arena *scratch,
                                           struct cleave_error *err);
/* No worker can do anything in the lifespan, even alone. */
bool cv_returns_hopeless(const struct cv_returns *returns, double lifespan_s);

/* A schedule in two orders. It keeps `units` (per worker). Workers with units take
 * part, or all if `everyone`. */
enum cleave_status cv_returns_make(const struct cv_returns *returns, const uint32_t *send,
                                   const uint32_t *back, uint32_t n, double *units,
                                   double lifespan_s, bool everyone,
                                   struct cv_arena *arena, struct cv_round_trip *out,
                                   struct cleave_error *err);
enum cleave_status cv_returns_nothing(const struct cv_returns *returns, double lifespan_s,
                                      struct cv_arena *arena, struct cv_round_trip *out,
                                      struct cleave_error *err);

/* Numbers 0 to n - 1 by nondecreasing key, equal ones by number. False when memory is
 * short. */
bool cv_returns_sort(const double *keys, uint32_t n, struct cv_arena *scratch,
                     uint32_t *order);
void cv_returns_reverse(uint32_t *order, uint32_t n);

enum cv_chain { CV_CHAIN_FIFO, CV_CHAIN_LIFO };

/* Whether a pair of orders is such a chain (one worker alone is FIFO). */
bool cv_orders_chain(const uint32_t *send, const uint32_t *back, uint32_t n,
                     enum cv_chain *out);

/* No worker idle, whatever a single port allows. FIFO shares may be negative with
 * fixed costs, and are not finite on overflow. Returns the work. */
double cv_chain_tight(const struct cv_returns *returns, enum cv_chain kind,
                      const uint32_t *order, uint32_t n, double lifespan_s,
                      double *shares);

/* The same on the port of the instance: if all shares overfill a single port, the last
 * worker of the order waits and gets the rest. Returns the work, or -1 if a share
 * would not be positive. */
double cv_chain_fill(const struct cv_returns *returns, enum cv_chain kind,
                     const uint32_t *order, uint32_t n, double lifespan_s,
                     double *shares);

/* Sums over a FIFO order in which all shares are slope * u_1 + offset (returns_chain.c). */
struct cv_fifo_walk {
    double slope, offset; /* next u = slope u + offset */
    double work_slope, work_offset;
    double back_slope, back_offset;
    double port_slope, port_offset;
    double least_u; /* the least u_1 for which all shares are positive */
};

/* One more worker; the first walk is { .slope = 1 }. */
void cv_fifo_step(struct cv_fifo_walk *walk, const struct cv_trip *t);

/* The rest is for instances without fixed costs on a duplex port. */

/* Leave out of `order`, in place, the workers that cost more than they bring: the best
 * set for this order. Returns its size. `keep` has room for n. */
uint32_t cv_chain_prune(const struct cv_returns *returns, enum cv_chain kind,
                        uint32_t *order, uint32_t n, bool *keep);

/* FIFO: the workers that are worth it if a second of lifespan is worth `rate` units,
 * and their value, which is `rate` at the best rate; the rate of a set, in units per
 * second of lifespan. */
double cv_chain_value(const struct cv_returns *returns, const uint32_t *order, uint32_t n,
                      double rate, bool *keep);
double cv_chain_rate(const struct cv_returns *returns, const uint32_t *order, uint32_t n,
                     const bool *keep);

/* Row and column k belong to worker send[k]. */
struct cv_rows {
    const struct cv_returns *returns;
    const uint32_t *send;
    uint32_t n;
    double lifespan_s;
    double *units; /* n x n: seconds of row i per unit of column j   */
    double *fixed; /* n x n: fixed seconds; NULL without fixed costs */
};

/* False when memory is short. */
bool cv_rows_make(struct cv_rows *rows, const struct cv_returns *returns,
                  const uint32_t *send, const uint32_t *back, uint32_t n,
                  double lifespan_s, struct cv_arena *arena);

/* Seconds that row i leaves to the shares of the `count` columns of `set`. */
double cv_rows_right(const struct cv_rows *rows, uint32_t i, const uint32_t *set,
                     uint32_t count);

/* The shares of the columns in `set` with no worker idle, by place in it: elimination
 * and one step of refinement. `matrix` has room for 2 count^2 numbers, `vector` for 2
 * count, `pivots` for count. False if the matrix is singular. */
bool cv_rows_tight(const struct cv_rows *rows, const uint32_t *set, uint32_t count,
                   double *matrix, double *vector, uint32_t *pivots, double *shares);

/* Shares by column of the rows; *out_optimal: proved best. False when memory is short. */
bool cv_rows_single(const struct cv_rows *rows, double *shares, bool *out_optimal,
                    struct cv_arena *arena);

/* Shares by column of the rows on a duplex port. False when memory is short. */
bool cv_rows_subset(const struct cv_rows *rows, double *shares, struct cv_arena *arena);

#endif
