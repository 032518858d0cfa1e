/* returns_inverse.h -- the tight system of a pair of orders, kept solved.
 * SPDX-License-Identifier: MIT
 *
 * For m workers in given orders of sending and returning, the rows of returns.h with
 * no worker idle are A w = d. The inverse of A is kept; removing or inserting a worker
 * borders the matrix by a row and a column, in O(m^2). A worker that takes part has a
 * slot, 0 .. m - 1; orders name slots. */
#ifndef CV_RETURNS_INVERSE_H
#define CV_RETURNS_INVERSE_H
#include "model/returns/returns.h"

enum { CV_NOBODY = -1 };

struct cv_inverse {
    const struct cv_returns *returns;
    double lifespan_s;
    uint32_t n, m;         /* workers of the instance; workers that take part */
    uint32_t *who;         /* slot -> worker                                           */
    int32_t *slot;         /* worker -> slot, or CV_NOBODY                             */
    uint32_t *send, *back; /* orders, of slots                                         */
    double *inverse;       /* m rows and columns, rows n apart; row: unit, column: row */
    double *row_s;         /* right sides d                                            */
    double *tight;         /* A^-1 d; may be negative                                  */
    double *price;         /* worth of a second more in a row: column sums */
    double *port_price;    /* port time of a second: (send_s + back_s) A^-1 */
    double *units;         /* the schedule: tight, or with one worker waiting          */
    double *work_area;     /* 2 n                                                      */
    double tight_work;     /* sum of tight                                             */
    /* excess of the tight solution on a single port; below 0: time left */
    double overload_s;
    double score;      /* work of units; -1 without a schedule */
    double port_value; /* work of a second more on the port */
    int32_t waits;     /* slot that waits for the port, or CV_NOBODY */
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
/* The system of the m workers of `send` and `back`. False when it is singular. */
bool cv_inverse_load(struct cv_inverse *inverse, const uint32_t *send,
                     const uint32_t *back, uint32_t m);
/* Invert from scratch and set scores. False when the matrix is singular. */
bool cv_inverse_renew(struct cv_inverse *inverse);
/* All but the worker in `slot`; sets scores. False when that is singular. */
bool cv_inverse_without(const struct cv_inverse *from, uint32_t slot,
                        struct cv_inverse *to);
/* Insert worker `x` after `s` workers in the order of sending and `f` in that of
 * returning; sets scores. False when that is singular: then only clear, copy and load
 * are valid. */
bool cv_inverse_insert(struct cv_inverse *inverse, uint32_t x, uint32_t s, uint32_t f);
/* Invert and solve again with iterative refinement, for the result: sets units and
 * score and destroys the rest. True when the rows hold. */
bool cv_inverse_polish(struct cv_inverse *inverse);

/* The schedule, after polishing. */
enum cleave_status cv_inverse_result(const struct cv_inverse *inverse,
                                     struct cv_arena *arena, struct cv_round_trip *out,
                                     struct cleave_error *err);

/* Negative shares of less than this part of the work are zeros. */
#define CV_SHARE_NOISE 1e-13

#endif
