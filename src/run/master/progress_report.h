/* progress_report.h -- how far a run is, for whoever wants to be told. SPDX-License-Identifier: MIT */
#ifndef CV_PROGRESS_REPORT_H
#define CV_PROGRESS_REPORT_H
#include "run/master/exec_run.h"

/* Seconds between two looks. */
#define CV_LOOK_S 0.1

/* Tell the listener, if there is one and the last look, *shown_s, is long ago. */
void cv_progress_look(const struct cv_exec_run *run, double *shown_s);

#endif
