/* auto.c -- picks a policy from what is known. SPDX-License-Identifier: MIT
 *
 * Costs that may be off: portfolio. Exact costs: the planner made for the platform. What it picked and why is noted with the plan. */
#include "policy/best_planner.h"
#include "policy/registry.h"
#include "policy/setup.h"

struct automatic {
    struct cv_inner inner;
};

static enum cleave_status auto_plan(void *state, const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    struct automatic *automatic = state;
    const struct cleave_policy *planner;
    const char *why;

    if (view->error > 0)
        return cv_inner_plan(&automatic->inner, &cleave_policy_portfolio, NULL, 0, view,
                             setup, err);
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
    const struct cv_inner *inner = &((struct automatic *)state)->inner;

    inner->policy->decide(inner->state, view, event, orders);
}

const struct cleave_policy cleave_policy_auto = {
    .name = "auto",
    .summary = "picks from what is known, and says what it picked",
    .reference = "cleave",
    .needs = CLEAVE_NEEDS_FORECAST,
    .state_size = sizeof(struct automatic),
    .plan = auto_plan,
    .start = auto_start,
    .decide = auto_decide,
};
