/* mi.c -- multi-installment: the chunk sizes of a platform without latencies.
 * SPDX-License-Identifier: MIT
 *
 * The recursion of xmi.c with both latencies set to zero, so every worker gets a chunk in
 * every round whatever it costs. Kept to compare with: `xmi` takes the same rounds and
 * is better by what it knows. O(chunks).
 *
 * V. Bharadwaj, D. Ghose and V. Mani, Multi-installment load distribution in tree
 * networks with delays, IEEE Trans. Aerospace and Electronic Systems 31(2), 1995. */
#include "policy/static/mi.h"

#include <math.h>

#include "policy/common/setup.h"

enum { MOST_ROUNDS = 8 };

/* How long round robin over equal workers takes, latencies included. */
static double round_robin_s(const struct cleave_worker *worker, uint32_t n,
                            const struct cv_plan *plan, double *ready)
{
    double port = 0, makespan = 0;

    for (uint32_t i = 0; i < n; i++)
        ready[i] = 0;
    for (size_t k = 0; k < plan->nchunks; k++) {
        double *at = &ready[plan->worker[k]];

        port += worker->latency_s + plan->units[k] / worker->bandwidth_ups;
        *at = (*at > port ? *at : port) + worker->compute_latency_s +
              plan->units[k] / worker->speed_ups;
        makespan = *at > makespan ? *at : makespan;
    }
    return makespan;
}

enum cleave_status cv_mi_plan(const struct cleave_worker *worker, uint32_t n, double load,
                              uint32_t rounds, struct cv_arena *arena, struct cv_xmi *out,
                              struct cleave_error *err)
{
    struct cleave_worker prompt = *worker;
    double *ready = cv_array(arena, n, sizeof *ready);

    if (ready == NULL)
        return cv_fail_memory(err, "the plan");
    prompt.latency_s = prompt.compute_latency_s = 0;
    CV_TRY(cv_xmi_fixed(&prompt, n, load, rounds, arena, out, err));
    out->makespan_s = round_robin_s(worker, n, &out->plan, ready);
    return CLEAVE_OK;
}

struct mi {
    struct cv_static fixed;
    uint32_t rounds;
};

static enum cleave_status mi_plan(void *state, const struct cleave_view *view,
                                  struct cleave_setup *setup, struct cleave_error *err)
{
    struct mi *mi = state;
    const uint32_t min = mi->rounds > 0 ? mi->rounds : 1;
    const uint32_t max = mi->rounds > 0 ? mi->rounds : MOST_ROUNDS;
    struct cv_xmi best = { .makespan_s = INFINITY };

    /* Without latencies no chunk can be negative, so there always is a plan. */
    for (uint32_t rounds = min; rounds <= max; rounds++) {
        struct cv_xmi tried = { 0 };

        CV_TRY(cv_mi_plan(view->workers, view->nworkers, view->units_total, rounds,
                          setup->arena, &tried, err));
        if (tried.makespan_s < best.makespan_s)
            best = tried;
    }
    mi->fixed.plan = best.plan;
    return cv_static_index(&mi->fixed, view, setup, err);
}

static const struct cleave_param mi_params[] = {
    { "rounds", CLEAVE_PARAM_COUNT, offsetof(struct mi, rounds), 0, 0, 100000,
      "number of rounds; 0: the best of 1 to 8" },
    { 0 },
};

const struct cleave_policy cleave_policy_mi = {
    .name = "mi",
    .summary = "multi-installment: sizes for a number of rounds, latencies ignored",
    .reference = "Bharadwaj, Ghose and Mani 1995",
    .needs = CLEAVE_NEEDS_EQUAL_WORKERS,
    .sends_first = true,
    .state_size = sizeof(struct mi),
    .params = mi_params,
    .plan = mi_plan,
    .decide = cv_static_decide,
};
