/* auto.c -- picks a policy from what is known. SPDX-License-Identifier: MIT
 *
 * Where a theorem says who is best, that one: without results, errors, speeds that
 * change and little memory, xmi-k for equal workers on a shared port and links where links share none (proofs
 * in docs/theory/bounds.md). Costs that may be off: portfolio. Else, also of a stream and where
 * chunks may stay open, every policy that takes
 * the load is simulated with the declared costs, and the one that ends first is taken: none
 * of them is better than what auto picks. That takes at most `limit` seconds, counted in steps
 * and not by a clock, so that the pick is the same on every machine; who would take longer
 * is left out. In a lifespan the one that does most by then is taken. What it picked and why is noted with the plan. */
#include <math.h>
#include <stdio.h>

#include <cleave/run.h>
#include "policy/compound/best_planner.h"
#include "policy/compound/policy_trial.h"
#include "policy/compound/registry.h"
#include "policy/common/setup.h"

/* Of a stream with costs that may be off; loads leave that to portfolio. */
enum { STREAM_RUNS = 20 };

struct automatic {
    struct cv_inner inner;
    double limit_s;
    double units; /* that are done in the lifespan */
};

/* The planner that is proved to be the best; NULL: nobody is. */
static const struct cleave_policy *proved_best(const struct cleave_view *view,
                                               const char **out_why)
{
    const struct cleave_policy *planner = cv_best_planner(view, out_why);

    if (view->result_ratio > 0 || view->profiles != NULL || view->memory != NULL ||
        planner == &cleave_policy_umr_plus)
        return NULL;
    return planner;
}

static enum cleave_status plan_contest(struct automatic *automatic,
                                       const struct cleave_view *view, uint32_t runs,
                                       struct cleave_setup *setup,
                                       struct cleave_error *err)
{
    struct cv_policy_trial contest;
    char late[80];

    CV_TRY(cv_policy_trial(view, runs, automatic->limit_s, setup, &contest, err));
    CV_TRY(cv_policy_trial_plan(&contest, &automatic->inner, view, setup, err));
    cv_policy_trial_late(&contest, automatic->limit_s, late, sizeof late);
    if (view->lifespan_s > 0) {
        automatic->units = cv_policy_trial_units(&contest, view);
        cv_note_picked(setup, contest.best->name,
                       "of %u policies simulated none does more%s", contest.tried, late);
    } else if (contest.second == NULL)
        cv_note_picked(setup, contest.best->name, "no other policy takes this load%s",
                       late);
    else if (contest.second_s > contest.best_s * (1 + 1e-9))
        cv_note_picked(setup, contest.best->name,
                       "it ends first of %u policies simulated, %s %.3g%% later%s",
                       contest.tried, contest.second->name,
                       100 * (contest.second_s / contest.best_s - 1), late);
    else
        cv_note_picked(setup, contest.best->name,
                       "of %u policies simulated none ends sooner%s", contest.tried,
                       late);
    return CLEAVE_OK;
}

static enum cleave_status auto_plan(void *state, const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    struct automatic *automatic = state;
    const struct cleave_policy *planner;
    const char *why;
    char limit[40];

    if (view->lifespan_s > 0)
        return plan_contest(automatic, view, 1, setup, err);
    if (isinf(view->units_total))
        return plan_contest(automatic, view, view->error > 0 ? STREAM_RUNS : 1, setup,
                            err);
    if (view->error > 0) {
        snprintf(limit, sizeof limit, "%.17g", automatic->limit_s);
        return cv_inner_plan(&automatic->inner, &cleave_policy_portfolio,
                             &(struct cleave_setting){ "limit", limit }, 1, view, setup,
                             err);
    }
    planner = view->opens ? NULL : proved_best(view, &why);
    if (planner == NULL)
        return plan_contest(automatic, view, 1, setup, err);
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

static double auto_work(const void *state)
{
    return ((const struct automatic *)state)->units;
}

static const struct cleave_param auto_params[] = {
    CV_LIMIT_PARAM(struct automatic, limit_s),
    { 0 },
};

const struct cleave_policy cleave_policy_auto = {
    .name = "auto",
    .summary = "picks from what is known, and says what it picked",
    .reference = "cleave",
    .needs = CLEAVE_NEEDS_FORECAST,
    .takes_streams = true,
    .orders_returns = true,
    .sends_first = true,
    .state_size = sizeof(struct automatic),
    .params = auto_params,
    .plan = auto_plan,
    .start = auto_start,
    .decide = auto_decide,
    .work = auto_work,
};
