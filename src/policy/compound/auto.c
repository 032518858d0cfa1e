/* auto.c -- picks a policy from what is known. SPDX-License-Identifier: MIT
 *
 * Costs that may be off: portfolio. Exact costs and no results: the planner made for the
 * platform. Exact costs and results: the best of one round, which is best-orders where its
 * search is quick and else the best of fifo and lifo, or the planner of many rounds if it
 * ends sooner although it did not plan the returns. What it picked and why is noted with the
 * plan. */
#include <math.h>

#include "model/bounds/load_bounds.h"
#include "policy/returns/best_orders.h"
#include "policy/compound/best_planner.h"
#include "policy/compound/registry.h"
#include "policy/kit/setup.h"

struct automatic {
    struct cv_inner inner;
};

/* The one-round policies to choose from, simplest first: a later one must be better. */
static const struct cleave_policy *const one_round[] = {
    &cleave_policy_fifo,
    &cleave_policy_lifo,
    &cleave_policy_small_results,
    &cleave_policy_best_orders,
};

/* Better by more than rounding. */
static const double BETTER = 1 - 1e-9;

static bool applies(const struct cleave_policy *policy, const struct cleave_view *view)
{
    if (policy == &cleave_policy_best_orders || policy == &cleave_policy_small_results)
        return view->nworkers <= CV_SEARCH_QUICK;
    return true;
}

static enum cleave_status best_of_one_round(const struct cleave_view *view,
                                            struct cleave_setup *setup,
                                            const struct cleave_policy **out,
                                            double *out_s, struct cleave_error *err)
{
    *out = NULL;
    for (size_t i = 0; i < sizeof one_round / sizeof *one_round; i++) {
        double end_s;

        if (!applies(one_round[i], view))
            continue;
        CV_TRY(cleave_setup_forecast(setup, one_round[i], view, 1, &end_s, err));
        if (*out == NULL || end_s < *out_s * BETTER) {
            *out = one_round[i];
            *out_s = end_s;
        }
    }
    return CLEAVE_OK;
}

/* How much longer than the best schedule of one round it can be at most. */
static double over_one_round(const struct cleave_view *view, double end_s,
                             struct cv_arena *arena)
{
    const struct cv_bound_query query = { .workers = view->workers,
                                          .nworkers = view->nworkers,
                                          .port = view->port,
                                          .load = view->units_total,
                                          .result_ratio = view->result_ratio,
                                          .one_round = true };
    struct cleave_bound bounds[CV_MAX_BOUNDS];
    size_t tightest;

    if (cv_load_bounds(&query, arena, bounds, &tightest) == 0)
        return NAN;
    return end_s / bounds[tightest].value_s - 1;
}

static enum cleave_status plan_results(struct automatic *automatic,
                                       const struct cleave_view *view,
                                       struct cleave_setup *setup,
                                       struct cleave_error *err)
{
    const struct cleave_policy *rounds = cv_best_planner(view, NULL), *best;
    double rounds_s = INFINITY, best_s = 0, over;

    CV_TRY(best_of_one_round(view, setup, &best, &best_s, err));
    CV_TRY(cleave_setup_forecast(setup, rounds, view, 1, &rounds_s, err));
    if (rounds_s < best_s * BETTER) {
        CV_TRY(cv_inner_plan(&automatic->inner, rounds, NULL, 0, view, setup, err));
        cv_note_picked(setup, rounds->name,
                       "several rounds end %.3g%% sooner than %s, the best of one round, "
                       "although results come back as they get ready",
                       100 * (best_s / rounds_s - 1), best->name);
        return CLEAVE_OK;
    }
    CV_TRY(cv_inner_plan(&automatic->inner, best, NULL, 0, view, setup, err));
    over = over_one_round(view, best_s, setup->arena);
    cv_note_picked(setup, best->name,
                   "the best found of one round, at most %.2g%% over the best there is; "
                   "several rounds (%s) end %.3g%% later",
                   100 * fmax(0, over), rounds->name, 100 * (rounds_s / best_s - 1));
    return CLEAVE_OK;
}

static enum cleave_status auto_plan(void *state, const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    struct automatic *automatic = state;
    const struct cleave_policy *planner;
    const char *why;

    if (view->error > 0)
        return cv_inner_plan(&automatic->inner, &cleave_policy_portfolio, NULL, 0, view,
                             setup, err);
    if (view->result_ratio > 0 && view->port != CLEAVE_PORT_MULTI)
        return plan_results(automatic, view, setup, err);
    planner = cv_best_planner(view, &why);
    CV_TRY(cv_inner_plan(&automatic->inner, planner, NULL, 0, view, setup, err));
    cv_note_picked(setup, planner->name, "%s", why);
    return CLEAVE_OK;
}

static enum cleave_status auto_start(void *state, const struct cleave_view *view,
                                     struct cleave_setup *setup, struct cleave_error *err)
{
    return cv_inner_start(&((struct automatic *)state)->inner, view, setup, err);
}

static void auto_decide(void *state, const struct cleave_view *view,
                        const struct cleave_event *event, struct cleave_orders *orders)
{
    cv_inner_decide(&((struct automatic *)state)->inner, view, event, orders);
}

const struct cleave_policy cleave_policy_auto = {
    .name = "auto",
    .summary = "picks from what is known, and says what it picked",
    .reference = "cleave",
    .needs = CLEAVE_NEEDS_FORECAST,
    .orders_returns = true,
    .state_size = sizeof(struct automatic),
    .plan = auto_plan,
    .start = auto_start,
    .decide = auto_decide,
};
