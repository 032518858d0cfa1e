/* remote_fold.h -- outputs that stay on hosts and are folded there: the master's side.
 * SPDX-License-Identifier: MIT
 *
 * The functions of result_sink.h for such outputs. */
#ifndef CV_REMOTE_FOLD_H
#define CV_REMOTE_FOLD_H
#include "run/master/result_sink.h"

/* What is left when all is done goes to `home`, which is borrowed. */
enum cleave_status cv_remote_fold_new(const struct cv_result_sink_options *options,
                                      struct cv_fold *home, struct cv_remote_fold **out,
                                      struct cleave_error *err);
void cv_remote_fold_free(struct cv_remote_fold *kept);
enum cleave_status cv_remote_fold_add(struct cv_remote_fold *kept,
                                      struct cv_chunk_output *store,
                                      const struct cv_piece *piece,
                                      const struct cv_slot *maker,
                                      struct cleave_error *err);
enum cleave_status cv_remote_fold_work(struct cv_remote_fold *kept,
                                       struct cleave_error *err);
uint32_t cv_remote_fold_busy(const struct cv_remote_fold *kept);
void cv_remote_fold_stop(struct cv_remote_fold *kept);
enum cleave_status cv_remote_fold_status(struct cv_remote_fold *kept, bool *out_command,
                                         struct cleave_error *err);
/* Hosts reach each other. */
bool cv_remote_fold_is_together(const struct cv_remote_fold *kept);
bool cv_remote_fold_holds(const struct cv_remote_fold *kept, const struct cv_host *host);
struct cv_fold_counts cv_remote_fold_counts(const struct cv_remote_fold *kept);

#endif
