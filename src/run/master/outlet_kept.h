/* outlet_kept.h -- partial results that stay with the hosts and are folded there.
 * SPDX-License-Identifier: MIT
 *
 * The master only decides who folds what (engine/fold_plan.h); partials go from host to
 * host, and the last one comes here. What is kept by a host that is lost is computed
 * again, as long as chunks are handed out. */
#ifndef CV_OUTLET_KEPT_H
#define CV_OUTLET_KEPT_H
#include "run/fold/fold.h"
#include "run/master/real_run.h"

struct cv_kept;

/* Whether outputs can stay where they are made: hosts must be able to reach each other,
 * and nothing else must need the outputs. */
bool cv_kept_possible(const struct cleave_execution *execution);
/* The hosts are ready; tell them. */
enum cleave_status cv_kept_new(struct cv_real_run *run, struct cv_kept **out,
                               struct cleave_error *err);
void cv_kept_free(struct cv_kept *kept);

/* The host of the slot has the output of its piece. */
enum cleave_status cv_kept_add(struct cv_kept *kept, const struct cv_slot *slot,
                               struct cleave_error *err);
/* There is no output for [begin, end). */
enum cleave_status cv_kept_skip(struct cv_kept *kept, uint64_t begin, uint64_t end,
                                struct cleave_error *err);
/* See to what was lost. Fails once folding has; *out_command, if not NULL, says whether
 * it was the command. */
enum cleave_status cv_kept_status(struct cv_kept *kept, bool *out_command,
                                  struct cleave_error *err);
/* Let hosts fold that have nothing else to do. */
enum cleave_status cv_kept_go(struct cv_kept *kept, struct cleave_error *err);
/* Whether there is more than one partial, or something is being folded. */
bool cv_kept_unfinished(const struct cv_kept *kept);
void cv_kept_stop(struct cv_kept *kept);
/* After all chunks: fold all, and give the result to the gather. */
enum cleave_status cv_kept_finish(struct cv_kept *kept, struct cleave_error *err);
struct cv_fold_counts cv_kept_counts(const struct cv_kept *kept);

#endif
