/* returns_lp.h -- the best shares for given orders on a single port.
 * SPDX-License-Identifier: MIT */
#ifndef CV_RETURNS_LP_H
#define CV_RETURNS_LP_H
#include "model/returns/returns.h"

/* Row and column k belong to worker send[k]. */
struct cv_rows {
    const struct cv_returns *returns;
    const uint32_t *send, *back;
    uint32_t n;
    double lifespan_s;
    double *units;   /* n x n: seconds of row i per unit of column j         */
    double *fixed;   /* n x n: the same once; NULL without fixed costs       */
    uint32_t *place; /* of column k in the order of returning                */
};

/* False when memory is short. */
bool cv_rows_make(struct cv_rows *rows, const struct cv_returns *returns,
                  const uint32_t *send, const uint32_t *back, uint32_t n,
                  double lifespan_s, struct cv_arena *arena);

/* What row i leaves to the shares when the `count` columns of `set` take part. */
double cv_rows_right(const struct cv_rows *rows, uint32_t i, const uint32_t *set,
                     uint32_t count);

/* The shares of the columns in `set` when nobody is idle, by place in it: one step of
 * refinement after elimination. `matrix` is room for 2 count^2 and `vector` for 2 count
 * numbers, `pivots` for count. False when the rows do not tell the shares. */
bool cv_rows_tight(const struct cv_rows *rows, const uint32_t *set, uint32_t count,
                   double *matrix, double *vector, uint32_t *pivots, double *shares);

/* Shares by column of the rows; *out_optimal tells whether they are proved best. False
 * when memory is short. */
bool cv_rows_single(const struct cv_rows *rows, double *shares, bool *out_optimal,
                    struct cv_arena *arena);

#endif
