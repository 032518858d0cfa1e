/* returns_bounds.h -- upper bounds on the work of schedules with results.
 * SPDX-License-Identifier: MIT
 *
 * All bounds hold for any orders and sets of workers, one round; up to rounding, each
 * is at most the one before it.
 *
 * They assume one ratio of return to send cost and no fixed costs. If ratios differ,
 * both costs of every worker are lowered to a common ratio; several are tried. Fixed
 * costs are spread over the work that the worker could do alone, or the least of them
 * is taken from the lifespan of all, whichever is better. A ratio above 1 is
 * interchanged first. docs/theory/returns.md has the proofs. */
#ifndef CV_RETURNS_BOUNDS_H
#define CV_RETURNS_BOUNDS_H
#include <stdint.h>
#include "base/arena.h"
#include "model/returns/returns.h"

/* As if results, or else work messages, took no time. All bounds are NAN when memory
 * is short. */
double cv_returns_bound_free(const struct cv_returns *returns, double lifespan_s,
                             struct cv_arena *scratch);
/* Prefix sets of fastest links: O(n log n). Exact for equal links and for one worker. */
double cv_returns_bound_prefix(const struct cv_returns *returns, double lifespan_s,
                               struct cv_arena *scratch);
/* The convex relaxation; a dual value, so valid wherever the iteration stops. O(n log
 * n) and O(n) an iteration; for more than CV_CONVEX_MOST workers the prefix bound. */
enum { CV_CONVEX_MOST = 100000 };
double cv_returns_bound_convex(const struct cv_returns *returns, double lifespan_s,
                               struct cv_arena *scratch);
/* Whether LIFO, nondecreasing send_s, is proved best of all schedules, on either kind
 * of port. False also when memory is short, if ratios differ and with fixed costs. */
bool cv_returns_lifo_proved(const struct cv_returns *returns, struct cv_arena *scratch);

/* Guaranteed parts of the optimum. */
struct cv_returns_ratios {
    double fifo; /* the best FIFO schedule                  */
    double lifo; /* the best LIFO schedule                  */
    double best; /* the better of the two                   */
};
/* Proved for a common ratio and no fixed costs; else 0. False when memory is short. */
bool cv_returns_ratios(const struct cv_returns *returns, struct cv_arena *scratch,
                       struct cv_returns_ratios *out);

/* All values are positive and finite. */
struct cv_convex_worker {
    double gain;   /* work per second of its message: does not increase  */
    double weight; /* factor of its square */
    double cap;    /* limit for the sum up to it; does not decrease */
};

struct cv_convex {
    const struct cv_convex_worker *workers;
    uint32_t n;
    double pair; /* weight of the square of a sum */
};

struct cv_convex_report {
    double reached; /* value of a feasible point */
    double bound;   /* the maximum is between both */
    unsigned iterations;
};

/* A value of the Lagrangian dual, so not below the maximum, as a rule within 1e-9 of
 * it. NAN when memory is short. `out` may be NULL. O(n) an iteration and in memory. */
double cv_convex_bound(const struct cv_convex *convex, struct cv_arena *scratch,
                       struct cv_convex_report *out);

#endif
