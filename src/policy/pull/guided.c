/* guided.c -- guided self-scheduling: 1/N of what is left. SPDX-License-Identifier: MIT
 *
 * Chunks shrink geometrically, by (1 - 1/N) each, down to a least size. Needs no speeds;
 * a slow worker that asks first gets the largest chunk.
 * Polychronopoulos and Kuck, IEEE Trans. Computers C-36(12), 1987. */
#include "policy/pull/pull.h"

struct guided {
    struct cv_pull pull;
};

static enum cleave_status guided_plan(void *state, const struct cleave_view *view,
                                      struct cleave_setup *setup,
                                      struct cleave_error *err)
{
    struct guided *guided = state;

    if (guided->pull.min <= 0)
        guided->pull.min = cv_least_chunk(view);
    return cv_pull_plan(&guided->pull, view, setup, err);
}

static enum cleave_status guided_start(void *state, const struct cleave_view *view,
                                       struct cleave_setup *setup,
                                       struct cleave_error *err)
{
    return cv_pull_start(&((struct guided *)state)->pull, view, setup, err);
}

static double guided_size(void *state, const struct cleave_view *view, uint32_t worker)
{
    (void)state;
    (void)worker;
    return view->units_left / view->nworkers;
}

static void guided_decide(void *state, const struct cleave_view *view,
                          const struct cleave_event *event, struct cleave_orders *orders)
{
    cv_pull_decide(&((struct guided *)state)->pull, state, view, event, guided_size,
                   orders);
}

static const struct cleave_param guided_params[] = {
    CV_LEAST_PARAM(struct guided, pull),
    CV_PREFETCH_PARAM(struct guided, pull, 1),
    { 0 },
};

const struct cleave_policy cleave_policy_guided = {
    .name = "guided",
    .summary = "guided self-scheduling: whoever asks takes 1/N of what is left",
    .reference = "Polychronopoulos and Kuck 1987",
    .sends_first = true,
    .state_size = sizeof(struct guided),
    .params = guided_params,
    .plan = guided_plan,
    .start = guided_start,
    .decide = guided_decide,
};
