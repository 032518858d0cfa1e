/* parallel_decode.c -- a compressed input that several threads decode. SPDX-License-Identifier: MIT
 *
 * Three kinds of threads: the reader, the pool's, and who asks. The input's bytes are in the lists of the
 * jobs and are taken from there in order; what is held of them is limited over all jobs, and as the
 * oldest job has all of its bytes whenever a younger one has any, the limit cannot stop it. The pool has
 * one thread more than are to be at work, as one may wait for the input. */
#include "run/decode/parallel_decode_internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "run/common/threads.h"

enum {
    READ = 256 * 1024,
    HELD = 8 << 20, /* compressed bytes for each thread   */
};

/* --- the pool ------------------------------------------------------------------------------- */

static enum cleave_status work(void *context, unsigned thread, void *given, bool *more,
                               struct cleave_error *err)
{
    const struct cv_parallel_decoder *parallel = context;
    struct cv_parallel_decode_job *job = given;

    (void)thread;
    job->status = job->idle ? CLEAVE_OK : cv_wide_decode(job, more, &job->err);
    if (job->status == CLEAVE_OK || parallel->form->settle != NULL)
        return CLEAVE_OK;
    *err = job->err;
    return job->status;
}

/* --- the reader ----------------------------------------------------------------------------- */

static bool wait_for_room(struct cv_parallel_decoder *parallel)
{
    bool wanted;

    pthread_mutex_lock(&parallel->lock);
    while (parallel->held >= parallel->held_most && !parallel->stopped)
        pthread_cond_wait(&parallel->room, &parallel->lock);
    wanted = !parallel->stopped;
    pthread_mutex_unlock(&parallel->lock);
    return wanted;
}

static void *read_all(void *context)
{
    struct cv_parallel_decoder *parallel = context;
    uint8_t *bytes = malloc(READ);
    ssize_t got = 1;

    if (bytes == NULL) {
        pthread_mutex_lock(&parallel->lock);
        parallel->full = true;
        pthread_mutex_unlock(&parallel->lock);
    }
    while (bytes != NULL && got > 0 && wait_for_room(parallel)) {
        do
            got = parallel->input.read(parallel->input.context, bytes, READ);
        while (got < 0 && errno == EINTR);
        if (got <= 0)
            parallel->form->end(parallel->state, parallel, got < 0 ? errno : 0);
        else if (!parallel->form->cut(parallel->state, parallel, bytes, (size_t)got))
            got = 0;
    }
    free(bytes);
    cv_ordered_close(parallel->pool);
    return NULL;
}

/* --- who asks ------------------------------------------------------------------------------- */

static void give_back(struct cv_parallel_decoder *parallel,
                      struct cv_parallel_decode_chunk *chunk)
{
    if (chunk == NULL)
        return;
    pthread_mutex_lock(&parallel->lock);
    chunk->next = parallel->spare;
    parallel->spare = chunk;
    pthread_mutex_unlock(&parallel->lock);
}

/* A job that is over: its decoder is for the next one. */
static void end_job(struct cv_parallel_decoder *parallel,
                    struct cv_parallel_decode_job *job)
{
    if (job->status != CLEAVE_OK) {
        parallel->failed = job;
        return;
    }
    cv_wide_forget(job);
    pthread_mutex_lock(&parallel->lock);
    if (job->decoder != NULL && parallel->nidle < CV_WIDE_IDLE) {
        parallel->idle[parallel->nidle++] = job->decoder;
        job->decoder = NULL;
    }
    pthread_mutex_unlock(&parallel->lock);
    cv_wide_drop(job);
}

/* The next job, or some of it. */
static void take(struct cv_parallel_decoder *parallel)
{
    struct cv_parallel_decode_job *job;
    void *taken;
    bool more;

    parallel->status =
        cv_ordered_jobs_wait(parallel->pool, &taken, &more, &parallel->err);
    job = taken;
    parallel->over = job == NULL;
    if (parallel->over) {
        pthread_mutex_lock(&parallel->lock);
        if (parallel->full)
            parallel->status = cv_fail_memory(&parallel->err, "a decoder");
        pthread_mutex_unlock(&parallel->lock);
        return;
    }
    if (parallel->form->look != NULL)
        parallel->form->look(parallel->state, job);
    if (!more && parallel->form->settle != NULL)
        job->status = parallel->status =
            parallel->form->settle(parallel->state, parallel, job, &parallel->err);
    parallel->chunks = job->chunks;
    job->chunks = NULL;
    parallel->made += job->made;
    job->made = 0;
    if (more) {
        cv_ordered_again(parallel->pool);
        return;
    }
    if (parallel->status == CLEAVE_EINPUT && job->decoder != NULL)
        cv_decoder_complain(job->decoder, parallel->made, &parallel->err);
    end_job(parallel, job);
}

static enum cleave_status next(struct cv_ahead *ahead, const void **bytes, size_t *length,
                               struct cleave_error *err)
{
    struct cv_parallel_decoder *parallel = (struct cv_parallel_decoder *)ahead;

    *length = 0;
    give_back(parallel, parallel->current);
    parallel->current = NULL;
    while (parallel->chunks == NULL && parallel->status == CLEAVE_OK && !parallel->over)
        take(parallel);
    if (parallel->chunks != NULL) {
        parallel->current = parallel->chunks;
        parallel->chunks = parallel->current->next;
        *bytes = parallel->current->bytes;
        *length = parallel->current->length;
        return CLEAVE_OK;
    }
    if (parallel->status != CLEAVE_OK && err != NULL)
        *err = parallel->err;
    return parallel->status;
}

static bool inside(const struct cv_ahead *ahead)
{
    const struct cv_parallel_decoder *parallel =
        (const struct cv_parallel_decoder *)ahead;

    return parallel->failed != NULL && parallel->failed->decoder != NULL &&
           cv_decoder_inside(parallel->failed->decoder);
}

/* --- life ----------------------------------------------------------------------------------- */

static uint64_t member(const struct cv_ahead *ahead)
{
    const struct cv_parallel_decoder *parallel =
        (const struct cv_parallel_decoder *)ahead;

    return parallel->current != NULL ? parallel->current->member : 0;
}

static void free_wide(struct cv_ahead *ahead)
{
    struct cv_parallel_decoder *parallel = (struct cv_parallel_decoder *)ahead;

    pthread_mutex_lock(&parallel->lock);
    parallel->stopped = true;
    pthread_cond_broadcast(&parallel->more);
    pthread_cond_broadcast(&parallel->room);
    pthread_mutex_unlock(&parallel->lock);
    if (parallel->pool != NULL)
        cv_ordered_stop(parallel->pool);
    if (parallel->reading)
        pthread_join(parallel->reader, NULL);
    cv_ordered_free(parallel->pool);
    cv_wide_drop(parallel->failed);
    cv_wide_drop_chunks(parallel->chunks);
    cv_wide_drop_chunks(parallel->spare);
    free(parallel->current);
    cv_wide_drop_slices(parallel->slices);
    while (parallel->nidle > 0)
        cv_decoder_free(parallel->idle[--parallel->nidle]);
    if (parallel->state != NULL)
        parallel->form->close(parallel->state);
    pthread_cond_destroy(&parallel->more);
    pthread_cond_destroy(&parallel->room);
    pthread_mutex_destroy(&parallel->lock);
    free(parallel);
}

static enum cleave_status start(struct cv_parallel_decoder *parallel, unsigned threads,
                                struct cleave_error *err)
{
    const struct cv_ordered_options options = { .threads = threads + 1,
                                                .max = threads + 2,
                                                .work = work,
                                                .context = parallel,
                                                .drop = cv_wide_drop,
                                                .what = "decodes" };
    int error;

    CV_TRY(cv_ordered_start(&options, &parallel->pool, err));
    error = cv_nosignal_thread_create(&parallel->reader, NULL, read_all, parallel);
    parallel->reading = error == 0;
    return error == 0 ? CLEAVE_OK
                      : cv_fail(err, CLEAVE_EENGINE,
                                "cannot start a thread that reads: %s", strerror(error));
}

enum cleave_status cv_wide_open(const struct cv_parallel_decode_format *form,
                                const struct cv_decoder_input *input, unsigned threads,
                                bool members, struct cv_ahead **out,
                                struct cleave_error *err)
{
    struct cv_parallel_decoder *parallel = calloc(1, sizeof *parallel);
    enum cleave_status status;

    if (parallel == NULL)
        return cv_fail_memory(err, "a decoder");
    parallel->ahead = (struct cv_ahead){ next, inside, member, free_wide };
    parallel->members = members;
    parallel->form = form;
    parallel->input = *input;
    parallel->made = input->made;
    parallel->held_most = (size_t)HELD * threads;
    pthread_mutex_init(&parallel->lock, NULL);
    pthread_cond_init(&parallel->more, NULL);
    pthread_cond_init(&parallel->room, NULL);
    parallel->state = form->open(input->offset);
    status = parallel->state == NULL ? cv_fail_memory(err, "a decoder")
                                     : start(parallel, threads, err);
    if (status == CLEAVE_OK)
        *out = &parallel->ahead;
    else
        free_wide(&parallel->ahead);
    return status;
}
