/* returns_inverse.h -- the tight system of a pair of orders, kept solved.
 * SPDX-License-Identifier: MIT
 *
 * For m workers in given orders of sending and returning, the rows of returns.h with
 * nobody idle are A w = d. Kept is the inverse of A; taking a worker out or putting one
 * in borders the matrix by a row and a column, so it costs O(m^2). Inside, a worker that
 * takes part has a slot, 0 .. m - 1; orders name slots, `who` says which worker it is. */
#ifndef CV_RETURNS_INVERSE_H
#define CV_RETURNS_INVERSE_H
#include "model/returns/returns.h"

enum { CV_NOBODY = -1 };

struct cv_inverse {
    const struct cv_returns *returns;
    double lifespan_s;
    uint32_t n, m;         /* workers of the instance; of them taking part             */
    uint32_t *who;         /* slot -> worker                                           */
    int32_t *slot;         /* worker -> slot, or CV_NOBODY                             */
    uint32_t *send, *back; /* orders, of slots                                         */
    double *inverse;       /* m rows and columns, rows n apart; row: unit, column: row */
    double *row_s;         /* right sides d                                            */
    double *tight;         /* A^-1 d; may be negative                                  */
    double *price;         /* what a second more in a row is worth: column sums        */
    double *port_price;    /* what it adds to the port: (send_s + back_s) A^-1         */
    double *units;         /* the schedule: tight, or with one worker waiting          */
    double *work_area;     /* 2 n                                                      */
    double tight_work;     /* sum of tight                                             */
    double overload_s;     /* of a single port by tight; below 0: room left            */
    double score;          /* work of units; -1 when there is no schedule at hand      */
    double port_value;     /* work that a second more on the port is worth             */
    int32_t waits;         /* slot of the worker that waits for the port, or CV_NOBODY */
};

static inline const struct cv_trip *cv_inverse_trip(const struct cv_inverse *inverse,
                                                    uint32_t slot)
{
    return &inverse->returns->trips[inverse->who[slot]];
}

/* No workers take part. False when memory is short. */
bool cv_inverse_init(struct cv_inverse *inverse, const struct cv_returns *returns,
                     double lifespan_s, struct cv_arena *arena);
void cv_inverse_clear(struct cv_inverse *inverse);
void cv_inverse_copy(struct cv_inverse *to, const struct cv_inverse *from);
/* The system of the m workers named by `send` and `back`. False when it is singular. */
bool cv_inverse_load(struct cv_inverse *inverse, const uint32_t *send,
                     const uint32_t *back, uint32_t m);
/* Invert anew. Scores are set. False when the matrix is singular. */
bool cv_inverse_renew(struct cv_inverse *inverse);
/* All but the worker in `slot`; scores are set. False when that is singular. */
bool cv_inverse_without(const struct cv_inverse *from, uint32_t slot,
                        struct cv_inverse *to);
/* Put worker `x` in, `s` workers before it in the order of sending and `f` in that of
 * returning; scores are set. False when that is singular: then only clear, copy onto and
 * load make sense. */
bool cv_inverse_insert(struct cv_inverse *inverse, uint32_t x, uint32_t s, uint32_t f);
/* Invert and solve once more with iterative refinement, for the result: units and score
 * are set (the rest is spoilt); true when the rows hold. */
bool cv_inverse_polish(struct cv_inverse *inverse);

/* The schedule, after polishing. */
enum cleave_status cv_inverse_result(const struct cv_inverse *inverse,
                                     struct cv_arena *arena, struct cv_round_trip *out,
                                     struct cleave_error *err);

/* --- returns_inverse.c: what follows from orders and inverse ------------------ */

/* Shares above this part of the work below zero are zeros. */
#define CV_SHARE_NOISE 1e-13

#endif
