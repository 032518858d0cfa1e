/* open_chunks.h -- chunks that stay open: more is added to them, until they are closed.
 * SPDX-License-Identifier: MIT
 *
 * Only with a command for each chunk. What is added is what directly
 * follows, so that in the end the chunk is one piece of the input like any other. When its
 * command fails, all that it was given is tried again as a whole, and nothing is added any
 * more. */
#ifndef CV_OPEN_CHUNKS_H
#define CV_OPEN_CHUNKS_H
#include "run/master/exec_run.h"

/* Give the open chunk of the worker up to so many bytes more, as soon as they are there; the
 * driver is told how many it were. Nothing is told of a chunk that has ended meanwhile. */
enum cleave_status cv_open_chunks_extend(struct cv_exec_run *run, uint32_t worker,
                                         double units, struct cleave_error *err);
/* Begin it, perhaps long after it was ordered, and orders about it as well. It has been told, which
 * is taken back if there is no room for its command: then it is an order as before. */
enum cleave_status cv_open_chunks_begin(struct cv_exec_run *run,
                                        struct cv_attempt *attempt,
                                        const struct cv_pending_order *pending,
                                        const struct cv_piece *piece,
                                        struct cleave_error *err);
/* Its command was started and is not there, for want of room: nothing of it was read. */
enum cleave_status cv_open_chunks_start_failed(struct cv_exec_run *run,
                                               struct cv_attempt *attempt,
                                               struct cleave_error *err);
/* Nothing more is added to it. */
void cv_open_chunks_close(struct cv_exec_run *run, uint32_t worker);
/* Tell how far a worker is with its chunk, open or not. */
void cv_open_chunks_look(struct cv_exec_run *run, uint32_t worker);

/* What there is for an open chunk that could begin with up to so many bytes. */
struct cv_incoming cv_open_chunks_incoming(const struct cv_exec_run *run,
                                           uint64_t wanted);
/* The first piece of an open chunk: as cv_source_take, but less will do. */
enum cleave_status cv_open_chunks_take(const struct cv_exec_run *run, uint64_t wanted,
                                       enum cv_take *state, struct cv_piece *out,
                                       struct cleave_error *err);
/* Add what has come since. */
enum cleave_status cv_open_chunks_grow(struct cv_exec_run *run, struct cleave_error *err);
/* The run is to end: close them all; its host is to go: close that of the worker. */
void cv_open_chunks_end(struct cv_exec_run *run);
void cv_open_chunks_end_one(struct cv_exec_run *run, uint32_t worker);
/* Whether the worker has an open chunk that waits for an order; who knows when it comes. */
bool cv_open_chunks_awaits_order(const struct cv_exec_run *run, uint32_t worker);
/* Something else is to be done by the worker that has such a chunk. Here, commands can run side
 * by side; on another machine one does after the other, so that one without bytes is started
 * again when it has some, and one that has some ends with them. */
void cv_open_chunks_yield_slot(struct cv_exec_run *run, uint32_t worker);
/* Let commands of this machine end that wait for an order. */
void cv_open_chunks_make_room(struct cv_exec_run *run);
/* Whether chunks are under way, and all of them wait for an order. */
bool cv_open_chunks_wait(const struct cv_exec_run *run);

/* The slot of a chunk has ended before the chunk had any bytes: then it is no failure, and
 * nobody is told. True if it was that. */
bool cv_open_chunks_ended_empty(struct cv_exec_run *run, struct cv_attempt *attempt,
                                enum cv_slot_end end);
/* The chunk has ended: forget what was to be added. */
void cv_open_chunks_over(struct cv_exec_run *run, struct cv_attempt *attempt);
/* Fit `began`, `drained` and `seen` of a slot, with the run as context. */
void cv_open_chunks_began(void *context, struct cv_slot *slot);
void cv_open_chunks_drained(void *context, struct cv_slot *slot);
void cv_open_chunks_seen(void *context, struct cv_slot *slot,
                         const struct cv_slot_seen *seen);

#endif
