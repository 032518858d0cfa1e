/* rounds_internal.h -- shared by the searches and bounds of several rounds.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ROUNDS_INTERNAL_H
#define CV_ROUNDS_INTERNAL_H
#include "model/rounds/rounds_links.h"

/* Most workers of free words, which have one unknown per worker. */
enum { CV_DENSE_MOST = 64 };
/* Number of slow links that are tried as the waiting worker of a full port. */
enum { CV_WAITING_MOST = 3 };

/* A chunk of the last words evaluated: first the letters of the send word, in its order, then
 * the shrinking chunks in the order of the return word. */
struct cv_rounds_chunk {
    uint32_t worker;
    uint32_t before; /* shrinking chunks: place of the worker's letter before */
    bool pivot;
    double need_s; /* shrinking chunks: deadline of the send, for sorting */
    double ends_s; /* end of the computation */
};

/* Places of a worker's letters. */
struct cv_rounds_worker {
    uint32_t index;             /* among the unknowns                    */
    uint32_t place, back_place; /* places of its pivot in both words */
    uint32_t next;              /* the letter that was passed last       */
    double ready_s;
};

/* Sizes and orders of the chunks. */
struct cv_rounds_variant {
    double *units;
    uint32_t *send, *back;
};

struct cv_rounds_workspace {
    const struct cv_rounds *rounds;
    const struct cv_trip *trips; /* per worker */
    double *speed;               /* per worker: 1 / compute_s */
    uint32_t max;                /* letters of a word                            */
    uint32_t most_workers;       /* of free words                                */
    uint32_t nchunks;
    struct cv_rounds_chunk *chunks;
    struct cv_rounds_worker *workers;
    uint32_t *back_id;                  /* chunk of each letter of the return word  */
    struct cv_rounds_variant now, best; /* of the last words evaluated              */
    double closed_s, port_s;
    double limit_s; /* words that cannot end before it are not simulated  */
    double steps;   /* letters evaluated so far                           */
    /* Rows with one coefficient per unknown and a constant. */
    double *z, *y, *xs, *xr, *sum, *port, *matrix, *solved, *lu;
    uint32_t *unknown;
};

/* False when memory is short. `dense`: free words will be evaluated. */
bool cv_rounds_room_init(struct cv_rounds_workspace *room, const struct cv_rounds *rounds,
                         uint32_t max, bool dense, struct cv_arena *arena);

/* The makespan of free words, INFINITY if a size is negative or there are too many workers.
 * room->best is the best variant. If the makespan is not below limit_s, the result may be a
 * lower bound of it that is not below limit_s either. */
double cv_rounds_dense(struct cv_rounds_workspace *room,
                       const struct cv_rounds_words *words);

/* The makespan of a chain: words whose send word ends with the pivots of `n` workers and whose
 * return word begins with them in the same or, with `lifo`, in the reverse order. One
 * unknown determines all sizes. */
double cv_rounds_chain(struct cv_rounds_workspace *room,
                       const struct cv_rounds_words *words, uint32_t n, bool lifo);

/* Sizes and times of a chain in which no worker waits; false: a size is negative. */
bool cv_rounds_chain_tight(struct cv_rounds_workspace *room,
                           const struct cv_rounds_words *words, uint32_t n, bool lifo);

/* The makespan and the orders for the sizes in room->now. */
double cv_rounds_orders(struct cv_rounds_workspace *room,
                        const struct cv_rounds_words *words);
/* Make room->now the best variant. */
void cv_rounds_keep(struct cv_rounds_workspace *room);
/* Indices of the slowest links of `n` workers, the slowest first; returns their number. */
uint32_t cv_rounds_slowest(const struct cv_rounds_workspace *room,
                           const uint32_t *workers, uint32_t n,
                           uint32_t out[CV_WAITING_MOST]);

/* Chunks of the best variant in the order sent, scaled so that they sum up to the load. */
enum cleave_status cv_rounds_take(struct cv_rounds_workspace *room, double makespan_s,
                                  struct cv_arena *arena, struct cv_rounds_plan *out,
                                  struct cleave_error *err);

bool cv_words_init(struct cv_rounds_words *words, uint32_t max, struct cv_arena *arena);

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
    uint64_t state;      /* state of the random numbers */
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

/* Prices in units per second on cells of time from 0 to edge[cells]: prices of sends do not increase, prices of returns do not decrease. */
struct cv_price_steps {
    uint32_t cells;
    double *edge;                /* cells + 1                       */
    double *send, *back;         /* per cell                        */
    double *send_sum, *back_sum; /* cells + 1: price x time up to an edge */
};

/* False when memory is short. `max`: cells. */
bool cv_price_steps_init(struct cv_price_steps *prices, uint32_t max,
                         struct cv_arena *arena);
/* Set the sums from edges and prices. */
void cv_price_steps_sum(struct cv_price_steps *prices);

/* Kinds of workers of an instance. */
struct cv_kinds {
    uint32_t n;
    struct cv_rounds_link *kind;
    double *count; /* workers of each kind */
    uint32_t *of;  /* per worker           */
};
/* `memory` as in struct cv_rounds. False when memory is short. */
bool cv_kinds_init(struct cv_kinds *kinds, const struct cv_returns *returns,
                   const double *memory, struct cv_arena *arena);

/* Time of each cell that messages of the best responses take, and room for their search. */
struct cv_port_use {
    double *send_s, *back_s; /* per cell */
    double *best;            /* per edge: the most worth from there */
    uint32_t *to;            /* per edge: where a chunk that begins there ends; 0: none */
};

/* False when memory is short. `max`: cells. */
bool cv_port_use_init(struct cv_port_use *use, uint32_t max, struct cv_arena *arena);

/* The worth of the port's time and of all workers, minus the load. Negative: no schedule ends
 * by the last edge. Sets the times of `use`. */
double cv_rounds_lagrangian(const struct cv_rounds *rounds, const struct cv_kinds *kinds,
                            const struct cv_price_steps *prices, struct cv_port_use *use);

/* A lower bound on the makespan or, with a lifespan, an upper bound on the units, for few workers:
 * 50 to 100 ms for 3 to 5. Negative: memory is short. */
double cv_rounds_bound_few(const struct cv_rounds *rounds, const struct cv_kinds *kinds,
                           double lifespan_s, struct cv_arena *arena);

#endif
