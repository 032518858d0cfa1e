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
#include "run/common/nosignal_thread.h"

enum {
    READ = 256 * 1024,
    HELD = 8 << 20, /* compressed bytes for each thread   */
};

/* --- the pool ------------------------------------------------------------------------------- */

static enum cleave_status work(void *context, unsigned thread, void *given, bool *more,
                               struct cleave_error *err)
{
    const struct cv_parallel_decoder *wide = context;
    struct cv_parallel_decode_job *job = given;

    (void)thread;
    job->status = job->idle ? CLEAVE_OK : cv_wide_decode(job, more, &job->err);
    if (job->status == CLEAVE_OK || wide->form->settle != NULL)
        return CLEAVE_OK;
    *err = job->err;
    return job->status;
}

/* --- the reader ----------------------------------------------------------------------------- */

static bool wait_for_room(struct cv_parallel_decoder *wide)
{
    bool wanted;

    pthread_mutex_lock(&wide->lock);
    while (wide->held >= wide->held_most && !wide->stopped)
        pthread_cond_wait(&wide->room, &wide->lock);
    wanted = !wide->stopped;
    pthread_mutex_unlock(&wide->lock);
    return wanted;
}

static void *read_all(void *context)
{
    struct cv_parallel_decoder *wide = context;
    uint8_t *bytes = malloc(READ);
    ssize_t got = 1;

    if (bytes == NULL) {
        pthread_mutex_lock(&wide->lock);
        wide->full = true;
        pthread_mutex_unlock(&wide->lock);
    }
    while (bytes != NULL && got > 0 && wait_for_room(wide)) {
        do
            got = wide->input.read(wide->input.context, bytes, READ);
        while (got < 0 && errno == EINTR);
        if (got <= 0)
            wide->form->end(wide->state, wide, got < 0 ? errno : 0);
        else if (!wide->form->cut(wide->state, wide, bytes, (size_t)got))
            got = 0;
    }
    free(bytes);
    cv_ordered_close(wide->pool);
    return NULL;
}

/* --- who asks ------------------------------------------------------------------------------- */

static void give_back(struct cv_parallel_decoder *wide,
                      struct cv_parallel_decode_chunk *chunk)
{
    if (chunk == NULL)
        return;
    pthread_mutex_lock(&wide->lock);
    chunk->next = wide->spare;
    wide->spare = chunk;
    pthread_mutex_unlock(&wide->lock);
}

/* A job that is over: its decoder is for the next one. */
static void end_job(struct cv_parallel_decoder *wide, struct cv_parallel_decode_job *job)
{
    if (job->status != CLEAVE_OK) {
        wide->failed = job;
        return;
    }
    cv_wide_forget(job);
    pthread_mutex_lock(&wide->lock);
    if (job->decoder != NULL && wide->nidle < CV_WIDE_IDLE) {
        wide->idle[wide->nidle++] = job->decoder;
        job->decoder = NULL;
    }
    pthread_mutex_unlock(&wide->lock);
    cv_wide_drop(job);
}

/* The next job, or some of it. */
static void take(struct cv_parallel_decoder *wide)
{
    struct cv_parallel_decode_job *job;
    void *taken;
    bool more;

    wide->status = cv_ordered_jobs_wait(wide->pool, &taken, &more, &wide->err);
    job = taken;
    wide->over = job == NULL;
    if (wide->over) {
        pthread_mutex_lock(&wide->lock);
        if (wide->full)
            wide->status = cv_fail_memory(&wide->err, "a decoder");
        pthread_mutex_unlock(&wide->lock);
        return;
    }
    if (wide->form->look != NULL)
        wide->form->look(wide->state, job);
    if (!more && wide->form->settle != NULL)
        job->status = wide->status =
            wide->form->settle(wide->state, wide, job, &wide->err);
    wide->chunks = job->chunks;
    job->chunks = NULL;
    wide->made += job->made;
    job->made = 0;
    if (more) {
        cv_ordered_again(wide->pool);
        return;
    }
    if (wide->status == CLEAVE_EINPUT && job->decoder != NULL)
        cv_decoder_complain(job->decoder, wide->made, &wide->err);
    end_job(wide, job);
}

static enum cleave_status next(struct cv_ahead *ahead, const void **bytes, size_t *length,
                               struct cleave_error *err)
{
    struct cv_parallel_decoder *wide = (struct cv_parallel_decoder *)ahead;

    *length = 0;
    give_back(wide, wide->current);
    wide->current = NULL;
    while (wide->chunks == NULL && wide->status == CLEAVE_OK && !wide->over)
        take(wide);
    if (wide->chunks != NULL) {
        wide->current = wide->chunks;
        wide->chunks = wide->current->next;
        *bytes = wide->current->bytes;
        *length = wide->current->length;
        return CLEAVE_OK;
    }
    if (wide->status != CLEAVE_OK && err != NULL)
        *err = wide->err;
    return wide->status;
}

static bool inside(const struct cv_ahead *ahead)
{
    const struct cv_parallel_decoder *wide = (const struct cv_parallel_decoder *)ahead;

    return wide->failed != NULL && wide->failed->decoder != NULL &&
           cv_decoder_inside(wide->failed->decoder);
}

/* --- life ----------------------------------------------------------------------------------- */

static uint64_t member(const struct cv_ahead *ahead)
{
    const struct cv_parallel_decoder *wide = (const struct cv_parallel_decoder *)ahead;

    return wide->current != NULL ? wide->current->member : 0;
}

static void free_wide(struct cv_ahead *ahead)
{
    struct cv_parallel_decoder *wide = (struct cv_parallel_decoder *)ahead;

    pthread_mutex_lock(&wide->lock);
    wide->stopped = true;
    pthread_cond_broadcast(&wide->more);
    pthread_cond_broadcast(&wide->room);
    pthread_mutex_unlock(&wide->lock);
    if (wide->pool != NULL)
        cv_ordered_stop(wide->pool);
    if (wide->reading)
        pthread_join(wide->reader, NULL);
    cv_ordered_free(wide->pool);
    cv_wide_drop(wide->failed);
    cv_wide_drop_chunks(wide->chunks);
    cv_wide_drop_chunks(wide->spare);
    free(wide->current);
    cv_wide_drop_slices(wide->slices);
    while (wide->nidle > 0)
        cv_decoder_free(wide->idle[--wide->nidle]);
    if (wide->state != NULL)
        wide->form->close(wide->state);
    pthread_cond_destroy(&wide->more);
    pthread_cond_destroy(&wide->room);
    pthread_mutex_destroy(&wide->lock);
    free(wide);
}

static enum cleave_status start(struct cv_parallel_decoder *wide, unsigned threads,
                                struct cleave_error *err)
{
    const struct cv_ordered_options options = { .threads = threads + 1,
                                                .max = threads + 2,
                                                .work = work,
                                                .context = wide,
                                                .drop = cv_wide_drop,
                                                .what = "decodes" };
    int error;

    CV_TRY(cv_ordered_start(&options, &wide->pool, err));
    error = cv_nosignal_thread_create(&wide->reader, NULL, read_all, wide);
    wide->reading = error == 0;
    return error == 0 ? CLEAVE_OK
                      : cv_fail(err, CLEAVE_EENGINE,
                                "cannot start a thread that reads: %s", strerror(error));
}

enum cleave_status cv_wide_open(const struct cv_parallel_decode_format *form,
                                const struct cv_decoder_input *input, unsigned threads,
                                bool members, struct cv_ahead **out,
                                struct cleave_error *err)
{
    struct cv_parallel_decoder *wide = calloc(1, sizeof *wide);
    enum cleave_status status;

    if (wide == NULL)
        return cv_fail_memory(err, "a decoder");
    wide->ahead = (struct cv_ahead){ next, inside, member, free_wide };
    wide->members = members;
    wide->form = form;
    wide->input = *input;
    wide->made = input->made;
    wide->held_most = (size_t)HELD * threads;
    pthread_mutex_init(&wide->lock, NULL);
    pthread_cond_init(&wide->more, NULL);
    pthread_cond_init(&wide->room, NULL);
    wide->state = form->open(input->offset);
    status = wide->state == NULL ? cv_fail_memory(err, "a decoder")
                                 : start(wide, threads, err);
    if (status == CLEAVE_OK)
        *out = &wide->ahead;
    else
        free_wide(&wide->ahead);
    return status;
}
