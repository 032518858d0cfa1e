/* water_fill.h -- share out a last load so that all workers end together.
 * SPDX-License-Identifier: MIT
 *
 * Worker w is busy until `ready_s`, then needs `overhead_s` before it computes at
 * `speed_ups`. Pouring the load over the workers raises the common end t*: those that
 * are ready too late get nothing, the others share = speed (t* - ready - overhead). Exact
 * for steady speeds; harmful when speeds change within the time that is left, for it
 * trusts the last speed for a long chunk. */
#ifndef CV_WATER_FILL_H
#define CV_WATER_FILL_H
#include <stdbool.h>
#include <stdint.h>

/* Room to work in, as callers may not be allowed to allocate. */
struct cv_water_fill_workspace {
    double begin_s, speed_ups;
};

/* Share out `load` >= 0 over n > 0 workers, with room for n basins; *out_end is t* (for
 * no load, the least ready + overhead). Workers whose speed is not positive get nothing.
 * false when no worker has a speed. O(n log n). */
bool cv_water_fill(struct cv_water_fill_workspace *room, const double *ready_s,
                   const double *overhead_s, const double *speed_ups, uint32_t n,
                   double load, double *out_share, double *out_end);

#endif
