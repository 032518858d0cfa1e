/* rate_bound.h -- the least time for items on workers with rates. SPDX-License-Identifier: MIT */
#ifndef CV_RATE_BOUND_H
#define CV_RATE_BOUND_H
#include <stddef.h>

/* Workers that share a rate. By time t they have done at most speed_ups * t items. In each of
 * floor(t / period_s) windows they have started at most `amount`; in the rest of the time, x, at
 * most `amount` and at most one on each worker and speed_ups * x after these. */
struct cv_rated_workers {
    double speed_ups; /* sum, in items per second */
    double workers;
    double amount; /* items; 0: there is no rate */
    double period_s;
};

/* The least time at which `items` can be done; INFINITY: no worker has a speed. */
double cv_rate_bound_s(const struct cv_rated_workers *groups, size_t count, double items);

#endif
