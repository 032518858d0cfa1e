/* rounds_search.h -- search for the best two words. SPDX-License-Identifier: MIT */
#ifndef CV_ROUNDS_SEARCH_H
#define CV_ROUNDS_SEARCH_H
#include "model/rounds/rounds_workspace.h"

struct cv_rounds_candidate {
    struct cv_rounds_words words;
    uint32_t chain; /* number of pivots of a chain; 0: the words are free */
    bool lifo;      /* the chain is lifo                                  */
    double end_s;   /* makespan; INFINITY: not feasible                   */
};

struct cv_rounds_search {
    struct cv_rounds_workspace *room;
    struct cv_rounds_candidate best, current, trial;
    double spent, limit; /* about nanoseconds of work; the search stops at the limit */
    uint64_t state;      /* of the random numbers                                    */
};

/* False when memory is short. */
bool cv_rounds_search_init(struct cv_rounds_search *search,
                           struct cv_rounds_workspace *room, uint64_t seed,
                           struct cv_arena *arena);
void cv_candidate_copy(struct cv_rounds_candidate *to,
                       const struct cv_rounds_candidate *from);
/* Evaluate the trial, and make it the best if it is better. */
double cv_rounds_try(struct cv_rounds_search *search);

/* Round robin over the first n workers of an order: the send word has `growing` letters
 * before the pivots, the return word `shrinking` letters after them. */
void cv_rounds_robin(const uint32_t *order, uint32_t n, uint32_t growing,
                     uint32_t shrinking, bool lifo, struct cv_rounds_candidate *out);
/* The best round robin over prefixes of an order; `thorough` tries more of them. */
void cv_rounds_start(struct cv_rounds_search *search, const uint32_t *order, uint32_t n,
                     bool thorough);
/* The best round robin over several orders of all workers, up to order `last`. False when
 * memory is short. */
enum cv_rounds_key { CV_BY_LINK, CV_BY_PASSAGE, CV_BY_SPEED, CV_BY_BOTH };
bool cv_rounds_start_by(struct cv_rounds_search *search, enum cv_rounds_key last,
                        bool thorough, struct cv_arena *arena);
/* Leave out workers while the makespan decreases. */
void cv_rounds_leave_out(struct cv_rounds_search *search);

/* Continue with the best words as free words. False: they stay a chain, because their makespan
 * as free words differs: the equations of a long word without latencies may be nearly
 * singular. */
bool cv_rounds_set_free(struct cv_rounds_search *search);
/* Change the best words at random until `effort` changes are tried or the limit is reached. A
 * chain stays a chain. Above 0, `heat` is the relative increase of the makespan that may be
 * accepted at first. */
void cv_rounds_change(struct cv_rounds_search *search, uint64_t effort, double heat);
/* Change the best words at random, measured by their linear programs, until `work` is spent:
 * about the cube of the chunks per change. `best` is the plan to improve. */
enum cleave_status cv_rounds_polish(struct cv_rounds_search *search, double work,
                                    struct cv_arena *arena, struct cv_rounds_plan *best,
                                    struct cleave_error *err);

#endif
