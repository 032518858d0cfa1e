/* recall.h -- take back what has not been fed. SPDX-License-Identifier: MIT
 *
 * On this machine a piece is cut at once. On another one, what has arrived is cut only
 * after asking; what has not is taken back, as a whole if that is about all of it. */
#ifndef CV_RECALL_H
#define CV_RECALL_H
#include "run/master/exec_run.h"

/* Take it from the end of what the worker has, up to so many bytes; the driver is told how
 * many it were. */
enum cleave_status cv_recall(struct cv_exec_run *run, uint32_t worker, double units,
                             struct cleave_error *err);
/* The command of an open piece has failed. What it had not been given is nobody's again: others
 * do not try it together with what may be the reason. */
enum cleave_status cv_recall_unread(struct cv_exec_run *run, struct cv_attempt *attempt,
                                    struct cleave_error *err);
/* The same of one that was lost with its host, and what was not sent there. */
enum cleave_status cv_recall_untransferred(struct cv_exec_run *run,
                                           struct cv_attempt *attempt,
                                           struct cleave_error *err);
/* Fits `cut_answered` of a slot, with the run as context. */
void cv_recall_answered(void *context, struct cv_slot *slot, bool done);

#endif
