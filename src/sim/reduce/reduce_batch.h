/* reduce_batch.h -- many runs of a reduction at the speed of the random numbers.
 * SPDX-License-Identifier: MIT
 *
 * The same policy, the same checks, the same numbers as by driver and native engine, but
 * no trace. A fixed tree needs no events (fixed_tree.h); small reductions are run side by
 * side (row_lane.h); everything else, and the few runs that those leave undecided, is left
 * to the driver. */
#ifndef CV_REDUCE_BATCH_H
#define CV_REDUCE_BATCH_H
#include "model/reduce/reduce_costs.h"
#include "sim/many/monte_carlo.h"

struct cv_reduce_batch;

enum cleave_status cv_reduce_batch_open(const struct cv_planned *planned,
                                        const struct cv_reduce_costs *costs,
                                        struct cv_reduce_batch **out,
                                        struct cleave_error *err);
void cv_reduce_batch_close(struct cv_reduce_batch *batch);
/* Runs begin .. end - 1. */
enum cleave_status cv_reduce_batch_run(struct cv_reduce_batch *batch, uint64_t begin,
                                       uint64_t end, struct cv_run_result *results,
                                       struct cleave_error *err);
/* How many runs were left to the driver so far. */
uint64_t cv_reduce_batch_left(const struct cv_reduce_batch *batch);

#endif
