/* run_fill.h -- what cleave run is told, as the library is asked for it.
 * SPDX-License-Identifier: MIT */
#ifndef CV_RUN_FILL_H
#define CV_RUN_FILL_H
#include "cli/run/run_options.h"
#include "cli/run/run_report.h"

/* Fill in all of `out` that follows from the options; what belongs to items, files that are
 * open and the trace is up to the caller. Returns an exit status; what is wrong has been told. */
int cv_run_fill(const struct cv_call *call, const struct cv_worker_list *workers,
                struct cv_run_report *report, struct cleave_execution *out);

#endif
