/* reserved_workers.h -- reserved places for workers that may join.
 * SPDX-License-Identifier: MIT
 *
 * A real run may reserve places for workers that join later. A policy recognises them by
 * their declared costs and gives them nothing before CLEAVE_CAME. */
#ifndef CV_RESERVED_WORKERS_H
#define CV_RESERVED_WORKERS_H
#include <stdbool.h>
#include <cleave/platform.h>

#define CV_VACANT_UPS 1e-200 /* slower than any real worker */

static inline struct cleave_worker cv_reserved_worker(void)
{
    return (struct cleave_worker){ .speed_ups = CV_VACANT_UPS,
                                   .bandwidth_ups = CV_VACANT_UPS,
                                   .return_bandwidth_ups = CV_VACANT_UPS };
}

/* For a worker that is expected soon: policies count it when they share out. */
static inline struct cleave_worker cv_arriving_input_place(void)
{
    struct cleave_worker place = cv_reserved_worker();

    place.bandwidth_ups = 2 * CV_VACANT_UPS;
    return place;
}

static inline bool cv_is_reserved(const struct cleave_worker *worker)
{
    return worker->speed_ups <= CV_VACANT_UPS;
}

static inline bool cv_is_coming(const struct cleave_worker *worker)
{
    return cv_is_reserved(worker) && worker->bandwidth_ups > CV_VACANT_UPS &&
           worker->bandwidth_ups <= 2 * CV_VACANT_UPS;
}

/* Number of places up to the last place that has a worker or expects it soon; at least 1.
 * Reserved places are last. */
static inline uint32_t cv_count_workers(const struct cleave_worker *workers, uint32_t n)
{
    while (n > 1 && cv_is_reserved(&workers[n - 1]) && !cv_is_coming(&workers[n - 1]))
        n--;
    return n;
}

#endif
