/* real_chunks.h -- what a slot tells of its chunk, to the end. SPDX-License-Identifier: MIT */
#ifndef CV_REAL_CHUNKS_H
#define CV_REAL_CHUNKS_H
#include "run/master/real_run.h"

/* The run hears all that the slot has to tell. */
void cv_chunks_listen(struct cv_real_run *run, struct cv_slot *slot);

#endif
