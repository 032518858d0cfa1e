/* knapsack.h -- which items go into which bins, for the most profit.
 * SPDX-License-Identifier: MIT
 *
 * The multiple knapsack problem: items (machines) come in classes of equal weight and
 * profit, bins (streams) have one capacity, every item goes into one bin at most.
 *
 * Weights and capacities are taken for the numbers they are: whether a bin holds its
 * items is decided without rounding, so three items of 0.1 do not fit into 0.3 (their sum
 * is larger by 2^-55), and nothing fits by luck. Profits are added up in doubles; two
 * profits nearer than 1e-12 of the bound count as equal.
 *
 * No clock is read: effort is counted in units of work, so the same input gives the same
 * bits everywhere. */
#ifndef CV_KNAPSACK_H
#define CV_KNAPSACK_H
#include <cleave/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"

struct cv_item_class {
    double weight, profit; /* finite, > 0 */
    uint32_t count;
};

struct cv_knapsack {
    const struct cv_item_class *classes; /* borrowed; any order, equal ones allowed */
    uint32_t nclasses;
    uint32_t nbins;
    double capacity; /* of every bin, finite, >= 0 */
};

/* `count` items of a class in a bin. */
struct cv_knapsack_part {
    uint32_t item_class, count;
};

struct cv_knapsack_answer {
    double profit;
    double upper_bound; /* no answer has more; >= profit                           */
    bool optimal;       /* proved: profit is the bound, up to rounding             */
    uint64_t selected;  /* items in bins                                           */
    uint64_t work;      /* units of work that were spent                           */
    size_t *first;      /* bin b holds parts[first[b] .. first[b+1] - 1]; nbins + 1 */
    struct cv_knapsack_part *parts; /* by increasing class within a bin; count > 0 */
};

/* Work that takes about a second on a machine of 2020; the default. More work than asked for is done only by steps that take nearly no time. */
#define CV_KNAPSACK_SECOND UINT64_C(200000000)
#define CV_KNAPSACK_WORK CV_KNAPSACK_SECOND

/* The best selection found with `work` units of work (0: CV_KNAPSACK_WORK), and how good
 * it may be at most. Small instances, and larger ones of few classes, are solved to a
 * proved optimum; else there is a gap between profit and upper_bound. */
enum cleave_status cv_knapsack_solve(const struct cv_knapsack *problem, uint64_t work,
                                     struct cv_arena *arena,
                                     struct cv_knapsack_answer *out,
                                     struct cleave_error *err);

/* The bins as one of their total capacity, items divisible: an upper bound. This is the
 * plain bound, which looks at nothing else; cv_knapsack_solve knows better ones. */
enum cleave_status cv_knapsack_surrogate_lp(const struct cv_knapsack *problem,
                                            double *out_bound, struct cleave_error *err);

/* Whether an answer keeps within the counts and, without rounding, the capacities, and
 * its profit and number of items are the sums over its parts. counts: zeros, one per
 * class. */
bool cv_knapsack_holds(const struct cv_knapsack *problem,
                       const struct cv_knapsack_answer *answer, uint64_t *counts);

#endif
