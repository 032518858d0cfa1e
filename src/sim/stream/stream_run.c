/* stream_run.c -- one stream on an engine. SPDX-License-Identifier: MIT */
#include "sim/stream/stream_run.h"

#include <math.h>

#include "policy/compound/registry.h"
#include "sim/load/native.h"
#include "sim/simgrid/simgrid_engine.h"

enum cleave_status cv_stream_plan(const struct cv_stream_run *stream,
                                  struct cv_planned *planned, struct cleave_error *err)
{
    const struct cv_load load = { .units = INFINITY,
                                  .result_ratio = stream->result_ratio };
    enum cleave_status status;

    CV_TRY(cv_planned_init(planned, &cleave_policy_as4dr, stream->settings,
                           stream->nsettings, stream->platform, stream->declared, &load,
                           NULL, err));
    ((struct cv_as4dr *)planned->state)->watch = stream->watch;
    if (stream->given == NULL)
        return CLEAVE_OK;
    planned->given = true;
    status = cv_as4dr_give(planned->state, &planned->view, stream->given, &planned->arena,
                           err);
    if (status != CLEAVE_OK)
        cv_planned_done(planned);
    return status;
}

enum cleave_status cv_stream_drive(const struct cv_stream_run *stream,
                                   const struct cv_planned *planned,
                                   struct cleave_trace *trace, struct cv_outcome *out,
                                   struct cleave_error *err)
{
    const struct cv_run run = { .platform = stream->platform,
                                .stream_end_s = stream->horizon_s,
                                .stream_rest = stream->rest };
    const struct cv_simgrid_source source = { .where = stream->simgrid };
    const bool native = stream->simgrid == NULL;
    struct cv_driver *driver = NULL;
    enum cleave_status status;

    CV_TRY(cv_driver_open(planned, native ? &cv_engine_native : &cv_engine_simgrid,
                          stream->platform, native ? NULL : &source, &driver, err));
    status = cv_driver_run(driver, &run, trace, out, err);
    cv_driver_close(driver);
    return status;
}
