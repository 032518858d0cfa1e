/* simplex.h -- the primal simplex method with bounded columns.
 * SPDX-License-Identifier: MIT
 *
 * Most gain subject to one equation per row, every column between 0 and its limit, from a
 * basis whose values are feasible. Here are the rules: which column moves, how far, which
 * one leaves the basis, and when to stop. How the program is kept is the
 * caller's affair: as a tableau of all columns that are not basic where these are about as
 * many as the rows (simplex.h), as the inverse of the basis where columns are many and
 * come later (knapsack_master.c). */
#ifndef CV_SIMPLEX_H
#define CV_SIMPLEX_H
#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"

enum cv_column_state { CV_AT_LOWER, CV_AT_UPPER, CV_BASIC };

/* All arrays are borrowed. */
struct cv_simplex {
    uint32_t nrows; /* slacks are columns, too */
    /* Per column. */
    unsigned char *state;
    double *limit;
    /* Per row. */
    uint32_t *basic;   /* column of each row */
    double *value;     /* value of that column */
    double *column;    /* part that a unit of the moving column takes     */
    double noise;      /* gains and pivots smaller than this are rounding errors   */
    uint32_t patience; /* steps without progress until care matters more than speed */
};

struct cv_simplex_form {
    /* The column to move: among columns that gain more than noise when they leave their limit the best, or with `bland` the first.
     * UINT32_MAX: none gains. *out_gain is that of one unit more. */
    uint32_t (*choose)(void *context, bool bland, double *out_gain);
    /* Make column[] that of column j, which was chosen. False: stop. */
    bool (*take)(void *context, uint32_t j);
    /* Column `in` has become the basic one of `row` for `out`; column[] is that of `in`.
     * False: stop. */
    bool (*exchange)(void *context, uint32_t row, uint32_t in, uint32_t out);
};

/* Go to the optimum. False when the form said stop, when there was no progress for long,
 * or when there is no optimum; the values are feasible then, too. */
bool cv_simplex_run(struct cv_simplex *simplex, const struct cv_simplex_form *form,
                    void *context);

/* One step of elimination: divide row `row` of a matrix by column[row], and take it from
 * each other row as often as `column` says. */
void cv_simplex_eliminate(double *matrix, uint32_t nrows, uint32_t width,
                          const double *column, uint32_t row);

/* Columns from n on are slacks: that of row i is n + i. */
struct cv_tableau {
    uint32_t n, m;  /* variables, rows                                          */
    double *matrix; /* m x n: filled by the caller before each run              */
    /* worth of one unit of each column outside: filled by the caller */
    double *worth;
    uint32_t *outside; /* the column that each column of the matrix is             */
    uint32_t chosen;
    struct cv_simplex simplex; /* value[i]: the right side of row i, 0 or more,
                                  filled by the caller                             */
};

/* Room for a program; false when memory is short. */
bool cv_tableau_init(struct cv_tableau *tableau, uint32_t n, uint32_t m,
                     struct cv_arena *arena);
/* From now on for a smaller one. */
void cv_tableau_resize(struct cv_tableau *tableau, uint32_t n, uint32_t m);
/* Go from nothing to the optimum; false: there is none or it was not found. Then
 * values[j] is the value of variable j, unless `values` is NULL. `worth` is the gain per
 * unit of each column outside; minus the worth of a slack is the price of its row. */
bool cv_tableau_run(struct cv_tableau *tableau, double *values);

#endif
