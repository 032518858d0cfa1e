/* round_trip.h -- one chunk for each worker, and the results come back in a fixed order.
 * SPDX-License-Identifier: MIT
 *
 * What fifo, lifo, orders, small-results and best-orders have in common: a solver of
 * model/returns/returns.h makes the plan, sends follow each other without a pause, and results are
 * asked for in the planned order, each as soon as it and those before it are ready. */
#ifndef CV_ROUND_TRIP_H
#define CV_ROUND_TRIP_H
#include "model/returns/returns.h"
#include "policy/common/setup.h"

/* Put this first in the state. */
struct cv_round_trip_state {
    struct cv_round_trip trip; /* shared by all runs                              */
    uint32_t next_back;        /* place in trip.back                              */
    uint64_t *ready;           /* worker -> its chunk + 1 once computed           */
};

/* The instance of a view; NULL trips when memory is short. */
struct cv_returns cv_returns_of(const struct cleave_view *view,
                                struct cleave_setup *setup);

/* Up to so many workers auto lets it search: a second or two. */
enum { CV_SEARCH_QUICK = 100 };

#endif
