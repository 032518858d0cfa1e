/* rounds_search.h -- looking for the best two words. SPDX-License-Identifier: MIT */
#ifndef CV_ROUNDS_SEARCH_H
#define CV_ROUNDS_SEARCH_H
#include "model/rounds/rounds_workspace.h"

/* Words, and how they are evaluated. */
struct cv_rounds_candidate {
    struct cv_rounds_words words;
    uint32_t chain; /* so many pivots stand together; 0: the words are free */
    bool lifo;      /* of a chain */
    double end_s;   /* makespan; INFINITY: not feasible */
};

struct cv_rounds_search {
    struct cv_rounds_workspace *room;
    struct cv_rounds_candidate best, current, trial;
    double spent, limit; /* about nanoseconds of work; a search stops at the limit */
    uint64_t state;      /* of the random numbers */
    uint32_t *counts;    /* room: per worker */
};

/* False when memory is short. */
bool cv_rounds_search_init(struct cv_rounds_search *search,
                           struct cv_rounds_workspace *room, uint64_t seed,
                           struct cv_arena *arena);
void cv_candidate_copy(struct cv_rounds_candidate *to,
                       const struct cv_rounds_candidate *from);
/* Evaluate the trial; it becomes the best if it is better. */
double cv_rounds_try(struct cv_rounds_search *search);

/* Round robin over the first n workers of an order: the send word has `growing` letters
 * before the pivots, the return word `shrinking` ones behind. */
void cv_rounds_robin(const uint32_t *order, uint32_t n, uint32_t growing,
                     uint32_t shrinking, bool lifo, struct cv_rounds_candidate *out);
/* The best round robin over prefixes of an order. `thorough`: looks at more. */
void cv_rounds_start(struct cv_rounds_search *search, const uint32_t *order, uint32_t n,
                     bool thorough);
/* The same over several orders of all workers, up to one of them: by link, by what a worker's
 * part takes it and the port, by speed, by link and speed. False when memory is short. */
enum cv_rounds_key { CV_BY_LINK, CV_BY_PASSAGE, CV_BY_SPEED, CV_BY_BOTH };
bool cv_rounds_start_by(struct cv_rounds_search *search, enum cv_rounds_key last,
                        bool thorough, struct cv_arena *arena);
/* Leave out workers while that helps. */
void cv_rounds_leave_out(struct cv_rounds_search *search);

/* Go on from the best words as free ones. False: they stay a chain, because with one unknown
 * for each worker they come to something else; a long word without latencies may have next to
 * no solution in doubles. */
bool cv_rounds_set_free(struct cv_rounds_search *search);
/* Change the best words at random until `effort` changes are tried or the limit is reached.
 * Free words may go anywhere; a chain stays one. `heat`: a change that makes it worse by this
 * part may be accepted, less and less so. */
void cv_rounds_change(struct cv_rounds_search *search, uint64_t effort, double heat);
/* Change the best words at random by what the linear program makes of them, as often as so
 * much work allows, which is about the cube of the chunks each time. `best` is the plan to
 * beat. */
enum cleave_status cv_rounds_polish(struct cv_rounds_search *search, double work,
                                    struct cv_arena *arena, struct cv_rounds_plan *best,
                                    struct cleave_error *err);

/* Random bits, numbers below n, and from 0 to 1. */
static inline uint64_t cv_rounds_bits(struct cv_rounds_search *search)
{
    uint64_t x = search->state;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    search->state = x;
    return x >> 11;
}

static inline uint32_t cv_rounds_below(struct cv_rounds_search *search, uint32_t n)
{
    return n > 0 ? (uint32_t)(cv_rounds_bits(search) % n) : 0;
}

static inline double cv_rounds_part(struct cv_rounds_search *search)
{
    return (double)cv_rounds_bits(search) * (1.0 / 9007199254740992.0);
}

#endif
