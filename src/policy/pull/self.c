/* self.c -- self-scheduling: chunks of one size, first come first served.
 * SPDX-License-Identifier: MIT
 *
 * The oldest dynamic rule. Small chunks balance well and pay latencies often; large ones
 * leave workers waiting for the last. Needs no declared costs. */
#include <math.h>

#include "policy/pull/pull.h"

struct self {
    struct cv_pull pull;
    double chunk;
};

static enum cleave_status self_plan(void *state, const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    struct self *self = state;

    if (self->chunk <= 0 && isinf(view->units_total))
        return cv_fail(err, CLEAVE_EINPUT,
                       "policy 'self' needs the parameter chunk for a stream");
    CV_TRY(cv_pull_check_size("self", "chunk", self->chunk, view, err));
    CV_TRY(cv_pull_plan(&self->pull, view, setup, err));
    if (self->chunk <= 0)
        self->chunk = view->units_total / (10.0 * self->pull.nmembers);
    return CLEAVE_OK;
}

static enum cleave_status self_start(void *state, const struct cleave_view *view,
                                     struct cleave_setup *setup, struct cleave_error *err)
{
    return cv_pull_start(&((struct self *)state)->pull, view, setup, err);
}

static double self_size(void *state, const struct cleave_view *view, uint32_t worker)
{
    (void)view;
    (void)worker;
    return ((struct self *)state)->chunk;
}

static void self_decide(void *state, const struct cleave_view *view,
                        const struct cleave_event *event, struct cleave_orders *orders)
{
    cv_pull_decide(&((struct self *)state)->pull, state, view, event, self_size, orders);
}

static const struct cleave_param self_params[] = {
    { "chunk", CLEAVE_PARAM_UNITS, offsetof(struct self, chunk), 0, 0, 1e300,
      "units of a chunk; 0: a tenth of an equal share" },
    CV_PREFETCH_PARAM(struct self, pull, 2),
    { 0 },
};

const struct cleave_policy cleave_policy_self = {
    .name = "self",
    .summary = "self-scheduling: one chunk of fixed size per request",
    .reference = "the rule of work queues and of most job runners",
    .takes_streams = true,
    .takes_joiners = true,
    .one_size = "chunk",
    .sends_first = true,
    .state_size = sizeof(struct self),
    .params = self_params,
    .plan = self_plan,
    .start = self_start,
    .decide = self_decide,
};
