/* row_lanes.h -- simulated runs of a small reduction, a few side by side.
 * SPDX-License-Identifier: MIT
 *
 * policy/reduce/row_lane.h is what happens in a run. What a policy decides at the start is the
 * same in all runs, so each run begins with a copy of the memory as it was then. A run
 * would wait most of the time for its own next cost, so a few runs are made side by side,
 * and the costs they need next are drawn in a row. */
#ifndef CV_ROW_LANES_H
#define CV_ROW_LANES_H
#include "engine/driver.h"
#include "model/reduce/reduce_costs.h"
#include "sim/many/run_stats.h"

struct cv_row_lanes;

/* For at most CV_LANE_NODES nodes. */
enum cleave_status cv_row_lanes_open(const struct cv_planned *planned,
                                     const struct cv_reduce_costs *costs,
                                     struct cv_row_lanes **out, struct cleave_error *err);
void cv_row_lanes_close(struct cv_row_lanes *lanes);
/* Runs begin .. end - 1. The makespan of a run that is left to the driver is NAN. */
void cv_row_lanes_run(struct cv_row_lanes *lanes, uint64_t begin, uint64_t end,
                      struct cv_run_result *results);

#endif
