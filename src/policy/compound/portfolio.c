/* portfolio.c -- try all policies in simulation, use the best.
 * SPDX-License-Identifier: MIT
 *
 * Every policy that takes the load is simulated a few times with the expected error; the one
 * with the least mean makespan decides. Costs as many simulated runs as there are policies
 * times `trials`. */
#include "policy/compound/contest.h"
#include "policy/compound/registry.h"
#include "policy/kit/setup.h"

struct portfolio {
    struct cv_inner inner;
    uint32_t trials;
};

static enum cleave_status portfolio_plan(void *state, const struct cleave_view *view,
                                         struct cleave_setup *setup,
                                         struct cleave_error *err)
{
    struct portfolio *portfolio = state;
    struct cv_contest contest;

    CV_TRY(cv_contest(view, portfolio->trials, setup, &contest, err));
    CV_TRY(cv_inner_plan(&portfolio->inner, contest.best, NULL, 0, view, setup, err));
    cv_note_picked(setup, contest.best->name,
                   "least of %u policies simulated with error %g: %.5g s", contest.tried,
                   view->error, contest.best_s);
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
