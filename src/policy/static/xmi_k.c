/* xmi_k.c -- multi-installment with the best number of workers and of chunks.
 * SPDX-License-Identifier: MIT
 *
 * The recursion of xmi.c counts chunks from the end, so one pass over it gives the sizes
 * of every number K of chunks, whole rounds or not (the first round may be partial, and
 * fewer chunks than workers leave workers out). With T = load / speed, running sums A, B
 * of slopes and offsets and g the least time of the last chunk that leaves none negative:
 *
 *     g_0 = (T - B) / A,  feasible iff g_0 >= g,
 *     makespan = K beta + load / bandwidth + alpha + g_0.
 *
 * Round robin over min(N, K) workers is optimal over all orders and numbers of chunks
 * (docs/theory/bounds.md), so that this is the optimum for equal workers: O(K). The pass ends
 * when the chunks need more than the load, for longer series need still more, or when no
 * schedule of that many chunks can beat the best so far; without latencies, when a round
 * more changes nothing. Only a limit on the number of chunks can make it worse than
 * `umr`, whose plan is compared unless the limit was asked for. */
#include "policy/static/xmi_k.h"

#include <math.h>

#include "policy/kit/setup.h"
#include "policy/static/umr.h"
#include "policy/static/xmi.h"

/* A round that shortens the makespan by less than this part of it ends the pass. */
static const double negligible = 1e-13;

struct search {
    struct cv_recursion recursion;
    const struct cleave_worker *worker;
    uint32_t nworkers;
    double load, total_s;
    size_t max_chunks;
    size_t best_chunks;
    double best_s;
};

/* No schedule of so many chunks or more ends before this: they all pass the port and
 * start up somewhere. */
static double least_time(const struct search *search, double chunks)
{
    const struct cleave_worker *worker = search->worker;
    double port_s = chunks * worker->latency_s + search->load / worker->bandwidth_ups +
                    worker->compute_latency_s + search->recursion.least;
    double compute_s =
        (search->total_s + chunks * worker->compute_latency_s) / search->nworkers;

    return fmax(port_s, compute_s);
}

static void try_all(struct search *search)
{
    struct cv_recursion *recursion = &search->recursion;
    const struct cleave_worker *worker = search->worker;
    double round_s = INFINITY;

    cv_recursion_start(recursion, worker, search->nworkers);
    while (recursion->count < search->max_chunks) {
        double time_s;

        cv_recursion_step(recursion);
        if (!cv_recursion_feasible(recursion, search->total_s) ||
            least_time(search, (double)recursion->count) >= search->best_s)
            break;
        time_s = (double)recursion->count * worker->latency_s +
                 search->load / worker->bandwidth_ups + worker->compute_latency_s +
                 (search->total_s - recursion->sum.offset) / recursion->sum.slope;
        if (time_s < search->best_s) {
            search->best_s = time_s;
            search->best_chunks = recursion->count;
        }
        if (recursion->place != 0)
            continue;
        if (round_s - search->best_s <= negligible * search->best_s &&
            time_s > search->best_s)
            break; /* not one chunk of a whole round was a gain */
        round_s = search->best_s;
    }
}

static enum cleave_status make_plan(struct search *search, struct cv_arena *arena,
                                    struct cv_plan *plan, struct cleave_error *err)
{
    struct cv_recursion *recursion = &search->recursion;
    const size_t chunks = search->best_chunks;
    const size_t workers = chunks < search->nworkers ? chunks : search->nworkers;
    double last_s;

    if (!cv_plan_init(plan, arena, chunks))
        return cv_fail_memory(err, "the plan");
    cv_recursion_start(recursion, search->worker, search->nworkers);
    while (recursion->count < chunks)
        cv_recursion_step(recursion);
    last_s = (search->total_s - recursion->sum.offset) / recursion->sum.slope;
    for (size_t i = 0; i < chunks; i++) {
        const size_t k = chunks - 1 - i;

        plan->worker[k] = (uint32_t)(workers - 1 - i % workers);
        plan->units[k] = search->worker->speed_ups *
                         (recursion->time[i].offset + recursion->time[i].slope * last_s);
    }
    cv_plan_settle(plan, search->load);
    return CLEAVE_OK;
}

enum cleave_status cv_xmi_k_plan(const struct cleave_worker *worker, uint32_t nworkers,
                                 double load, size_t max_chunks, struct cv_arena *arena,
                                 struct cv_xmi_k *out, struct cleave_error *err)
{
    struct search search = {
        .worker = worker,
        .nworkers = nworkers,
        .load = load,
        .total_s = load / worker->speed_ups,
        .max_chunks = max_chunks,
        .best_s = INFINITY,
    };
    struct cv_xmi_k result = { 0 };

    if (!cv_recursion_init(&search.recursion, arena, max_chunks, nworkers))
        return cv_fail_memory(err, "the chunk recursion");
    try_all(&search);
    if (search.best_chunks == 0) /* only if everything overflowed */
        search.best_chunks = 1;
    CV_TRY(make_plan(&search, arena, &result.plan, err));
    result.chunks = search.best_chunks;
    result.workers =
        search.best_chunks < nworkers ? (uint32_t)search.best_chunks : nworkers;
    result.makespan_s = search.best_s;
    *out = result;
    return CLEAVE_OK;
}

struct xmi_k {
    struct cv_static fixed;
    uint32_t max_chunks;
};

/* `umr` may win with more chunks than are tried. */
static enum cleave_status compare_umr(const struct cleave_view *view, double best_s,
                                      struct cleave_setup *setup, struct cv_plan *plan,
                                      uint32_t *out_workers, struct cleave_error *err)
{
    enum { ROUNDS = 60 };
    struct cv_umr umr = { 0 };

    CV_TRY(cv_umr_plan_enough(view->workers, view->nworkers, view->units_total, ROUNDS,
                              setup->arena, &umr, err));
    if (umr.makespan_s < best_s) {
        *plan = umr.plan;
        *out_workers = umr.workers;
    }
    return CLEAVE_OK;
}

static enum cleave_status xmi_k_plan(void *state, const struct cleave_view *view,
                                     struct cleave_setup *setup, struct cleave_error *err)
{
    struct xmi_k *xmi_k = state;
    const size_t max_chunks =
        xmi_k->max_chunks > 0 ? xmi_k->max_chunks : cv_chunk_cap(view->nworkers);
    struct cv_xmi_k best = { 0 };

    CV_TRY(cv_xmi_k_plan(view->workers, view->nworkers, view->units_total, max_chunks,
                         setup->arena, &best, err));
    xmi_k->fixed.plan = best.plan;
    if (xmi_k->max_chunks == 0)
        CV_TRY(compare_umr(view, best.makespan_s, setup, &xmi_k->fixed.plan,
                           &best.workers, err));
    for (uint32_t i = best.workers; i < view->nworkers; i++)
        cv_note_left_out(
            setup, i,
            "with more than %u workers the latencies of its chunks cost more "
            "time than it saves",
            best.workers);
    return cv_static_index(&xmi_k->fixed, view, setup, err);
}

static const struct cleave_param xmi_k_params[] = {
    { "max_chunks", CLEAVE_PARAM_COUNT, offsetof(struct xmi_k, max_chunks), 0, 0,
      (double)CV_MAX_CHUNKS,
      "most chunks in all; 0: 2000, or 64 per worker if that is more" },
    { 0 },
};

const struct cleave_policy cleave_policy_xmi_k = {
    .name = "xmi-k",
    .summary = "multi-installment with the best number of workers and chunks",
    .reference = "search over the recursion of Yang and Casanova, section 4",
    .needs = CLEAVE_NEEDS_EQUAL_WORKERS,
    .state_size = sizeof(struct xmi_k),
    .params = xmi_k_params,
    .plan = xmi_k_plan,
    .decide = cv_static_decide,
};
