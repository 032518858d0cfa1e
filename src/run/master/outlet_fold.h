/* outlet_fold.h -- where the outputs of a run go: to the gather, or to be folded.
 * SPDX-License-Identifier: MIT
 *
 * Who folds, and when, is one rule. A worker that has nothing else to do folds; when it is
 * given a chunk meanwhile, it begins that beside. While all are busy nobody folds, until
 * so many partials wait that it is crowded: then a worker folds once before each chunk. A
 * chunk makes one partial and a fold makes at least one of two, so no more wait from there
 * on, and the split goes on.
 *
 * What other machines put out is here, and so it is folded here: only as many workers fold
 * as this machine has use for. */
#ifndef CV_OUTLET_FOLD_H
#define CV_OUTLET_FOLD_H
#include "run/fold/fold.h"
#include "run/master/real_run.h"

/* The store is the whole output for [begin, end), and not the caller's any more. */
enum cleave_status cv_local_output(struct cv_real_run *run, struct cv_store *store,
                                   uint64_t begin, uint64_t end,
                                   struct cleave_error *err);
/* None will come for [begin, end). */
enum cleave_status cv_local_no_output(struct cv_real_run *run, uint64_t begin,
                                      uint64_t end, struct cleave_error *err);

/* Whether the worker has to fold before it begins its next chunk; it is let to. */
enum cleave_status cv_local_fold_first(struct cv_real_run *run, uint32_t worker,
                                       bool *out, struct cleave_error *err);
/* Let all workers fold that have nothing to do. */
enum cleave_status cv_local_fold_idle(struct cv_real_run *run, struct cleave_error *err);
/* Fails once folding has; `reduce_failed` of `local` says if it was the command. */
enum cleave_status cv_local_fold_status(struct cv_real_run *run,
                                        struct cleave_error *err);
uint32_t cv_local_folding(const struct cv_real_run *run);
void cv_local_fold_stop(struct cv_real_run *run);

/* While no chunk runs: fold until it is not crowded; or all, and give the result to the
 * gather. */
enum cleave_status cv_local_fold_some(struct cv_real_run *run, struct cleave_error *err);
enum cleave_status cv_local_fold_all(struct cv_real_run *run, struct cleave_error *err);

#endif
