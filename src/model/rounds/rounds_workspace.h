/* rounds_workspace.h -- room in which words are evaluated again and again.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ROUNDS_WORKSPACE_H
#define CV_ROUNDS_WORKSPACE_H
#include "base/fail.h"
#include "model/rounds/rounds.h"

/* Workers up to which free words are evaluated, with an unknown for each. */
enum { CV_DENSE_MOST = 64 };
/* Links that are tried as the one that waits on a full port. */
enum { CV_WAITING_MOST = 3 };

/* What one worker costs, with its speed beside. */
struct cv_rounds_cost {
    double send_s, send_fixed_s, compute_s, compute_fixed_s, back_s, back_fixed_s;
    double speed; /* 1 / compute_s */
};

struct cv_rounds_workspace {
    const struct cv_rounds *rounds;
    struct cv_rounds_cost *costs; /* per worker                                     */
    uint32_t max;                 /* letters of a word                              */
    uint32_t most_workers;        /* of words that are evaluated with all unknowns  */
    /* The last words evaluated, by chunk: those of the send word come first. */
    uint32_t nchunks;
    uint32_t *worker, *send_order, *back_order;
    double *units, *need_s, *ends_s;
    double closed_s, port_s;
    double limit_s; /* words that cannot end before are not simulated           */
    double steps;   /* letters evaluated so far                                  */
    /* The best variant of them. */
    uint32_t *best_send, *best_back;
    double *best_units;
    /* By place in a word. */
    bool *pivot;       /* in the send word                                          */
    uint32_t *back_id; /* chunk of a letter of the return word                      */
    uint32_t *before;  /* of shrinking chunks: the letter before of the same worker */
    /* By worker. */
    uint32_t *index, *place, *back_place, *next;
    double *ready_s;
    /* With all unknowns: rows of most_workers + 1 numbers. */
    double *z, *y, *xs, *xr, *sum, *port, *matrix, *solved, *lu;
    uint32_t *unknown;
    uint32_t waits; /* of the best variant: the unknown that waits, UINT32_MAX: none */
};

/* False when memory is short. `dense`: free words will be evaluated. */
bool cv_rounds_room_init(struct cv_rounds_workspace *room, const struct cv_rounds *rounds,
                         uint32_t max, bool dense, struct cv_arena *arena);

/* The makespan of two words with all their unknowns, INFINITY if a size is negative or there
 * are too many workers. What is best_ in the room is then that of the best variant. If the
 * makespan is not below limit_s a lower one may be told, which is not below it either. */
double cv_rounds_dense(struct cv_rounds_workspace *room,
                       const struct cv_rounds_words *words);

/* Words whose send word ends with all pivots, in an order of `n` workers, and whose return
 * word begins with them in the same or, with `lifo`, in the reverse order: one unknown tells
 * all sizes. */
double cv_rounds_chain(struct cv_rounds_workspace *room,
                       const struct cv_rounds_words *words, uint32_t n, bool lifo);

/* The same with nobody waiting, for its times and sizes as they are; false: some size is
 * negative. */
bool cv_rounds_chain_tight(struct cv_rounds_workspace *room,
                           const struct cv_rounds_words *words, uint32_t n, bool lifo);

/* Inside all: the makespan of the units in the room, and their orders; what is in the room is
 * the best variant so far. */
double cv_rounds_orders(struct cv_rounds_workspace *room,
                        const struct cv_rounds_words *words);
void cv_rounds_keep(struct cv_rounds_workspace *room);

/* Chunks of the best variant in the order sent, scaled so that they sum up to the load. */
enum cleave_status cv_rounds_take(struct cv_rounds_workspace *room, double makespan_s,
                                  struct cv_arena *arena, struct cv_rounds_plan *out,
                                  struct cleave_error *err);

bool cv_words_init(struct cv_rounds_words *words, uint32_t max, struct cv_arena *arena);
void cv_words_copy(struct cv_rounds_words *to, const struct cv_rounds_words *from);

#endif
