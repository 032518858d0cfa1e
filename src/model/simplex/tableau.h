/* tableau.h -- a linear program kept as a tableau. SPDX-License-Identifier: MIT
 *
 * Most gain subject to rows that are at most their right sides, from nothing, which is
 * feasible. The tableau has the columns that are not basic: as many as there are
 * variables. */
#ifndef CV_TABLEAU_H
#define CV_TABLEAU_H
#include "base/arena.h"
#include "model/simplex/simplex.h"

/* Columns from n on are slacks: that of row i is n + i. */
struct cv_tableau {
    uint32_t n, m;     /* variables, rows                                          */
    double *matrix;    /* m x n: filled by the caller before each run              */
    double *worth;     /* of one unit of each column outside: filled by the caller */
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
/* Go from nothing to the optimum; false: there is none or it was not found. Then values[j]
 * is that of variable j, unless `values` is NULL. `worth` is what a unit more of those outside would gain: minus
 * that of a slack is the price of its row. */
bool cv_tableau_run(struct cv_tableau *tableau, double *values);

#endif
