/* stream_period.h -- how long rounds should be when nobody says.
 * SPDX-License-Identifier: MIT
 *
 * Longer rounds never give less: latencies weigh less in them. But the first rounds, the
 * last ones, and the answer to a change of speed take as long as a round. So the period
 * is the shortest that gives most of what endless rounds would give: CV_PERIOD_SHARE of
 * it. That takes care of compute latencies (2 f / tau of the time) and of those of
 * messages (which decide how many workers a master can serve) at once, and workers that
 * are of no use do not matter. */
#ifndef CV_STREAM_PERIOD_H
#define CV_STREAM_PERIOD_H
#include "select/streams/stream_select.h"

#define CV_PERIOD_SHARE 0.95

/* The period for a task, whose tau is not read. Fails with CLEAVE_EINPUT when no worker
 * can be served in rounds of any length. */
enum cleave_status cv_stream_period(const struct cv_stream_task *task, double *out_s,
                                    struct cleave_error *err);

#endif
