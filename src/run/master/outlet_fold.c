/* outlet_fold.c -- where the outputs of a run go: to the gather, or to be folded.
 * SPDX-License-Identifier: MIT */
#include "run/master/outlet_fold.h"

#include <errno.h>

#include "base/fail.h"
#include "run/master/outlet_kept.h"

/* --- outputs ------------------------------------------------------------------------------ */

enum cleave_status cv_local_output(struct cv_local *local, struct cv_store *store,
                                   uint64_t begin, uint64_t end, struct cleave_error *err)
{
    return local->fold != NULL ? cv_fold_add(local->fold, store, begin, end, err)
                               : cv_gather_finish(local->gather, store, begin, end, err);
}

enum cleave_status cv_local_no_output(struct cv_local *local, uint64_t begin,
                                      uint64_t end, struct cleave_error *err)
{
    if (local->kept != NULL)
        return cv_kept_skip(local->kept, begin, end, err);
    return local->fold != NULL ? cv_fold_skip(local->fold, begin, end, err)
                               : cv_gather_skip(local->gather, begin, end, err);
}

/* --- while chunks run --------------------------------------------------------------------- */

enum cleave_status cv_local_fold_first(struct cv_real_engine *engine, uint32_t worker,
                                       bool *out, struct cleave_error *err)
{
    struct cv_desk *at = &engine->desks[worker];
    struct cv_fold *fold = engine->local->fold;

    *out = false;
    if (fold == NULL || worker >= engine->local->nfolders ||
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

static bool idle(const struct cv_real_engine *engine, uint32_t worker)
{
    return !cv_desk_busy(&engine->desks[worker]) &&
           !cv_fold_busy(engine->local->fold, worker);
}

enum cleave_status cv_local_fold_idle(struct cv_real_engine *engine,
                                      struct cleave_error *err)
{
    const struct cv_local *local = engine->local;
    uint32_t among = 0;

    if (local->kept != NULL && !local->halted)
        return cv_kept_go(local->kept, err);
    if (local->fold == NULL || local->halted || cv_fold_ready(local->fold) == 0)
        return CLEAVE_OK;
    for (uint32_t w = 0; w < local->nfolders; w++)
        among += idle(engine, w);
    for (uint32_t w = 0; among > 0; w++)
        if (idle(engine, w))
            CV_TRY(cv_fold_start(local->fold, w, among--, err));
    return CLEAVE_OK;
}

enum cleave_status cv_local_fold_status(struct cv_local *local, struct cleave_error *err)
{
    if (local->kept != NULL)
        return cv_kept_status(local->kept, &local->reduce_failed, err);
    return local->fold != NULL ? cv_fold_status(local->fold, &local->reduce_failed, err)
                               : CLEAVE_OK;
}

uint32_t cv_local_folding(const struct cv_local *local)
{
    if (local->kept != NULL)
        return cv_kept_unfinished(local->kept);
    return local->fold != NULL ? cv_fold_running(local->fold) : 0;
}

void cv_local_fold_stop(struct cv_local *local)
{
    if (local->kept != NULL)
        cv_kept_stop(local->kept);
    if (local->fold != NULL)
        cv_fold_stop(local->fold);
}

/* --- while none runs ---------------------------------------------------------------------- */

static enum cleave_status start_free(struct cv_local *local, struct cleave_error *err)
{
    uint32_t among = local->nfolders - cv_fold_running(local->fold);

    for (uint32_t w = 0; among > 0; w++)
        if (!cv_fold_busy(local->fold, w))
            CV_TRY(cv_fold_start(local->fold, w, among--, err));
    return CLEAVE_OK;
}

static enum cleave_status check_stop(struct cv_local *local, struct cleave_error *err)
{
    int reason = 0;

    CV_TRY(cv_local_fold_status(local, err));
    if (cv_gather_status(local->gather, &reason, err) != CLEAVE_OK) {
        local->output_closed = reason == EPIPE;
        return CLEAVE_EENGINE;
    }
    if (local->stopped_by == 0)
        return CLEAVE_OK;
    cv_fold_stop(local->fold);
    if (cv_fold_running(local->fold) > 0)
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

static enum cleave_status fold_while(struct cv_local *local,
                                     bool (*wanted)(const struct cv_fold *fold),
                                     struct cleave_error *err)
{
    for (;;) {
        CV_TRY(check_stop(local, err));
        if (!wanted(local->fold))
            return CLEAVE_OK;
        CV_TRY(start_free(local, err));
        CV_TRY(cv_poller_wait(local->poller, -1, err));
    }
}

enum cleave_status cv_local_fold_some(struct cv_local *local, struct cleave_error *err)
{
    return local->fold != NULL ? fold_while(local, crowded, err) : CLEAVE_OK;
}

enum cleave_status cv_local_fold_all(struct cv_local *local, struct cleave_error *err)
{
    struct cv_store *store;

    if (local->kept != NULL)
        return cv_kept_finish(local->kept, err);
    if (local->fold == NULL)
        return CLEAVE_OK;
    CV_TRY(fold_while(local, unfinished, err));
    CV_TRY(cv_fold_result(local->fold, &store, err));
    return store != NULL ? cv_gather_finish(local->gather, store, 0, 1, err) : CLEAVE_OK;
}
