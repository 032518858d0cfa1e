/* rounds_starts.c -- round robin over prefixes of orders: where the search begins.
 * SPDX-License-Identifier: MIT
 *
 * n workers in turn, G growing and D shrinking chunks: a coarse grid of G and D, doubled, and
 * then steps of n/2, n/4, .. 1 in eight directions while that helps. */
#include <math.h>
#include <string.h>

#include "model/returns/returns_internal.h"
#include "model/rounds/rounds_search.h"

enum { EVERY_PREFIX = 12, MOST_TURNS = 24 };
static const double HOPELESS = 1.25;

void cv_rounds_robin(const uint32_t *order, uint32_t n, uint32_t growing,
                     uint32_t shrinking, bool lifo, struct cv_rounds_candidate *out)
{
    out->words.nsend = growing + n;
    out->words.nback = n + shrinking;
    out->chain = n;
    out->lifo = lifo;
    for (uint32_t k = 0, at = 0; k < growing + n; k++, at = at + 1 < n ? at + 1 : 0)
        out->words.send[growing + n - 1 - k] = order[n - 1 - at];
    for (uint32_t k = 0, at = 0; k < n + shrinking; k++, at = at + 1 < n ? at + 1 : 0)
        out->words.back[k] = order[lifo ? n - 1 - at : at];
}

struct robin {
    struct cv_rounds_search *search;
    const uint32_t *order;
    uint32_t n, limit, growing, shrinking;
    double end_s; /* the best of these n workers */
};

static bool try_at(struct robin *robin, uint32_t growing, uint32_t shrinking,
                   double *out_s)
{
    double end_s;

    cv_rounds_robin(robin->order, robin->n, growing, shrinking, false,
                    &robin->search->trial);
    robin->search->room->limit_s = robin->end_s;
    end_s = *out_s = cv_rounds_try(robin->search);
    robin->search->room->limit_s = INFINITY;
    if (!(end_s < robin->end_s * (1 - 1e-12)))
        return false;
    robin->end_s = end_s;
    robin->growing = growing;
    robin->shrinking = shrinking;
    return true;
}

static void try_grid(struct robin *robin, bool thorough)
{
    const uint32_t fine = thorough ? 3 : 1, n = robin->n;

    for (uint32_t g = 0; g * n <= robin->limit; g = g < fine ? g + 1 : g * 2)
        for (uint32_t d = 0; d * n <= robin->limit; d = d < fine ? d + 1 : d * 2) {
            double end_s;

            try_at(robin, g * n, d * n, &end_s);
            if (isinf(end_s) && d > 0)
                break;
        }
}

static void descend(struct robin *robin)
{
    static const int32_t ways[8][2] = { { 1, 0 },  { -1, 0 }, { 0, 1 }, { 0, -1 },
                                        { 1, -1 }, { -1, 1 }, { 1, 1 }, { -1, -1 } };
    int64_t step = robin->n > 1 ? robin->n / 2 : 1;

    for (;;) {
        bool better = false;

        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            const int64_t g = robin->growing + ways[i][0] * step;
            const int64_t d = robin->shrinking + ways[i][1] * step;
            double end_s;

            if (g >= 0 && d >= 0 && g <= robin->limit && d <= robin->limit)
                better = try_at(robin, (uint32_t)g, (uint32_t)d, &end_s) || better;
        }
        if (better)
            continue;
        if (step == 1)
            return;
        step /= 2;
    }
}

void cv_rounds_start(struct cv_rounds_search *search, const uint32_t *order, uint32_t n,
                     bool thorough)
{
    const uint32_t max = search->room->max;

    while (n > 0) {
        struct robin robin = { search, order, n, MOST_TURNS * n, 0, 0, INFINITY };

        if (robin.limit > max - n)
            robin.limit = max - n;
        try_grid(&robin, thorough);
        if (robin.end_s < search->best.end_s * (thorough ? 1.1 : 1.03)) {
            descend(&robin);
            cv_rounds_robin(order, n, robin.growing, robin.shrinking, true,
                            &search->trial);
            (void)cv_rounds_try(search);
        }
        /* Fewer workers get better and then worse. */
        if (!thorough && robin.end_s > search->best.end_s * HOPELESS)
            return;
        n = n <= EVERY_PREFIX ? n - 1 : n * 4 / 5;
    }
}

static double key_of(const struct cv_rounds *rounds, uint32_t worker,
                     enum cv_rounds_key key)
{
    const struct cv_trip *t = &rounds->returns.trips[worker];
    const double part = rounds->load / rounds->returns.n;

    switch (key) {
    case CV_BY_LINK:
        return t->send_s;
    case CV_BY_PASSAGE:
        return t->send_fixed_s + t->back_fixed_s + t->compute_fixed_s +
               part * (t->send_s + t->back_s);
    case CV_BY_SPEED:
        return t->compute_s;
    default:
        return t->send_s + t->compute_s;
    }
}

bool cv_rounds_start_by(struct cv_rounds_search *search, enum cv_rounds_key last,
                        bool thorough, struct cv_arena *arena)
{
    const struct cv_rounds *rounds = search->room->rounds;
    const uint32_t n = rounds->returns.n;
    uint32_t *order = cv_array(arena, n, sizeof *order);
    uint32_t *before = cv_array(arena, n, sizeof *before);
    double *keys = cv_array(arena, n, sizeof *keys);

    if (order == NULL || before == NULL || keys == NULL)
        return false;
    for (enum cv_rounds_key key = CV_BY_LINK; key <= last; key++) {
        memcpy(before, order, n * sizeof *order);
        for (uint32_t i = 0; i < n; i++)
            keys[i] = key_of(rounds, i, key);
        if (!cv_returns_sort(keys, n, arena, order))
            return false;
        if (key == CV_BY_LINK || memcmp(before, order, n * sizeof *order) != 0)
            cv_rounds_start(search, order, n, thorough);
    }
    return true;
}

/* Take all letters of a worker out of a word. */
static uint32_t without(uint32_t *word, uint32_t n, uint32_t worker)
{
    uint32_t kept = 0;

    for (uint32_t k = 0; k < n; k++)
        if (word[k] != worker)
            word[kept++] = word[k];
    return kept;
}

void cv_rounds_leave_out(struct cv_rounds_search *search)
{
    const uint32_t n = search->room->rounds->returns.n;
    bool better = isfinite(search->best.end_s);

    while (better && search->spent < search->limit) {
        better = false;
        cv_candidate_copy(&search->current, &search->best);
        for (uint32_t w = 0; w < n && search->spent < search->limit; w++) {
            struct cv_rounds_words *words = &search->trial.words;
            const double before_s = search->best.end_s;

            cv_candidate_copy(&search->trial, &search->current);
            words->nsend = without(words->send, words->nsend, w);
            if (words->nsend == search->current.words.nsend || words->nsend == 0)
                continue;
            words->nback = without(words->back, words->nback, w);
            if (search->trial.chain > 0)
                search->trial.chain--;
            better = cv_rounds_try(search) < before_s * (1 - 1e-12) || better;
        }
    }
}
