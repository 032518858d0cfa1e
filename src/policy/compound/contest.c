/* contest.c -- simulate every policy that takes a load, and find who ends first.
 * SPDX-License-Identifier: MIT */
#include "policy/compound/contest.h"

#include "policy/compound/best_planner.h"
#include "policy/compound/registry.h"
#include "policy/returns/best_orders.h"

/* Better by more than rounding. */
static const double BETTER = 1 - 1e-9;

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

/* Who does not take the load is left aside; anything else that fails is told. */
static enum cleave_status enter(struct cv_contest *contest,
                                const struct cleave_policy *policy,
                                const struct cleave_view *view, uint32_t runs,
                                struct cleave_setup *setup, struct cleave_error *err)
{
    double end_s;
    const enum cleave_status status =
        cleave_setup_forecast(setup, policy, view, runs, &end_s, err);

    if (status == CLEAVE_EINPUT || status == CLEAVE_EPOLICY)
        return CLEAVE_OK;
    CV_TRY(status);
    contest->tried++;
    if (contest->best == NULL || end_s < contest->best_s * BETTER) {
        contest->second = contest->best;
        contest->second_s = contest->best_s;
        contest->best = policy;
        contest->best_s = end_s;
    } else if (contest->second == NULL || end_s < contest->second_s * BETTER) {
        contest->second = policy;
        contest->second_s = end_s;
    }
    return CLEAVE_OK;
}

enum cleave_status cv_contest(const struct cleave_view *view, uint32_t runs,
                              struct cleave_setup *setup, struct cv_contest *out,
                              struct cleave_error *err)
{
    const struct cleave_policy *planner = cv_best_planner(view, NULL);
    struct cleave_error aside;

    *out = (struct cv_contest){ .best = NULL };
    CV_TRY(enter(out, planner, view, runs, setup, &aside));
    for (size_t i = 0; i < cleave_policy_count(); i++) {
        const struct cleave_policy *policy = cleave_policy_at(i);

        if (policy != planner && takes_part(policy, view))
            CV_TRY(enter(out, policy, view, runs, setup, &aside));
    }
    if (out->best == NULL) /* its reason is as good as any */
        return cleave_setup_forecast(setup, planner, view, runs, &out->best_s, err);
    return CLEAVE_OK;
}
