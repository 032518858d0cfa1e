/* umr_plus.c -- the best send order found for workers that are not alike.
 * SPDX-License-Identifier: MIT
 *
 * Any order of chunks has sizes that leave no gap and end together (model/load/vertex.h), so
 * what is left to choose is the order. Starts are round robin over the fastest links, or
 * over those of them that one round would use, n workers in K chunks: one pass gives all
 * K for an n. The best one is then changed chunk by chunk (order_search.c). The plans of
 * `umr` and `one-round` are candidates too, so the result is never worse.
 *
 * Where speeds change with time (profiles), that plan is one candidate, and those of
 * varied_plan.c are the others.
 *
 * Cost: the passes, O(n K) in all or on large platforms those of a few dozen n; then as
 * many steps as `effort` says, about 4 ns each. No optimum is promised: with 2 or 3
 * workers against all orders of few chunks it is found nearly always. */
#include "policy/static/umr_plus.h"

#include <math.h>
#include <string.h>

#include "policy/common/bandwidth_order.h"
#include "policy/static/one_round.h"
#include "policy/static/order_search.h"
#include "policy/common/setup.h"
#include "policy/static/umr.h"
#include "policy/static/varied_plan.h"

/* About the nanoseconds that the size of a chunk takes. */
static const double size_steps = 4;
/* Up to EXHAUSTIVE workers every n is a start; above, GRID of them and halved steps. */
enum { EXHAUSTIVE = 128, GRID = 16, LEAST_PLACES = 16, UMR_ROUNDS = 60 };

uint64_t cv_umr_plus_effort(uint32_t nworkers)
{
    const uint64_t per_pair = 10000, min = 200000, max = 24000000;
    const uint64_t effort = nworkers < 1000 ? per_pair * nworkers * nworkers : max;

    return effort < min ? min : effort > max ? max : effort;
}

struct start {
    uint32_t n;
    size_t chunks;
    double time_s;
};

static void try_start(struct cv_order_search *search, const uint32_t *order, uint32_t n,
                      struct start *best)
{
    size_t chunks = 0;
    const double time_s = cv_order_periodic(search, order, n, best->time_s, &chunks);

    if (time_s < best->time_s)
        *best = (struct start){ n, chunks, time_s };
}

static struct start best_start(struct cv_order_search *search, const uint32_t *order,
                               uint32_t max, double limit_s)
{
    struct start best = { 0, 0, limit_s };
    uint32_t step;

    if (max > search->max_chunks)
        max = (uint32_t)search->max_chunks;
    step = max <= EXHAUSTIVE ? 1 : max / GRID;
    for (uint32_t n = max; n > 0; n = n > step ? n - step : 0)
        try_start(search, order, n, &best);
    while (step > 1 && best.n > 0) {
        const uint32_t middle = best.n;

        step = (step + 1) / 2;
        if (max - middle >= step)
            try_start(search, order, middle + step, &best);
        if (middle > step)
            try_start(search, order, middle - step, &best);
    }
    return best;
}

/* Round robin over the fastest links, or over the workers that one round would use: the
 * former takes no notice of workers whose latencies are too long for the load. */
static bool begin(struct cv_order_search *search, const struct cv_plan *one_round,
                  struct cv_arena *arena)
{
    uint32_t *all = cv_array(arena, search->nworkers, sizeof *all);
    struct start fastest, chosen;

    if (all == NULL)
        return false;
    for (uint32_t i = 0; i < search->nworkers; i++)
        all[i] = i;
    fastest = best_start(search, all, search->nworkers, INFINITY);
    if (fastest.n > 0)
        cv_order_begin(search, all, fastest.n, fastest.chunks, fastest.time_s);
    chosen = best_start(search, one_round->worker, (uint32_t)one_round->nchunks,
                        fastest.time_s);
    if (chosen.n > 0)
        cv_order_begin(search, one_round->worker, chosen.n, chosen.chunks, chosen.time_s);
    return true;
}

/* The plan of the best order found; empty if there is none. */
static enum cleave_status found_plan(const struct cv_order_search *search,
                                     const struct cleave_worker *workers,
                                     struct cv_arena *arena, struct cv_plan *plan,
                                     struct cleave_error *err)
{
    const size_t n = search->best.n;
    struct cv_vertex_workspace room;
    bool feasible;

    if (!cv_plan_init(plan, arena, n) ||
        !cv_vertex_room_init(&room, arena, n, search->nworkers))
        return cv_fail_memory(err, "the plan");
    memcpy(plan->worker, search->best.seq, n * sizeof *plan->worker);
    (void)cv_vertex_solve(workers, search->load, plan->worker, n, &room, plan->units,
                          &feasible);
    cv_plan_settle(plan, search->load);
    return CLEAVE_OK;
}

static void consider(struct cv_umr_plus *best, const struct cv_plan *plan, double time_s)
{
    if (plan->nchunks == 0 || !(time_s < best->makespan_s))
        return;
    best->plan = *plan;
    best->makespan_s = time_s;
}

/* Everything happens on the workers sorted by bandwidth: neighbours in an order are then
 * neighbours in memory, without which large platforms take several times as long. */
static enum cleave_status plan_sorted(const struct cleave_worker *sorted,
                                      uint32_t nworkers, double load, size_t max_chunks,
                                      uint64_t effort, struct cv_arena *arena,
                                      struct cv_umr_plus *out, struct cleave_error *err)
{
    double *ready = cv_array(arena, nworkers, sizeof *ready);
    struct cv_order_search search;
    struct cv_one_round one_round;
    struct cv_umr umr;
    struct cv_plan plan;

    if (ready == NULL ||
        !cv_order_search_init(&search, sorted, nworkers, load, max_chunks, effort, arena))
        return cv_fail_memory(err, "the search for an order");
    CV_TRY(cv_umr_plan_enough(sorted, nworkers, load, UMR_ROUNDS, arena, &umr, err));
    CV_TRY(cv_one_round_plan(sorted, nworkers, load, arena, &one_round, err));
    if (!begin(&search, &one_round.plan, arena))
        return cv_fail_memory(err, "the search for an order");
    *out = (struct cv_umr_plus){ .makespan_s = INFINITY, .umr_s = umr.makespan_s };
    out->periodic_s = search.best.time_s;
    /* Trying all workers at one place costs twice their number times the chunks; effort
     * for a few places only would change nothing to speak of. */
    if ((double)nworkers * (double)search.best.n * LEAST_PLACES < (double)effort &&
        search.best.n > 0)
        cv_order_improve(&search);
    CV_TRY(found_plan(&search, sorted, arena, &plan, err));
    consider(out, &plan, cv_plan_makespan(sorted, nworkers, &plan, ready));
    consider(out, &umr.plan, umr.makespan_s);
    consider(out, &one_round.plan, one_round.makespan_s);
    out->steps = search.steps;
    return CLEAVE_OK;
}

enum cleave_status cv_umr_plus_plan(const struct cleave_worker *workers,
                                    uint32_t nworkers, double load, size_t max_chunks,
                                    uint64_t effort, struct cv_arena *arena,
                                    struct cv_umr_plus *out, struct cleave_error *err)
{
    const uint32_t *order = cv_bandwidth_order(workers, nworkers, arena);
    struct cleave_worker *sorted = cv_array(arena, nworkers, sizeof *sorted);
    struct cv_umr_plus result = { 0 };

    if (order == NULL || sorted == NULL)
        return cv_fail_memory(err, "the search for an order");
    for (uint32_t i = 0; i < nworkers; i++)
        sorted[i] = workers[order[i]];
    CV_TRY(plan_sorted(sorted, nworkers, load, max_chunks, effort, arena, &result, err));
    for (size_t k = 0; k < result.plan.nchunks; k++)
        result.plan.worker[k] = order[result.plan.worker[k]];
    *out = result;
    return CLEAVE_OK;
}

struct umr_plus {
    struct cv_static fixed;
    uint32_t max_chunks, effort;
};

static enum cleave_status umr_plus_plan(void *state, const struct cleave_view *view,
                                        struct cleave_setup *setup,
                                        struct cleave_error *err)
{
    struct umr_plus *umr_plus = state;
    const size_t max_chunks =
        umr_plus->max_chunks > 0 ? umr_plus->max_chunks : cv_chunk_cap(view->nworkers);
    const uint64_t effort = umr_plus->effort > 0 ? (uint64_t)umr_plus->effort * 1000
                                                 : cv_umr_plus_effort(view->nworkers);
    bool *served = cv_array(setup->arena, view->nworkers, sizeof *served);
    struct cv_umr_plus found = { 0 };

    if (served == NULL)
        return cv_fail_memory(err, "the plan");
    CV_TRY(cv_umr_plus_plan(view->workers, view->nworkers, view->units_total, max_chunks,
                            effort, setup->arena, &found, err));
    cv_step_budget_spend(setup->budget, size_steps * (double)found.steps);
    if (view->profiles != NULL)
        CV_TRY(cv_varied_plan(view, false, &found.plan, setup, &found.plan,
                              &found.makespan_s, err));
    for (size_t k = 0; k < found.plan.nchunks; k++)
        served[found.plan.worker[k]] = true;
    for (uint32_t i = 0; i < view->nworkers; i++)
        if (!served[i])
            cv_note_left_out(setup, i,
                             "no order was found in which it shortens the makespan: its "
                             "link (%g units/s, %g s) costs the others more than its "
                             "speed (%g units/s) saves",
                             view->workers[i].bandwidth_ups, view->workers[i].latency_s,
                             view->workers[i].speed_ups);
    umr_plus->fixed.plan = found.plan;
    return cv_static_index(&umr_plus->fixed, view, setup, err);
}

static const struct cleave_param umr_plus_params[] = {
    { "max_chunks", CLEAVE_PARAM_COUNT, offsetof(struct umr_plus, max_chunks), 0, 0,
      (double)CV_MAX_CHUNKS,
      "most chunks in all; 0: 2000, or 64 per worker if that is more" },
    { "effort", CLEAVE_PARAM_COUNT, offsetof(struct umr_plus, effort), 0, 0, 4e9,
      "thousands of chunk sizes to compute, about 4 us each; 0: by the number of "
      "workers" },
    { 0 },
};

const struct cleave_policy cleave_policy_umr_plus = {
    .name = "umr-plus",
    .summary = "the best send order found for unequal workers, sizes without gaps",
    .reference = "cleave; starts from the rounds of Yang and Casanova",
    .uses_profiles = true,
    .sends_first = true,
    .state_size = sizeof(struct umr_plus),
    .params = umr_plus_params,
    .plan = umr_plus_plan,
    .decide = cv_static_decide,
};
