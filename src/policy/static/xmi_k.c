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

#include "policy/common/setup.h"
#include "policy/static/umr.h"
#include "policy/static/wide_recursion.h"
#include "policy/static/xmi.h"

/* A round that shortens the makespan by less than this part of it ends the pass. */
static const double negligible = 1e-13;

struct search {
    struct cv_recursion recursion;
    struct cv_wide_recursion wide;
    bool widened; /* the best was found by the wide one */
    bool short_of_memory;
    struct cv_arena *arena;
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
                    worker->compute_latency_s + search->recursion.min;
    double compute_s =
        (search->total_s + chunks * worker->compute_latency_s) / search->nworkers;

    return fmax(port_s, compute_s);
}

static bool is_best(struct search *search, size_t chunks, double last_s, double *round_s,
                    bool whole)
{
    const struct cleave_worker *worker = search->worker;
    const double time_s = (double)chunks * worker->latency_s +
                          search->load / worker->bandwidth_ups +
                          worker->compute_latency_s + last_s;

    if (time_s < search->best_s) {
        search->best_s = time_s;
        search->best_chunks = chunks;
    }
    if (!whole)
        return true;
    if (*round_s - search->best_s <= negligible * search->best_s &&
        time_s > search->best_s)
        return false; /* not one chunk of a whole round was a gain */
    *round_s = search->best_s;
    return true;
}

/* The same with twice the digits, from the number of chunks on that they are needed for. */
static void try_wide(struct search *search, size_t from)
{
    struct cv_wide_recursion *wide = &search->wide;
    const double speed_ups = search->worker->speed_ups;
    double round_s = INFINITY;

    if (!cv_wide_init(wide, search->arena, search->max_chunks, search->nworkers)) {
        search->short_of_memory = true;
        return;
    }
    cv_wide_start(wide, search->worker, search->nworkers);
    while (wide->count < search->max_chunks) {
        const size_t best = search->best_chunks;

        cv_wide_step(wide);
        if (!cv_wide_feasible(wide, search->load, speed_ups) ||
            least_time(search, (double)wide->count) >= search->best_s)
            break;
        if (wide->count < from)
            continue;
        if (!is_best(search, wide->count,
                     cv_wide_last(wide, search->load, speed_ups).high, &round_s,
                     wide->place == 0))
            break;
        search->widened = search->widened || search->best_chunks != best;
    }
}

static void try_all(struct search *search)
{
    struct cv_recursion *recursion = &search->recursion;
    double round_s = INFINITY;

    cv_recursion_start(recursion, search->worker, search->nworkers);
    while (recursion->count < search->max_chunks) {
        cv_recursion_step(recursion);
        if (cv_recursion_doubtful(recursion, search->total_s)) {
            try_wide(search, recursion->count);
            break;
        }
        if (!cv_recursion_feasible(recursion, search->total_s) ||
            least_time(search, (double)recursion->count) >= search->best_s)
            break;
        if (!is_best(search, recursion->count,
                     (search->total_s - recursion->sum.offset) / recursion->sum.slope,
                     &round_s, recursion->place == 0))
            break;
    }
}

/* Run the recursion again up to the best number of chunks. */
static void fill_times(struct search *search, double *time_s)
{
    struct cv_recursion *recursion = &search->recursion;
    struct cv_wide_recursion *wide = &search->wide;
    double last_s;

    if (search->widened) {
        struct cv_wide_number last;

        cv_wide_start(wide, search->worker, search->nworkers);
        while (wide->count < search->best_chunks)
            cv_wide_step(wide);
        last = cv_wide_last(wide, search->load, search->worker->speed_ups);
        for (size_t i = 0; i < search->best_chunks; i++)
            time_s[i] = cv_wide_time(wide, i, last);
        return;
    }
    cv_recursion_start(recursion, search->worker, search->nworkers);
    while (recursion->count < search->best_chunks)
        cv_recursion_step(recursion);
    last_s = (search->total_s - recursion->sum.offset) / recursion->sum.slope;
    for (size_t i = 0; i < search->best_chunks; i++)
        time_s[i] = recursion->time[i].offset + recursion->time[i].slope * last_s;
}

static enum cleave_status make_plan(struct search *search, struct cv_arena *arena,
                                    struct cv_plan *plan, struct cleave_error *err)
{
    const size_t chunks = search->best_chunks;
    const size_t workers = chunks < search->nworkers ? chunks : search->nworkers;
    double *time_s = cv_array(arena, chunks, sizeof *time_s);

    if (time_s == NULL || !cv_plan_init(plan, arena, chunks))
        return cv_fail_memory(err, "the plan");
    fill_times(search, time_s);
    for (size_t i = 0; i < chunks; i++) {
        const size_t k = chunks - 1 - i;

        plan->worker[k] = (uint32_t)(workers - 1 - i % workers);
        plan->units[k] = search->worker->speed_ups * time_s[i];
    }
    cv_plan_settle(plan, search->load);
    return CLEAVE_OK;
}

enum cleave_status cv_xmi_k_plan(const struct cleave_worker *worker, uint32_t nworkers,
                                 double load, size_t max_chunks, struct cv_arena *arena,
                                 struct cv_xmi_k *out, struct cleave_error *err)
{
    struct search search = {
        .arena = arena,
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
    if (search.short_of_memory)
        return cv_fail_memory(err, "the chunk recursion");
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
    .sends_first = true,
    .state_size = sizeof(struct xmi_k),
    .params = xmi_k_params,
    .plan = xmi_k_plan,
    .decide = cv_static_decide,
};
