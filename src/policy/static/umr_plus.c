/* umr_plus.c -- the best send order found for unequal workers.
 * SPDX-License-Identifier: MIT
 *
 * Any order of chunks has sizes that leave no gap and end together (model/load/vertex.h),
 * so only the order has to be chosen. Starts are round robin over the fastest links, or
 * over those that one round would use, n workers in K chunks: one pass gives all K for an
 * n. The best one is then changed chunk by chunk. The plans of `umr` and `one-round` are
 * candidates too, so the result is never worse.
 *
 * If speeds change with time (profiles), that plan is one candidate, and varied_plan.c
 * gives the others.
 *
 * Cost: the passes, O(n K) in total, or a few dozen n on large platforms; then `effort`
 * steps of about 4 ns. No optimum is promised: with 2 or 3 workers and few chunks it is
 * nearly always found. */
#include "policy/static/umr_plus.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cleave/platform.h>
#include "base/arena.h"
#include "base/random.h"
#include "model/load/plan.h"
#include "policy/common/setup.h"
#include "policy/static/one_round.h"
#include "policy/static/umr.h"
#include "policy/static/varied_plan.h"

/* Costs of a chunk, in the form of the recursion. */
struct cv_order_cost {
    double speed_ups, latency_s;    /* computing */
    double growth, use, constant_s; /* ahead' = growth ahead - use lead + constant */
};

struct cv_order {
    uint32_t *seq;
    size_t n;
    double time_s; /* INFINITY while there is none */
};

struct cv_order_search {
    const struct cv_order_cost *cost; /* per worker                                    */
    uint32_t nworkers;
    double load;
    size_t max_chunks;
    uint64_t effort, steps;        /* limit and count of chunks whose size is computed */
    struct cv_affine *base, *lead; /* per worker; lead is scratch                   */
    struct cv_order now, best;
};

/* --- local search --------------------------------------------------------------------- */

/* The sizes follow from the last chunk to the first (model/load/vertex.c), so a change at
 * position p does not affect later chunks. A sweep goes from the last position to the
 * first, keeps the state after the current position, and tries every change whose last
 * position it is: each costs p steps of a few nanoseconds. The first change that shortens
 * the makespan is taken.
 *
 * At a local optimum a few positions of the best order are changed at random (from a
 * fixed seed) and the sweeps begin again. */

/* A change must shorten the makespan by this part, or rounding could cause a cycle. */
static const double least_gain = 1e-10;
/* See xmi.c. */
static const double cancellation = 1e-6;
/* Chunks are exchanged with the few before them, and kicks change a few. A larger reach
 * gave no better orders for the same effort. */
enum { REACH = 8, MOST_KICKS = 4 };

/* The chunks after a position. */
struct tail {
    struct cv_affine ahead; /* from the arrival of the previous chunk to the end */
    struct cv_affine sum;   /* sum of sizes */
    double min;             /* a smaller x makes a size negative */
};

static const struct tail nothing = { { 0, 1 }, { 0, 0 }, 0 };

enum change { NO_CHANGE, CHANGED, INSERTED, DELETED };

static inline void put(const struct cv_order_cost *cost, struct cv_affine *lead,
                       struct tail *tail)
{
    const struct cv_affine ahead = tail->ahead;
    const double offset =
        cost->speed_ups * (ahead.offset - lead->offset - cost->latency_s);
    const double slope = cost->speed_ups * (ahead.slope - lead->slope);

    /* The next lead in one product and one sum: the only chain of dependent steps. */
    tail->ahead.offset =
        cost->growth * ahead.offset + (cost->constant_s - cost->use * lead->offset);
    tail->ahead.slope = cost->growth * ahead.slope - cost->use * lead->slope;
    *lead = ahead;
    if (offset + tail->min * slope < 0)
        tail->min = -offset / slope;
    tail->sum.offset += offset;
    tail->sum.slope += slope;
}

/* The makespan if no chunk precedes; INFINITY if that needs a negative one. */
static double end_of(const struct cv_order_search *search, const struct tail *tail)
{
    const double x = (search->load - tail->sum.offset) / tail->sum.slope;
    const double time_s = tail->ahead.offset + tail->ahead.slope * x;

    if (x >= tail->min && time_s > 0 &&
        fabs(tail->sum.offset) * cancellation <= search->load)
        return time_s;
    return INFINITY; /* also for NaN */
}

/* The makespan with seq[0..count-1] before the tail; leads as in search->lead. */
static double walk(struct cv_order_search *search, const uint32_t *seq, size_t count,
                   struct tail tail)
{
    for (size_t k = count; k-- > 0;)
        put(&search->cost[seq[k]], &search->lead[seq[k]], &tail);
    search->steps += count;
    return end_of(search, &tail);
}

static void copy_leads(struct cv_order_search *search)
{
    memcpy(search->lead, search->base, search->nworkers * sizeof *search->lead);
    search->steps += 1 + search->nworkers / 8;
}

static bool spent(const struct cv_order_search *search)
{
    return search->steps > search->effort;
}

static bool better(struct cv_order_search *search, double time_s)
{
    if (!(time_s < search->now.time_s * (1 - least_gain)))
        return false;
    search->now.time_s = time_s;
    return true;
}

static void remove_at(struct cv_order *order, size_t p)
{
    order->n--;
    memmove(order->seq + p, order->seq + p + 1, (order->n - p) * sizeof *order->seq);
}

static void insert_at(struct cv_order *order, size_t p, uint32_t worker)
{
    memmove(order->seq + p + 1, order->seq + p, (order->n - p) * sizeof *order->seq);
    order->seq[p] = worker;
    order->n++;
}

/* The makespan with a chunk for `worker` between seq[0..count-1] and the tail. */
static double time_with(struct cv_order_search *search, uint32_t worker, size_t count,
                        const struct tail *tail)
{
    struct tail more = *tail;

    copy_leads(search);
    put(&search->cost[worker], &search->lead[worker], &more);
    return walk(search, search->now.seq, count, more);
}

static bool exchange_at(struct cv_order_search *search, size_t p, const struct tail *tail)
{
    uint32_t *seq = search->now.seq;
    const size_t lowest = p > REACH ? p - REACH : 0;
    bool changed = false;

    for (size_t q = p; q-- > lowest && !spent(search);) {
        const uint32_t here = seq[p], there = seq[q];

        if (here == there)
            continue;
        seq[p] = there;
        seq[q] = here;
        copy_leads(search);
        if (better(search, walk(search, seq, p + 1, *tail))) {
            changed = true;
        } else {
            seq[p] = here;
            seq[q] = there;
        }
    }
    return changed;
}

/* Try all changes whose last position is p; `tail` and search->base are for the chunks
 * after p. */
static enum change change_at(struct cv_order_search *search, size_t p,
                             const struct tail *tail)
{
    struct cv_order *now = &search->now;
    bool changed = false;

    if (now->n > 1) {
        copy_leads(search);
        if (better(search, walk(search, now->seq, p, *tail))) {
            remove_at(now, p);
            return DELETED;
        }
    }
    for (uint32_t w = 0; w < search->nworkers && !spent(search); w++)
        if (w != now->seq[p] && better(search, time_with(search, w, p, tail))) {
            now->seq[p] = w;
            changed = true;
        }
    for (uint32_t w = 0; w < search->nworkers && !spent(search); w++)
        if (now->n < search->max_chunks &&
            better(search, time_with(search, w, p + 1, tail))) {
            insert_at(now, p + 1, w);
            return INSERTED;
        }
    return exchange_at(search, p, tail) || changed ? CHANGED : NO_CHANGE;
}

/* From the last position to the first. Returns whether anything was changed. */
static bool sweep(struct cv_order_search *search)
{
    struct cv_order *now = &search->now;
    struct tail tail = nothing;
    size_t p = now->n;
    bool changed = false;

    memset(search->base, 0, search->nworkers * sizeof *search->base);
    while (p > 0 && !spent(search)) {
        const enum change change = change_at(search, p - 1, &tail);

        changed = changed || change != NO_CHANGE;
        if (change == DELETED)
            p--;
        else if (change == INSERTED)
            p++;
        if (change != NO_CHANGE)
            continue;
        p--;
        put(&search->cost[now->seq[p]], &search->base[now->seq[p]], &tail);
    }
    return changed;
}

static void keep_best(struct cv_order_search *search)
{
    if (!(search->now.time_s < search->best.time_s))
        return;
    memcpy(search->best.seq, search->now.seq, search->now.n * sizeof *search->now.seq);
    search->best.n = search->now.n;
    search->best.time_s = search->now.time_s;
}

static size_t random_below(struct cv_random *random, size_t limit)
{
    return (size_t)(cv_random_uniform(random) * (double)limit);
}

/* The best order with a few places changed. */
static void kick(struct cv_order_search *search, struct cv_random *random)
{
    struct cv_order *now = &search->now;
    const size_t kicks = 1 + random_below(random, MOST_KICKS);

    memcpy(now->seq, search->best.seq, search->best.n * sizeof *now->seq);
    now->n = search->best.n;
    for (size_t i = 0; i < kicks; i++) {
        const size_t p = random_below(random, now->n), q = random_below(random, now->n);
        const uint32_t worker = (uint32_t)random_below(random, search->nworkers);
        const uint32_t here = now->seq[p];

        switch (random_below(random, 4)) {
        case 0:
            now->seq[p] = worker;
            break;
        case 1:
            if (now->n > 1)
                remove_at(now, p);
            break;
        case 2:
            if (now->n < search->max_chunks)
                insert_at(now, p, worker);
            break;
        default:
            now->seq[p] = now->seq[q];
            now->seq[q] = here;
            break;
        }
    }
    memset(search->lead, 0, search->nworkers * sizeof *search->lead);
    now->time_s = walk(search, now->seq, now->n, nothing);
    search->steps += 1 + search->nworkers / 8;
}

/* Delete, replace, insert and exchange chunks of the current order while that shortens
 * the makespan; then again from slight changes of the best, until the effort is spent. */
static void order_improve(struct cv_order_search *search)
{
    struct cv_random random;

    cv_random_at(&random, 0, 0, 0, 0);
    while (!spent(search) && sweep(search))
        ;
    keep_best(search);
    if (search->nworkers < 2)
        return;
    while (!spent(search)) {
        kick(search, &random);
        if (!isfinite(search->now.time_s))
            continue;
        while (!spent(search) && sweep(search))
            ;
        keep_best(search);
    }
}

/* Round robin over order[0..n-1], the first round partial or not: find the best number of
 * chunks, at least n. INFINITY when none is feasible or can beat `limit_s`. */
static double order_periodic(struct cv_order_search *search, const uint32_t *order,
                             uint32_t n, double limit_s, size_t *out_chunks)
{
    struct tail tail = nothing;
    double best_s = INFINITY, round_s = INFINITY;
    uint32_t place = n;

    memset(search->lead, 0, search->nworkers * sizeof *search->lead);
    for (size_t chunks = 1; chunks <= search->max_chunks; chunks++) {
        const uint32_t worker = order[--place];

        put(&search->cost[worker], &search->lead[worker], &tail);
        search->steps++;
        /* Both the units and the time that the chunks need grow with their number. */
        if (!(tail.min * tail.sum.slope + tail.sum.offset <= search->load) ||
            tail.ahead.offset + tail.ahead.slope * tail.min >= fmin(best_s, limit_s))
            break;
        if (chunks >= n) {
            const double time_s = end_of(search, &tail);

            if (time_s < best_s) {
                best_s = time_s;
                *out_chunks = chunks;
            }
        }
        if (place > 0)
            continue;
        place = n;
        if (round_s < INFINITY && round_s - best_s <= least_gain * best_s)
            break;
        round_s = best_s;
    }
    return best_s;
}

/* Make that order the current one, and the best one if it is better. */
static void order_begin(struct cv_order_search *search, const uint32_t *order, uint32_t n,
                        size_t chunks, double time_s)
{
    for (size_t i = 0; i < chunks; i++)
        search->now.seq[chunks - 1 - i] = order[n - 1 - i % n];
    search->now.n = chunks;
    search->now.time_s = time_s;
    keep_best(search);
}

/* False: no memory. The arena owns everything. */
static bool order_search_init(struct cv_order_search *search,
                              const struct cleave_worker *workers, uint32_t nworkers,
                              double load, size_t max_chunks, uint64_t effort,
                              struct cv_arena *arena)
{
    struct cv_order_cost *cost = cv_array(arena, nworkers, sizeof *cost);

    *search = (struct cv_order_search){
        .cost = cost,
        .nworkers = nworkers,
        .load = load,
        .max_chunks = max_chunks,
        .effort = effort,
        .base = cv_array(arena, nworkers, sizeof *search->base),
        .lead = cv_array(arena, nworkers, sizeof *search->lead),
        .now = { cv_array(arena, max_chunks, sizeof(uint32_t)), 0, INFINITY },
        .best = { cv_array(arena, max_chunks, sizeof(uint32_t)), 0, INFINITY },
    };
    if (cost == NULL || search->base == NULL || search->lead == NULL ||
        search->now.seq == NULL || search->best.seq == NULL)
        return false;
    for (uint32_t i = 0; i < nworkers; i++) {
        const struct cleave_worker *worker = &workers[i];
        const double use = worker->speed_ups / worker->bandwidth_ups;

        cost[i] = (struct cv_order_cost){
            .speed_ups = worker->speed_ups,
            .latency_s = worker->compute_latency_s,
            .growth = 1 + use,
            .use = use,
            .constant_s = worker->latency_s - use * worker->compute_latency_s,
        };
    }
    return true;
}

/* --- the policy ----------------------------------------------------------------------- */

/* Nanoseconds for the size of a chunk. */
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
    const double time_s = order_periodic(search, order, n, best->time_s, &chunks);

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
        order_begin(search, all, fastest.n, fastest.chunks, fastest.time_s);
    chosen = best_start(search, one_round->worker, (uint32_t)one_round->nchunks,
                        fastest.time_s);
    if (chosen.n > 0)
        order_begin(search, one_round->worker, chosen.n, chosen.chunks, chosen.time_s);
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

/* On workers sorted by bandwidth: neighbours in an order are then neighbours in memory;
 * else large platforms take several times as long. */
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
        !order_search_init(&search, sorted, nworkers, load, max_chunks, effort, arena))
        return cv_fail_memory(err, "the search for an order");
    CV_TRY(cv_umr_plan_enough(sorted, nworkers, load, UMR_ROUNDS, arena, &umr, err));
    CV_TRY(cv_one_round_plan(sorted, nworkers, load, arena, &one_round, err));
    if (!begin(&search, &one_round.plan, arena))
        return cv_fail_memory(err, "the search for an order");
    *out = (struct cv_umr_plus){ .makespan_s = INFINITY, .umr_s = umr.makespan_s };
    out->periodic_s = search.best.time_s;
    /* Trying all workers at one position costs twice their number times the chunks;
     * effort for a few positions only would change little. */
    if ((double)nworkers * (double)search.best.n * LEAST_PLACES < (double)effort &&
        search.best.n > 0)
        order_improve(&search);
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
