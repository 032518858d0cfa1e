/* rounds_best.c -- the best plan of several rounds with results.
 * SPDX-License-Identifier: MIT
 *
 * Starts are round robin over prefixes of several orders: by link, by what a worker's part
 * takes the port, the orders of fifo and lifo; thorough also by speed, by both, and those of
 * best-orders. Then chains are changed at random (O(K) for K letters, whatever the workers),
 * then free words of up to 64 workers. Numbers of steps are fixed: about 2 ms for 10 workers,
 * 11 ms for 30 and a second for 1,000; thorough takes some 50 times as long for 10. */
#include <math.h>
#include <string.h>

#include "model/returns/returns_search.h"
#include "model/rounds/rounds_full.h"
#include "model/rounds/rounds_memory.h"
#include "model/rounds/rounds_search.h"

enum { LETTERS_EACH = 26, LETTERS_MORE = 64 };
enum { ANNEALED = 20000, GREEDY = 10000 };
static const double POLISH_WORK = 6e6, QUICK_PROGRAM = 1e4;
/* Up to so many workers orders of one round are searched for, in about a second. */
enum { ORDERS_MOST = 40 };
/* Up to so many, fifo and lifo take less than a millisecond with fixed costs. */
enum { QUICK_MOST = 12 };

struct making {
    const struct cv_rounds *rounds;
    struct cv_arena *arena;
    struct cleave_error *err;
    struct cv_rounds_workspace room;
    struct cv_rounds_search search;
    struct cv_rounds_plan one_round; /* the best of one round */
    bool thorough;
};

/* --- one round ------------------------------------------------------------------------ */

static enum cleave_status solve_fifo(void *context, const struct cv_returns *returns,
                                     double lifespan_s, struct cv_arena *arena,
                                     struct cv_round_trip *out, struct cleave_error *err)
{
    (void)context;
    return cv_returns_fifo(returns, lifespan_s, arena, out, err);
}

static enum cleave_status solve_lifo(void *context, const struct cv_returns *returns,
                                     double lifespan_s, struct cv_arena *arena,
                                     struct cv_round_trip *out, struct cleave_error *err)
{
    (void)context;
    return cv_returns_lifo(returns, lifespan_s, arena, out, err);
}

static enum cleave_status solve_orders(void *context, const struct cv_returns *returns,
                                       double lifespan_s, struct cv_arena *arena,
                                       struct cv_round_trip *out,
                                       struct cleave_error *err)
{
    const struct cv_search_effort *effort = context;

    return cv_returns_search(returns, lifespan_s, effort, arena, out, err);
}

/* A round trip as a plan. */
static enum cleave_status plan_of(struct making *making, const struct cv_round_trip *trip,
                                  struct cv_rounds_plan *out)
{
    const uint32_t n = trip->n;
    uint32_t *chunk = cv_array(making->arena, making->rounds->returns.n, sizeof *chunk);
    uint32_t *order = cv_array(making->arena, n, sizeof *order);
    double sum = 0;

    out->nchunks = n;
    out->worker = cv_array(making->arena, n, sizeof *out->worker);
    out->units = cv_array(making->arena, n, sizeof *out->units);
    out->back = cv_array(making->arena, n, sizeof *out->back);
    if (chunk == NULL || order == NULL || out->worker == NULL || out->units == NULL ||
        out->back == NULL)
        return cv_fail_memory(making->err, "a plan");
    for (uint32_t k = 0; k < n; k++)
        sum += trip->units[trip->send[k]];
    for (uint32_t k = 0; k < n; k++) {
        out->worker[k] = trip->send[k];
        out->units[k] = trip->units[trip->send[k]] * (making->rounds->load / sum);
        chunk[trip->send[k]] = order[k] = k;
    }
    for (uint32_t k = 0; k < n; k++)
        out->back[k] = chunk[trip->back[k]];
    out->makespan_s =
        cv_rounds_replay(&making->rounds->returns, out->worker, out->units, order,
                         out->back, n, making->room.ends_s, making->room.ready_s);
    return CLEAVE_OK;
}

/* Words of one letter per worker, evaluated with all their unknowns. */
static void try_words(struct making *making, const struct cv_round_trip *trip)
{
    struct cv_rounds_candidate *trial = &making->search.trial;

    if (trip->n > CV_DENSE_MOST)
        return;
    trial->chain = 0;
    trial->words.nsend = trial->words.nback = trip->n;
    memcpy(trial->words.send, trip->send, trip->n * sizeof *trip->send);
    memcpy(trial->words.back, trip->back, trip->n * sizeof *trip->back);
    (void)cv_rounds_try(&making->search);
}

static enum cleave_status try_one_round(struct making *making,
                                        const struct cv_returns_solver *solver)
{
    struct cv_round_trip trip;
    struct cv_rounds_plan plan;

    CV_TRY(cv_returns_for_work(&making->rounds->returns, solver, making->rounds->load,
                               making->arena, &trip, making->err));
    if (trip.n == 0)
        return CLEAVE_OK;
    CV_TRY(plan_of(making, &trip, &plan));
    if (making->rounds->memory != NULL)
        CV_TRY(cv_rounds_cut(making->rounds, making->arena, &plan, making->err));
    if (plan.makespan_s < making->one_round.makespan_s)
        making->one_round = plan;
    if (making->thorough)
        cv_rounds_start(&making->search, trip.send, trip.n, true);
    try_words(making, &trip);
    return CLEAVE_OK;
}

/* --- starts --------------------------------------------------------------------------- */

static enum cleave_status start(struct making *making)
{
    struct cv_search_effort effort = { 0 };

    if (!cv_rounds_start_by(&making->search,
                            making->thorough ? CV_BY_BOTH : CV_BY_PASSAGE,
                            making->thorough, making->arena))
        return cv_fail_memory(making->err, "the search for rounds");
    if (making->thorough || making->rounds->returns.n <= QUICK_MOST ||
        cv_returns_linear(&making->rounds->returns)) {
        CV_TRY(try_one_round(making,
                             &(struct cv_returns_solver){ solve_fifo, NULL, false }));
        CV_TRY(try_one_round(making,
                             &(struct cv_returns_solver){ solve_lifo, NULL, false }));
    }
    if (making->thorough && making->rounds->returns.n <= ORDERS_MOST)
        CV_TRY(try_one_round(making,
                             &(struct cv_returns_solver){ solve_orders, &effort, true }));
    if (making->rounds->returns.n <= CV_DENSE_MOST)
        cv_rounds_leave_out(&making->search);
    return CLEAVE_OK;
}

/* --- search --------------------------------------------------------------------------- */

/* Work that the fast form may do, in about nanoseconds. */
static double fast_limit(uint32_t n)
{
    return fmin(1.2e6 + 1.4e4 * n * n, 1.3e9);
}

static void change_fast(struct making *making)
{
    struct cv_rounds_search *search = &making->search;
    const double limit = fmax(search->limit, search->spent + 0.3 * search->limit);
    const uint32_t n = making->rounds->returns.n;

    search->limit = limit;
    if (n <= CV_DENSE_MOST) /* free words gain less, in more time */
        search->limit = search->spent + 0.8 * (limit - search->spent);
    cv_rounds_change(search, UINT32_MAX, 0);
    search->limit = limit;
    if (n <= CV_DENSE_MOST && cv_rounds_set_free(search))
        cv_rounds_change(search, UINT32_MAX, 0);
}

static void change_thoroughly(struct making *making)
{
    struct cv_rounds_search *search = &making->search;

    search->limit = INFINITY;
    cv_rounds_change(search, GREEDY, 0);
    if (making->rounds->returns.n > CV_DENSE_MOST || !cv_rounds_set_free(search))
        return;
    cv_rounds_change(search, ANNEALED, 0.002);
    cv_rounds_change(search, GREEDY, 0);
}

static bool set_up(struct making *making, uint64_t seed)
{
    const uint32_t n = making->rounds->returns.n;

    return cv_rounds_room_init(&making->room, making->rounds,
                               LETTERS_EACH * n + LETTERS_MORE, true, making->arena) &&
           cv_rounds_search_init(&making->search, &making->room, seed, making->arena);
}

/* Whether the program of a plan takes some ten milliseconds at most: it has about as many
 * numbers as the cube of the chunks over twice the workers. */
static bool is_quick(const struct cv_rounds *rounds, const struct cv_rounds_plan *plan)
{
    const double n = plan->nchunks;

    return n * n * n <= QUICK_PROGRAM * 2 * rounds->returns.n;
}

/* The best words as a plan; better sizes from the linear program if that is wanted. */
static enum cleave_status finish(struct making *making, struct cv_rounds_plan *out)
{
    struct cv_rounds_search *search = &making->search;

    if (making->one_round.makespan_s <= search->best.end_s) {
        *out = making->one_round;
    } else {
        cv_candidate_copy(&search->trial, &search->best);
        (void)cv_rounds_try(search);
        CV_TRY(cv_rounds_take(&making->room, search->best.end_s, making->arena, out,
                              making->err));
        if (making->rounds->memory != NULL)
            CV_TRY(cv_rounds_cut(making->rounds, making->arena, out, making->err));
    }
    if (!making->thorough &&
        (making->rounds->memory == NULL || !is_quick(making->rounds, out)))
        return CLEAVE_OK;
    CV_TRY(cv_rounds_lp(making->rounds, out, making->arena, making->err));
    if (isinf(search->best.end_s) || making->rounds->returns.n > CV_DENSE_MOST ||
        making->rounds->memory != NULL)
        return CLEAVE_OK;
    return cv_rounds_polish(search, POLISH_WORK, making->arena, out, making->err);
}

static enum cleave_status look(const struct cv_rounds *rounds,
                               enum cv_rounds_effort effort, uint64_t seed,
                               struct cv_arena *arena, struct cv_rounds_plan *out,
                               struct cleave_error *err)
{
    struct making making = { .rounds = rounds,
                             .arena = arena,
                             .err = err,
                             .one_round.makespan_s = INFINITY,
                             .thorough = effort == CV_ROUNDS_THOROUGH };

    if (!set_up(&making, seed))
        return cv_fail_memory(err, "the search for rounds");
    making.search.limit = fast_limit(rounds->returns.n);
    CV_TRY(start(&making));
    if (making.thorough)
        change_thoroughly(&making);
    else
        change_fast(&making);
    cv_step_budget_spend(rounds->returns.budget, making.search.spent);
    if (isinf(making.search.best.end_s) && isinf(making.one_round.makespan_s))
        return cv_fail(err, CLEAVE_EINPUT, "found no plan for these costs");
    return finish(&making, out);
}

/* Little memory: chunks are as large as it allows, or are planned as if latencies were part of
 * every unit and cut then. */
static enum cleave_status look_in_parts(const struct cv_rounds *rounds,
                                        enum cv_rounds_effort effort, uint64_t seed,
                                        struct cv_arena *arena,
                                        struct cv_rounds_plan *out,
                                        struct cleave_error *err)
{
    struct cv_rounds whole = { rounds->returns, rounds->load, NULL };
    struct cv_rounds_plan plan;

    CV_TRY(look(rounds, effort, seed, arena, out, err));
    whole.returns.trips = cv_trips_in_parts(rounds, arena);
    if (whole.returns.trips == NULL)
        return cv_fail_memory(err, "the search for rounds");
    CV_TRY(look(&whole, CV_ROUNDS_FAST, seed, arena, &plan, err));
    CV_TRY(cv_rounds_cut(rounds, arena, &plan, err));
    if (effort != CV_ROUNDS_FAST || is_quick(rounds, &plan))
        CV_TRY(cv_rounds_lp(rounds, &plan, arena, err));
    if (plan.makespan_s < out->makespan_s)
        *out = plan;
    return CLEAVE_OK;
}

/* A full duplex port: a plan for workers that are as slow as it makes them may be better for
 * those they are. */
static enum cleave_status look_slower(const struct cv_rounds *rounds,
                                      enum cv_rounds_effort effort, uint64_t seed,
                                      struct cv_arena *arena, struct cv_rounds_plan *out,
                                      struct cleave_error *err)
{
    struct cv_rounds slower = *rounds;
    struct cv_rounds_plan plan;
    struct cv_full_port full;

    if (!cv_full_port(&rounds->returns, arena, &full))
        return cv_fail_memory(err, "the search for rounds");
    if (full.n == 0)
        return CLEAVE_OK;
    slower.returns.trips = full.trips;
    slower.returns.n = full.n;
    CV_TRY(look(&slower, effort, seed, arena, &plan, err));
    for (uint32_t k = 0; k < plan.nchunks; k++)
        plan.worker[k] = full.worker[plan.worker[k]];
    if (!cv_rounds_measure(rounds, &plan, arena))
        return cv_fail_memory(err, "the search for rounds");
    if (effort == CV_ROUNDS_THOROUGH)
        CV_TRY(cv_rounds_lp(rounds, &plan, arena, err));
    if (plan.makespan_s < out->makespan_s)
        *out = plan;
    return CLEAVE_OK;
}

enum cleave_status cv_rounds_best(const struct cv_rounds *rounds,
                                  enum cv_rounds_effort effort, uint64_t seed,
                                  struct cv_arena *arena, struct cv_rounds_plan *out,
                                  struct cleave_error *err)
{
    if (rounds->memory == NULL) {
        CV_TRY(look(rounds, effort, seed, arena, out, err));
        return rounds->returns.single
                   ? CLEAVE_OK
                   : look_slower(rounds, effort, seed, arena, out, err);
    }
    return look_in_parts(rounds, effort, seed, arena, out, err);
}
