/* reduce_lane.h -- many runs of a reduction at the speed of the random numbers.
 * SPDX-License-Identifier: MIT
 *
 * The driver's loop and the native engine's in one, without a trace: the same policy, the
 * same checks, the same numbers. A run waits most of the time for its own last step (the
 * next cost decides what happens next), so a few runs are made side by side and the
 * processor works on all of them at once. */
#ifndef CV_REDUCE_LANE_H
#define CV_REDUCE_LANE_H
#include "model/reduce_costs.h"
#include "sim/monte_carlo.h"

struct cv_reduce_lanes;

enum cleave_status cv_reduce_lanes_open(const struct cv_planned *planned,
                                        const struct cv_reduce_costs *costs,
                                        struct cv_reduce_lanes **out,
                                        struct cleave_error *err);
void cv_reduce_lanes_close(struct cv_reduce_lanes *lanes);
/* Runs begin .. end - 1. */
enum cleave_status cv_reduce_lanes_run(struct cv_reduce_lanes *lanes, uint64_t begin,
                                       uint64_t end, struct cv_run_result *results,
                                       struct cleave_error *err);

#endif
