/* best_orders.c -- one round; the best orders of sending and returning that are found.
 * SPDX-License-Identifier: MIT
 *
 * Which orders are best is an open question; even fastest link first is not always right.
 * Up to `exact` workers all sets and pairs of orders are searched, with proof. Above that
 * one worker after the other is taken out and put back at the best of all pairs of places,
 * until nothing improves: O(n^3) a sweep and a few sweeps; for more than a thousand workers
 * the best of the others is taken. Never worse than fifo, lifo and
 * small-results; latencies and who takes part are part of the search. A plan that meets a
 * bound is proved as well.
 *
 * Past the paper of O. Beaumont and A. L. Rosenberg, 2010: docs/theory/returns.md. */
#include "policy/returns/best_orders.h"

#include "model/returns/returns_bounds.h"
#include "model/returns/returns_search.h"

/* Closer to a bound than this is equal to it: bounds are iterated to about as much. */
static const double EQUAL = 1e-8;

struct best_orders {
    struct cv_round_trip_state round;
    uint32_t starts, kicks, exact;
};

struct search {
    struct cv_search_effort effort;
    uint32_t exact;
};

static enum cleave_status solve(void *context, const struct cv_returns *returns,
                                double lifespan_s, struct cv_arena *arena,
                                struct cv_round_trip *out, struct cleave_error *err)
{
    const struct search *search = context;
    double bound;

    if (returns->n <= search->exact && returns->n <= CV_EXACT_MOST)
        return cv_returns_exact(returns, lifespan_s, arena, out, err);
    CV_TRY(cv_returns_search(returns, lifespan_s, &search->effort, arena, out, err));
    if (out->optimal || returns->n > CV_CONVEX_MOST ||
        cv_step_budget_over(returns->budget))
        return CLEAVE_OK;
    bound = cv_returns_bound_convex(returns, lifespan_s, arena);
    out->optimal = out->work >= bound * (1 - EQUAL);
    return CLEAVE_OK;
}

static enum cleave_status best_orders_plan(void *state, const struct cleave_view *view,
                                           struct cleave_setup *setup,
                                           struct cleave_error *err)
{
    struct best_orders *best = state;
    struct search search = {
        .effort = { .starts = best->starts, .kicks = best->kicks, .seed = view->seed },
        .exact = best->exact
    };

    CV_TRY(cv_round_trip_plan(&best->round, view,
                              &(struct cv_returns_solver){ solve, &search, true }, setup,
                              err));
    if (best->round.trip.optimal)
        cleave_setup_proved(setup, "all schedules of one round", true);
    return CLEAVE_OK;
}

static const struct cleave_param best_orders_params[] = {
    { "starts", CLEAVE_PARAM_COUNT, offsetof(struct best_orders, starts), 0, 0, 1000,
      "searches from different orders; 0: as many as the size allows" },
    { "kicks", CLEAVE_PARAM_COUNT, offsetof(struct best_orders, kicks), 0, 0, 100000,
      "random changes after which the search goes on; 0: as the size allows" },
    { "exact", CLEAVE_PARAM_COUNT, offsetof(struct best_orders, exact), 7, 0,
      CV_EXACT_MOST, "up to so many workers the best orders are proved" },
    { 0 },
};

const struct cleave_policy cleave_policy_best_orders = {
    .name = "best-orders",
    .summary = "one round with results, in the best orders found; proved for few workers",
    .reference = "cleave",
    .needs = CLEAVE_NEEDS_SHARED_PORT,
    .one_round = true,
    .orders_returns = true,
    .state_size = sizeof(struct best_orders),
    .params = best_orders_params,
    .plan = best_orders_plan,
    .start = cv_round_trip_start,
    .decide = cv_round_trip_decide,
    .work = cv_round_trip_work,
};
