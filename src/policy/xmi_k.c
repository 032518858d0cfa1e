/* xmi_k.c -- multi-installment with the best number of workers and of chunks.
 * SPDX-License-Identifier: MIT
 *
 * The recursion of xmi.c counts chunks from the end, so one pass over it gives, for a
 * number n of workers, the sizes of every number K of chunks, whole rounds or not (the
 * first round may be partial). With T = load / speed, running sums A, B of slopes and
 * offsets and g the least time of the last chunk that leaves none negative:
 *
 *     g_0 = (T - B) / A,  feasible iff g_0 >= g,
 *     makespan = K beta + load / bandwidth + alpha + g_0.
 *
 * A pass ends when the chunks need more than the load, for longer series need still more,
 * when K beta + load / bandwidth + alpha + g is no better than the best so far, or when
 * a round more changes nothing. n workers cannot beat load / (n speed) + alpha + beta, so
 * going down from the largest n the search ends early: O(n K) at most. On platforms of
 * more than a few hundred workers n is searched on a grid that narrows around the best.
 *
 * Never worse than `xmi` with any number of rounds, as each is one of the (n, K), nor
 * than `umr`, whose plan is compared. In trials against every order of few chunks with
 * sizes by linear programming the result was always the optimum. */
#include "policy/xmi_k.h"

#include <math.h>

#include "policy/setup.h"
#include "policy/umr.h"
#include "policy/xmi.h"

/* Up to EXHAUSTIVE workers every number is tried; above, GRID and then halved steps. */
enum { EXHAUSTIVE = 256, GRID = 16 };
/* A round that shortens the makespan by less than this part of it ends a pass. */
static const double negligible = 1e-13;

struct search {
    struct cv_recursion recursion;
    const struct cleave_worker *worker;
    double load, total_s;
    double fixed_s; /* load / bandwidth + alpha */
    size_t max_chunks;
    uint32_t best_workers;
    size_t best_chunks;
    double best_s;
};

/* Try all numbers of chunks with n workers. Returns the shortest makespan of this n, or
 * INFINITY when none can win. */
static double try_workers(struct search *search, uint32_t n)
{
    struct cv_recursion *recursion = &search->recursion;
    double shortest_s = INFINITY, round_s = INFINITY;

    cv_recursion_start(recursion, search->worker, n);
    while (recursion->count < search->max_chunks) {
        double before_s, time_s;

        cv_recursion_step(recursion);
        if (!cv_recursion_feasible(recursion, search->total_s))
            break;
        before_s = (double)recursion->count * search->worker->latency_s + search->fixed_s;
        if (before_s + recursion->least >= search->best_s)
            break;
        if (recursion->count < n)
            continue;
        time_s =
            before_s + (search->total_s - recursion->sum.offset) / recursion->sum.slope;
        shortest_s = fmin(shortest_s, time_s);
        if (time_s < search->best_s) {
            search->best_s = time_s;
            search->best_workers = n;
            search->best_chunks = recursion->count;
        }
        if (recursion->place != 0)
            continue;
        if (round_s - shortest_s <= negligible * shortest_s && time_s > shortest_s)
            break; /* not one chunk of a whole round was a gain */
        round_s = shortest_s;
    }
    return shortest_s;
}

static bool can_win(const struct search *search, uint32_t n)
{
    return search->total_s / n + search->worker->compute_latency_s +
               search->worker->latency_s <
           search->best_s;
}

/* The most workers that can have a chunk each: the first round is the same for all. */
static uint32_t most_workers(struct search *search, uint32_t nworkers)
{
    struct cv_recursion *recursion = &search->recursion;

    if (nworkers > search->max_chunks)
        nworkers = (uint32_t)search->max_chunks;
    cv_recursion_start(recursion, search->worker, nworkers);
    for (uint32_t n = 0; n < nworkers; n++) {
        cv_recursion_step(recursion);
        if (!cv_recursion_feasible(recursion, search->total_s))
            return n > 0 ? n : 1;
    }
    return nworkers;
}

static void search_all(struct search *search, uint32_t most)
{
    for (uint32_t n = most; n > 0 && can_win(search, n); n--)
        (void)try_workers(search, n);
}

static void search_grid(struct search *search, uint32_t most)
{
    uint32_t step = most / GRID;

    for (uint32_t n = most; n > 0 && can_win(search, n); n = n > step ? n - step : 0)
        (void)try_workers(search, n);
    while (step > 1) {
        const uint32_t best = search->best_workers;

        step = (step + 1) / 2;
        if (most - best >= step)
            (void)try_workers(search, best + step);
        if (best > step && can_win(search, best - step))
            (void)try_workers(search, best - step);
    }
}

static enum cleave_status make_plan(struct search *search, struct cv_arena *arena,
                                    struct cv_plan *plan, struct cleave_error *err)
{
    struct cv_recursion *recursion = &search->recursion;
    const size_t chunks = search->best_chunks;
    double last_s;

    if (!cv_plan_init(plan, arena, chunks))
        return cv_fail_memory(err, "the plan");
    cv_recursion_start(recursion, search->worker, search->best_workers);
    while (recursion->count < chunks)
        cv_recursion_step(recursion);
    last_s = (search->total_s - recursion->sum.offset) / recursion->sum.slope;
    for (size_t i = 0; i < chunks; i++) {
        const size_t k = chunks - 1 - i;

        plan->worker[k] = search->best_workers - 1 - (uint32_t)(i % search->best_workers);
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
        .load = load,
        .total_s = load / worker->speed_ups,
        .fixed_s = load / worker->bandwidth_ups + worker->compute_latency_s,
        .max_chunks = max_chunks,
        .best_s = INFINITY,
    };
    struct cv_xmi_k result = { 0 };
    uint32_t most;

    if (!cv_recursion_init(&search.recursion, arena, max_chunks, nworkers))
        return cv_fail_memory(err, "the chunk recursion");
    most = most_workers(&search, nworkers);
    result.exhaustive = most <= EXHAUSTIVE;
    if (result.exhaustive)
        search_all(&search, most);
    else
        search_grid(&search, most);
    if (search.best_workers == 0) /* only if everything overflowed */
        search.best_workers = 1, search.best_chunks = 1;
    CV_TRY(make_plan(&search, arena, &result.plan, err));
    result.workers = search.best_workers;
    result.chunks = search.best_chunks;
    result.makespan_s = search.best_s;
    *out = result;
    return CLEAVE_OK;
}

struct xmi_k {
    struct cv_static fixed;
    uint32_t max_chunks;
};

/* `umr` may win where n was not searched fully, or with more chunks than are tried. */
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
