/* min_cost_sizes.h -- the cheapest sizes of chunks that are sent in a given order.
 * SPDX-License-Identifier: MIT */
#ifndef CV_MIN_COST_SIZES_H
#define CV_MIN_COST_SIZES_H
#include <cleave/platform.h>
#include "model/load/plan.h"

/* Chunks without results, in the order sent; `costs` are those of workers per second. */
struct cv_min_cost_plan {
    const struct cleave_worker *workers;
    const double *costs;
    uint32_t nworkers;
    enum cleave_port port;
    double load;
};

/* More chunks take too long. */
enum { CV_THRIFT_MOST = 160 };

/* Set the units of the plan, which add up to the load, so that all ends by `deadline_s` and
 * costs least; chunks of 0 units leave the plan, and their latencies with them. INFINITY:
 * the deadline cannot be met in this order, and the plan is as it was; NAN: memory is
 * short. */
double cv_min_cost_sizes(const struct cv_min_cost_plan *thrift, double deadline_s,
                         struct cv_plan *plan, struct cv_arena *arena);

#endif
