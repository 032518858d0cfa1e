/* worker_packed.h -- pieces that come as they lie in a compressed file.
 * SPDX-License-Identifier: MIT */
#ifndef CV_WORKER_PACKED_H
#define CV_WORKER_PACKED_H
#include "run/worker/worker_internal.h"

/* What the payload of PACKED says of the task; fails if that cannot be. */
enum cleave_status cv_worker_packed_learn(struct cv_worker *worker, struct cv_task *task,
                                          const void *payload, size_t length,
                                          struct cleave_error *err);
/* The same of DRAWN. */
enum cleave_status cv_worker_drawn_learn(struct cv_worker *worker, struct cv_task *task,
                                         const void *payload, size_t length,
                                         struct cleave_error *err);
void cv_worker_packed_free(struct cv_task *task);

/* Of a task that is packed. Whether so many bytes more of its body can come; whether all have. */
bool cv_worker_packed_may_come(const struct cv_task *task, uint64_t length);
bool cv_worker_packed_complete(const struct cv_task *task);
/* Its bytes lie from `at` on: let its piece be what can be decoded of it, if that is any. */
enum cleave_status cv_worker_packed_place(struct cv_task *task, int fd, uint64_t at,
                                          struct cleave_error *err);
/* Its body has so many bytes, decoded, and no more. */
void cv_worker_packed_cut(struct cv_task *task, uint64_t body);
/* From where on what has come is needed, when so many bytes have been fed. */
uint64_t cv_worker_packed_needs(const struct cv_task *task, uint64_t fed);
/* It could not be decoded. And the seat whose slot broke for that; NULL: none did. */
void cv_worker_packed_spoil(struct cv_task *task, const struct cleave_error *err);
struct cv_worker_slot *cv_worker_packed_spoiled(struct cv_worker *worker);

#endif
