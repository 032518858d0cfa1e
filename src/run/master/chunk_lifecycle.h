/* chunk_lifecycle.h -- what a slot tells of its chunk, to the end. SPDX-License-Identifier: MIT */
#ifndef CV_CHUNK_LIFECYCLE_H
#define CV_CHUNK_LIFECYCLE_H
#include "run/master/exec_run.h"

/* The run hears all that the slot has to tell. */
void cv_chunks_listen(struct cv_exec_run *run, struct cv_slot *slot);

#endif
