/* result_sink.c -- result sinks that write outputs in order, or fold them here.
 * SPDX-License-Identifier: MIT
 *
 * Folding has one rule. An idle worker folds; if it gets a chunk meanwhile, both run
 * side by side. While all workers are busy, none folds until many partials wait: from
 * then on each worker folds once before each chunk. A chunk makes one partial and a fold
 * replaces at least two by one, so the number of waiting partials is bounded. Outputs of
 * hosts are folded on this machine, by as many workers as it has use for, also while the
 * hosts compute if the policy lets chunks end one after the other. */
#include "run/master/result_sink.h"

#include <inttypes.h>
#include <stdlib.h>
#include <cleave/execute.h>
#include "base/fail.h"
#include "run/fold/fold.h"

void cv_result_sink_free(struct cv_result_sink *results)
{
    if (results != NULL)
        results->kind->free(results);
}

struct cv_fold_counts cv_result_sink_counts(const struct cv_result_sink *results)
{
    return results != NULL && results->kind->counts != NULL
               ? results->kind->counts(results)
               : (struct cv_fold_counts){ 0 };
}

enum cleave_status cv_result_sink_add(struct cv_result_sink *results,
                                      struct cv_chunk_output *store,
                                      const struct cv_piece *piece,
                                      const struct cv_slot *maker,
                                      struct cleave_error *err)
{
    return results->kind->add(results, store, piece, maker, err);
}

enum cleave_status cv_result_sink_skip(struct cv_result_sink *results, uint64_t begin,
                                       uint64_t end, struct cleave_error *err)
{
    return results->kind->skip(results, begin, end, err);
}

enum cleave_status cv_result_sink_first(struct cv_result_sink *results, uint32_t worker,
                                        bool *out, struct cleave_error *err)
{
    *out = false;
    return results->kind->first != NULL ? results->kind->first(results, worker, out, err)
                                        : CLEAVE_OK;
}

enum cleave_status cv_result_sink_work(struct cv_result_sink *results,
                                       struct cleave_error *err)
{
    return results->kind->work != NULL ? results->kind->work(results, err) : CLEAVE_OK;
}

uint32_t cv_result_sink_busy(const struct cv_result_sink *results)
{
    return results->kind->busy != NULL ? results->kind->busy(results) : 0;
}

void cv_result_sink_stop(struct cv_result_sink *results)
{
    if (results->kind->stop != NULL)
        results->kind->stop(results);
}

enum cleave_status cv_result_sink_status(struct cv_result_sink *results,
                                         bool *out_command, struct cleave_error *err)
{
    return results->kind->status != NULL
               ? results->kind->status(results, out_command, err)
               : CLEAVE_OK;
}

enum cleave_status cv_result_sink_free_memory(struct cv_result_sink *results,
                                              bool *out_done, struct cleave_error *err)
{
    *out_done = true;
    return results->kind->relieve != NULL ? results->kind->relieve(results, out_done, err)
                                          : CLEAVE_OK;
}

enum cleave_status cv_result_sink_finish(struct cv_result_sink *results, bool *out_done,
                                         struct cleave_error *err)
{
    *out_done = true;
    return results->kind->settle != NULL ? results->kind->settle(results, out_done, err)
                                         : CLEAVE_OK;
}

enum cleave_status cv_result_sink_check(const struct cv_result_sink *results,
                                        uint64_t bytes, struct cleave_error *err)
{
    const uint64_t covered =
        results->kind->covered != NULL ? results->kind->covered(results) : bytes;

    if (covered == bytes)
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EACCOUNT,
                   "partial results of %" PRIu64 " bytes were reduced, but %" PRIu64
                   " bytes were done: a defect of cleave",
                   covered, bytes);
}

/* --- outputs are folded by commands on this machine -------------------------------- */

struct folding {
    struct cv_result_sink results;
    struct cv_fold *fold; /* owned                                                 */
    struct cv_ordered_output *outputs; /* borrowed, like the next */
    const struct cv_attempt_table *table;
    uint32_t nfolders;
    struct cv_host *const *elsewhere; /* per worker: its host, or NULL */
    bool *folds_first; /* owned: per worker: its next chunk waits for a fold           */
};

static struct folding *folding_of(struct cv_result_sink *results)
{
    return (struct folding *)results; /* the sink is its first member */
}

static const struct cv_fold *fold_of(const struct cv_result_sink *results)
{
    return ((const struct folding *)results)->fold;
}

/* --- outputs ------------------------------------------------------------------------------ */

static enum cleave_status fold_add(struct cv_result_sink *results,
                                   struct cv_chunk_output *store,
                                   const struct cv_piece *piece,
                                   const struct cv_slot *maker, struct cleave_error *err)
{
    (void)maker;
    return cv_fold_add(folding_of(results)->fold, store, piece->begin, piece->end, err);
}

static enum cleave_status fold_skip(struct cv_result_sink *results, uint64_t begin,
                                    uint64_t end, struct cleave_error *err)
{
    return cv_fold_skip(folding_of(results)->fold, begin, end, err);
}

/* --- while chunks run --------------------------------------------------------------------- */

static enum cleave_status fold_first(struct cv_result_sink *results, uint32_t worker,
                                     bool *out, struct cleave_error *err)
{
    struct folding *folding = folding_of(results);
    struct cv_fold *fold = folding->fold;
    bool *first = &folding->folds_first[worker];

    if (worker >= folding->nfolders || (!cv_fold_crowded(fold) && !*first))
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

static bool idle(const struct folding *folding, uint32_t worker)
{
    /* A worker on a host does not compete with folds on this machine. */
    return (folding->elsewhere[worker] != NULL ||
            !cv_attempt_table_is_busy(folding->table, worker)) &&
           !cv_fold_busy(folding->fold, worker);
}

static enum cleave_status fold_work(struct cv_result_sink *results,
                                    struct cleave_error *err)
{
    struct folding *folding = folding_of(results);
    uint32_t among = 0;

    if (cv_fold_ready(folding->fold) == 0)
        return CLEAVE_OK;
    for (uint32_t w = 0; w < folding->nfolders; w++)
        among += idle(folding, w);
    for (uint32_t w = 0; among > 0; w++)
        if (idle(folding, w))
            CV_TRY(cv_fold_start(folding->fold, w, among--, err));
    return CLEAVE_OK;
}

static uint32_t fold_busy(const struct cv_result_sink *results)
{
    return cv_fold_running(fold_of(results));
}

static void fold_stop(struct cv_result_sink *results)
{
    cv_fold_stop(folding_of(results)->fold);
}

static enum cleave_status fold_status(struct cv_result_sink *results, bool *out_command,
                                      struct cleave_error *err)
{
    return cv_fold_status(fold_of(results), out_command, err);
}

/* --- while none runs ---------------------------------------------------------------------- */

static enum cleave_status start_free(struct folding *folding, struct cleave_error *err)
{
    uint32_t among = folding->nfolders - cv_fold_running(folding->fold);

    for (uint32_t w = 0; among > 0; w++)
        if (!cv_fold_busy(folding->fold, w))
            CV_TRY(cv_fold_start(folding->fold, w, among--, err));
    return CLEAVE_OK;
}

static enum cleave_status fold_relieve(struct cv_result_sink *results, bool *out_done,
                                       struct cleave_error *err)
{
    struct folding *folding = folding_of(results);

    *out_done = !cv_fold_crowded(folding->fold);
    return *out_done ? CLEAVE_OK : start_free(folding, err);
}

static enum cleave_status fold_settle(struct cv_result_sink *results, bool *out_done,
                                      struct cleave_error *err)
{
    struct folding *folding = folding_of(results);
    struct cv_chunk_output *store;

    *out_done = cv_fold_ready(folding->fold) == 0 && fold_busy(results) == 0;
    if (!*out_done)
        return start_free(folding, err);
    CV_TRY(cv_fold_result(folding->fold, &store, err));
    return store != NULL ? cv_ordered_output_finish(folding->outputs, store, 0, 1, err)
                         : CLEAVE_OK;
}

static uint64_t fold_covered(const struct cv_result_sink *results)
{
    return cv_fold_covered(fold_of(results));
}

static struct cv_fold_counts fold_counts(const struct cv_result_sink *results)
{
    return cv_fold_counts(fold_of(results));
}

static void fold_free(struct cv_result_sink *results)
{
    struct folding *folding = folding_of(results);

    cv_fold_free(folding->fold);
    free(folding->folds_first);
    free(folding);
}

static const struct cv_result_sink_kind fold_kind = {
    .add = fold_add,
    .skip = fold_skip,
    .first = fold_first,
    .work = fold_work,
    .busy = fold_busy,
    .stop = fold_stop,
    .status = fold_status,
    .relieve = fold_relieve,
    .settle = fold_settle,
    .counts = fold_counts,
    .covered = fold_covered,
    .free = fold_free,
};

static enum cleave_status result_sink_fold(const struct cv_result_sink_options *options,
                                           struct cv_result_sink **out,
                                           struct cleave_error *err)
{
    const struct cleave_execution *request = options->request;
    const struct cv_worker_pool *pool = options->pool;
    struct folding *folding = calloc(1, sizeof *folding);
    enum cleave_status status;

    if (folding == NULL)
        return cv_fail_memory(err, "the reduction");
    folding->results.kind = &fold_kind;
    folding->outputs = options->outputs;
    folding->table = options->table;
    folding->nfolders = pool->nfolders;
    folding->elsewhere = pool->host_of;
    folding->folds_first = calloc(pool->nworkers, sizeof *folding->folds_first);
    status =
        folding->folds_first == NULL
            ? cv_fail_memory(err, "the reduction")
            : cv_fold_new(&(struct cv_fold_options){ .command = request->reduce.command,
                                                     .commutative =
                                                         request->reduce.commutative,
                                                     .nworkers = pool->nfolders,
                                                     .prefixes = pool->prefixes,
                                                     .names = pool->names,
                                                     .retries = request->failures.retries,
                                                     .timeout_s =
                                                         request->failures.timeout_s,
                                                     .poller = options->poller,
                                                     .outputs = options->outputs,
                                                     .log = options->log,
                                                     .limiter = options->limiter },
                          &folding->fold, err);
    if (status != CLEAVE_OK) {
        fold_free(&folding->results);
        return status;
    }
    *out = &folding->results;
    return CLEAVE_OK;
}

/* --- which kind of outlet was asked for, and the plain one: outputs are written as they are --- */

struct plain {
    struct cv_result_sink results;
    struct cv_ordered_output *outputs; /* borrowed */
};

static enum cleave_status plain_add(struct cv_result_sink *results,
                                    struct cv_chunk_output *store,
                                    const struct cv_piece *piece,
                                    const struct cv_slot *maker, struct cleave_error *err)
{
    struct plain *plain = (struct plain *)results;

    (void)maker;
    return cv_ordered_output_finish(plain->outputs, store, piece->begin, piece->end, err);
}

static enum cleave_status plain_skip(struct cv_result_sink *results, uint64_t begin,
                                     uint64_t end, struct cleave_error *err)
{
    struct plain *plain = (struct plain *)results;

    return cv_ordered_output_skip(plain->outputs, begin, end, err);
}

static void plain_free(struct cv_result_sink *results)
{
    free(results);
}

/* The ordered output writes by itself. */
static const struct cv_result_sink_kind plain_kind = {
    .add = plain_add,
    .skip = plain_skip,
    .free = plain_free,
};

enum cleave_status cv_result_sink_plain(const struct cv_result_sink_options *options,
                                        struct cv_result_sink **out,
                                        struct cleave_error *err)
{
    struct plain *plain = calloc(1, sizeof *plain);

    if (plain == NULL)
        return cv_fail_memory(err, "the output");
    plain->results.kind = &plain_kind;
    plain->outputs = options->outputs;
    *out = &plain->results;
    return CLEAVE_OK;
}

bool cv_result_sink_apart(const struct cleave_execution *request)
{
    return request->reduce.command != NULL && cv_result_sink_kept_possible(request);
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

enum cleave_status cv_result_sink_open(const struct cv_result_sink_options *options,
                                       struct cv_result_sink **out,
                                       struct cleave_error *err)
{
    if (options->request->reduce.command == NULL)
        return cv_result_sink_plain(options, out, err);
    if (cv_result_sink_kept_possible(options->request))
        return cv_result_sink_kept(options, out, err);
    return result_sink_fold(options, out, err);
}
