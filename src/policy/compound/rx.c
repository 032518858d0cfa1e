/* rx.c -- the best plan for the part that can be trusted, factoring for the rest.
 * SPDX-License-Identifier: MIT
 *
 * As rumr, with the planner made for the platform for the head and min(1, kappa e) of
 * the load for the tail, whose chunks are at least the units that cover one chunk's
 * overhead at that worker. (To send the first tail chunk while the last head chunk is computed closes
 * the gap between the two, but commits too early: 1 to 3 % worse for errors of 0.1 to
 * 0.5.) */
#include <math.h>

#include "policy/compound/best_planner.h"
#include "policy/compound/head_tail.h"

struct rx {
    struct cv_head_tail two;
    double kappa;
};

static enum cleave_status rx_plan(void *state, const struct cleave_view *view,
                                  struct cleave_setup *setup, struct cleave_error *err)
{
    struct rx *rx = state;

    return cv_head_tail_plan(&rx->two,
                             fmin(1, rx->kappa * view->error) * view->units_total,
                             cv_best_planner(view, NULL), NULL, 0, view, setup, err);
}

static enum cleave_status rx_start(void *state, const struct cleave_view *view,
                                   struct cleave_setup *setup, struct cleave_error *err)
{
    return cv_head_tail_start(&((struct rx *)state)->two, view, setup, err);
}

static void rx_decide(void *state, const struct cleave_view *view,
                      const struct cleave_event *event, struct cleave_orders *orders)
{
    cv_head_tail_decide(&((struct rx *)state)->two, view, event, orders);
}

static const struct cleave_param rx_params[] = {
    { "kappa", CLEAVE_PARAM_REAL, offsetof(struct rx, kappa), 1, 0, 100,
      "share of the load kept for the tail, as a multiple of the expected error" },
    CV_PREFETCH_PARAM(struct rx, two.pull, 1),
    { "alike", CLEAVE_PARAM_COUNT, offsetof(struct rx, two.alike), 0, 0, 1,
      "1: one least chunk for all workers in the tail, the mean over them" },
    { 0 },
};

const struct cleave_policy cleave_policy_rx = {
    .name = "rx",
    .summary = "the best plan for what is certain, then factoring",
    .reference = "cleave",
    .uses_profiles = true,
    .sends_first = true,
    .state_size = sizeof(struct rx),
    .params = rx_params,
    .plan = rx_plan,
    .start = rx_start,
    .decide = rx_decide,
};
