/* item_prices.h -- the linear program of items that are divided between workers.
 * SPDX-License-Identifier: MIT
 *
 * Least T such that every worker is busy for at most T when each item is divided between
 * workers of which each could do the whole of it within `within_s`. By its dual: for any
 * prices y >= 0 of workers' time whose sum is 1,
 *
 *     T >= sum over items of the least y(w) cost(item, w),
 *
 * since the mean of the workers' times with weights y is at most their greatest. Prices are
 * found by column generation: the simplex method over assignments, of which the items' best
 * response to the prices is the one that gains most. It can stop at any time; every price
 * gives a bound. */
#ifndef CV_ITEM_PRICES_H
#define CV_ITEM_PRICES_H
#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"

/* Workers that are alike. */
struct cv_worker_class {
    double start_s, pace_s;     /* of what is busy: per item and per unit              */
    double link_s, link_pace_s; /* of sending                                          */
    double count;               /* workers                                             */
    double max;                 /* units of the largest item that it may do            */
};

struct cv_item_prices {
    const struct cv_worker_class *classes;
    uint32_t nclasses;
    bool port;           /* sends share a port, which is one more row                   */
    const double *sizes; /* ascending                                                  */
    const double *sums;  /* sums[k] of the k smallest                                  */
    uint64_t nitems;
};

/* A bound on T, at least `enough_s` if that can be shown; it goes on until then, or until it
 * is within a thousandth of the best. INFINITY if some item fits nobody. Below 0: memory is
 * short. */
double cv_item_prices_bound(const struct cv_item_prices *prices, double enough_s,
                            struct cv_arena *scratch);

#endif
