/* rounds_tail.c -- rounds for the part that can be trusted, factoring for the rest.
 * SPDX-License-Identifier: MIT
 *
 * The plan of `rounds` for all but a tail of the load: chunks are sent in its order, whatever
 * happens, and results come back as they get ready, after sends that wait. The tail goes to
 * whoever asks, as in rx, and takes up what the plan got wrong. How large it is decides a
 * simulation with the expected error: none, 0.1, 0.2 or 0.3 of the load, or more where the
 * error is large. Where none is offered it is half the error, 0.3 at most. */
#include <math.h>

#include "policy/compound/head_tail.h"
#include "policy/compound/registry.h"

enum { TRIALS = 10 };

struct rounds_tail {
    struct cv_head_tail two;
    double tail; /* part of the load; negative: it is looked for */
};

static enum cleave_status plan_with(struct rounds_tail *rounds, double tail,
                                    const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    rounds->two.pull.prefetch =
        rounds->two.pull.prefetch > 0 ? rounds->two.pull.prefetch : 1;
    return cv_head_tail_plan(&rounds->two, tail * view->units_total,
                             &cleave_policy_rounds, NULL, 0, view, setup, err);
}

static enum cleave_status tail_start(void *state, const struct cleave_view *view,
                                     struct cleave_setup *setup, struct cleave_error *err)
{
    return cv_head_tail_start(&((struct rounds_tail *)state)->two, view, setup, err);
}

static void tail_decide(void *state, const struct cleave_view *view,
                        const struct cleave_event *event, struct cleave_orders *orders)
{
    cv_head_tail_decide(&((struct rounds_tail *)state)->two, view, event, orders);
}

/* --- candidates, with a tail of their own ----------------------------------------------- */

#define CANDIDATE(which, part)                                                          \
    static enum cleave_status plan_##which(void *state, const struct cleave_view *view, \
                                           struct cleave_setup *setup,                  \
                                           struct cleave_error *err)                    \
    {                                                                                   \
        return plan_with(state, part, view, setup, err);                                \
    }                                                                                   \
    static const struct cleave_policy candidate_##which = {                             \
        .name = "rounds-tail",                                                          \
        .needs = CLEAVE_NEEDS_SHARED_PORT,                                              \
        .sends_first = true,                                                            \
        .state_size = sizeof(struct rounds_tail),                                       \
        .plan = plan_##which,                                                           \
        .start = tail_start,                                                            \
        .decide = tail_decide,                                                          \
    };

CANDIDATE(none, 0)
CANDIDATE(tenth, 0.1)
CANDIDATE(fifth, 0.2)
CANDIDATE(third, 0.3)
CANDIDATE(half, 0.5)

static const struct {
    const struct cleave_policy *policy;
    double tail;
} candidates[] = {
    { &candidate_none, 0 },    { &candidate_tenth, 0.1 }, { &candidate_fifth, 0.2 },
    { &candidate_third, 0.3 }, { &candidate_half, 0.5 },
};

/* The tail of the candidate that ends first with the expected error. */
static enum cleave_status find_tail(const struct cleave_view *view,
                                    struct cleave_setup *setup, double *out,
                                    struct cleave_error *err)
{
    double best_s = INFINITY;

    /* A limit may end the search: then the best so far counts. */
    *out = fmin(0.3, 0.5 * view->error);
    if (!(view->error > 0) || setup->forecast == NULL)
        return CLEAVE_OK;
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        enum cleave_status status;
        double mean_s;

        status = cleave_setup_forecast(setup, candidates[i].policy, view, TRIALS, &mean_s,
                                       err);
        if (status == CLEAVE_EPOLICY && cv_step_budget_over(setup->budget))
            break;
        CV_TRY(status);
        if (mean_s < best_s) {
            best_s = mean_s;
            *out = candidates[i].tail;
        }
    }
    return CLEAVE_OK;
}

static enum cleave_status tail_plan(void *state, const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    struct rounds_tail *rounds = state;
    double tail = rounds->tail;

    if (tail < 0)
        CV_TRY(find_tail(view, setup, &tail, err));
    return plan_with(rounds, tail, view, setup, err);
}

static const struct cleave_param tail_params[] = {
    { "tail", CLEAVE_PARAM_REAL, offsetof(struct rounds_tail, tail), -1, -1, 1,
      "part of the load that is not planned; -1: by simulation with the expected error" },
    CV_PREFETCH_PARAM(struct rounds_tail, two.pull, 1),
    { 0 },
};

const struct cleave_policy cleave_policy_rounds_tail = {
    .name = "rounds-tail",
    .summary = "rounds for what is certain, then factoring; results as they get ready",
    .reference = "cleave",
    .needs = CLEAVE_NEEDS_SHARED_PORT,
    .sends_first = true,
    .state_size = sizeof(struct rounds_tail),
    .params = tail_params,
    .plan = tail_plan,
    .start = tail_start,
    .decide = tail_decide,
};
