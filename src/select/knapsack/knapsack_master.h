/* knapsack_master.h -- the linear program over ways to fill a bin.
 * SPDX-License-Identifier: MIT
 *
 * A pattern is a set of items that one bin of a group holds. With x_p bins filled by
 * pattern p and y_i items of segment i counted,
 *
 *     most  sum_i profit_i y_i                       0 <= y_i <= count_i
 *     row of a size s    sum_{i in s} y_i - sum_p a_sp x_p <= fixed_s
 *     row of a group g   sum_{p in g} x_p <= bins_g  0 <= x_p <= limit_p
 *
 * where fixed_s items are in bins already. Patterns may hold more than there is: what is
 * not counted is left out. All columns at 0 is feasible, so every solve may start there.
 * Profits are divided by the largest. */
#ifndef CV_KNAPSACK_MASTER_H
#define CV_KNAPSACK_MASTER_H
#include "model/simplex/simplex.h"
#include "select/knapsack/knapsack_fill.h"

/* Rows for which the inverse of the basis is kept in full. */
enum { CV_MASTER_ROWS = 160 };

/* Columns: a slack per row, a y per segment, then the patterns. */
struct cv_master {
    const struct cv_instance *instance;
    double scale;                      /* the largest profit */
    uint32_t nrows, npatterns, nfixed; /* nfixed: slacks and segments */
    /* Per pattern. */
    uint32_t *count; /* of each size, pattern by pattern */
    uint32_t *group;
    size_t count_capacity, group_capacity;
    struct cv_simplex simplex; /* its arrays are the master's */
    size_t state_capacity, limit_capacity;
    double *rhs, *dual; /* per row */
    double *inverse;    /* of the basis, row by row */
    double objective;
    unsigned pivots;      /* since the inverse was made */
    struct cv_work *work; /* while solving */
};

bool cv_master_init(struct cv_master *master, const struct cv_instance *instance);
void cv_master_done(struct cv_master *master);
/* Add a pattern (count per size, copied) unless it is known, or in any case. */
bool cv_master_add(struct cv_master *master, uint32_t group, const uint32_t *count);
bool cv_master_append(struct cv_master *master, uint32_t group, const uint32_t *count);
/* Go back to all columns at 0. rhs must be >= 0. */
void cv_master_reset(struct cv_master *master);
/* The optimum over the patterns known; false when work ran out or numbers failed, the
 * values are feasible then too. */
bool cv_master_solve(struct cv_master *master, struct cv_work *work);
/* x_p of every pattern. */
void cv_master_values(const struct cv_master *master, double *values);

static inline const uint32_t *cv_master_pattern(const struct cv_master *master,
                                                uint32_t pattern)
{
    return master->count + (size_t)pattern * master->instance->nsizes;
}

/* The most bins that a pattern may fill. */
static inline double *cv_master_limit(const struct cv_master *master, uint32_t pattern)
{
    return master->simplex.limit + master->nfixed + pattern;
}

/* --- knapsack_master.c: column generation -------------------------------------------- */

struct cv_generator {
    const struct cv_instance *instance;
    struct cv_master master;
    struct cv_single single;
    struct cv_single_workspace *room;
    struct cv_work *work;
    uint32_t *count; /* a pattern                                       */
    double *upper;   /* per group: no pattern has more worth            */
    double *values;  /* per pattern                                     */
    size_t values_capacity;
    struct cv_fill trial; /* bins that are filled are no part of the program */
    bool *open;           /* per bin: to be looked at again after a dive */
    struct cv_random random;
    uint32_t nroot; /* patterns kept between dives */
    uint64_t price; /* work for a pattern          */
    bool priced;    /* upper[] belongs to the duals */
};

/* What is left is to be released by cv_generator_done, also after a failure. */
bool cv_generator_init(struct cv_generator *generator, const struct cv_instance *instance,
                       struct cv_single_workspace *room, struct cv_work *work);
void cv_generator_done(struct cv_generator *generator);
/* Items of a size that are in no bin of the trial. */
uint32_t cv_generator_left(const struct cv_generator *generator, uint32_t size);
/* The bound on the profit at the duals; valid if `priced`. */
double cv_generator_bound(const struct cv_generator *generator);
/* Let the pattern in `count`, which leaves `rest`, hold whatever else there is room for. */
void cv_generator_complete(struct cv_generator *generator, cv_wide rest);
/* Solve the program over all patterns, as far as `rounds` and work go. *bound becomes
 * smaller if the duals say so; `best` is a profit that is known to be possible. */
bool cv_generate(struct cv_generator *generator, unsigned rounds, double best,
                 double *bound);

/* --- knapsack_branch.c ---------------------------------------------------------------- */

/* All patterns that an answer better than `best` may need are listed, if they are few: at
 * the duals of the generator, which must be priced, they miss its bound by no more than
 * `best` does. Then the integer program over them is solved by branching. `best` may
 * become better, and *bound smaller: the profit of `best` when the search ends. */
bool cv_branch_solve(const struct cv_generator *generator, struct cv_work *work,
                     struct cv_fill *best, struct cv_fill *trial, double *bound);

#endif
