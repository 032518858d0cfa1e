/* returns_work.c -- the least time for given work. SPDX-License-Identifier: MIT
 *
 * Without fixed costs a schedule stretches with the lifespan. With them the work of a
 * fixed set and orders is linear in the lifespan, so the best work is piecewise
 * linear: a line through two lifespans around the answer meets it once both are on its
 * piece. Bisection if the line does not get closer.
 *
 * A search for orders takes too long for many calls. The least time of the
 * orders that it finds at some lifespan is a shorter lifespan for the next call, until
 * it finds no more work: as in Newton's method, three or four times. */
#include "model/returns/returns.h"

#include <math.h>

#include "model/returns/returns_internal.h"

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

    for (uint32_t i = 0; trip->units != NULL && i < returns->n; i++)
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
