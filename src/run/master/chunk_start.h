/* chunk_start.h -- desks for workers, and the beginning of a chunk. SPDX-License-Identifier: MIT */
#ifndef CV_CHUNK_START_H
#define CV_CHUNK_START_H
#include "run/master/exec_run.h"

/* Give a worker the desk it needs, on this machine or on another; the run may have had it
 * for a place of nobody. */
enum cleave_status cv_chunks_bind_slot(struct cv_exec_run *run, uint32_t worker,
                                       struct cleave_error *err);
/* Begin an order that was taken from the books, on an attempt that is free. */
enum cleave_status cv_chunks_begin(struct cv_exec_run *run, struct cv_attempt *attempt,
                                   uint32_t owner, const struct cv_pending_order *pending,
                                   const struct cv_piece *piece,
                                   struct cleave_error *err);
/* The same for one that failed, or half of one, and is still under way in the books. */
enum cleave_status cv_chunks_begin_again(struct cv_exec_run *run,
                                         struct cv_attempt *attempt,
                                         const struct cv_retry *again,
                                         struct cleave_error *err);

#endif
