/* rounds_mutate.c -- one random change of two words. SPDX-License-Identifier: MIT
 *
 * Letters are inserted, deleted, moved, mostly by a few places, replaced, or change from one
 * word to the other; workers leave, join, or change their parts with another. Every worker
 * keeps a letter in each word. In a chain only what is before the pivots in the send word
 * and behind them in the return word changes letter by letter, and pivots change places in
 * both words together. */
#include <string.h>

#include "model/rounds/rounds_search.h"

/* Moves reach so many places as a rule. */
enum { NEAR = 4 };

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

static void strike(uint32_t *word, uint32_t *n, uint32_t letter)
{
    for (uint32_t k = *n; k-- > 0;)
        if (word[k] == letter)
            erase(word, n, k);
}

static uint32_t near(struct cv_rounds_search *search, uint32_t at, uint32_t n)
{
    int64_t place = (int64_t)at + cv_rounds_below(search, 2 * NEAR + 1) - NEAR;

    if (cv_rounds_below(search, 4) == 0)
        place = cv_rounds_below(search, n + 1);
    return place < 0 ? 0 : place > n ? n : (uint32_t)place;
}

/* A letter of part of a word, from `first` on `n` letters, is inserted (a random one of
 * `from`), deleted, moved or replaced. `keeps`: the last letter of a worker stays. */
static bool edit(struct cv_rounds_search *search, uint32_t *word, uint32_t *total,
                 uint32_t first, uint32_t n, bool keeps)
{
    const uint32_t kind = cv_rounds_below(search, 10);
    uint32_t at = first + (n > 0 ? cv_rounds_below(search, n) : 0), letter;

    if (kind < 2) {
        if (*total + 8 >= search->room->max)
            return false;
        letter = word[cv_rounds_below(search, *total)];
        insert(word, total, first + cv_rounds_below(search, n + 1), letter);
        return true;
    }
    if (n == 0)
        return false;
    letter = word[at];
    if ((kind < 4 || kind >= 8) && keeps && count(word, *total, letter) < 2)
        return false;
    if (kind >= 8) {
        word[at] = word[cv_rounds_below(search, *total)];
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
    const uint32_t one = words->send[cv_rounds_below(search, words->nsend)];
    const uint32_t other = cv_rounds_below(search, search->room->rounds->returns.n);

    if (one == other)
        return false;
    rename_letters(words->send, words->nsend, one, other);
    rename_letters(words->back, words->nback, one, other);
    return true;
}

static bool leave(struct cv_rounds_search *search, struct cv_rounds_candidate *candidate)
{
    struct cv_rounds_words *words = &candidate->words;
    const uint32_t worker = words->send[cv_rounds_below(search, words->nsend)];

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
    const uint32_t worker = cv_rounds_below(search, search->room->rounds->returns.n);
    uint32_t at, n = candidate->chain;

    if (count(words->send, words->nsend, worker) > 0 ||
        words->nsend + 8 >= search->room->max || words->nback + 8 >= search->room->max)
        return false;
    if (n == 0) {
        insert(words->send, &words->nsend, cv_rounds_below(search, words->nsend + 1),
               worker);
        insert(words->back, &words->nback, cv_rounds_below(search, words->nback + 1),
               worker);
        return true;
    }
    at = cv_rounds_below(search, n + 1);
    insert(words->send, &words->nsend, words->nsend - n + at, worker);
    insert(words->back, &words->nback, candidate->lifo ? n - at : at, worker);
    candidate->chain++;
    return true;
}

/* A letter changes sides; the two words of a chain have their own places for it. */
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
    at = cv_rounds_below(search, loose);
    if (n > 0 && !out)
        at += n;
    letter = from[at];
    if (n == 0 && count(from, *nfrom, letter) < 2)
        return false;
    erase(from, nfrom, at);
    at = cv_rounds_below(search, *nto - n + 1);
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
    i = cv_rounds_below(search, n - 1);
    k = candidate->lifo ? n - 2 - i : i;
    kept = send[i];
    send[i] = send[i + 1];
    send[i + 1] = kept;
    kept = words->back[k];
    words->back[k] = words->back[k + 1];
    words->back[k + 1] = kept;
    return true;
}

bool cv_rounds_mutate(struct cv_rounds_search *search,
                      struct cv_rounds_candidate *candidate)
{
    struct cv_rounds_words *words = &candidate->words;
    const uint32_t kind = cv_rounds_below(search, 100), n = candidate->chain;

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
