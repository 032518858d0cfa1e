/* portfolio.c -- try all policies in simulation, use the best.
 * SPDX-License-Identifier: MIT
 *
 * Every policy that takes the load is simulated a few times with the expected error; the one
 * with the least mean makespan decides. Costs as many simulated runs as there are policies
 * times `trials`, and at most `limit` seconds, which are counted in steps. */
#include "policy/compound/policy_trial.h"
#include "policy/compound/registry.h"
#include "policy/common/setup.h"

struct portfolio {
    struct cv_inner inner;
    double limit_s;
    uint32_t trials;
};

static enum cleave_status portfolio_plan(void *state, const struct cleave_view *view,
                                         struct cleave_setup *setup,
                                         struct cleave_error *err)
{
    struct portfolio *portfolio = state;
    struct cv_policy_trial contest;
    char late[80];

    CV_TRY(cv_policy_trial(view, portfolio->trials, portfolio->limit_s, setup, &contest,
                           err));
    CV_TRY(cv_policy_trial_plan(&contest, &portfolio->inner, view, setup, err));
    cv_note_picked(setup, contest.best->name,
                   "least of %u policies simulated with error %g: %.5g s%s",
                   contest.tried, view->error, contest.best_s,
                   cv_policy_trial_late(&contest, portfolio->limit_s, late, sizeof late));
    return CLEAVE_OK;
}

static enum cleave_status portfolio_start(void *state, const struct cleave_view *view,
                                          struct cleave_setup *setup,
                                          struct cleave_error *err)
{
    return cv_inner_start(&((struct portfolio *)state)->inner, view, setup, err);
}

static void portfolio_decide(void *state, const struct cleave_view *view,
                             const struct cleave_event *event,
                             struct cleave_orders *orders)
{
    cv_inner_decide(&((struct portfolio *)state)->inner, view, event, orders);
}

static const struct cleave_param portfolio_params[] = {
    { "trials", CLEAVE_PARAM_COUNT, offsetof(struct portfolio, trials), 10, 1, 100000,
      "simulated runs per candidate" },
    CV_LIMIT_PARAM(struct portfolio, limit_s),
    { 0 },
};

const struct cleave_policy cleave_policy_portfolio = {
    .name = "portfolio",
    .summary = "simulates several policies with the expected error, uses the best",
    .reference = "cleave",
    .needs = CLEAVE_NEEDS_FORECAST,
    .orders_returns = true,
    .sends_first = true,
    .state_size = sizeof(struct portfolio),
    .params = portfolio_params,
    .plan = portfolio_plan,
    .start = portfolio_start,
    .decide = portfolio_decide,
};
