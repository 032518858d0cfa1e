/* returns.c -- instances and schedules of one round with results.
 * SPDX-License-Identifier: MIT */
#include "model/returns/returns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "model/returns/returns_internal.h"

/* Ratios that differ by less than this part are equal. */
static const double ratio_noise = 1e-12;

bool cv_trips_equal(const struct cv_trip *a, const struct cv_trip *b)
{
    return a->send_s == b->send_s && a->compute_s == b->compute_s &&
           a->back_s == b->back_s && a->send_fixed_s == b->send_fixed_s &&
           a->compute_fixed_s == b->compute_fixed_s && a->back_fixed_s == b->back_fixed_s;
}

struct cv_trip *cv_trips(const struct cleave_worker *workers, uint32_t n, double ratio,
                         double packaging_s, struct cv_arena *arena)
{
    struct cv_trip *trips = cv_array(arena, n, sizeof *trips);

    for (uint32_t i = 0; trips != NULL && i < n; i++) {
        const struct cleave_worker *worker = &workers[i];

        trips[i] = (struct cv_trip){
            .send_s = 1 / worker->bandwidth_ups,
            .compute_s = 1 / worker->speed_ups + (1 + ratio) * packaging_s,
            .send_fixed_s = worker->latency_s,
            .compute_fixed_s = worker->compute_latency_s,
        };
        if (ratio > 0) {
            trips[i].back_s = ratio / worker->return_bandwidth_ups;
            trips[i].back_fixed_s = worker->return_latency_s;
        }
    }
    return trips;
}

bool cv_returns_linear(const struct cv_returns *returns)
{
    for (uint32_t i = 0; i < returns->n; i++)
        if (cv_trip_once_s(&returns->trips[i]) > 0)
            return false;
    return true;
}

bool cv_returns_uniform(const struct cv_returns *returns, double *out_ratio)
{
    double ratio = 0;

    for (uint32_t i = 0; i < returns->n; i++) {
        const double own = returns->trips[i].back_s / returns->trips[i].send_s;

        if (i == 0)
            ratio = own;
        if (!(fabs(own - ratio) <= ratio_noise * ratio))
            return false;
    }
    *out_ratio = ratio;
    return true;
}

double cv_returns_port_s(const struct cv_returns *returns,
                         const struct cv_round_trip *trip)
{
    double sum = 0;

    for (uint32_t k = 0; k < trip->n; k++) {
        const struct cv_trip *t = &returns->trips[trip->send[k]];

        sum += (t->send_s + t->back_s) * trip->units[trip->send[k]] + t->send_fixed_s +
               t->back_fixed_s;
    }
    return sum;
}

static bool at_least_zero(double number)
{
    return number >= 0 && isfinite(number);
}

enum cleave_status cv_returns_check(const struct cv_returns *returns, double lifespan_s,
                                    struct cleave_error *err)
{
    if (!at_least_zero(lifespan_s))
        return cv_fail(err, CLEAVE_EINPUT, "lifespan: expected 0 or more seconds, got %g",
                       lifespan_s);
    for (uint32_t i = 0; i < returns->n; i++) {
        const struct cv_trip *t = &returns->trips[i];

        if (!(t->send_s > 0 && isfinite(t->send_s)) ||
            !(t->compute_s > 0 && isfinite(t->compute_s)))
            return cv_fail(err, CLEAVE_EINPUT,
                           "worker %u: expected positive times for sending and computing "
                           "a unit, got %g and %g",
                           i, t->send_s, t->compute_s);
        if (!at_least_zero(t->back_s) || !at_least_zero(t->send_fixed_s) ||
            !at_least_zero(t->compute_fixed_s) || !at_least_zero(t->back_fixed_s))
            return cv_fail(
                err, CLEAVE_EINPUT,
                "worker %u: expected 0 or more for the time back and for fixed "
                "times, got %g, %g, %g and %g",
                i, t->back_s, t->send_fixed_s, t->compute_fixed_s, t->back_fixed_s);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_returns_check_orders(const struct cv_returns *returns,
                                           const uint32_t *send, const uint32_t *back,
                                           uint32_t n, struct cv_arena *scratch,
                                           struct cleave_error *err)
{
    unsigned char *seen = cv_array(scratch, returns->n, 1);

    if (seen == NULL)
        return cv_fail_memory(err, "orders");
    for (uint32_t k = 0; k < n; k++) {
        if (send[k] >= returns->n || seen[send[k]] != 0)
            return cv_fail(
                err, CLEAVE_EINPUT,
                "order of sending: expected different workers below %u, got %u",
                returns->n, send[k]);
        seen[send[k]] = 1;
    }
    for (uint32_t k = 0; k < n; k++) {
        if (back[k] >= returns->n || seen[back[k]] != 1)
            return cv_fail(err, CLEAVE_EINPUT,
                           "order of returning: expected each worker that is sent to "
                           "once, got %u",
                           back[k]);
        seen[back[k]] = 2;
    }
    return CLEAVE_OK;
}

bool cv_returns_hopeless(const struct cv_returns *returns, double lifespan_s)
{
    for (uint32_t i = 0; i < returns->n; i++)
        if (cv_trip_once_s(&returns->trips[i]) < lifespan_s)
            return false;
    return true;
}

static uint32_t keep_busy(const uint32_t *from, uint32_t n, const double *units,
                          bool everyone, uint32_t *to)
{
    uint32_t kept = 0;

    for (uint32_t k = 0; k < n; k++)
        if (everyone || units[from[k]] > 0)
            to[kept++] = from[k];
    return kept;
}

enum cleave_status cv_returns_make(const struct cv_returns *returns, const uint32_t *send,
                                   const uint32_t *back, uint32_t n, double *units,
                                   double lifespan_s, bool everyone,
                                   struct cv_arena *arena, struct cv_round_trip *out,
                                   struct cleave_error *err)
{
    struct cv_round_trip made = { .units = units, .lifespan_s = lifespan_s };

    if (!CV_NEW(arena, made.send, n) || !CV_NEW(arena, made.back, n))
        return cv_fail_memory(err, "schedule");
    made.n = keep_busy(send, n, units, everyone, made.send);
    keep_busy(back, n, units, everyone, made.back);
    for (uint32_t i = 0; i < returns->n; i++) {
        if (!everyone && !(units[i] > 0))
            units[i] = 0;
        made.work += units[i];
    }
    *out = made;
    return CLEAVE_OK;
}

enum cleave_status cv_returns_nothing(const struct cv_returns *returns, double lifespan_s,
                                      struct cv_arena *arena, struct cv_round_trip *out,
                                      struct cleave_error *err)
{
    double *units = cv_array(arena, returns->n, sizeof *units);

    if (units == NULL)
        return cv_fail_memory(err, "schedule");
    return cv_returns_make(returns, NULL, NULL, 0, units, lifespan_s, false, arena, out,
                           err);
}

bool cv_returns_sort(const double *keys, uint32_t n, struct cv_arena *scratch,
                     uint32_t *order)
{
    struct cv_ranked *rows = cv_array(scratch, n, sizeof *rows);
    bool sorted = true;

    if (rows == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        rows[i] = (struct cv_ranked){ keys[i], i };
        sorted = sorted && (i == 0 || keys[i - 1] <= keys[i]);
    }
    if (!sorted)
        qsort(rows, n, sizeof *rows, cv_rank_up);
    for (uint32_t i = 0; i < n; i++)
        order[i] = rows[i].index;
    return true;
}

void cv_returns_reverse(uint32_t *order, uint32_t n)
{
    for (uint32_t k = 0; k < n / 2; k++) {
        const uint32_t kept = order[k];

        order[k] = order[n - 1 - k];
        order[n - 1 - k] = kept;
    }
}

enum cleave_status cv_returns_interchange(const struct cv_returns *returns,
                                          struct cv_arena *arena, struct cv_returns *out,
                                          struct cleave_error *err)
{
    struct cv_trip *trips = cv_array(arena, returns->n, sizeof *trips);

    if (trips == NULL)
        return cv_fail_memory(err, "interchanged instance");
    for (uint32_t i = 0; i < returns->n; i++) {
        const struct cv_trip *t = &returns->trips[i];

        if (!(t->back_s > 0))
            return cv_fail(err, CLEAVE_EINPUT,
                           "worker %u: expected results that take time, got %g s a unit",
                           i, t->back_s);
        trips[i] = (struct cv_trip){
            .send_s = t->back_s,
            .compute_s = t->compute_s,
            .back_s = t->send_s,
            .send_fixed_s = t->back_fixed_s,
            .compute_fixed_s = t->compute_fixed_s,
            .back_fixed_s = t->send_fixed_s,
        };
    }
    *out = (struct cv_returns){ trips, returns->n, returns->single, returns->budget };
    return CLEAVE_OK;
}

void cv_returns_interchange_back(struct cv_round_trip *trip)
{
    uint32_t *const send = trip->send;

    cv_returns_reverse(trip->send, trip->n);
    cv_returns_reverse(trip->back, trip->n);
    trip->send = trip->back;
    trip->back = send;
}

/* With R = compute_s, c = 1 + ratio, t = send_s and x the faster link, FIFO wins iff
 *
 *     (R + c x) (R + c t) (x - t) + (2 R + c t) x t > 0,
 *
 * a quadratic in x that is negative at 0 and positive at t. */
double cv_returns_crossover(double compute_s, double ratio, double send_s)
{
    const double c = 1 + ratio, k = compute_s + c * send_s;
    const double square = k * c;
    const double half = (k * (compute_s - c * send_s) + (compute_s + k) * send_s) / 2;
    const double constant = k * compute_s * send_s; /* with a minus sign */
    const double root = sqrt(half * half + square * constant);

    /* The form of the root without a difference. */
    return half >= 0 ? constant / (half + root) : (root - half) / square;
}
