/* worker_fold.h -- a worker that keeps its outputs and folds them with those of other workers.
 * SPDX-License-Identifier: MIT */
#ifndef CV_WORKER_FOLD_H
#define CV_WORKER_FOLD_H
#include "run/worker/worker_serve.h"

struct cv_worker_fold;

/* `peers` is a socket to the other workers, borrowed (engine/mpi_bridge.h). */
enum cleave_status cv_worker_fold_new(int peers, struct cv_worker_fold **out,
                                      struct cleave_error *err);
void cv_worker_fold_free(struct cv_worker_fold *fold);
/* Set the callbacks of the options. */
void cv_worker_fold_attach(struct cv_worker_fold *fold,
                           struct cv_worker_options *options);

#endif
