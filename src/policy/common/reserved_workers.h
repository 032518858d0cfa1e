/* reserved_workers.h -- places of workers that are not there yet. SPDX-License-Identifier: MIT
 *
 * A real run may keep places for workers that could come later. A policy knows them by
 * their declared costs, gives them nothing, and is woken about a worker that has come. */
#ifndef CV_RESERVED_WORKERS_H
#define CV_RESERVED_WORKERS_H
#include <stdbool.h>
#include <cleave/platform.h>

#define CV_VACANT_UPS 1e-200 /* no honest worker is as slow as that */

static inline struct cleave_worker cv_reserved_worker(void)
{
    return (struct cleave_worker){ .speed_ups = CV_VACANT_UPS,
                                   .bandwidth_ups = CV_VACANT_UPS,
                                   .return_bandwidth_ups = CV_VACANT_UPS };
}

/* The same for one who is expected any moment: to be counted when it is shared out. */
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

/* How many of n places there are up to the last that is not vacant, or will not be soon, at
 * least 1: places that are kept for who may come stand behind, and need not be looked at before. */
static inline uint32_t cv_count_workers(const struct cleave_worker *workers, uint32_t n)
{
    while (n > 1 && cv_is_reserved(&workers[n - 1]) && !cv_is_coming(&workers[n - 1]))
        n--;
    return n;
}

#endif
