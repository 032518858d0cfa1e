/* chunk_failure.h -- what happens when a command fails. SPDX-License-Identifier: MIT */
#ifndef CV_CHUNK_FAILURE_H
#define CV_CHUNK_FAILURE_H
#include "run/master/real_run.h"

/* Tell the user of the end of one attempt. */
void cv_local_report(struct cv_real_run *run, const struct cv_errand *errand,
                     enum cv_slot_end end);
/* Try again, or give the chunk up and halt if that was asked for. */
enum cleave_status cv_local_failure(struct cv_real_run *run, struct cv_errand *errand,
                                    enum cv_slot_end end, struct cleave_error *err);

/* A command that stays does not answer its first chunk. */
void cv_local_silent(void *context, struct cv_slot *slot);
/* A command that stayed has ended after a chunk: whether that was well. */
void cv_local_left(void *context, struct cv_slot *slot);

#endif
