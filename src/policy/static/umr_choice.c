/* umr_choice.c -- uniform rounds: for how many workers, and how many of them.
 * SPDX-License-Identifier: MIT
 *
 * The formulas are at the head of umr.c. */
#include "policy/static/umr_choice.h"

#include <math.h>

#include "base/fail.h"
#include "policy/common/bandwidth_order.h"
#include "policy/static/one_round.h"

/* Allowed for rounding in sums that should not exceed a limit. */
static const double slack = 1e-12;

uint32_t cv_umr_choose_rounds(const struct cv_umr_search *search,
                              const struct cv_umr_sums *p)
{
    const double eta = cv_umr_eta(p);
    uint32_t max = search->round_cap, rounds;

    if (cv_umr_theta(p) > 1 && eta > 0) {
        const double limit = search->load / eta * (1 + slack);

        if (limit < 2)
            return 1;
        if (limit < max)
            max = (uint32_t)limit;
    }
    rounds = cv_umr_whole_rounds(p, search->load, max);
    if (rounds < 1)
        return 1;
    if (rounds < max && cv_umr_shape_of(p, search->load, rounds + 1).expected_s <
                            cv_umr_shape_of(p, search->load, rounds).expected_s)
        rounds++;
    return rounds;
}

/* Is no chunk negative with the first n workers? */
static bool works(struct cv_umr_search *search, uint32_t n, uint32_t rounds)
{
    const struct cv_umr_sums *p = &search->sums[n];
    struct cv_umr_shape shape;
    double last_s, tolerance_s;

    if (rounds == 1) {
        const double end_s = (search->load + p->level_lost) / p->level_rate;

        return p->level_least_s <= end_s * (1 + slack);
    }
    shape = cv_umr_shape_of(p, search->load, rounds);
    if (!(fmin(shape.first_s, shape.second_last_s) >= p->latency_s))
        return false;
    tolerance_s = slack * cv_umr_end(p, search->load, rounds, &shape, &last_s);
    /* Most often the last worker is the one that comes too late, or the one that did
     * before; only when neither does must all be looked at. */
    for (uint32_t i = 0; i < n + 2; i++) {
        const uint32_t place = i == 0 ? n - 1 : i == 1 ? search->witness : i - 2;
        double late_s;

        if (place >= n)
            continue;
        late_s =
            search->sums[place + 1].kappa + search->sums[place + 1].rho * shape.first_s;
        if (search->sorted[place].compute_latency_s + late_s > last_s + tolerance_s) {
            search->witness = place;
            return false;
        }
    }
    return true;
}

/* Fill in the sums over the first n of the order while they use no more than the port. */
static enum cleave_status sum_up(struct cv_umr_search *search,
                                 const struct cleave_worker *workers, uint32_t nworkers,
                                 struct cv_arena *arena, struct cv_umr *out,
                                 struct cleave_error *err)
{
    struct cv_umr_sums *sums = cv_array(arena, (size_t)nworkers + 1, sizeof *sums);
    struct cleave_worker *sorted = cv_array(arena, nworkers, sizeof *sorted);
    struct cv_umr_line line = { 1, 0 };
    uint32_t n = 0;

    if (sums == NULL || sorted == NULL)
        return cv_fail_memory(err, "the sums over workers");
    while (n < nworkers) {
        sorted[n] = workers[search->order[n]];
        sums[n + 1] = cv_umr_add(&sums[n], &sorted[n], &line);
        out->usage = sums[n + 1].rho;
        if (n > 0 && sums[n + 1].rho > 1 + slack)
            break;
        n++;
    }
    search->sums = sums;
    search->sorted = sorted;
    out->order = search->order;
    out->usable = n;
    out->prompt = nworkers;
    return CLEAVE_OK;
}

/* When all end with the first n workers; they work. */
static double end_of(const struct cv_umr_search *search, uint32_t n, uint32_t rounds)
{
    const struct cv_umr_sums *p = &search->sums[n];
    struct cv_umr_shape shape;
    double last_s;

    if (rounds == 1)
        return (search->load + p->level_lost) / p->level_rate;
    shape = cv_umr_shape_of(p, search->load, rounds);
    return cv_umr_end(p, search->load, rounds, &shape, &last_s);
}

/* The most rounds below `rounds`, which do not work, that are found to work; 0: none. */
static uint32_t fewer_rounds(struct cv_umr_search *search, uint32_t n, uint32_t rounds)
{
    uint32_t high = rounds, low = rounds / 2; /* high does not work */

    while (low > 0 && !works(search, n, low)) {
        high = low;
        low /= 2;
    }
    while (low > 0 && high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;

        if (works(search, n, middle))
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Take so many workers and rounds if they end sooner. */
static void offer(const struct cv_umr_search *search, uint32_t workers, uint32_t rounds,
                  struct cv_umr *out)
{
    if (workers > 0 &&
        end_of(search, workers, rounds) < end_of(search, out->workers, out->rounds)) {
        out->workers = workers;
        out->rounds = rounds;
    }
}

/* The most workers with the number of rounds that is best for them. If these are not all:
 * or the most with fewer rounds, or with one. Whichever ends first. */
static void choose_best(struct cv_umr_search *search, struct cv_umr *out)
{
    uint32_t max = 0, fewer = 0, once = out->usable; /* with fewer rounds, with one */

    for (uint32_t n = out->usable; n > 0; n--) {
        out->workers = n;
        out->rounds = cv_umr_choose_rounds(search, &search->sums[n]);
        if (works(search, n, out->rounds))
            break;
        if (max == 0 && (fewer = fewer_rounds(search, n, out->rounds)) > 0)
            max = n;
    }
    /* A single worker can always be sent everything at once. */
    while (out->rounds > 1 && !works(search, out->workers, out->rounds))
        out->rounds--;
    if (out->workers == out->usable && max == 0)
        return;
    while (once > 0 && !works(search, once, 1))
        once--;
    offer(search, max, fewer, out);
    offer(search, once, 1, out);
    out->rounds_only = out->workers < max || out->workers < once;
}

/* The most workers, and for them the rounds, 0: the best, for which no chunk is negative. */
static void choose(struct cv_umr_search *search, uint32_t rounds, struct cv_umr *out)
{
    if (rounds == 0) {
        choose_best(search, out);
        return;
    }
    out->rounds = rounds;
    out->workers = out->usable;
    while (out->workers > 0 && !works(search, out->workers, rounds))
        out->workers--;
    out->rounds_only = true;
}

/* Search among those who have a chunk in one round: the others take too long to start. */
static enum cleave_status search_prompt(struct cv_umr_search *search,
                                        const struct cleave_worker *workers,
                                        uint32_t nworkers, struct cv_arena *arena,
                                        struct cv_umr *out, struct cleave_error *err)
{
    uint32_t *order = cv_array(arena, nworkers, sizeof *order);
    struct cv_one_round once = { 0 };
    uint32_t n = 0, kept;

    if (order == NULL)
        return cv_fail_memory(err, "the order of the workers");
    CV_TRY(cv_one_round_plan(workers, nworkers, search->load, arena, &once, err));
    kept = (uint32_t)once.plan.nchunks;
    for (uint32_t i = 0; i < nworkers; i++) /* both are by decreasing bandwidth */
        if (n < kept && search->order[i] == once.plan.worker[n])
            order[n++] = search->order[i];
        else
            order[kept + i - n] = search->order[i];
    search->order = order;
    search->witness = UINT32_MAX;
    CV_TRY(sum_up(search, workers, n, arena, out, err));
    choose(search, 0, out);
    return CLEAVE_OK;
}

enum cleave_status cv_umr_choose(struct cv_umr_search *search,
                                 const struct cleave_worker *workers, uint32_t nworkers,
                                 uint32_t rounds, struct cv_arena *arena,
                                 struct cv_umr *out, struct cleave_error *err)
{
    struct cv_umr_search other = *search;
    struct cv_umr result = { 0 };

    search->witness = UINT32_MAX;
    search->order = cv_bandwidth_order(workers, nworkers, arena);
    if (search->order == NULL)
        return cv_fail_memory(err, "the order of the workers");
    CV_TRY(sum_up(search, workers, nworkers, arena, out, err));
    choose(search, rounds, out);
    if (rounds > 0 || out->workers == out->usable)
        return CLEAVE_OK;
    other.order = search->order;
    CV_TRY(search_prompt(&other, workers, nworkers, arena, &result, err));
    if (end_of(&other, result.workers, result.rounds) <
        end_of(search, out->workers, out->rounds)) {
        *search = other;
        *out = result;
    }
    return CLEAVE_OK;
}
