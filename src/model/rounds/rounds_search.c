/* rounds_search.c -- search for the best two words. SPDX-License-Identifier: MIT
 *
 * It starts with round robins and continues with random changes: a copy of the words is changed
 * in one to three places and kept if it is not worse, or by annealing. Numbers of changes are
 * fixed, so that the same instance gives the same plan. */
#include "model/rounds/rounds_internal.h"

#include <math.h>
#include <string.h>
#include "model/returns/returns_internal.h"

static uint64_t random_bits(struct cv_rounds_search *search)
{
    uint64_t x = search->state;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    search->state = x;
    return x >> 11;
}

/* A random number below n. */
static uint32_t below(struct cv_rounds_search *search, uint32_t n)
{
    return n > 0 ? (uint32_t)(random_bits(search) % n) : 0;
}

/* A random number from 0 to 1. */
static double random_part(struct cv_rounds_search *search)
{
    return (double)random_bits(search) * (1.0 / 9007199254740992.0);
}

/* --- one random change ---------------------------------------------------------------- */

/* Letters are inserted, deleted, moved (mostly by a few places), replaced, or change from
 * one word to the other; workers leave, join, or exchange their parts. Every worker keeps
 * a letter in each word. In a chain only the letters before the pivots of the send word
 * and after the pivots of the return word change one by one, and pivots move in both
 * words together. */

enum { NEAR = 4 }; /* places that a move spans as a rule */

static void insert(uint32_t *word, uint32_t *n, uint32_t at, uint32_t letter)
{
    memmove(word + at + 1, word + at, (*n - at) * sizeof *word);
    word[at] = letter;
    ++*n;
}

static void erase(uint32_t *word, uint32_t *n, uint32_t at)
{
    memmove(word + at, word + at + 1, (*n - at - 1) * sizeof *word);
    --*n;
}

static uint32_t count(const uint32_t *word, uint32_t n, uint32_t letter)
{
    uint32_t found = 0;

    for (uint32_t k = 0; k < n; k++)
        found += word[k] == letter;
    return found;
}

/* Remove all letters of a worker. */
static void strike(uint32_t *word, uint32_t *n, uint32_t letter)
{
    uint32_t kept = 0;

    for (uint32_t k = 0; k < *n; k++)
        if (word[k] != letter)
            word[kept++] = word[k];
    *n = kept;
}

static uint32_t near(struct cv_rounds_search *search, uint32_t at, uint32_t n)
{
    int64_t place = (int64_t)at + below(search, 2 * NEAR + 1) - NEAR;

    if (below(search, 4) == 0)
        place = below(search, n + 1);
    return place < 0 ? 0 : place > n ? n : (uint32_t)place;
}

/* Insert, delete, move or replace one of the `n` letters of a word from `first`. `keeps`: the
 * last letter of a worker must stay. */
static bool edit(struct cv_rounds_search *search, uint32_t *word, uint32_t *total,
                 uint32_t first, uint32_t n, bool keeps)
{
    const uint32_t kind = below(search, 10);
    uint32_t at = first + (n > 0 ? below(search, n) : 0), letter;

    if (kind < 2) {
        if (*total + 8 >= search->room->max)
            return false;
        letter = word[below(search, *total)];
        insert(word, total, first + below(search, n + 1), letter);
        return true;
    }
    if (n == 0)
        return false;
    letter = word[at];
    if ((kind < 4 || kind >= 8) && keeps && count(word, *total, letter) < 2)
        return false;
    if (kind >= 8) {
        word[at] = word[below(search, *total)];
        return true;
    }
    erase(word, total, at);
    if (kind >= 4)
        insert(word, total, first + near(search, at - first, n - 1), letter);
    return true;
}

static void rename_letters(uint32_t *word, uint32_t n, uint32_t one, uint32_t other)
{
    for (uint32_t k = 0; k < n; k++)
        word[k] = word[k] == one ? other : word[k] == other ? one : word[k];
}

static bool exchange(struct cv_rounds_search *search, struct cv_rounds_words *words)
{
    const uint32_t one = words->send[below(search, words->nsend)];
    const uint32_t other = below(search, search->room->rounds->returns.n);

    if (one == other)
        return false;
    rename_letters(words->send, words->nsend, one, other);
    rename_letters(words->back, words->nback, one, other);
    return true;
}

static bool leave(struct cv_rounds_search *search, struct cv_rounds_candidate *candidate)
{
    struct cv_rounds_words *words = &candidate->words;
    const uint32_t worker = words->send[below(search, words->nsend)];

    if (count(words->send, words->nsend, worker) == words->nsend)
        return false;
    strike(words->send, &words->nsend, worker);
    strike(words->back, &words->nback, worker);
    if (candidate->chain > 0)
        candidate->chain--;
    return true;
}

static bool join(struct cv_rounds_search *search, struct cv_rounds_candidate *candidate)
{
    struct cv_rounds_words *words = &candidate->words;
    const uint32_t worker = below(search, search->room->rounds->returns.n);
    uint32_t at, n = candidate->chain;

    if (count(words->send, words->nsend, worker) > 0 ||
        words->nsend + 8 >= search->room->max || words->nback + 8 >= search->room->max)
        return false;
    if (n == 0) {
        insert(words->send, &words->nsend, below(search, words->nsend + 1), worker);
        insert(words->back, &words->nback, below(search, words->nback + 1), worker);
        return true;
    }
    at = below(search, n + 1);
    insert(words->send, &words->nsend, words->nsend - n + at, worker);
    insert(words->back, &words->nback, candidate->lifo ? n - at : at, worker);
    candidate->chain++;
    return true;
}

/* A letter moves to the other word. */
static bool cross(struct cv_rounds_search *search, struct cv_rounds_candidate *candidate,
                  bool out)
{
    struct cv_rounds_words *words = &candidate->words;
    uint32_t *from = out ? words->send : words->back,
             *nfrom = out ? &words->nsend : &words->nback;
    uint32_t *to = out ? words->back : words->send,
             *nto = out ? &words->nback : &words->nsend;
    const uint32_t n = candidate->chain, loose = *nfrom - n;
    uint32_t at, letter;

    if (loose == 0 || *nto + 8 >= search->room->max)
        return false;
    at = below(search, loose);
    if (n > 0 && !out)
        at += n;
    letter = from[at];
    if (n == 0 && count(from, *nfrom, letter) < 2)
        return false;
    erase(from, nfrom, at);
    at = below(search, *nto - n + 1);
    insert(to, nto, n > 0 && out ? n + at : at, letter);
    return true;
}

/* Two neighbours among the pivots of a chain change places. */
static bool turn(struct cv_rounds_search *search, struct cv_rounds_candidate *candidate)
{
    struct cv_rounds_words *words = &candidate->words;
    const uint32_t n = candidate->chain;
    uint32_t *send = words->send + words->nsend - n, i, k, kept;

    if (n < 2)
        return false;
    i = below(search, n - 1);
    k = candidate->lifo ? n - 2 - i : i;
    kept = send[i];
    send[i] = send[i + 1];
    send[i + 1] = kept;
    kept = words->back[k];
    words->back[k] = words->back[k + 1];
    words->back[k + 1] = kept;
    return true;
}

/* One random change; false: nothing was changed. */
static bool mutate(struct cv_rounds_search *search, struct cv_rounds_candidate *candidate)
{
    struct cv_rounds_words *words = &candidate->words;
    const uint32_t kind = below(search, 100), n = candidate->chain;

    if (n > 0 && kind < 10)
        return turn(search, candidate);
    if (kind < 40)
        return edit(search, words->send, &words->nsend, 0, words->nsend - n, n == 0);
    if (kind < 80)
        return edit(search, words->back, &words->nback, n, words->nback - n, n == 0);
    if (kind < 92)
        return cross(search, candidate, kind < 86);
    if (kind < 95)
        return leave(search, candidate);
    if (kind < 98)
        return join(search, candidate);
    return exchange(search, words);
}

bool cv_rounds_search_init(struct cv_rounds_search *search,
                           struct cv_rounds_workspace *room, uint64_t seed,
                           struct cv_arena *arena)
{
    *search = (struct cv_rounds_search){ .room = room, .limit = INFINITY };
    search->state = seed * 0x9e3779b97f4a7c15u + 88172645463325252u;
    if (search->state == 0)
        search->state = 1;
    search->best.end_s = search->current.end_s = search->trial.end_s = INFINITY;
    return cv_words_init(&search->best.words, room->max, arena) &&
           cv_words_init(&search->current.words, room->max, arena) &&
           cv_words_init(&search->trial.words, room->max, arena);
}

void cv_candidate_copy(struct cv_rounds_candidate *to,
                       const struct cv_rounds_candidate *from)
{
    struct cv_rounds_words *words = &to->words;

    words->nsend = from->words.nsend;
    words->nback = from->words.nback;
    memcpy(words->send, from->words.send, words->nsend * sizeof *words->send);
    memcpy(words->back, from->words.back, words->nback * sizeof *words->back);
    to->chain = from->chain;
    to->lifo = from->lifo;
    to->end_s = from->end_s;
}

/* About nanoseconds per letter of an evaluation. */
static const double STEP = 15;

double cv_rounds_try(struct cv_rounds_search *search)
{
    struct cv_rounds_candidate *trial = &search->trial;

    /* Chunks in parts may end before T of the closed form. */
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

/* Whether to continue from the trial. */
static bool accepts(struct cv_rounds_search *search, double heat_s)
{
    const double worse_s = search->trial.end_s - search->current.end_s;

    if (worse_s <= 0)
        return true;
    return heat_s > 0 && isfinite(search->trial.end_s) &&
           worse_s < -heat_s * log(random_part(search) + 1e-300);
}

void cv_rounds_change(struct cv_rounds_search *search, uint64_t effort, double heat)
{
    const uint64_t quarter = effort / 4;

    if (isinf(search->best.end_s))
        return;
    cv_candidate_copy(&search->current, &search->best);
    for (uint64_t i = 0; i < effort && search->spent < search->limit; i++) {
        const double left = 1 - (double)i / (double)effort;
        /* One change at a time gains more at first, several gain more in the end. */
        const int times = effort == UINT32_MAX
                              ? 1
                              : 1 + (below(search, 3) == 0) + (below(search, 8) == 0);
        bool changed = false;

        cv_candidate_copy(&search->trial, &search->current);
        for (int k = 0; k < times; k++)
            changed = mutate(search, &search->trial) || changed;
        if (!changed)
            continue;
        search->room->limit_s =
            heat > 0 ? INFINITY : nextafter(search->current.end_s, INFINITY);
        (void)cv_rounds_try(search);
        if (accepts(search, heat * search->best.end_s * left * left)) {
            const struct cv_rounds_candidate kept = search->current;

            search->current = search->trial;
            search->trial = kept;
        }
        if (heat > 0 && i % (quarter + 1) == quarter &&
            search->current.end_s > search->best.end_s * 1.002)
            cv_candidate_copy(&search->current, &search->best);
    }
    search->room->limit_s = INFINITY;
}

/* --- round robins: the starts --------------------------------------------------------- */

/* n workers in turn, G growing and D shrinking chunks: a coarse grid of G and D, then steps
 * of n/2, n/4, .. 1 in eight directions while the makespan decreases. */

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
    double end_s; /* the best so far */
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
        /* With fewer workers the makespan decreases and then increases. */
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
    uint32_t *order, *before;
    double *keys;

    if (!CV_NEW(arena, order, n) || !CV_NEW(arena, before, n) || !CV_NEW(arena, keys, n))
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
            strike(words->send, &words->nsend, w);
            if (words->nsend == search->current.words.nsend || words->nsend == 0)
                continue;
            strike(words->back, &words->nback, w);
            if (search->trial.chain > 0)
                search->trial.chain--;
            better = cv_rounds_try(search) < before_s * (1 - 1e-12) || better;
        }
    }
}

/* --- search by linear programs -------------------------------------------------------- */

/* For few workers, and if a duplex port is full, the closed form of good orders is not their
 * optimum and misleads the search. Here every change whose closed form is at most FAR times as
 * long as the best plan is measured by its linear program. */

static const double FAR = 1.08;

static enum cleave_status try_change(struct cv_rounds_search *search,
                                     struct cv_arena *scratch,
                                     struct cv_rounds_plan *plan,
                                     struct cleave_error *err)
{
    const double end_s = cv_rounds_dense(search->room, &search->trial.words);

    *plan = (struct cv_rounds_plan){ .makespan_s = INFINITY };
    if (!(end_s < search->current.end_s * FAR))
        return CLEAVE_OK;
    CV_TRY(cv_rounds_take(search->room, end_s, scratch, plan, err));
    return cv_rounds_lp(search->room->rounds, plan, scratch, err);
}

/* Copy a plan into another arena. */
static enum cleave_status keep(const struct cv_rounds_plan *plan, struct cv_arena *arena,
                               struct cv_rounds_plan *out, struct cleave_error *err)
{
    const size_t n = plan->nchunks;

    if (!cv_rounds_plan_init(out, plan->nchunks, arena))
        return cv_fail_memory(err, "a plan");
    for (size_t i = 0; i < n; i++) {
        out->worker[i] = plan->worker[i];
        out->units[i] = plan->units[i];
        out->back[i] = plan->back[i];
    }
    out->makespan_s = plan->makespan_s;
    return CLEAVE_OK;
}

enum cleave_status cv_rounds_polish(struct cv_rounds_search *search, double work,
                                    struct cv_arena *arena, struct cv_rounds_plan *best,
                                    struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    struct cv_arena scratch;

    cv_arena_init(&scratch);
    cv_candidate_copy(&search->current, &search->best);
    search->current.end_s = best->makespan_s;
    for (double spent = 0; spent < work && status == CLEAVE_OK;) {
        const uint32_t times = 1 + below(search, 3);
        const double n = best->nchunks;
        struct cv_rounds_plan plan;

        spent += 1000 + n * n * n;
        if (spent > work)
            break;
        cv_candidate_copy(&search->trial, &search->current);
        for (uint32_t k = 0; k < times; k++)
            (void)mutate(search, &search->trial);
        status = try_change(search, &scratch, &plan, err);
        if (status == CLEAVE_OK && plan.makespan_s <= search->current.end_s) {
            cv_candidate_copy(&search->current, &search->trial);
            search->current.end_s = plan.makespan_s;
            if (plan.makespan_s < best->makespan_s)
                status = keep(&plan, arena, best, err);
        }
        cv_arena_reset(&scratch);
    }
    cv_arena_done(&scratch);
    return status;
}
