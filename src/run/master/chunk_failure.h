/* chunk_failure.h -- what happens when a command fails. SPDX-License-Identifier: MIT */
#ifndef CV_CHUNK_FAILURE_H
#define CV_CHUNK_FAILURE_H
#include "run/master/real_run.h"

/* Try again, or give the chunk up and halt if that was asked for. *out_given_up says that
 * the chunk is over: the caller tells it. */
enum cleave_status cv_chunk_failed(struct cv_real_run *run, struct cv_errand *errand,
                                   enum cv_slot_end end, bool *out_given_up,
                                   struct cleave_error *err);

/* It was lost with so many hosts, and is given up: the chunk is over. */
enum cleave_status cv_chunk_guilty(struct cv_real_run *run, struct cv_errand *errand,
                                   uint32_t hosts, struct cleave_error *err);

#endif
