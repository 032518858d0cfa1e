/* rent_words.c -- orders of chunks whose sizes are chosen for a price.
 * SPDX-License-Identifier: MIT
 *
 * For one order the cheapest sizes for a deadline come from a linear program
 * (model/load/min_cost_sizes.h), and their cost falls as the deadline is later, so that the earliest
 * deadline for a budget is found by halving. Of the orders the best is taken; then workers
 * leave it, one by one, as long as that is better: what each costs before it does anything
 * is no part of the program. */
#include "sim/load/rent_words.h"

#include <math.h>
#include <string.h>

enum { HALVINGS = 30, ROUNDS_MOST = 5, LATE_MOST = 3 };
_Static_assert(1 + 1 + (ROUNDS_MOST - 1) * LATE_MOST <= CV_RENT_WORDS_EACH,
               "room for all");
static const double BETTER = 1 - 1e-7;

bool cv_rent_words_open(struct cv_rent_words *words,
                        const struct cv_min_cost_plan *thrift, size_t max,
                        struct cv_arena *arena)
{
    *words = (struct cv_rent_words){ .thrift = *thrift, .capacity = max };
    words->words = cv_array(arena, max, sizeof *words->words);
    for (uint32_t w = 0; w < thrift->nworkers; w++) {
        const struct cleave_worker *worker = &thrift->workers[w];

        words->longest_s += worker->latency_s + worker->compute_latency_s;
        words->longest_s =
            fmax(words->longest_s,
                 thrift->load * (1 / worker->bandwidth_ups + 1 / worker->speed_ups));
    }
    words->longest_s *= 4;
    return words->words != NULL;
}

/* Room for one more order of so many chunks; NULL: there are enough, or memory is short,
 * which *enough says. */
static struct cv_plan *add_word(struct cv_rent_words *words, uint64_t nchunks,
                                struct cv_arena *arena, bool *enough)
{
    struct cv_plan *word = &words->words[words->nwords];

    if (words->nwords == words->capacity || nchunks > CV_THRIFT_MOST)
        return NULL;
    *enough = cv_plan_init(word, arena, nchunks);
    words->nwords += *enough;
    return *enough ? word : NULL;
}

bool cv_rent_words_keep(struct cv_rent_words *words,
                        const struct cleave_schedule *schedule, const uint32_t *members,
                        struct cv_arena *arena)
{
    bool enough = true;
    struct cv_plan *word = add_word(words, schedule->nchunks, arena, &enough);

    for (size_t k = 0; word != NULL && k < schedule->nchunks; k++)
        word->worker[k] = members[schedule->chunks[k].worker];
    return enough;
}

/* One chunk for each of the members, the widest link first. */
static bool one_round(struct cv_rent_words *words, const uint32_t *members, uint32_t n,
                      struct cv_arena *arena)
{
    bool enough = true;
    struct cv_plan *word = add_word(words, n, arena, &enough);

    for (uint32_t i = 0; word != NULL && i < n; i++) {
        const double width = words->thrift.workers[members[i]].bandwidth_ups;
        uint32_t at = i;

        for (;
             at > 0 && words->thrift.workers[word->worker[at - 1]].bandwidth_ups < width;
             at--)
            word->worker[at] = word->worker[at - 1];
        word->worker[at] = members[i];
    }
    return enough;
}

bool cv_rent_words_rounds(struct cv_rent_words *words, const uint32_t *members,
                          uint32_t n, struct cv_arena *arena)
{
    bool enough = one_round(words, members, n, arena);

    for (uint32_t rounds = 1; rounds <= ROUNDS_MOST && enough; rounds++)
        for (uint32_t late = 0; late < LATE_MOST && late < n && enough; late++) {
            const uint64_t nchunks = (uint64_t)(n - late) * rounds + late;
            struct cv_plan *word = NULL;

            if (rounds > 1 || late == 0)
                word = add_word(words, nchunks, arena, &enough);
            for (uint64_t k = 0; word != NULL && k < nchunks; k++)
                word->worker[k] =
                    members[k < nchunks - late ? k % (n - late)
                                               : k - (nchunks - late) + n - late];
        }
    return enough;
}

/* What is best so far: least cost for the deadline, or earliest deadline for the budget. */
struct best {
    struct cv_plan plan;
    double cost, deadline_s;
};

static double size_up(const struct cv_rent_words *words, const struct cv_plan *word,
                      double deadline_s, struct cv_arena *arena, struct cv_plan *out)
{
    struct cv_plan sized = *word;
    struct cv_arena scratch;
    double cost;

    cv_arena_init(&scratch);
    cost = cv_min_cost_sizes(&words->thrift, deadline_s, &sized, &scratch);
    if (isfinite(cost)) {
        if (cv_plan_init(out, arena, sized.nchunks)) {
            memcpy(out->worker, sized.worker, sized.nchunks * sizeof *out->worker);
            memcpy(out->units, sized.units, sized.nchunks * sizeof *out->units);
        } else {
            cost = NAN;
        }
    }
    cv_arena_done(&scratch);
    return cost;
}

/* The earliest deadline for which this order keeps to the budget. */
static bool hurry(const struct cv_rent_words *words, const struct cv_plan *word,
                  double budget, struct cv_arena *arena, struct best *best)
{
    double low = 0, high = best->deadline_s * BETTER;

    for (int i = 0; i <= HALVINGS; i++) {
        const double middle = i == 0 ? high : low + (high - low) / 2;
        struct cv_plan plan;
        const double cost = size_up(words, word, middle, arena, &plan);

        if (isnan(cost))
            return false;
        if (cost <= budget)
            *best = (struct best){ plan, cost, high = middle };
        else if (i == 0)
            return true;
        else
            low = middle;
    }
    return true;
}

static bool try_word(const struct cv_rent_words *words, const struct cv_plan *word,
                     const struct cleave_rental_terms *terms, struct cv_arena *arena,
                     struct best *best)
{
    struct cv_plan plan;
    double cost;

    if (!(terms->deadline_s > 0))
        return hurry(words, word, terms->budget, arena, best);
    cost = size_up(words, word, terms->deadline_s, arena, &plan);
    if (cost < best->cost * BETTER || (isinf(best->cost) && !isinf(cost)))
        *best = (struct best){ plan, cost, terms->deadline_s };
    return !isnan(cost);
}

/* The order without the chunks of a worker; false: memory is short. */
static bool without(const struct cv_plan *word, uint32_t worker, struct cv_arena *arena,
                    struct cv_plan *out)
{
    if (!cv_plan_init(out, arena, word->nchunks))
        return false;
    out->nchunks = 0;
    for (size_t k = 0; k < word->nchunks; k++)
        if (word->worker[k] != worker)
            out->worker[out->nchunks++] = word->worker[k];
    return true;
}

/* Workers leave as long as that is better. */
static bool prune(const struct cv_rent_words *words,
                  const struct cleave_rental_terms *terms, struct cv_arena *arena,
                  struct best *best)
{
    for (uint32_t w = 0; w < words->thrift.nworkers; w++) {
        struct cv_plan word;

        if (!without(&best->plan, w, arena, &word))
            return false;
        if (word.nchunks > 0 && word.nchunks < best->plan.nchunks &&
            !try_word(words, &word, terms, arena, best))
            return false;
    }
    return true;
}

bool cv_rent_words_best(const struct cv_rent_words *words,
                        const struct cleave_rental_terms *terms, struct cv_arena *arena,
                        struct cv_plan *out, double *out_cost)
{
    struct best best = { .cost = INFINITY, .deadline_s = words->longest_s };

    for (size_t i = words->nwords; i-- > 0;)
        if (!try_word(words, &words->words[i], terms, arena, &best))
            return false;
    if (!isinf(best.cost) && !prune(words, terms, arena, &best))
        return false;
    *out = best.plan;
    *out_cost = best.cost;
    return true;
}
