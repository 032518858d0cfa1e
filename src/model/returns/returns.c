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

struct keyed {
    double key;
    uint32_t number;
};

CV_ORDER_BY_TWO(by_key, struct keyed, key, number)

bool cv_returns_sort(const double *keys, uint32_t n, struct cv_arena *scratch,
                     uint32_t *order)
{
    struct keyed *rows = cv_array(scratch, n, sizeof *rows);
    bool sorted = true;

    if (rows == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        rows[i] = (struct keyed){ keys[i], i };
        sorted = sorted && (i == 0 || keys[i - 1] <= keys[i]);
    }
    if (!sorted)
        qsort(rows, n, sizeof *rows, by_key);
    for (uint32_t i = 0; i < n; i++)
        order[i] = rows[i].number;
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

/* --- the least time for given work ------------------------------------------------- */

/* Without fixed costs a schedule stretches with the lifespan. With them the work of a
 * fixed set and orders is linear in the lifespan, so the best work is piecewise
 * linear: a line through two lifespans around the answer meets it once both are on its
 * piece. Bisection if the line does not get closer.
 * 
 * A search for orders takes too long for many calls. The least time of the
 * orders that it finds at some lifespan is a shorter lifespan for the next call, until
 * it finds no more work: as in Newton's method, three or four times. */

enum { MOST_DOUBLINGS = 1100, MOST_TURNS = 200, MOST_SEARCHES = 20 };
/* How close the two lifespans, or the work, must be. */
static const double enough = 1e-12;

struct quest {
    const struct cv_returns *returns;
    const struct cv_returns_solver *solver;
    double work;
    struct cv_arena *arena;
    struct cv_round_trip best; /* at the least lifespan that did enough */
};

static enum cleave_status ask(struct quest *quest, double lifespan_s, double *out_work,
                              struct cleave_error *err)
{
    struct cv_round_trip trip;

    CV_TRY(quest->solver->solve(quest->solver->context, quest->returns, lifespan_s,
                                quest->arena, &trip, err));
    *out_work = trip.work;
    if (trip.work >= quest->work)
        quest->best = trip;
    return CLEAVE_OK;
}

/* Scale the shares to the work. */
static void scale(struct cv_round_trip *trip, const struct cv_returns *returns,
                  double work)
{
    const double factor = work / trip->work;

    for (uint32_t i = 0; i < returns->n; i++)
        trip->units[i] *= factor;
    trip->work = work;
}

static enum cleave_status stretch(struct quest *quest, struct cv_round_trip *out,
                                  struct cleave_error *err)
{
    struct cv_round_trip trip;
    double lifespan_s = 1;

    CV_TRY(quest->solver->solve(quest->solver->context, quest->returns, lifespan_s,
                                quest->arena, &trip, err));
    if (!(trip.work > 0))
        return cv_fail(err, CLEAVE_EINPUT, "expected workers to do %g units, got none",
                       quest->work);
    trip.lifespan_s = lifespan_s * (quest->work / trip.work);
    scale(&trip, quest->returns, quest->work);
    *out = trip;
    return CLEAVE_OK;
}

/* Lifespans between which the work is reached. */
static enum cleave_status enclose(struct quest *quest, double *low_s, double *low_work,
                                  double *high_s, double *high_work,
                                  struct cleave_error *err)
{
    double guess = INFINITY;

    for (uint32_t i = 0; i < quest->returns->n; i++) {
        const struct cv_trip *t = &quest->returns->trips[i];

        guess = fmin(guess, cv_trip_once_s(t) + quest->work * cv_trip_unit_s(t));
    }
    /* The best worker alone needs `guess`, so all together need no more. */
    *low_s = *low_work = 0;
    *high_s = guess;
    for (int i = 0; i < MOST_DOUBLINGS && isfinite(*high_s); i++) {
        CV_TRY(ask(quest, *high_s, high_work, err));
        if (*high_work >= quest->work)
            return CLEAVE_OK;
        *low_s = *high_s;
        *low_work = *high_work;
        *high_s *= i == 0 ? 1 + 1e-9 : 2;
    }
    return cv_fail(err, CLEAVE_EINPUT, "expected workers to do %g units, got at most %g",
                   quest->work, *low_work);
}

static enum cleave_status close_in(struct quest *quest, struct cv_round_trip *out,
                                   struct cleave_error *err)
{
    double low_s = 0, low_work = 0, high_s = 0, high_work = 0;
    bool halve = false;

    CV_TRY(enclose(quest, &low_s, &low_work, &high_s, &high_work, err));
    for (int turn = 0; turn < MOST_TURNS; turn++) {
        const double width = high_s - low_s;
        double middle = low_s + width / 2, work;

        if (width <= enough * high_s || high_work <= quest->work * (1 + enough) ||
            cv_step_budget_over(quest->returns->budget))
            break;
        /* A little above the line, so that one more turn ends it. */
        if (!halve)
            middle = fmin(low_s +
                              width * (quest->work - low_work) / (high_work - low_work) *
                                  (1 + 1e-15) +
                              enough / 4 * high_s,
                          high_s - enough / 4 * width);
        CV_TRY(ask(quest, middle, &work, err));
        if (work >= quest->work) {
            high_s = middle;
            high_work = work;
        } else {
            low_s = middle;
            low_work = work;
        }
        halve = high_s - low_s > width / 2;
    }
    *out = quest->best;
    scale(out, quest->returns, quest->work);
    return CLEAVE_OK;
}

static enum cleave_status solve_fifo(void *context, const struct cv_returns *returns,
                                     double lifespan_s, struct cv_arena *arena,
                                     struct cv_round_trip *out, struct cleave_error *err)
{
    (void)context;
    return cv_returns_fifo(returns, lifespan_s, arena, out, err);
}

static enum cleave_status solve_lifo(void *context, const struct cv_returns *returns,
                                     double lifespan_s, struct cv_arena *arena,
                                     struct cv_round_trip *out, struct cleave_error *err)
{
    (void)context;
    return cv_returns_lifo(returns, lifespan_s, arena, out, err);
}

const struct cv_returns_solver cv_returns_solver_fifo = { solve_fifo, NULL, false };
const struct cv_returns_solver cv_returns_solver_lifo = { solve_lifo, NULL, false };

static enum cleave_status same_orders(void *context, const struct cv_returns *returns,
                                      double lifespan_s, struct cv_arena *arena,
                                      struct cv_round_trip *out, struct cleave_error *err)
{
    const struct cv_round_trip *trip = context;

    return cv_returns_given(returns, trip->send, trip->back, trip->n, lifespan_s, arena,
                            out, err);
}

/* Search for orders, find their least time, search again there. */
static enum cleave_status search_again(const struct quest *quest,
                                       struct cv_round_trip *out,
                                       struct cleave_error *err)
{
    const struct cv_returns_solver *search = quest->solver;
    struct cv_round_trip best, found, shorter;
    const struct cv_returns_solver as_found = { same_orders, &found, false };
    struct quest with = *quest;

    with.solver = &cv_returns_solver_fifo;
    CV_TRY(close_in(&with, &best, err));
    with.solver = &as_found;
    for (int turn = 0;
         turn < MOST_SEARCHES && !cv_step_budget_over(quest->returns->budget); turn++) {
        CV_TRY(search->solve(search->context, quest->returns, best.lifespan_s,
                             quest->arena, &found, err));
        best.optimal = found.optimal;
        if (!(found.work > quest->work * (1 + enough)))
            break;
        CV_TRY(close_in(&with, &shorter, err));
        if (!(shorter.lifespan_s < best.lifespan_s))
            break;
        best = shorter;
        best.optimal = false;
    }
    *out = best;
    return CLEAVE_OK;
}

enum cleave_status cv_returns_for_work(const struct cv_returns *returns,
                                       const struct cv_returns_solver *solver,
                                       double work, struct cv_arena *arena,
                                       struct cv_round_trip *out,
                                       struct cleave_error *err)
{
    struct quest quest = { returns, solver, work, arena, { .n = 0 } };

    CV_TRY(cv_returns_check(returns, 0, err));
    if (!(work >= 0) || !isfinite(work))
        return cv_fail(err, CLEAVE_EINPUT, "work: expected 0 or more units, got %g",
                       work);
    if (work == 0) {
        CV_TRY(cv_returns_nothing(returns, 0, arena, out, err));
        out->optimal = true;
        return CLEAVE_OK;
    }
    if (cv_returns_linear(returns))
        return stretch(&quest, out, err);
    return solver->searches ? search_again(&quest, out, err) : close_in(&quest, out, err);
}
