/* rounds_search.c -- random changes of words. SPDX-License-Identifier: MIT
 *
 * A copy of the words is changed in one to three places and kept if it is not worse, or by
 * annealing. Numbers of changes are fixed, so that the same case gives the same plan. */
#include "model/rounds/rounds_search.h"

#include <math.h>
#include <string.h>

bool cv_rounds_search_init(struct cv_rounds_search *search,
                           struct cv_rounds_workspace *room, uint64_t seed,
                           struct cv_arena *arena)
{
    *search = (struct cv_rounds_search){ .room = room, .limit = INFINITY };
    search->state = seed * 0x9e3779b97f4a7c15u + 88172645463325252u;
    if (search->state == 0)
        search->state = 1;
    search->best.end_s = search->current.end_s = search->trial.end_s = INFINITY;
    search->counts = cv_array(arena, room->rounds->returns.n, sizeof *search->counts);
    return search->counts != NULL &&
           cv_words_init(&search->best.words, room->max, arena) &&
           cv_words_init(&search->current.words, room->max, arena) &&
           cv_words_init(&search->trial.words, room->max, arena);
}

void cv_candidate_copy(struct cv_rounds_candidate *to,
                       const struct cv_rounds_candidate *from)
{
    cv_words_copy(&to->words, &from->words);
    to->chain = from->chain;
    to->lifo = from->lifo;
    to->end_s = from->end_s;
}

/* About the nanoseconds that the letter of an evaluation takes. */
static const double STEP = 15;

double cv_rounds_try(struct cv_rounds_search *search)
{
    struct cv_rounds_candidate *trial = &search->trial;

    /* Parts of chunks may end before the closed form says. */
    if (search->room->rounds->memory != NULL)
        search->room->limit_s = INFINITY;
    trial->end_s = trial->chain > 0 ? cv_rounds_chain(search->room, &trial->words,
                                                      trial->chain, trial->lifo)
                                    : cv_rounds_dense(search->room, &trial->words);
    search->spent = STEP * search->room->steps;
    if (trial->end_s < search->best.end_s)
        cv_candidate_copy(&search->best, trial);
    return trial->end_s;
}

bool cv_rounds_set_free(struct cv_rounds_search *search)
{
    static const double SAME = 1 + 1e-9;
    struct cv_rounds_candidate *best = &search->best;

    if (best->chain == 0)
        return true;
    if (!(cv_rounds_dense(search->room, &best->words) <= best->end_s * SAME))
        return false;
    best->chain = 0;
    return true;
}

/* Whether to go on from the trial. */
static bool accepts(struct cv_rounds_search *search, double heat_s)
{
    const double worse_s = search->trial.end_s - search->current.end_s;

    if (worse_s <= 0)
        return true;
    return heat_s > 0 && isfinite(search->trial.end_s) &&
           worse_s < -heat_s * log(cv_rounds_part(search) + 1e-300);
}

static void swap(struct cv_rounds_candidate *one, struct cv_rounds_candidate *other)
{
    const struct cv_rounds_candidate kept = *one;

    *one = *other;
    *other = kept;
}

void cv_rounds_change(struct cv_rounds_search *search, uint64_t effort, double heat)
{
    const uint64_t quarter = effort / 4;

    if (isinf(search->best.end_s))
        return;
    cv_candidate_copy(&search->current, &search->best);
    for (uint64_t i = 0; i < effort && search->spent < search->limit; i++) {
        const double left = 1 - (double)i / (double)effort;
        /* One change at a time finds more in little time, several more in the end. */
        const int times = effort == UINT32_MAX ? 1
                                               : 1 + (cv_rounds_below(search, 3) == 0) +
                                                     (cv_rounds_below(search, 8) == 0);
        bool changed = false;

        cv_candidate_copy(&search->trial, &search->current);
        for (int k = 0; k < times; k++)
            changed = cv_rounds_mutate(search, &search->trial) || changed;
        if (!changed)
            continue;
        search->room->limit_s =
            heat > 0 ? INFINITY : nextafter(search->current.end_s, INFINITY);
        (void)cv_rounds_try(search);
        if (accepts(search, heat * search->best.end_s * left * left))
            swap(&search->current, &search->trial);
        if (heat > 0 && i % (quarter + 1) == quarter &&
            search->current.end_s > search->best.end_s * 1.002)
            cv_candidate_copy(&search->current, &search->best);
    }
    search->room->limit_s = INFINITY;
}
