/* factoring.c -- batches of equal chunks that share half of the units left.
 * SPDX-License-Identifier: MIT
 *
 * A batch is N requests of left / (2N) units, `left` at the start of the batch (FAC2).
 * Weighted factoring multiplies a worker's chunks by its share of the declared speeds, N
 * S_i / sum S. Hummel, Schonberg and Flynn, Comm. ACM 35(8), 1992; Hummel, Schmidt, Uma
 * and Wein, SPAA 1996. */
#include "policy/pull/pull.h"

struct factoring {
    struct cv_pull pull;
    struct cv_batch batch;
    double mean_speed; /* weighted factoring only */
};

static enum cleave_status factoring_plan(void *state, const struct cleave_view *view,
                                         struct cleave_setup *setup,
                                         struct cleave_error *err)
{
    struct factoring *factoring = state;

    if (factoring->pull.min <= 0)
        factoring->pull.min = cv_least_chunk(view);
    factoring->mean_speed = cv_mean_speed(view, NULL);
    return cv_pull_plan(&factoring->pull, view, setup, err);
}

static enum cleave_status factoring_start(void *state, const struct cleave_view *view,
                                          struct cleave_setup *setup,
                                          struct cleave_error *err)
{
    return cv_pull_start(&((struct factoring *)state)->pull, view, setup, err);
}

static double equal_size(void *state, const struct cleave_view *view, uint32_t worker)
{
    (void)worker;
    return cv_batch_next(&((struct factoring *)state)->batch, view, view->nworkers);
}

static double weighted_size(void *state, const struct cleave_view *view, uint32_t worker)
{
    struct factoring *factoring = state;

    return cv_batch_next(&factoring->batch, view, view->nworkers) *
           (view->workers[worker].speed_ups / factoring->mean_speed);
}

static void equal_decide(void *state, const struct cleave_view *view,
                         const struct cleave_event *event, struct cleave_orders *orders)
{
    cv_pull_decide(&((struct factoring *)state)->pull, state, view, event, equal_size,
                   orders);
}

static void weighted_decide(void *state, const struct cleave_view *view,
                            const struct cleave_event *event,
                            struct cleave_orders *orders)
{
    cv_pull_decide(&((struct factoring *)state)->pull, state, view, event, weighted_size,
                   orders);
}

static const struct cleave_param factoring_params[] = {
    CV_LEAST_PARAM(struct factoring, pull),
    CV_PREFETCH_PARAM(struct factoring, pull, 1),
    { 0 },
};

const struct cleave_policy cleave_policy_factoring = {
    .name = "factoring",
    .summary = "batches of equal chunks that share half of the rest",
    .reference = "Hummel, Schonberg and Flynn 1992",
    .sends_first = true,
    .state_size = sizeof(struct factoring),
    .params = factoring_params,
    .plan = factoring_plan,
    .start = factoring_start,
    .decide = equal_decide,
};

const struct cleave_policy cleave_policy_weighted_factoring = {
    .name = "weighted-factoring",
    .summary = "factoring with chunks in proportion to declared speeds",
    .reference = "Hummel, Schmidt, Uma and Wein 1996",
    .sends_first = true,
    .state_size = sizeof(struct factoring),
    .params = factoring_params,
    .plan = factoring_plan,
    .start = factoring_start,
    .decide = weighted_decide,
};

/* --- guided self-scheduling: 1/N of what is left ------------------------------------ */

/* Chunks shrink geometrically, by (1 - 1/N) each, down to a least size. Needs no speeds;
 * a slow worker that asks first gets the largest chunk.
 * Polychronopoulos and Kuck, IEEE Trans. Computers C-36(12), 1987. */

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
    .summary = "guided self-scheduling: each request takes 1/N of the rest",
    .reference = "Polychronopoulos and Kuck 1987",
    .sends_first = true,
    .state_size = sizeof(struct guided),
    .params = guided_params,
    .plan = guided_plan,
    .start = guided_start,
    .decide = guided_decide,
};
