/* knapsack_fill.h -- items in bins, and ways to put them there.
 * SPDX-License-Identifier: MIT */
#ifndef CV_KNAPSACK_FILL_H
#define CV_KNAPSACK_FILL_H
#include "base/random.h"
#include "select/knapsack/knapsack_instance.h"

struct cv_fill_part {
    uint32_t size, count;
};

struct cv_fill_bin {
    cv_wide left;
    struct cv_fill_part *parts;
    size_t nparts, capacity;
};

struct cv_fill {
    const struct cv_instance *instance;
    struct cv_fill_bin *bins; /* in the order of the groups */
    uint32_t *used;           /* per size                   */
    double profit;            /* after cv_fill_count        */
};

bool cv_fill_init(struct cv_fill *fill, const struct cv_instance *instance);
void cv_fill_done(struct cv_fill *fill);
void cv_fill_clear(struct cv_fill *fill);
bool cv_fill_copy(struct cv_fill *to, const struct cv_fill *from);
/* The items must be there and have room. */
bool cv_fill_put(struct cv_fill *fill, uint32_t bin, uint32_t size, uint32_t count);
void cv_fill_empty_bin(struct cv_fill *fill, uint32_t bin);
/* Add up the profit. */
double cv_fill_count(struct cv_fill *fill);
/* Put items by decreasing density into the fullest bins with room for them. */
bool cv_fill_greedy(struct cv_fill *fill, struct cv_work *work);
/* Make the answer: which classes are in which bins. */
bool cv_fill_answer(const struct cv_fill *fill, const struct cv_knapsack *problem,
                    struct cv_arena *arena, struct cv_knapsack_answer *out);

/* --- knapsack_fill.c: a selection made to fit ---------------------------------------- */

/* Pack take[size] items bin after bin, each as full as can be, and fill what is left. */
bool cv_fill_split(struct cv_fill *fill, const uint32_t *take,
                   struct cv_single_workspace *room, struct cv_work *work);
/* Fill single bins anew from what is not used, until nothing is gained: all bins, or
 * those with only[bin] set. */
bool cv_fill_improve(struct cv_fill *fill, const bool *only,
                     struct cv_single_workspace *room, struct cv_work *work);

/* Fill the empty bins one after the other, with profits changed a little at random. */
bool cv_fill_noisily(struct cv_fill *fill, struct cv_random *random,
                     struct cv_single_workspace *room, struct cv_work *work);
/* Pack pairs of bins anew to exchange items for more profitable ones. (knapsack_fill.c) */
bool cv_fill_pairs(struct cv_fill *fill, struct cv_single_workspace *room,
                   struct cv_work *work);

/* Put all of take[size] into the bins of the trial, if a way is found. (knapsack_fill.c) */
bool cv_fill_pack(struct cv_fill *trial, const uint32_t *take, struct cv_work *work,
                  bool *packed);

/* --- knapsack_branch.c: bins as wholes ------------------------------------------------- */

/* Look for better fillings and a better bound by linear programming over the ways to
 * fill one bin. `best` and *bound are improved. */
bool cv_patterns_solve(const struct cv_instance *instance, struct cv_work *work,
                       struct cv_single_workspace *room, struct cv_fill *best,
                       double *bound);

#endif
