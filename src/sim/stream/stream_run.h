/* stream_run.h -- one stream on an engine. SPDX-License-Identifier: MIT */
#ifndef CV_STREAM_RUN_H
#define CV_STREAM_RUN_H
#include "engine/driver.h"
#include "sim/stream/stream_stats.h"

struct cv_stream_run {
    const struct cleave_platform *platform; /* the workers of the stream: true costs  */
    const struct cleave_worker *declared;   /* what the policy is told                */
    const struct cleave_setting *settings;
    size_t nsettings;
    double horizon_s, rest, result_ratio; /* rest: units left at the horizon          */
    const struct cv_as4dr_given *given;   /* NULL: the policy chooses                 */
    const struct cv_as4dr_watch *watch;
    const struct cleave_simgrid *simgrid; /* not NULL: SimGrid simulates              */
};

/* Plan the stream. On failure nothing is left to free. */
enum cleave_status cv_stream_plan(const struct cv_stream_run *stream,
                                  struct cv_planned *planned, struct cleave_error *err);
/* Run what was planned until its last result is there. `trace` may be NULL. */
enum cleave_status cv_stream_drive(const struct cv_stream_run *stream,
                                   const struct cv_planned *planned,
                                   struct cleave_trace *trace, struct cv_outcome *out,
                                   struct cleave_error *err);

#endif
