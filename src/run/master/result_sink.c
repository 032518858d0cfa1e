/* result_sink.c -- outputs of chunks: written in order, folded here, or kept and folded on hosts.
 * SPDX-License-Identifier: MIT
 *
 * Folding here has one rule. An idle worker folds; if it gets a chunk meanwhile, both run
 * side by side. While all workers are busy, none folds until many partials wait: from
 * then on each worker folds once before each chunk. A chunk makes one partial and a fold
 * replaces at least two by one, so the number of waiting partials is bounded. What comes from
 * hosts is folded on this machine, by as many workers as it has use for, also while the
 * hosts compute if the policy lets chunks end one after the other. */
#include "run/master/result_sink.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <cleave/execute.h>

#include "base/fail.h"
#include "run/master/remote_fold.h"

/* --- opening ------------------------------------------------------------------------------ */

bool cv_result_sink_apart(const struct cleave_execution *request)
{
    return request->reduce.command != NULL && request->hosts.fold &&
           request->items.words == NULL && request->journal.path == NULL;
}

/* Whether outputs stay on hosts until they are folded there. The journal and items need each of
 * them; what is lost with a host is computed again, so the input must be files, few enough to be
 * opened once more. */
static bool keeps(const struct cv_result_sink_options *options)
{
    const struct cleave_execution *request = options->request;
    const struct cv_hosts *hosts = &options->pool->hosts;
    const uint64_t files = options->limiter->most_files;

    return cv_result_sink_apart(request) ||
           (request->items.words == NULL && request->journal.path == NULL &&
            (hosts->count > 0 || request->hosts.more != NULL) && !hosts->many_inputs &&
            (files == 0 || request->input.count < files / 4) &&
            cv_source_input(options->queue->source, 0).size >= 0);
}

uint32_t cv_result_sink_folders(const struct cv_worker_pool *pool,
                                const struct cleave_execution *request)
{
    if (request->reduce.command == NULL)
        return 0;
    return cv_result_sink_apart(request) ? pool->nworkers : pool->nfolders;
}

bool cv_result_sink_separate(const struct cleave_execution *request)
{
    return request->reduce.command != NULL &&
           cv_fold_takes_files(request->reduce.command);
}

static enum cleave_status open_fold(struct cv_result_sink *results,
                                    const struct cv_result_sink_options *options,
                                    struct cleave_error *err)
{
    const struct cleave_execution *request = options->request;
    const struct cv_worker_pool *pool = options->pool;
    const struct cv_fold_options fold = {
        .command = request->reduce.command,
        .commutative = request->reduce.commutative,
        .nworkers = pool->nfolders,
        .prefixes = pool->prefixes,
        .names = pool->names,
        .retries = request->failures.retries,
        .timeout_s = request->failures.timeout_s,
        .poller = options->poller,
        .outputs = options->outputs,
        .log = options->log,
        .listener = cv_start_limiter_has_spare_files(options->limiter, pool->nworkers)
                        ? &request->listener
                        : NULL,
        .limiter = options->limiter
    };

    results->nfolders = pool->nfolders;
    results->folds_first = calloc(pool->nworkers, sizeof *results->folds_first);
    return results->folds_first == NULL ? cv_fail_memory(err, "the reduction")
                                        : cv_fold_new(&fold, &results->fold, err);
}

enum cleave_status cv_result_sink_open(const struct cv_result_sink_options *options,
                                       struct cv_result_sink **out,
                                       struct cleave_error *err)
{
    struct cv_result_sink *results = calloc(1, sizeof *results);
    enum cleave_status status = CLEAVE_OK;

    if (results == NULL)
        return cv_fail_memory(err, "the output");
    results->outputs = options->outputs;
    results->table = options->table;
    results->pool = options->pool;
    if (options->request->reduce.command != NULL) {
        status = open_fold(results, options, err);
        if (status == CLEAVE_OK && keeps(options))
            status = cv_remote_fold_new(options, results->fold, &results->kept, err);
    }
    if (status == CLEAVE_OK)
        *out = results;
    else
        cv_result_sink_free(results);
    return status;
}

void cv_result_sink_free(struct cv_result_sink *results)
{
    if (results == NULL)
        return;
    cv_remote_fold_free(results->kept);
    cv_fold_free(results->fold);
    free(results->folds_first);
    free(results);
}

/* --- outputs ------------------------------------------------------------------------------ */

struct cv_fold_counts cv_result_sink_counts(const struct cv_result_sink *results)
{
    struct cv_fold_counts counts = { 0 }, there;

    if (results == NULL || results->fold == NULL)
        return counts;
    counts = cv_fold_counts(results->fold);
    if (results->kept == NULL)
        return counts;
    there = cv_remote_fold_counts(results->kept);
    counts.calls += there.calls;
    counts.retries += there.retries;
    counts.seconds += there.seconds;
    counts.gone += there.gone;
    counts.waited_s = fmax(counts.waited_s, there.waited_s);
    return counts;
}

double cv_result_sink_fold_s(const struct cv_result_sink *results)
{
    if (results->fold == NULL)
        return 0;
    return cv_fold_one_s(results->kept != NULL &&
                                 cv_remote_fold_is_together(results->kept)
                             ? cv_remote_fold_counts(results->kept)
                             : cv_fold_counts(results->fold));
}

enum cleave_status cv_result_sink_add(struct cv_result_sink *results,
                                      struct cv_chunk_output *store,
                                      const struct cv_piece *piece,
                                      const struct cv_slot *maker,
                                      struct cleave_error *err)
{
    if (results->kept != NULL && maker != NULL && cv_remote_host(maker) != NULL)
        return cv_remote_fold_add(results->kept, store, piece, maker, err);
    cv_chunk_output_note_input(store,
                               (struct cv_unwritten_output){ piece->begin, piece->end,
                                                             .resumed = maker == NULL });
    return results->fold != NULL
               ? cv_fold_add(results->fold,
                             (struct cv_partial){ .begin = piece->begin,
                                                  .end = piece->end,
                                                  .covers = piece->end - piece->begin,
                                                  .store = store },
                             err)
               : cv_ordered_output_finish(results->outputs, store, piece->begin,
                                          piece->end, err);
}

enum cleave_status cv_result_sink_skip(struct cv_result_sink *results, uint64_t begin,
                                       uint64_t end, struct cleave_error *err)
{
    return results->fold != NULL
               ? cv_fold_skip(results->fold, begin, end, err)
               : cv_ordered_output_skip(results->outputs, begin, end, err);
}

/* --- while chunks run --------------------------------------------------------------------- */

enum cleave_status cv_result_sink_first(struct cv_result_sink *results, uint32_t worker,
                                        bool *out, struct cleave_error *err)
{
    struct cv_fold *fold = results->fold;
    bool *first;

    *out = false;
    if (fold == NULL || worker >= results->nfolders)
        return CLEAVE_OK;
    first = &results->folds_first[worker];
    if (!cv_fold_crowded(fold) && !*first)
        return CLEAVE_OK;
    if (!cv_fold_busy(fold, worker)) {
        /* One fold before each chunk. */
        if (*first) {
            *first = false;
            return CLEAVE_OK;
        }
        CV_TRY(cv_fold_start(fold, worker, 1, err));
    }
    *first = *out = cv_fold_busy(fold, worker);
    return CLEAVE_OK;
}

static bool is_idle(const struct cv_result_sink *results, uint32_t worker)
{
    /* A worker on a host does not compete with folds on this machine. */
    return (results->pool->host_of[worker] != NULL ||
            !cv_attempt_table_is_busy(results->table, worker)) &&
           !cv_fold_busy(results->fold, worker);
}

enum cleave_status cv_result_sink_work(struct cv_result_sink *results,
                                       struct cleave_error *err)
{
    uint32_t among = 0;

    if (results->kept != NULL)
        CV_TRY(cv_remote_fold_work(results->kept, err));
    if (results->fold == NULL || cv_fold_ready(results->fold) == 0)
        return CLEAVE_OK;
    for (uint32_t w = 0; w < results->nfolders; w++)
        among += is_idle(results, w);
    for (uint32_t w = 0; among > 0; w++)
        if (is_idle(results, w))
            CV_TRY(cv_fold_start(results->fold, w, among--, err));
    return CLEAVE_OK;
}

uint32_t cv_result_sink_busy(const struct cv_result_sink *results)
{
    return (results->kept != NULL ? cv_remote_fold_busy(results->kept) : 0) +
           (results->fold != NULL ? cv_fold_running(results->fold) : 0);
}

bool cv_result_sink_holds(const struct cv_result_sink *results,
                          const struct cv_host *host)
{
    return results->kept != NULL && cv_remote_fold_holds(results->kept, host);
}

void cv_result_sink_stop(struct cv_result_sink *results)
{
    if (results->kept != NULL)
        cv_remote_fold_stop(results->kept);
    if (results->fold != NULL)
        cv_fold_stop(results->fold);
}

enum cleave_status cv_result_sink_status(struct cv_result_sink *results,
                                         bool *out_command, struct cleave_error *err)
{
    if (results->kept != NULL)
        CV_TRY(cv_remote_fold_status(results->kept, out_command, err));
    return results->fold != NULL ? cv_fold_status(results->fold, out_command, err)
                                 : CLEAVE_OK;
}

/* --- while none runs ---------------------------------------------------------------------- */

static enum cleave_status start_free(struct cv_result_sink *results,
                                     struct cleave_error *err)
{
    uint32_t among = results->nfolders - cv_fold_running(results->fold);

    for (uint32_t w = 0; among > 0; w++)
        if (!cv_fold_busy(results->fold, w))
            CV_TRY(cv_fold_start(results->fold, w, among--, err));
    return CLEAVE_OK;
}

enum cleave_status cv_result_sink_free_memory(struct cv_result_sink *results,
                                              bool *out_done, struct cleave_error *err)
{
    *out_done = results->fold == NULL || !cv_fold_crowded(results->fold);
    return *out_done ? CLEAVE_OK : start_free(results, err);
}

enum cleave_status cv_result_sink_finish(struct cv_result_sink *results, bool *out_done,
                                         struct cleave_error *err)
{
    struct cv_chunk_output *store;

    *out_done = results->fold == NULL || (cv_fold_ready(results->fold) == 0 &&
                                          cv_fold_running(results->fold) == 0);
    if (!*out_done)
        return start_free(results, err);
    if (results->fold == NULL)
        return CLEAVE_OK;
    CV_TRY(cv_fold_close(results->fold, out_done, err));
    if (!*out_done)
        return CLEAVE_OK;
    CV_TRY(cv_fold_result(results->fold, &store, err));
    return store != NULL ? cv_ordered_output_finish(results->outputs, store, 0, 1, err)
                         : CLEAVE_OK;
}

enum cleave_status cv_result_sink_check(const struct cv_result_sink *results,
                                        uint64_t bytes, struct cleave_error *err)
{
    const uint64_t covered =
        results->fold != NULL ? cv_fold_covered(results->fold) : bytes;

    if (covered == bytes)
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EACCOUNT,
                   "partial results of %" PRIu64 " bytes were reduced, but %" PRIu64
                   " bytes were done: a defect of cleave",
                   covered, bytes);
}
