/* portfolio.c -- try several policies in simulation, use the best.
 * SPDX-License-Identifier: MIT
 *
 * Each candidate is simulated a few times with the expected error; the one with the
 * least mean makespan decides. Costs as many simulated runs as there are candidates
 * times `trials`. */
#include "policy/compound/best_planner.h"
#include "policy/compound/registry.h"
#include "policy/kit/setup.h"

struct portfolio {
    struct cv_inner inner;
    uint32_t trials;
};

static const struct cleave_policy *const candidates[] = {
    &cleave_policy_umr,    &cleave_policy_xmi_k,     &cleave_policy_umr_plus,
    &cleave_policy_links,  &cleave_policy_factoring, &cleave_policy_weighted_factoring,
    &cleave_policy_guided, &cleave_policy_rumr,      &cleave_policy_rx,
};

/* Of the planners, only the one made for this kind of platform. */
static bool applies(const struct cleave_policy *policy, const struct cleave_view *view)
{
    if (policy == &cleave_policy_links || policy == &cleave_policy_xmi_k ||
        policy == &cleave_policy_umr_plus)
        return policy == cv_best_planner(view, NULL);
    return true;
}

static enum cleave_status portfolio_plan(void *state, const struct cleave_view *view,
                                         struct cleave_setup *setup,
                                         struct cleave_error *err)
{
    struct portfolio *portfolio = state;
    const struct cleave_policy *best = NULL;
    double best_s = 0;
    unsigned tried = 0;

    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        const struct cleave_policy *policy = candidates[i];
        double mean_s;

        if (!applies(policy, view))
            continue;
        CV_TRY(
            cleave_setup_forecast(setup, policy, view, portfolio->trials, &mean_s, err));
        tried++;
        if (best == NULL || mean_s < best_s) {
            best = policy;
            best_s = mean_s;
        }
    }
    CV_TRY(cv_inner_plan(&portfolio->inner, best, NULL, 0, view, setup, err));
    cv_note_picked(setup, best->name,
                   "least of %u policies simulated with error %g: %.5g s", tried,
                   view->error, best_s);
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
    .state_size = sizeof(struct portfolio),
    .params = portfolio_params,
    .plan = portfolio_plan,
    .start = portfolio_start,
    .decide = portfolio_decide,
};
