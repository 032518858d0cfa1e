/* progress_look.h -- how far a run is, for whoever wants to be told. SPDX-License-Identifier: MIT */
#ifndef CV_PROGRESS_LOOK_H
#define CV_PROGRESS_LOOK_H
#include "run/master/real_run.h"

/* Seconds between two looks. */
#define CV_LOOK_S 0.1

/* Tell the listener, if there is one and the last look, *shown_s, is long ago. */
void cv_progress_look(const struct cv_real_run *run, double *shown_s);

#endif
