/* fold.c -- fold partial results into one, by a command. SPDX-License-Identifier: MIT */
#include "run/fold/fold.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "run/fold/fold_command.h"
#include "run/fold/fold_log.h"
#include "run/fold/fold_set.h"
#include "run/slot/slot.h"

/* From this many on, workers fold before they make more: enough for two full calls, few
 * enough for a descriptor each. */
enum { CROWD = 2 * CV_FOLD_MOST };

/* One worker's command, and what it folds. */
struct job {
    struct cv_slot slot;
    struct cv_fold_call call;
    struct cv_partial partials[CV_FOLD_MOST];
    size_t npartials; /* whose stores are the job's                                 */
    uint32_t attempt; /* from 1                                                     */
};

struct cv_fold {
    struct cv_fold_options options;
    bool takes_files;
    struct cv_fold_set set; /* the stores in it are owned                           */
    struct job *jobs;       /* owned: per worker                                    */
    uint32_t running;
    size_t crowd; /* so many results that workers should fold before they make more   */
    uint64_t skipped, covered; /* bytes of the input: see cv_fold_covered           */
    bool stopped, failed, by_command;
    struct cleave_error err; /* once failed                                         */
    struct cv_fold_counts counts;
};

/* --- one fold ----------------------------------------------------------------------------- */

static void drop_partials(struct job *job)
{
    while (job->npartials > 0)
        cv_chunk_output_drop(job->partials[--job->npartials].store);
}

static void fail_fold(struct cv_fold *fold, const struct cleave_error *err)
{
    if (!fold->failed)
        fold->err = *err;
    fold->failed = true;
}

static enum cleave_status launch(struct cv_fold *fold, struct job *job,
                                 struct cleave_error *err)
{
    struct cv_taken taken[CV_FOLD_MOST];

    for (size_t i = 0; i < job->npartials; i++)
        CV_TRY(cv_ordered_output_take(job->partials[i].store, &taken[i], err));
    if (fold->options.limiter != NULL)
        CV_TRY(cv_start_limiter_room(fold->options.limiter, err));
    CV_TRY(cv_fold_call_start(&job->call, &job->slot, taken, job->npartials, err));
    if (fold->options.limiter != NULL)
        cv_start_limiter_begun(fold->options.limiter);
    fold->counts.calls++;
    return CLEAVE_OK;
}

/* The command of the job was not started, as `why` says: if there was no room for it, its partials
 * wait with the others. */
static enum cleave_status put_off(struct cv_fold *fold, struct job *job,
                                  const struct cleave_error *why,
                                  struct cleave_error *err)
{
    if (fold->options.limiter == NULL ||
        !cv_start_limiter_wait(fold->options.limiter, fold->options.poller, why)) {
        if (err != NULL)
            *err = *why;
        return why->status;
    }
    while (job->npartials > 0) {
        CV_TRY(cv_fold_set_add(&fold->set, &job->partials[job->npartials - 1], err));
        job->npartials--;
    }
    return CLEAVE_OK;
}

/* It has been tried often enough. */
static void give_up(struct cv_fold *fold, const struct job *job)
{
    struct cleave_error err;
    char how[64];

    cv_slot_describe_end(&job->slot, how, sizeof how);
    cv_fail(&err, CLEAVE_EENGINE, "the command that reduces %s on %zu partial results%s",
            how, job->npartials, job->attempt > 1 ? ", also when tried again" : "");
    fold->by_command |= !fold->failed;
    fail_fold(fold, &err);
}

/* The store is complete, and the fold's from here on. */
static enum cleave_status add_partial(struct cv_fold *fold, struct cv_partial partial,
                                      struct cleave_error *err)
{
    struct cv_taken taken;
    /* The place behind it is free for others. */
    enum cleave_status status = cv_ordered_output_take(partial.store, &taken, err);

    partial.bytes = cv_chunk_output_size(partial.store);
    if (status == CLEAVE_OK)
        status = cv_fold_set_add(&fold->set, &partial, err);
    if (status != CLEAVE_OK)
        cv_chunk_output_drop(partial.store);
    return status;
}

/* What was folded is one partial now. */
static enum cleave_status accept_result(struct cv_fold *fold, struct job *job,
                                        struct cleave_error *err)
{
    struct cv_chunk_output *store = job->slot.store;
    struct cv_partial partial = { .begin = job->partials[0].begin,
                                  .end = job->partials[job->npartials - 1].end,
                                  .store = store };

    for (size_t i = 0; i < job->npartials; i++)
        partial.covers += job->partials[i].covers;
    job->slot.store = NULL;
    drop_partials(job);
    return add_partial(fold, partial, err);
}

static void job_ended(void *context, struct cv_slot *slot, enum cv_slot_end end)
{
    struct cv_fold *fold = context;
    struct job *job = &fold->jobs[slot->worker];
    enum cleave_status status = CLEAVE_OK;
    struct cleave_error err, why;

    if (fold->options.limiter != NULL)
        cv_start_limiter_ended(fold->options.limiter);
    fold->counts.seconds += cv_clock_s() - slot->start_s;
    if (end != CV_SLOT_DONE) {
        cv_chunk_output_drop(slot->store);
        slot->store = NULL;
    }
    if (end == CV_SLOT_DONE) {
        fold->running--;
        cv_fold_log_add(fold->options.log, slot->worker, slot->start_s, cv_clock_s(),
                        job->npartials);
        fold->counts.gone += job->npartials - 1;
        status = accept_result(fold, job, &err);
    } else if (end == CV_SLOT_FAILED && slot->process.start_error != 0 &&
               !fold->stopped && !fold->failed &&
               cv_command_fail_start(slot->command, slot->process.start_error, &why) ==
                   CLEAVE_ERESOURCES) {
        fold->running--;
        status = put_off(fold, job, &why, &err);
    } else if (end != CV_SLOT_STOPPED && job->attempt <= fold->options.retries &&
               !fold->stopped && !fold->failed) {
        job->attempt++;
        fold->counts.retries++;
        if (launch(fold, job, &why) != CLEAVE_OK) {
            fold->running--;
            status = put_off(fold, job, &why, &err);
        }
    } else {
        fold->running--;
        if (end != CV_SLOT_STOPPED)
            give_up(fold, job);
    }
    if (status != CLEAVE_OK)
        fail_fold(fold, &err);
}

static void job_broke(void *context, const struct cleave_error *err)
{
    fail_fold(context, err);
}

static const struct cv_slot_events job_events = { .ended = job_ended,
                                                  .broke = job_broke };

enum cleave_status cv_fold_start(struct cv_fold *fold, uint32_t worker, uint32_t among,
                                 struct cleave_error *err)
{
    struct job *job = &fold->jobs[worker];
    struct cleave_error why;
    size_t max = 2;

    assert(!job->slot.busy && among > 0);
    if (fold->stopped || fold->failed || fold->set.ready == 0 ||
        (fold->options.limiter != NULL &&
         cv_start_limiter_is_crowded(fold->options.limiter)))
        return CLEAVE_OK;
    if (!fold->takes_files) {
        max = (fold->set.ready + among - 1) / among;
        max = max < 2 ? 2 : max > CV_FOLD_MOST ? CV_FOLD_MOST : max;
    }
    job->npartials = cv_fold_set_take(&fold->set, max, job->partials);
    job->attempt = 1;
    if (launch(fold, job, &why) != CLEAVE_OK)
        return put_off(fold, job, &why, err);
    fold->running++;
    return CLEAVE_OK;
}

/* --- all of them -------------------------------------------------------------------------- */

/* Where each result is a file that takes a descriptor, and these are few, they are folded sooner. */
static size_t crowd_of(const struct cv_fold *fold)
{
    const struct cv_start_limiter *limiter = fold->options.limiter;
    const uint64_t files = limiter != NULL ? limiter->most_files : 0;

    if (!fold->takes_files || files == 0 || files / 4 >= CROWD)
        return CROWD;
    return files < 8 ? 2 : (size_t)(files / 4);
}

enum cleave_status cv_fold_new(const struct cv_fold_options *options,
                               struct cv_fold **out, struct cleave_error *err)
{
    struct cv_fold *fold;

    CV_TRY(cv_fold_check_command(options->command, err));
    fold = calloc(1, sizeof *fold);
    if (fold == NULL)
        return cv_fail_memory(err, "the reduction");
    fold->options = *options;
    fold->takes_files = cv_fold_takes_files(options->command);
    fold->crowd = crowd_of(fold);
    cv_fold_set_init(&fold->set, options->commutative);
    fold->jobs = calloc(options->nworkers, sizeof *fold->jobs);
    if (fold->jobs == NULL) {
        cv_fold_free(fold);
        return cv_fail_memory(err, "the reduction");
    }
    for (uint32_t w = 0; w < options->nworkers; w++) {
        struct cv_slot *slot = &fold->jobs[w].slot;

        cv_slot_init(slot);
        slot->poller = options->poller;
        slot->outputs = options->outputs;
        slot->timeout_s = options->timeout_s;
        slot->events = &job_events;
        slot->context = fold;
        slot->worker = w;
        fold->jobs[w].call = (struct cv_fold_call){
            .text = options->command,
            .prefix = options->prefixes != NULL ? options->prefixes[w] : NULL,
            .worker = options->names[w],
        };
    }
    *out = fold;
    return CLEAVE_OK;
}

void cv_fold_free(struct cv_fold *fold)
{
    struct cv_partial partial;

    if (fold == NULL)
        return;
    for (uint32_t w = 0; fold->jobs != NULL && w < fold->options.nworkers; w++) {
        cv_slot_done(&fold->jobs[w].slot);
        drop_partials(&fold->jobs[w]);
        cv_fold_call_done(&fold->jobs[w].call);
    }
    while (cv_fold_set_pop(&fold->set, &partial))
        cv_chunk_output_drop(partial.store);
    cv_fold_set_done(&fold->set);
    free(fold->jobs);
    free(fold);
}

enum cleave_status cv_fold_add(struct cv_fold *fold, struct cv_chunk_output *store,
                               uint64_t begin, uint64_t end, struct cleave_error *err)
{
    return add_partial(fold,
                       (struct cv_partial){ .begin = begin,
                                            .end = end,
                                            .covers = end - begin,
                                            .store = store },
                       err);
}

enum cleave_status cv_fold_skip(struct cv_fold *fold, uint64_t begin, uint64_t end,
                                struct cleave_error *err)
{
    if (fold->set.commutative) /* it is not kept there */
        fold->skipped += end - begin;
    return cv_fold_set_add(&fold->set,
                           &(struct cv_partial){
                               .begin = begin, .end = end, .covers = end - begin },
                           err);
}

size_t cv_fold_ready(const struct cv_fold *fold)
{
    return fold->set.ready;
}

bool cv_fold_crowded(const struct cv_fold *fold)
{
    return fold->set.ready >= fold->crowd;
}

bool cv_fold_busy(const struct cv_fold *fold, uint32_t worker)
{
    return fold->jobs[worker].slot.busy;
}

uint32_t cv_fold_running(const struct cv_fold *fold)
{
    return fold->running;
}

void cv_fold_stop(struct cv_fold *fold)
{
    fold->stopped = true;
    for (uint32_t w = 0; w < fold->options.nworkers; w++)
        cv_slot_stop(&fold->jobs[w].slot);
}

enum cleave_status cv_fold_status(const struct cv_fold *fold, bool *out_command,
                                  struct cleave_error *err)
{
    if (out_command != NULL)
        *out_command = fold->by_command;
    if (!fold->failed)
        return CLEAVE_OK;
    if (err != NULL)
        *err = fold->err;
    return fold->err.status;
}

enum cleave_status cv_fold_result(struct cv_fold *fold, struct cv_chunk_output **out,
                                  struct cleave_error *err)
{
    struct cv_partial last;

    assert(fold->running == 0 && fold->set.ready == 0);
    *out = NULL;
    fold->covered = fold->skipped;
    for (size_t i = 0; i < fold->set.count; i++)
        fold->covered += fold->set.items[i].covers;
    if (cv_fold_set_last(&fold->set, &last))
        *out = last.store;
    else if (fold->set.count > 1)
        return cv_fail(err, CLEAVE_EENGINE,
                       "the partial results do not cover all of the input");
    return CLEAVE_OK;
}

uint64_t cv_fold_covered(const struct cv_fold *fold)
{
    return fold->covered;
}

struct cv_fold_counts cv_fold_counts(const struct cv_fold *fold)
{
    struct cv_fold_counts counts = fold->counts;
    const double now_s = cv_clock_s();

    for (uint32_t w = 0; fold->running > 0 && w < fold->options.nworkers; w++)
        if (cv_fold_busy(fold, w))
            counts.waited_s =
                fmax(counts.waited_s, (now_s - fold->jobs[w].slot.start_s) /
                                          (double)(fold->jobs[w].npartials - 1));
    return counts;
}

double cv_fold_one_s(struct cv_fold_counts counts)
{
    const double mean_s = counts.gone > 0 ? counts.seconds / (double)counts.gone : 0;

    return fmax(mean_s, counts.waited_s);
}
