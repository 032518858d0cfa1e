/* rounds_best.c -- the best plan of several rounds with results.
 * SPDX-License-Identifier: MIT
 *
 * Starts are round robins over prefixes of several orders: by link, by port time, the orders of
 * fifo and lifo; thorough also by speed, by link and speed, and the orders of best-orders.
 * Then chains are changed at random, in O(K) for K letters, then free words of up to 64
 * workers. Numbers of steps are fixed: about 2 ms for 10 workers, 11 ms for 30 and a second
 * for 1,000; thorough takes some 50 times as long for 10. */
#include "model/rounds/rounds.h"

#include <math.h>
#include <string.h>
#include "base/fail.h"
#include "model/returns/returns_internal.h"
#include "model/returns/returns_search.h"
#include "model/rounds/rounds_internal.h"

/* Most chunks of a plan. */
static const double PARTS_MOST = 1e6;

/* The number of the first part of each chunk; false: too many parts. */
static bool count_parts(const struct cv_rounds *rounds, const struct cv_rounds_plan *plan,
                        uint32_t *first)
{
    double sum = 0;

    for (uint32_t k = 0; k < plan->nchunks; k++) {
        first[k] = (uint32_t)sum;
        sum += cv_parts_of(plan->units[k], rounds->memory[plan->worker[k]]);
        if (!(sum <= PARTS_MOST))
            return false;
    }
    first[plan->nchunks] = (uint32_t)sum;
    return true;
}

bool cv_rounds_measure(const struct cv_rounds *rounds, struct cv_rounds_plan *plan,
                       struct cv_arena *arena)
{
    double *room =
        cv_array(arena, (size_t)plan->nchunks + rounds->returns.n, sizeof *room);

    if (room != NULL)
        plan->makespan_s = cv_rounds_replay(&rounds->returns, plan, plan->units, room);
    return room != NULL;
}

/* Cut chunks into parts that fit, and set the makespan. */
static enum cleave_status rounds_cut(const struct cv_rounds *rounds,
                                     struct cv_arena *arena, struct cv_rounds_plan *plan,
                                     struct cleave_error *err)
{
    uint32_t *first = cv_array(arena, (size_t)plan->nchunks + 1, sizeof *first);
    struct cv_rounds_plan cut;
    uint32_t at = 0;

    if (first == NULL)
        return cv_fail_memory(err, "the parts of chunks");
    if (!count_parts(rounds, plan, first))
        return cv_fail(err, CLEAVE_EINPUT,
                       "workers have so little memory that there would be more than %g "
                       "chunks",
                       PARTS_MOST);
    if (!cv_rounds_plan_init(&cut, first[plan->nchunks], arena))
        return cv_fail_memory(err, "the parts of chunks");
    for (uint32_t k = 0; k < plan->nchunks; k++)
        for (uint32_t i = first[k]; i < first[k + 1]; i++) {
            cut.worker[i] = plan->worker[k];
            cut.units[i] = plan->units[k] / (first[k + 1] - first[k]);
        }
    for (uint32_t k = 0; k < plan->nchunks; k++)
        for (uint32_t i = first[plan->back[k]]; i < first[plan->back[k] + 1]; i++)
            cut.back[at++] = i;
    if (!cv_rounds_measure(rounds, &cut, arena))
        return cv_fail_memory(err, "the parts of chunks");
    *plan = cut;
    return CLEAVE_OK;
}

/* Costs in which every unit has its part of the latencies, as if all chunks were as large as
 * memory allows: no chunk that fits is cheaper. NULL when memory is short. */
static struct cv_trip *trips_in_parts(const struct cv_rounds *rounds,
                                      struct cv_arena *arena)
{
    const uint32_t n = rounds->returns.n;
    struct cv_trip *trips = cv_array(arena, n, sizeof *trips);

    for (uint32_t w = 0; trips != NULL && w < n; w++) {
        struct cv_trip *t = &trips[w];

        *t = rounds->returns.trips[w];
        if (isinf(rounds->memory[w]))
            continue;
        t->send_s += t->send_fixed_s / rounds->memory[w];
        t->compute_s += t->compute_fixed_s / rounds->memory[w];
        t->back_s += t->back_fixed_s / rounds->memory[w];
        t->send_fixed_s = t->compute_fixed_s = t->back_fixed_s = 0;
    }
    return trips;
}

/* --- full duplex ports ---------------------------------------------------------------- */

/* The closed form lets every worker compute without a pause. If the port cannot keep all
 * workers busy, its sizes are wrong. They are right for workers that are as slow as the port
 * makes them, and a schedule for slower workers is valid for faster ones. The speeds maximise
 * the units per second: for given prices of the time of sends and of returns, the workers with
 * the cheapest units get full speed until the time of either way is used up. The best of a
 * few prices counts. */

enum { PRICES = 4 };
/* The port is full if more than this part of the speed is lost. Workers that are busy for less
 * than LEAST of the time are left out. */
static const double LOST = 1e-3, LEAST = 0.05;

/* Units per second of each worker for one ratio of prices, and their sum; negative when memory
 * is short. */
static double speeds_for(const struct cv_returns *returns, double send_price,
                         double *speed, struct cv_arena *arena)
{
    const uint32_t n = returns->n;
    uint32_t *order = cv_array(arena, n, sizeof *order);
    double *cost = cv_array(arena, n, sizeof *cost);
    double send_left = 1, back_left = 1, sum = 0;

    for (uint32_t i = 0; cost != NULL && i < n; i++)
        cost[i] = send_price * returns->trips[i].send_s +
                  (1 - send_price) * returns->trips[i].back_s;
    if (order == NULL || cost == NULL || !cv_returns_sort(cost, n, arena, order))
        return -1;
    for (uint32_t k = 0; k < n; k++) {
        const struct cv_trip *t = &returns->trips[order[k]];
        double max = fmin(1 / t->compute_s, send_left / t->send_s);

        if (t->back_s > 0)
            max = fmin(max, back_left / t->back_s);
        speed[order[k]] = max = fmax(0, max);
        send_left -= max * t->send_s;
        back_left -= max * t->back_s;
        sum += max;
    }
    return sum;
}

static bool take_workers(const struct cv_returns *returns, const double *speed,
                         struct cv_arena *arena, struct cv_full_port *out)
{
    if (!CV_NEW(arena, out->trips, returns->n) || !CV_NEW(arena, out->worker, returns->n))
        return false;
    for (uint32_t i = 0; i < returns->n; i++) {
        if (!(speed[i] * returns->trips[i].compute_s > LEAST))
            continue;
        out->trips[out->n] = returns->trips[i];
        out->trips[out->n].compute_s = fmax(1 / speed[i], returns->trips[i].compute_s);
        out->worker[out->n++] = i;
    }
    return true;
}

bool cv_full_port(const struct cv_returns *returns, struct cv_arena *arena,
                  struct cv_full_port *out)
{
    double *speed[2] = { cv_array(arena, returns->n, sizeof(double)),
                         cv_array(arena, returns->n, sizeof(double)) };
    double all = 0, best = 0;
    unsigned kept = 0;

    *out = (struct cv_full_port){ .n = 0 };
    if (speed[0] == NULL || speed[1] == NULL)
        return false;
    for (uint32_t i = 0; i < returns->n; i++)
        all += 1 / returns->trips[i].compute_s;
    for (unsigned i = 0; i <= PRICES; i++) {
        const double sum =
            speeds_for(returns, (double)i / PRICES, speed[1 - kept], arena);

        if (sum < 0)
            return false;
        if (sum > best) {
            best = sum;
            kept = 1 - kept;
        }
    }
    if (returns->single || !(best < (1 - LOST) * all))
        return true;
    return take_workers(returns, speed[kept], arena, out);
}

enum { LETTERS_EACH = 26, LETTERS_MORE = 64 };
enum { ANNEALED = 20000, GREEDY = 10000 };
static const double POLISH_WORK = 6e6, QUICK_PROGRAM = 1e4;
/* Most workers for which orders of one round are searched, in about a second. */
enum { ORDERS_MOST = 40 };
/* Most workers for which fifo and lifo with fixed costs take less than a millisecond. */
enum { QUICK_MOST = 12 };

struct making {
    const struct cv_rounds *rounds;
    struct cv_arena *arena;
    struct cleave_error *err;
    struct cv_rounds_workspace room;
    struct cv_rounds_search search;
    struct cv_rounds_plan one_round; /* the best plan of one round */
    bool thorough;
};

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
    const struct cv_rounds *rounds = making->rounds;
    const uint32_t n = trip->n;
    uint32_t *chunk = cv_array(making->arena, rounds->returns.n, sizeof *chunk);
    double sum = 0;

    if (chunk == NULL || !cv_rounds_plan_init(out, n, making->arena))
        return cv_fail_memory(making->err, "a plan");
    for (uint32_t k = 0; k < n; k++)
        sum += trip->units[trip->send[k]];
    for (uint32_t k = 0; k < n; k++) {
        out->worker[k] = trip->send[k];
        out->units[k] = trip->units[trip->send[k]] * (rounds->load / sum);
        chunk[trip->send[k]] = k;
    }
    for (uint32_t k = 0; k < n; k++)
        out->back[k] = chunk[trip->back[k]];
    return cv_rounds_measure(rounds, out, making->arena)
               ? CLEAVE_OK
               : cv_fail_memory(making->err, "a plan");
}

/* Try words of one letter per worker as free words. */
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
        CV_TRY(rounds_cut(making->rounds, making->arena, &plan, making->err));
    if (plan.makespan_s < making->one_round.makespan_s)
        making->one_round = plan;
    if (making->thorough)
        cv_rounds_start(&making->search, trip.send, trip.n, true);
    try_words(making, &trip);
    return CLEAVE_OK;
}

static enum cleave_status start(struct making *making)
{
    struct cv_search_effort effort = { 0 };

    if (!cv_rounds_start_by(&making->search,
                            making->thorough ? CV_BY_BOTH : CV_BY_PASSAGE,
                            making->thorough, making->arena))
        return cv_fail_memory(making->err, "the search for rounds");
    if (making->thorough || making->rounds->returns.n <= QUICK_MOST ||
        cv_returns_linear(&making->rounds->returns)) {
        CV_TRY(try_one_round(making, &cv_returns_solver_fifo));
        CV_TRY(try_one_round(making, &cv_returns_solver_lifo));
    }
    if (making->thorough && making->rounds->returns.n <= ORDERS_MOST)
        CV_TRY(try_one_round(making,
                             &(struct cv_returns_solver){ solve_orders, &effort, true }));
    if (making->rounds->returns.n <= CV_DENSE_MOST)
        cv_rounds_leave_out(&making->search);
    return CLEAVE_OK;
}

/* Work of the fast form, in about nanoseconds. */
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

/* Whether the program of a plan takes some ten milliseconds at most: it has about
 * chunks^3 / (2 workers) numbers. */
static bool is_quick(const struct cv_rounds *rounds, const struct cv_rounds_plan *plan)
{
    const double n = plan->nchunks;

    return n * n * n <= QUICK_PROGRAM * 2 * rounds->returns.n;
}

/* The best words as a plan, with sizes from the linear program if thorough. */
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
            CV_TRY(rounds_cut(making->rounds, making->arena, out, making->err));
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

/* Little memory: chunks are as large as it allows, or are planned with latencies as a part of
 * every unit and then cut. */
static enum cleave_status look_in_parts(const struct cv_rounds *rounds,
                                        enum cv_rounds_effort effort, uint64_t seed,
                                        struct cv_arena *arena,
                                        struct cv_rounds_plan *out,
                                        struct cleave_error *err)
{
    struct cv_rounds whole = { rounds->returns, rounds->load, NULL };
    struct cv_rounds_plan plan;

    CV_TRY(look(rounds, effort, seed, arena, out, err));
    whole.returns.trips = trips_in_parts(rounds, arena);
    if (whole.returns.trips == NULL)
        return cv_fail_memory(err, "the search for rounds");
    CV_TRY(look(&whole, CV_ROUNDS_FAST, seed, arena, &plan, err));
    CV_TRY(rounds_cut(rounds, arena, &plan, err));
    if (effort != CV_ROUNDS_FAST || is_quick(rounds, &plan))
        CV_TRY(cv_rounds_lp(rounds, &plan, arena, err));
    if (plan.makespan_s < out->makespan_s)
        *out = plan;
    return CLEAVE_OK;
}

/* A full duplex port: a plan for workers that are as slow as the port makes them may be better
 * for the real workers. */
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

static enum cleave_status look_all_ways(const struct cv_rounds *rounds,
                                        enum cv_rounds_effort effort, uint64_t seed,
                                        struct cv_arena *arena,
                                        struct cv_rounds_plan *out,
                                        struct cleave_error *err)
{
    if (rounds->memory != NULL)
        return look_in_parts(rounds, effort, seed, arena, out, err);
    CV_TRY(look(rounds, effort, seed, arena, out, err));
    return rounds->returns.single ? CLEAVE_OK
                                  : look_slower(rounds, effort, seed, arena, out, err);
}

enum cleave_status cv_rounds_best(const struct cv_rounds *rounds,
                                  enum cv_rounds_effort effort, uint64_t seed,
                                  struct cv_arena *arena, struct cv_rounds_plan *out,
                                  struct cleave_error *err)
{
    double load = rounds->load;

    CV_TRY(look_all_ways(rounds, effort, seed, arena, out, err));
    return cv_rounds_every_order(rounds, false, arena, out, &load, err);
}

/* --- the most work in a lifespan ------------------------------------------------------- */

/* The makespan grows with the load, nearly along a line: loads are planned until the makespan
 * is near the lifespan, the last one with the wanted effort. The search finds a better plan
 * for one load than for another, so that the makespan may never be near. So all sizes of each
 * plan are scaled until it ends in time, to the last digits, and the plan with the most
 * work is taken. */

enum { MOST_PLANS = 12, MOST_HALVES = 60 };
/* A makespan is near the lifespan if it differs by less than this part. */
static const double NEAR = 1e-3;
/* Most that a plan is scaled by. */
static const double MOST_GROWTH = 2;
/* A smaller part of the work that all workers could compute counts as 0. */
static const double NOTHING = 1e-9;

/* The makespan of a plan with all sizes scaled. */
static double scaled_s(const struct cv_returns *returns,
                       const struct cv_rounds_plan *plan, double scale, double *units,
                       double *room)
{
    for (uint32_t k = 0; k < plan->nchunks; k++)
        units[k] = plan->units[k] * scale;
    return cv_rounds_replay(returns, plan, units, room);
}

/* Scale the plan by `max` or less so that it ends by the lifespan; false: its latencies alone
 * take longer. */
static bool fit(const struct cv_returns *returns, double lifespan_s, double max,
                struct cv_rounds_plan *plan, struct cv_arena *arena, double *out_scale)
{
    double *units, *room;
    double low = 0, high = max;

    if (!CV_NEW(arena, units, plan->nchunks) ||
        !CV_NEW(arena, room, (size_t)plan->nchunks + returns->n))
        return false;
    for (int i = 0; i < MOST_HALVES; i++) {
        const double middle = low + (high - low) / 2;

        if (scaled_s(returns, plan, middle, units, room) <= lifespan_s)
            low = middle;
        else
            high = middle;
    }
    plan->makespan_s = scaled_s(returns, plan, low, units, room);
    plan->units = units;
    *out_scale = low;
    return low > 0 && plan->makespan_s <= lifespan_s;
}

/* Two loads and their makespans. */
struct bracket {
    double low, low_s, high, high_s;
};

/* The next load to plan for, on the line between both ends of the bracket. */
static double next_load(const struct bracket *bracket, double lifespan_s)
{
    double load;

    if (isinf(bracket->high))
        return 2 * bracket->low;
    load = bracket->low + (bracket->high - bracket->low) * (lifespan_s - bracket->low_s) /
                              (bracket->high_s - bracket->low_s);
    return fmax(load, bracket->low + 0.01 * (bracket->high - bracket->low));
}

/* The largest factor for all sizes with which every chunk fits into memory. */
static double room_to_grow(const struct cv_rounds *rounds,
                           const struct cv_rounds_plan *plan)
{
    double max = MOST_GROWTH;

    for (uint32_t k = 0; rounds->memory != NULL && k < plan->nchunks; k++)
        max = fmin(max, rounds->memory[plan->worker[k]] / plan->units[k]);
    return max;
}

/* A lifespan and the best plan for it. */
struct hunt {
    double lifespan_s, load; /* units */
    struct cv_arena *arena;
    struct cv_rounds_plan best;
};

/* Plan for a load and scale to the lifespan; keep the plan with the most work. *out_s is the
 * makespan before scaling. */
static enum cleave_status try_load(struct hunt *hunt, const struct cv_rounds *rounds,
                                   enum cv_rounds_effort effort, uint64_t seed,
                                   double *out_s, struct cleave_error *err)
{
    struct cv_rounds_plan plan;
    double scale = 0;

    CV_TRY(look_all_ways(rounds, effort, seed, hunt->arena, &plan, err));
    *out_s = plan.makespan_s;
    if (fit(&rounds->returns, hunt->lifespan_s, room_to_grow(rounds, &plan), &plan,
            hunt->arena, &scale) &&
        rounds->load * scale > hunt->load) {
        hunt->best = plan;
        hunt->load = rounds->load * scale;
    }
    return CLEAVE_OK;
}

/* Every order of few chunks; sizes stay in the lifespan to the last digits. */
static enum cleave_status try_orders(struct hunt *hunt, const struct cv_rounds *rounds,
                                     struct cleave_error *err)
{
    struct cv_rounds_plan plan = hunt->best;
    double load = hunt->load, scale = 0;

    plan.makespan_s = hunt->lifespan_s;
    CV_TRY(cv_rounds_every_order(rounds, true, hunt->arena, &plan, &load, err));
    if (load > hunt->load &&
        fit(&rounds->returns, hunt->lifespan_s, 1, &plan, hunt->arena, &scale) &&
        load * scale > hunt->load) {
        hunt->best = plan;
        hunt->load = load * scale;
    }
    return CLEAVE_OK;
}

enum cleave_status cv_rounds_for_lifespan(const struct cv_returns *returns,
                                          const double *memory, double lifespan_s,
                                          enum cv_rounds_effort effort, uint64_t seed,
                                          struct cv_arena *arena,
                                          struct cv_rounds_plan *out, double *out_load,
                                          struct cleave_error *err)
{
    struct hunt hunt = { .lifespan_s = lifespan_s, .arena = arena };
    struct bracket bracket = { 0, 0, INFINITY, INFINITY };
    struct cv_rounds rounds = { *returns, 0, memory };
    double min, end_s;

    for (uint32_t i = 0; i < returns->n; i++)
        rounds.load += lifespan_s / returns->trips[i].compute_s;
    min = NOTHING * rounds.load;
    for (int i = 0; i < MOST_PLANS && rounds.load > min; i++) {
        CV_TRY(try_load(&hunt, &rounds, CV_ROUNDS_FAST, seed, &end_s, err));
        if (fabs(end_s / lifespan_s - 1) < NEAR)
            break;
        if (end_s > lifespan_s) {
            bracket.high = rounds.load;
            bracket.high_s = end_s;
        } else {
            bracket.low = rounds.load;
            bracket.low_s = end_s;
        }
        rounds.load = next_load(&bracket, lifespan_s);
    }
    if (effort != CV_ROUNDS_FAST && hunt.load > min) {
        rounds.load = hunt.load;
        CV_TRY(try_load(&hunt, &rounds, effort, seed, &end_s, err));
    }
    if (hunt.load > min)
        CV_TRY(try_orders(&hunt, &rounds, err));
    *out = hunt.best;
    *out_load = hunt.load > min ? hunt.load : 0;
    if (!(hunt.load > min))
        out->nchunks = 0;
    return CLEAVE_OK;
}
