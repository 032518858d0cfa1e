/* returns_internal.h -- shared by the solvers for rounds with results.
 * SPDX-License-Identifier: MIT */
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

#endif
