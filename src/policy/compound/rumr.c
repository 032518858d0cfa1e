/* rumr.c -- robust UMR: umr for the part that can be trusted, factoring for the rest.
 * SPDX-License-Identifier: MIT
 *
 * With an expected error e of the declared costs, min(1, e) of the load goes to weighted
 * factoring, provided that gives each worker at least the units that cover one chunk's
 * overhead, S (alpha + n beta) on average; for each worker by itself that is also its least
 * chunk, and whoever takes longer to start than the tail lasts gets none of it. (With alike
 * = 1 all have the mean of it as their least chunk, as it was first read: slow workers get
 * chunks then that all others wait for.) The tail does the levelling, so that the last round of umr is left as its series has it. With e = 0
 * it is umr.
 * After Yang and Casanova, HPDC-12, 2003, in our reading: that text leaves details open. */
#include <math.h>
#include <stdio.h>

#include <cleave/run.h>
#include "policy/compound/head_tail.h"
#include "policy/compound/registry.h"

struct rumr {
    struct cv_head_tail two;
    uint32_t max_rounds;
};

static enum cleave_status rumr_plan(void *state, const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    struct rumr *rumr = state;
    double tail = fmin(1, view->error) * view->units_total;
    char max_rounds[16];
    struct cleave_setting settings[] = { { "max_rounds", max_rounds }, { "level", "0" } };

    snprintf(max_rounds, sizeof max_rounds, "%u", rumr->max_rounds);
    if (tail > 0) {
        CV_TRY(cv_head_tail_plan(&rumr->two, tail, &cleave_policy_umr, settings, 2, view,
                                 setup, err));
        if (tail / rumr->two.pull.nmembers >=
            cv_overhead_units(view, rumr->two.pull.member))
            return CLEAVE_OK;
    }
    return cv_head_tail_plan(&rumr->two, 0, &cleave_policy_umr, settings, 1, view, setup,
                             err);
}

static enum cleave_status rumr_start(void *state, const struct cleave_view *view,
                                     struct cleave_setup *setup, struct cleave_error *err)
{
    return cv_head_tail_start(&((struct rumr *)state)->two, view, setup, err);
}

static void rumr_decide(void *state, const struct cleave_view *view,
                        const struct cleave_event *event, struct cleave_orders *orders)
{
    cv_head_tail_decide(&((struct rumr *)state)->two, view, event, orders);
}

static const struct cleave_param rumr_params[] = {
    { "max_rounds", CLEAVE_PARAM_COUNT, offsetof(struct rumr, max_rounds), 60, 1, 100000,
      "most rounds of the umr part" },
    CV_PREFETCH_PARAM(struct rumr, two.pull, 1),
    { "alike", CLEAVE_PARAM_COUNT, offsetof(struct rumr, two.alike), 0, 0, 1,
      "1: one least chunk for all workers in the second phase, the mean over them" },
    { 0 },
};

const struct cleave_policy cleave_policy_rumr = {
    .name = "rumr",
    .summary = "umr for what the expected error leaves certain, then weighted factoring",
    .reference = "Yang and Casanova 2003",
    .sends_first = true,
    .state_size = sizeof(struct rumr),
    .params = rumr_params,
    .plan = rumr_plan,
    .start = rumr_start,
    .decide = rumr_decide,
};
