/* returns_search.c -- reinsertion search for the orders of sending and returning.
 * SPDX-License-Identifier: MIT
 *
 * A worker that takes part is taken out, all pairs of places for it are priced at once
 * (returns_search_places.c), and it goes back to the best one or stays out; so in turn
 * for all workers until none can be moved with gain. It needs O(n^2) a worker, O(n^3) a
 * sweep and few sweeps. Swapping neighbours would not do: often a worker has to move in
 * both orders at once.
 *
 * Starts: workers put in one by one, fastest link first; FIFO, LIFO and the order for
 * small results; workers put in at random. Then kicks: a few workers of the best schedule
 * are thrown to random places and the search goes on from there. */
#include "model/returns/returns_search.h"

#include <math.h>

#include "base/fail.h"
#include "base/random.h"
#include "model/returns/returns_internal.h"
#include "model/returns/returns_search_places.h"

/* A move must gain this part of the work: less is rounding, and could go in circles. */
static const double least_gain = 1e-10;
/* Sweeps over all workers: more than this many are needed only by rounding errors. */
enum { MOST_SWEEPS = 50 };
/* Steps after which even a first start ends. */
static const double most_steps = 30e9;
/* The usual effort: so many starts and kicks, but no new ones after this time. */
static const struct cv_search_effort usual_effort = { 5, 30, 0, 1 };
/* Up to so many workers the shares for the best orders are checked by the solver for
 * given orders, which may leave others out. */
enum { MOST_CHECKED = 16 };

struct search {
    const struct cv_returns *returns;
    struct cv_search_effort effort;
    struct cv_inverse now, rest, best;
    struct cv_position_search places;
    uint32_t *order, *shuffled;    /* all workers: by send_s; scratch */
    struct cv_round_trip plain[3]; /* FIFO, LIFO, small results */
    struct cv_random random;
};

static void swap_now(struct search *search)
{
    const struct cv_inverse keep = search->now;

    search->now = search->rest;
    search->rest = keep;
}

static uint32_t draw(struct cv_random *random, uint32_t below)
{
    const uint32_t number = (uint32_t)(cv_random_uniform(random) * below);

    return number < below ? number : below - 1;
}

/* --- one worker --------------------------------------------------------------------- */

/* Worker x to where it does most, or out. True when that gains. */
static bool move_worker(struct search *search, uint32_t x)
{
    struct cv_inverse *now = &search->now, *rest = &search->rest;
    const double min = now->score + least_gain * fabs(now->score);
    const bool inside = now->slot[x] != CV_NOBODY;
    double stay_out = -1;
    struct cv_place_pair to;

    search->places.steps += 12.0 * now->m * now->m + 50.0 * (now->m + 1);
    if (inside) {
        if (!cv_inverse_without(now, (uint32_t)now->slot[x], rest))
            return false;
        stay_out = rest->score;
    }
    if (cv_places_best(&search->places, inside ? rest : now, x, fmax(min, stay_out),
                       now->port_value, &to)) {
        if (!inside)
            cv_inverse_copy(rest, now);
        if (cv_inverse_insert(rest, x, to.s, to.f) && rest->score > min) {
            swap_now(search);
            return true;
        }
        /* What was promised was rounding: perhaps out is better still. */
        if (!(stay_out > min) || !cv_inverse_without(now, (uint32_t)now->slot[x], rest))
            return false;
    }
    if (!(stay_out > min))
        return false;
    swap_now(search);
    return true;
}

/* Until no worker can be moved with gain. */
static void improve(struct search *search)
{
    const uint32_t n = search->returns->n;
    uint32_t since = 0;

    for (unsigned sweep = 0; sweep < MOST_SWEEPS && since < n; sweep++) {
        /* Errors do not add up over more than a sweep. */
        if (!cv_inverse_renew(&search->now))
            break;
        for (uint32_t k = 0; k < n && since < n; k++) {
            if (search->places.steps > most_steps)
                return;
            since = move_worker(search, search->order[k]) ? 0 : since + 1;
        }
    }
}

static void keep_best(struct search *search)
{
    if (search->now.score > search->best.score * (1 + least_gain))
        cv_inverse_copy(&search->best, &search->now);
}

/* --- starts and kicks --------------------------------------------------------------- */

static void insert_all(struct search *search, const uint32_t *order)
{
    cv_inverse_clear(&search->now);
    for (uint32_t k = 0; k < search->returns->n; k++)
        move_worker(search, order[k]);
}

/* Take out who would get less than nothing, one by one. */
static bool make_feasible(struct search *search)
{
    while (search->now.score < 0 && search->now.m > 0) {
        uint32_t worst = search->now.send[search->now.m - 1];

        for (uint32_t i = 0; i < search->now.m; i++)
            if (search->now.tight[i] < 0 &&
                search->now.tight[i] < search->now.tight[worst])
                worst = i;
        if (!cv_inverse_without(&search->now, worst, &search->rest))
            return false;
        swap_now(search);
    }
    return true;
}

static void start_from(struct search *search, const struct cv_round_trip *trip)
{
    if (!cv_inverse_load(&search->now, trip->send, trip->back, trip->n) ||
        !make_feasible(search))
        insert_all(search, search->order);
}

static void shuffle(struct search *search)
{
    const uint32_t n = search->returns->n;

    for (uint32_t k = 0; k < n; k++)
        search->shuffled[k] = search->order[k];
    for (uint32_t k = n; k > 1; k--) {
        const uint32_t other = draw(&search->random, k);
        const uint32_t keep = search->shuffled[k - 1];

        search->shuffled[k - 1] = search->shuffled[other];
        search->shuffled[other] = keep;
    }
}

static void start(struct search *search, uint32_t number)
{
    cv_random_at(&search->random, search->effort.seed, 0, number, 0);
    if (number == 0) {
        insert_all(search, search->order);
    } else if (number <= 3) {
        start_from(search, &search->plain[number - 1]);
    } else {
        shuffle(search);
        insert_all(search, search->shuffled);
    }
}

/* A few workers of the best schedule out, and back to random places if that can be. */
static void kick(struct search *search, uint32_t number)
{
    uint32_t thrown;

    cv_random_at(&search->random, search->effort.seed, 1, number, 0);
    cv_inverse_copy(&search->now, &search->best);
    shuffle(search);
    thrown = 2 + draw(&search->random, 3);
    thrown = thrown < search->returns->n ? thrown : search->returns->n;
    for (uint32_t k = 0; k < thrown; k++) {
        const int32_t slot = search->now.slot[search->shuffled[k]];

        if (slot != CV_NOBODY &&
            cv_inverse_without(&search->now, (uint32_t)slot, &search->rest))
            swap_now(search);
    }
    for (uint32_t k = 0; k < thrown; k++)
        for (unsigned turn = 0; turn < 4; turn++) {
            const uint32_t x = search->shuffled[k], m = search->now.m;

            if (search->now.slot[x] != CV_NOBODY)
                break;
            cv_inverse_copy(&search->rest, &search->now);
            if (cv_inverse_insert(&search->rest, x, draw(&search->random, m + 1),
                                  draw(&search->random, m + 1)) &&
                search->rest.score >= 0)
                swap_now(search);
        }
    make_feasible(search);
}

/* Steps after which nothing new begins. */
static double step_limit(const struct search *search)
{
    const struct cv_step_budget *budget = search->returns->budget;
    const double limit = search->effort.budget_s > 0
                             ? search->effort.budget_s * CV_STEPS_A_SECOND
                             : INFINITY;

    return budget != NULL ? fmin(limit, budget->limit - budget->spent) : limit;
}

static void look_around(struct search *search)
{
    const double limit = step_limit(search);

    for (uint32_t k = 0; k < search->effort.starts; k++) {
        if (k > 0 && search->places.steps > limit)
            break;
        start(search, k);
        improve(search);
        keep_best(search);
    }
    for (uint32_t k = 0; k < search->effort.kicks && search->best.m > 0; k++) {
        if (search->places.steps > limit)
            break;
        kick(search, k);
        improve(search);
        keep_best(search);
    }
    cv_step_budget_spend(search->returns->budget, search->places.steps);
}

/* --- the result --------------------------------------------------------------------- */

/* A copy in another arena. */
static enum cleave_status copy_trip(const struct cv_returns *returns,
                                    const struct cv_round_trip *trip,
                                    struct cv_arena *arena, struct cv_round_trip *out,
                                    struct cleave_error *err)
{
    double *units = cv_array(arena, returns->n, sizeof *units);

    if (units == NULL)
        return cv_fail_memory(err, "schedule");
    for (uint32_t x = 0; x < returns->n; x++)
        units[x] = trip->units[x];
    return cv_returns_make(returns, trip->send, trip->back, trip->n, units,
                           trip->lifespan_s, false, arena, out, err);
}

/* Keep the better one; of equal ones the first. */
static void keep_better(struct cv_round_trip *best, const struct cv_round_trip *other)
{
    if (other->work > best->work * (1 + 1e-12))
        *best = *other;
}

static enum cleave_status finish(struct search *search, struct cv_arena *scratch,
                                 struct cv_round_trip *best, struct cleave_error *err)
{
    struct cv_inverse *found = &search->now;
    struct cv_round_trip trip;

    cv_inverse_copy(found, &search->best);
    /* Solved once more, a share of nothing may turn out to be less than that. */
    if (!cv_inverse_renew(found) || !make_feasible(search) || found->m == 0 ||
        !cv_inverse_polish(found))
        return CLEAVE_OK;
    CV_TRY(cv_inverse_result(found, scratch, &trip, err));
    keep_better(best, &trip);
    if (trip.n == 0 || trip.n > MOST_CHECKED)
        return CLEAVE_OK;
    CV_TRY(cv_returns_given(search->returns, best->send, best->back, best->n,
                            best->lifespan_s, scratch, &trip, err));
    keep_better(best, &trip);
    return CLEAVE_OK;
}

/* --- all of it ---------------------------------------------------------------------- */

static enum cleave_status init(struct search *search, double lifespan_s,
                               struct cv_arena *scratch, struct cleave_error *err)
{
    const struct cv_returns *returns = search->returns;
    double *keys = cv_array(scratch, returns->n, sizeof *keys);

    search->order = cv_array(scratch, returns->n, sizeof *search->order);
    search->shuffled = cv_array(scratch, returns->n, sizeof *search->shuffled);
    if (keys == NULL || search->order == NULL || search->shuffled == NULL ||
        !cv_inverse_init(&search->now, returns, lifespan_s, scratch) ||
        !cv_inverse_init(&search->rest, returns, lifespan_s, scratch) ||
        !cv_inverse_init(&search->best, returns, lifespan_s, scratch) ||
        !cv_places_init(&search->places, returns->n, returns->single, scratch))
        return cv_fail_memory(err, "order search");
    for (uint32_t x = 0; x < returns->n; x++)
        keys[x] = returns->trips[x].send_s;
    if (!cv_returns_sort(keys, returns->n, scratch, search->order))
        return cv_fail_memory(err, "order search");
    return CLEAVE_OK;
}

static enum cleave_status search_in(struct search *search, double lifespan_s,
                                    struct cv_arena *scratch, struct cv_round_trip *best,
                                    struct cleave_error *err)
{
    const struct cv_returns *returns = search->returns;
    struct cv_round_trip *plain = search->plain;

    CV_TRY(cv_returns_fifo(returns, lifespan_s, scratch, &plain[0], err));
    CV_TRY(cv_returns_lifo(returns, lifespan_s, scratch, &plain[1], err));
    CV_TRY(cv_returns_small(returns, lifespan_s, scratch, &plain[2], NULL, err));
    *best = plain[0];
    keep_better(best, &plain[1]);
    keep_better(best, &plain[2]);
    if (returns->n > CV_SEARCH_MOST)
        return CLEAVE_OK;
    CV_TRY(init(search, lifespan_s, scratch, err));
    look_around(search);
    return finish(search, scratch, best, err);
}

enum cleave_status cv_returns_search(const struct cv_returns *returns, double lifespan_s,
                                     const struct cv_search_effort *effort,
                                     struct cv_arena *arena, struct cv_round_trip *out,
                                     struct cleave_error *err)
{
    struct search search = { .returns = returns };
    struct cv_round_trip best;
    struct cv_arena scratch;
    enum cleave_status status;

    CV_TRY(cv_returns_check(returns, lifespan_s, err));
    if (cv_returns_hopeless(returns, lifespan_s))
        return cv_returns_nothing(returns, lifespan_s, arena, out, err);
    if (effort != NULL)
        search.effort = *effort;
    if (search.effort.starts == 0) {
        search.effort = usual_effort;
        search.effort.seed = effort != NULL ? effort->seed : 0;
    }
    cv_arena_init(&scratch);
    status = search_in(&search, lifespan_s, &scratch, &best, err);
    if (status == CLEAVE_OK)
        status = copy_trip(returns, &best, arena, out, err);
    if (status == CLEAVE_OK)
        out->optimal = returns->n == 1;
    cv_arena_done(&scratch);
    return status;
}
