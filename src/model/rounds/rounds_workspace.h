/* rounds_workspace.h -- memory for evaluating words again and again.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ROUNDS_WORKSPACE_H
#define CV_ROUNDS_WORKSPACE_H
#include "model/rounds/rounds.h"

/* Most workers of free words, which have one unknown per worker. */
enum { CV_DENSE_MOST = 64 };
/* Number of slow links of which each is tried as the one that waits on a full port. */
enum { CV_WAITING_MOST = 3 };

struct cv_rounds_cost {
    double send_s, send_fixed_s, compute_s, compute_fixed_s, back_s, back_fixed_s;
    double speed; /* 1 / compute_s */
};

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
    uint32_t place, back_place; /* of its pivot in both words            */
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
    struct cv_rounds_cost *costs; /* per worker                                   */
    uint32_t max;                 /* letters of a word                            */
    uint32_t most_workers;        /* of free words                                */
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
void cv_words_copy(struct cv_rounds_words *to, const struct cv_rounds_words *from);

#endif
