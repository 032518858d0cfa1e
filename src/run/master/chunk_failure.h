/* chunk_failure.h -- what happens when a command fails. SPDX-License-Identifier: MIT */
#ifndef CV_CHUNK_FAILURE_H
#define CV_CHUNK_FAILURE_H
#include "run/master/real_run.h"

/* Begin to count who fails. */
enum cleave_status cv_chunk_trust(struct cv_real_run *run, struct cleave_error *err);

/* A command has failed, or was stopped: whether the chunk is to be tried once more. To be
 * asked once. */
bool cv_chunk_tries_again(struct cv_real_run *run, struct cv_errand *errand,
                          enum cv_slot_end end);
/* Do so, or give the chunk up and halt if that was asked for: then it is over, unless it was
 * stopped, and the caller tells it. */
enum cleave_status cv_chunk_failed(struct cv_real_run *run, struct cv_errand *errand,
                                   enum cv_slot_end end, bool again,
                                   struct cleave_error *err);
/* Put it among those that are to be done again, before all that is new. */
enum cleave_status cv_chunk_again(struct cv_real_run *run, const struct cv_errand *errand,
                                  struct cleave_error *err);

/* It was lost with so many hosts, and is given up: the chunk is over. */
enum cleave_status cv_chunk_guilty(struct cv_real_run *run, struct cv_errand *errand,
                                   uint32_t hosts, struct cleave_error *err);

#endif
