/* outlet_fold.c -- where the outputs of a run go: to the gather, or to be folded.
 * SPDX-License-Identifier: MIT */
#include "run/master/outlet_fold.h"

#include <errno.h>

#include "base/fail.h"
#include "run/master/outlet_kept.h"

/* --- outputs ------------------------------------------------------------------------------ */

enum cleave_status cv_local_output(struct cv_real_run *run, struct cv_store *store,
                                   uint64_t begin, uint64_t end, struct cleave_error *err)
{
    return run->fold != NULL ? cv_fold_add(run->fold, store, begin, end, err)
                             : cv_gather_finish(run->gather, store, begin, end, err);
}

enum cleave_status cv_local_no_output(struct cv_real_run *run, uint64_t begin,
                                      uint64_t end, struct cleave_error *err)
{
    if (run->kept != NULL)
        return cv_kept_skip(run->kept, begin, end, err);
    return run->fold != NULL ? cv_fold_skip(run->fold, begin, end, err)
                             : cv_gather_skip(run->gather, begin, end, err);
}

/* --- while chunks run --------------------------------------------------------------------- */

enum cleave_status cv_local_fold_first(struct cv_real_run *run, uint32_t worker,
                                       bool *out, struct cleave_error *err)
{
    struct cv_desk *at = &run->desks.items[worker];
    struct cv_fold *fold = run->fold;

    *out = false;
    if (fold == NULL || worker >= run->staff.nfolders ||
        (!cv_fold_crowded(fold) && !at->folds_first))
        return CLEAVE_OK;
    if (!cv_fold_busy(fold, worker)) {
        /* Once before each chunk. */
        if (at->folds_first) {
            at->folds_first = false;
            return CLEAVE_OK;
        }
        CV_TRY(cv_fold_start(fold, worker, 1, err));
    }
    at->folds_first = *out = cv_fold_busy(fold, worker);
    return CLEAVE_OK;
}

static bool idle(const struct cv_real_run *run, uint32_t worker)
{
    return !cv_desks_busy(&run->desks, worker) && !cv_fold_busy(run->fold, worker);
}

enum cleave_status cv_local_fold_idle(struct cv_real_run *run, struct cleave_error *err)
{
    uint32_t among = 0;

    if (run->kept != NULL && !run->halted)
        return cv_kept_go(run->kept, err);
    if (run->fold == NULL || run->halted || cv_fold_ready(run->fold) == 0)
        return CLEAVE_OK;
    for (uint32_t w = 0; w < run->staff.nfolders; w++)
        among += idle(run, w);
    for (uint32_t w = 0; among > 0; w++)
        if (idle(run, w))
            CV_TRY(cv_fold_start(run->fold, w, among--, err));
    return CLEAVE_OK;
}

enum cleave_status cv_local_fold_status(struct cv_real_run *run, struct cleave_error *err)
{
    if (run->kept != NULL)
        return cv_kept_status(run->kept, &run->reduce_failed, err);
    return run->fold != NULL ? cv_fold_status(run->fold, &run->reduce_failed, err)
                             : CLEAVE_OK;
}

uint32_t cv_local_folding(const struct cv_real_run *run)
{
    if (run->kept != NULL)
        return cv_kept_unfinished(run->kept);
    return run->fold != NULL ? cv_fold_running(run->fold) : 0;
}

void cv_local_fold_stop(struct cv_real_run *run)
{
    if (run->kept != NULL)
        cv_kept_stop(run->kept);
    if (run->fold != NULL)
        cv_fold_stop(run->fold);
}

/* --- while none runs ---------------------------------------------------------------------- */

static enum cleave_status start_free(struct cv_real_run *run, struct cleave_error *err)
{
    uint32_t among = run->staff.nfolders - cv_fold_running(run->fold);

    for (uint32_t w = 0; among > 0; w++)
        if (!cv_fold_busy(run->fold, w))
            CV_TRY(cv_fold_start(run->fold, w, among--, err));
    return CLEAVE_OK;
}

static enum cleave_status check_stop(struct cv_real_run *run, struct cleave_error *err)
{
    int reason = 0;

    CV_TRY(cv_local_fold_status(run, err));
    if (cv_gather_status(run->gather, &reason, err) != CLEAVE_OK) {
        run->output_closed = reason == EPIPE;
        return CLEAVE_EENGINE;
    }
    if (run->stopped_by == 0)
        return CLEAVE_OK;
    cv_fold_stop(run->fold);
    if (cv_fold_running(run->fold) > 0)
        return CLEAVE_OK; /* it is waited for */
    return cv_fail(err, CLEAVE_EENGINE, "stopped by a signal");
}

static bool crowded(const struct cv_fold *fold)
{
    return cv_fold_crowded(fold);
}

static bool unfinished(const struct cv_fold *fold)
{
    return cv_fold_ready(fold) > 0 || cv_fold_running(fold) > 0;
}

static enum cleave_status fold_while(struct cv_real_run *run,
                                     bool (*wanted)(const struct cv_fold *fold),
                                     struct cleave_error *err)
{
    for (;;) {
        CV_TRY(check_stop(run, err));
        if (!wanted(run->fold))
            return CLEAVE_OK;
        CV_TRY(start_free(run, err));
        CV_TRY(cv_poller_wait(run->poller, -1, err));
    }
}

enum cleave_status cv_local_fold_some(struct cv_real_run *run, struct cleave_error *err)
{
    return run->fold != NULL ? fold_while(run, crowded, err) : CLEAVE_OK;
}

enum cleave_status cv_local_fold_all(struct cv_real_run *run, struct cleave_error *err)
{
    struct cv_store *store;

    if (run->kept != NULL)
        return cv_kept_finish(run->kept, err);
    if (run->fold == NULL)
        return CLEAVE_OK;
    CV_TRY(fold_while(run, unfinished, err));
    CV_TRY(cv_fold_result(run->fold, &store, err));
    return store != NULL ? cv_gather_finish(run->gather, store, 0, 1, err) : CLEAVE_OK;
}
