/* policy_trial.c -- simulate every policy that takes a load, and find who ends first.
 * SPDX-License-Identifier: MIT */
#include "policy/compound/policy_trial.h"

#include <math.h>
#include <stdio.h>

#include "policy/compound/best_planner.h"
#include "policy/compound/registry.h"
#include "policy/returns/best_orders.h"

/* The policies that auto and portfolio try. The registry contains both, so it is above this file. */
static const struct cleave_policy *const candidates[] = {
#define X(name) &cleave_policy_##name,
    CV_PLAIN_POLICY_MAP(X)
#undef X
};
enum { CANDIDATES = sizeof candidates / sizeof *candidates };

/* Better by more than rounding. */
static const double BETTER = 1 - 1e-9;

/* What is left of the limit for the last of several contests is at least such a part. */
static const double LEAST_PART = 20;

/* Up to so many workers umr-plus finds better plans than any of one round. */
enum { MANY_WORKERS = 128 };

/* Searches over orders of workers take the square of their number and more. What is about
 * the order of results is of no use without any, except that it still finds good plans of one
 * round where others have too much to search. */
static bool takes_part(const struct cleave_policy *policy, const struct cleave_view *view)
{
    if (policy->task != CLEAVE_TASK_LOAD || (policy->needs & CLEAVE_NEEDS_FORECAST) != 0)
        return false;
    if (policy->minds_folds) /* what it gains is not in a forecast */
        return false;
    if (policy->orders_returns && policy->one_round && !(view->result_ratio > 0) &&
        view->nworkers <= MANY_WORKERS)
        return false;
    if (policy == &cleave_policy_best_orders || policy == &cleave_policy_small_results)
        return view->nworkers <= CV_SEARCH_QUICK;
    return true;
}

/* When it ends, or in a lifespan the time that a unit takes: less is better. */
static enum cleave_status measure(const struct cleave_policy *policy,
                                  const struct cleave_view *view, uint32_t runs,
                                  struct cleave_setup *setup, double *out_s,
                                  struct cleave_error *err)
{
    double units;

    if (!(view->lifespan_s > 0))
        return cleave_setup_forecast(setup, policy, view, runs, out_s, err);
    CV_TRY(cv_setup_work(setup, policy, view, &units, err));
    if (!(units > 0))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a longer lifespan: nothing ends within %g s",
                       view->lifespan_s);
    *out_s = view->lifespan_s / units;
    return CLEAVE_OK;
}

/* Who does not take the load is left aside; anything else that fails is told. */
static enum cleave_status enter(struct cv_policy_trial *contest,
                                const struct cleave_policy *policy,
                                const struct cleave_view *view, uint32_t runs,
                                struct cleave_setup *setup, struct cleave_error *err)
{
    const struct cv_step_budget allowed = cv_step_budget_half(setup->budget);
    const double before = setup->budget->spent;
    enum cleave_status status;
    double end_s;

    if (cv_step_budget_over(setup->budget)) {
        contest->late++;
        return CLEAVE_OK;
    }
    status = measure(policy, view, runs, setup, &end_s, err);
    if (setup->budget->spent - before >= allowed.limit)
        contest->late++;
    if (status == CLEAVE_EINPUT || status == CLEAVE_EPOLICY)
        return CLEAVE_OK;
    CV_TRY(status);
    contest->tried++;
    if (contest->best == NULL || end_s < contest->best_s * BETTER) {
        contest->second = contest->best;
        contest->second_s = contest->best_s;
        contest->best = policy;
        contest->best_s = end_s;
        contest->allowed = allowed.limit;
    } else if (contest->second == NULL || end_s < contest->second_s * BETTER) {
        contest->second = policy;
        contest->second_s = end_s;
    }
    return CLEAVE_OK;
}

/* Searches for orders of results: what they find is rarely the best, and takes longest. */
static bool searches_orders(const struct cleave_policy *policy)
{
    return policy->orders_returns && policy->one_round;
}

static enum cleave_status enter_however_long(struct cv_policy_trial *contest,
                                             const struct cleave_policy *policy,
                                             const struct cleave_view *view,
                                             uint32_t runs, struct cleave_setup *setup,
                                             struct cleave_error *err)
{
    const double limit = setup->budget->limit;
    enum cleave_status status;

    setup->budget->limit = INFINITY;
    status = enter(contest, policy, view, runs, setup, err);
    setup->budget->limit = limit;
    return status;
}

/* Nobody was ready in time: whoever takes the load is better than nobody. */
static enum cleave_status enter_anybody(struct cv_policy_trial *contest,
                                        const struct cleave_view *view, uint32_t runs,
                                        struct cleave_setup *setup,
                                        struct cleave_error *err)
{
    for (size_t i = 0; contest->best == NULL && i < CANDIDATES; i++)
        if (takes_part(candidates[i], view))
            CV_TRY(enter_however_long(contest, candidates[i], view, runs, setup, err));
    return CLEAVE_OK;
}

static enum cleave_status enter_all(struct cv_policy_trial *contest,
                                    const struct cleave_view *view, uint32_t runs,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    const struct cleave_policy *planner = cv_best_planner(view, NULL);
    struct cleave_error aside;

    /* The planner of the platform sets the measure, however long it takes; but not in a lifespan, for
     * which it plans again and again. */
    if (view->lifespan_s > 0)
        CV_TRY(enter(contest, planner, view, runs, setup, &aside));
    else
        CV_TRY(enter_however_long(contest, planner, view, runs, setup, &aside));
    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < CANDIDATES; i++) {
            /* Searches: who goes furthest first, as half of the time is its own. */
            const struct cleave_policy *policy =
                candidates[turn == 0 ? i : CANDIDATES - 1 - i];

            if (policy != planner && searches_orders(policy) == (turn == 1) &&
                takes_part(policy, view))
                CV_TRY(enter(contest, policy, view, runs, setup, &aside));
        }
    if (contest->best == NULL && contest->late > 0)
        CV_TRY(enter_anybody(contest, view, runs, setup, &aside));
    if (contest->best == NULL) { /* its reason is as good as any */
        setup->budget->limit = INFINITY;
        return measure(planner, view, runs, setup, &contest->best_s, err);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_policy_trial(const struct cleave_view *view, uint32_t runs,
                                   double limit_s, struct cleave_setup *setup,
                                   struct cv_policy_trial *out, struct cleave_error *err)
{
    struct cv_step_budget budget = { .limit = limit_s / 2 * CV_STEPS_A_SECOND };
    struct cv_step_budget *outer = setup->budget;
    enum cleave_status status;

    if (outer !=
        NULL) { /* one of several contests: they share it, and all that is between */
        outer->limit = fmin(outer->limit, budget.limit);
        budget.limit = fmax(budget.limit - outer->spent, budget.limit / LEAST_PART);
    }
    *out = (struct cv_policy_trial){ .best = NULL };
    setup->budget = &budget;
    status = enter_all(out, view, runs, setup, err);
    setup->budget = outer;
    cv_step_budget_spend(outer, budget.spent);
    return status;
}

enum cleave_status cv_policy_trial_plan(const struct cv_policy_trial *contest,
                                        struct cv_inner *inner,
                                        const struct cleave_view *view,
                                        struct cleave_setup *setup,
                                        struct cleave_error *err)
{
    struct cv_step_budget budget = { .limit = contest->allowed };
    struct cv_step_budget *outer = setup->budget;
    struct cleave_view told = *view;
    enum cleave_status status;

    if (view->lifespan_s > 0 && !cv_knows_work(contest->best, view)) {
        told.lifespan_s = 0;
        told.units_total = told.units_left = cv_policy_trial_units(contest, view);
    }
    setup->budget = &budget;
    status = cv_inner_plan(inner, contest->best, NULL, 0, &told, setup, err);
    setup->budget = outer;
    cv_step_budget_spend(outer, budget.spent);
    return status;
}

double cv_policy_trial_units(const struct cv_policy_trial *contest,
                             const struct cleave_view *view)
{
    return view->lifespan_s / contest->best_s;
}

const char *cv_policy_trial_late(const struct cv_policy_trial *contest, double limit_s,
                                 char *text, size_t room)
{
    text[0] = '\0';
    if (contest->late > 0)
        snprintf(text, room, "; limit=%g s cut %u of all short", limit_s, contest->late);
    return text;
}
