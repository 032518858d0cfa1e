/* parallel_decode_job.c -- a part of a compressed input, read by one thread and decoded by another.
 * SPDX-License-Identifier: MIT */
#include "run/decode/parallel_decode_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

/* Bytes of a slice that is kept: memory of that size goes back to the system when it is freed, and comes anew. */
enum { SLICE = 256 * 1024 };

/* --- slices --------------------------------------------------------------------------------- */

/* With the lock: it was read. It may be NULL. */
static void put_back(struct cv_parallel_decoder *parallel,
                     struct cv_parallel_decode_slice *slice)
{
    if (slice == NULL || slice->room != SLICE || parallel->nslices == CV_WIDE_IDLE) {
        free(slice);
        return;
    }
    slice->next = parallel->slices;
    parallel->slices = slice;
    parallel->nslices++;
}

/* One for so many bytes; NULL: no memory. What is small, as it comes slowly, takes no more than it has. */
static struct cv_parallel_decode_slice *new_slice(struct cv_parallel_decoder *parallel,
                                                  size_t length)
{
    const size_t room = length > SLICE / 4 && length < SLICE ? SLICE : length;
    struct cv_parallel_decode_slice *slice = NULL;

    pthread_mutex_lock(&parallel->lock);
    if (room == SLICE && parallel->slices != NULL) {
        slice = parallel->slices;
        parallel->slices = slice->next;
        parallel->nslices--;
    }
    pthread_mutex_unlock(&parallel->lock);
    if (slice == NULL)
        slice = malloc(sizeof *slice + room);
    if (slice != NULL)
        *slice = (struct cv_parallel_decode_slice){ .room = room, .length = length };
    return slice;
}

/* --- jobs ----------------------------------------------------------------------------------- */

void cv_wide_drop_chunks(struct cv_parallel_decode_chunk *chunks)
{
    while (chunks != NULL) {
        struct cv_parallel_decode_chunk *next = chunks->next;

        free(chunks);
        chunks = next;
    }
}

void cv_wide_drop_slices(struct cv_parallel_decode_slice *slices)
{
    while (slices != NULL) {
        struct cv_parallel_decode_slice *next = slices->next;

        free(slices);
        slices = next;
    }
}

void cv_wide_drop(void *given)
{
    struct cv_parallel_decode_job *job = given;

    if (job == NULL)
        return;
    cv_wide_drop_slices(job->first);
    pthread_mutex_lock(&job->parallel->lock);
    put_back(job->parallel, job->spent);
    pthread_mutex_unlock(&job->parallel->lock);
    cv_wide_drop_chunks(job->chunks);
    cv_decoder_free(job->decoder);
    free(job);
}

struct cv_parallel_decode_job *cv_wide_begin(struct cv_parallel_decoder *parallel,
                                             uint64_t offset)
{
    struct cv_parallel_decode_job *job = calloc(1, parallel->form->job_size);

    if (job != NULL) {
        job->parallel = parallel;
        job->offset = offset;
    }
    pthread_mutex_lock(&parallel->lock);
    parallel->full = parallel->full || job == NULL;
    pthread_mutex_unlock(&parallel->lock);
    return job;
}

bool cv_wide_give(struct cv_parallel_decoder *parallel,
                  struct cv_parallel_decode_job *job)
{
    return cv_ordered_jobs_submit(parallel->pool, job);
}

bool cv_wide_put(struct cv_parallel_decode_job *job, const uint8_t *bytes, size_t length)
{
    struct cv_parallel_decoder *parallel = job->parallel;
    struct cv_parallel_decode_slice *slice = new_slice(parallel, length);
    bool wanted;

    if (slice == NULL) {
        cv_wide_complete(job, ENOMEM);
        return false;
    }
    memcpy(slice->bytes, bytes, length);
    job->given += length;
    pthread_mutex_lock(&parallel->lock);
    *(job->first == NULL ? &job->first : &job->last->next) = slice;
    job->last = slice;
    parallel->held += length;
    pthread_cond_broadcast(&parallel->more);
    wanted = !parallel->stopped;
    pthread_mutex_unlock(&parallel->lock);
    return wanted;
}

void cv_wide_complete(struct cv_parallel_decode_job *job, int error)
{
    struct cv_parallel_decoder *parallel = job->parallel;

    pthread_mutex_lock(&parallel->lock);
    job->complete = true;
    job->error = error;
    pthread_cond_broadcast(&parallel->more);
    pthread_mutex_unlock(&parallel->lock);
}

void cv_wide_forget(struct cv_parallel_decode_job *job)
{
    struct cv_parallel_decoder *parallel = job->parallel;

    pthread_mutex_lock(&parallel->lock);
    for (const struct cv_parallel_decode_slice *slice = job->first; slice != NULL;
         slice = slice->next)
        parallel->held -= slice->length - slice->at;
    pthread_cond_signal(&parallel->room);
    pthread_mutex_unlock(&parallel->lock);
}

/* --- decoding ------------------------------------------------------------------------------- */

/* As read: the next bytes of a job. It waits for them, but not with bytes that others could have. */
static ssize_t read_job(void *context, void *to, size_t max)
{
    struct cv_parallel_decode_job *job = context;
    struct cv_parallel_decoder *parallel = job->parallel;
    struct cv_parallel_decode_slice *slice;
    size_t some = 0;
    int error = 0;

    pthread_mutex_lock(&parallel->lock);
    job->starves = job->first == NULL && !job->complete && job->made > 0;
    while (job->first == NULL && !job->complete && !parallel->stopped && !job->starves)
        pthread_cond_wait(&parallel->more, &parallel->lock);
    slice = job->first;
    if (parallel->stopped || job->starves)
        error = parallel->stopped ? ECANCELED : EAGAIN;
    else if (slice == NULL && job->error != 0)
        error = job->error;
    else if (slice != NULL) {
        some = slice->length - slice->at < max ? slice->length - slice->at : max;
        memcpy(to, slice->bytes + slice->at, some);
        slice->at += some;
        parallel->held -= some;
        if (slice->at == slice->length) {
            put_back(parallel, job->spent);
            job->spent = slice;
            job->first = slice->next;
            pthread_cond_signal(&parallel->room);
        }
    }
    pthread_mutex_unlock(&parallel->lock);
    errno = error;
    return error != 0 ? -1 : (ssize_t)some;
}

static enum cleave_status begin_job(struct cv_parallel_decode_job *job,
                                    struct cleave_error *err)
{
    struct cv_parallel_decoder *parallel = job->parallel;
    const struct cv_decoder_input input = { .read = read_job,
                                            .context = job,
                                            .name = parallel->input.name,
                                            .offset = job->offset,
                                            .made = job->made_some ? 1 : 0,
                                            .before = job->before };

    pthread_mutex_lock(&parallel->lock);
    if (parallel->nidle > 0)
        job->decoder = parallel->idle[--parallel->nidle];
    pthread_mutex_unlock(&parallel->lock);
    if (job->decoder != NULL)
        return cv_decoder_reopen(job->decoder, parallel->form->codec, &input, err);
    return cv_decoder_open(parallel->form->codec, &input, &job->decoder, err);
}

/* An empty chunk behind those of the job; NULL: no memory. */
static struct cv_parallel_decode_chunk *add_chunk(struct cv_parallel_decode_job *job)
{
    struct cv_parallel_decoder *parallel = job->parallel;
    struct cv_parallel_decode_chunk *chunk;

    pthread_mutex_lock(&parallel->lock);
    chunk = parallel->spare;
    if (chunk != NULL)
        parallel->spare = chunk->next;
    pthread_mutex_unlock(&parallel->lock);
    if (chunk == NULL)
        chunk = malloc(sizeof *chunk);
    if (chunk == NULL)
        return NULL;
    chunk->next = NULL;
    chunk->length = 0;
    *(job->chunks == NULL ? &job->chunks : &job->tail->next) = chunk;
    job->tail = chunk;
    return chunk;
}

static enum cleave_status keep(struct cv_parallel_decode_job *job, const uint8_t *bytes,
                               size_t length, struct cleave_error *err)
{
    const uint64_t member = cv_decoder_member(job->decoder);

    job->made += length;
    while (length > 0) {
        struct cv_parallel_decode_chunk *chunk = job->tail;
        size_t some;

        if (job->chunks == NULL || chunk->length == CV_WIDE_CHUNK ||
            (job->parallel->members && chunk->member != member))
            chunk = add_chunk(job);
        if (chunk == NULL)
            return cv_fail_memory(err, "decoded bytes");
        if (chunk->length == 0)
            chunk->member = member;
        some = CV_WIDE_CHUNK - chunk->length;
        some = some < length ? some : length;
        memcpy(chunk->bytes + chunk->length, bytes, some);
        chunk->length += some;
        bytes += some;
        length -= some;
    }
    return CLEAVE_OK;
}

enum cleave_status cv_wide_decode(struct cv_parallel_decode_job *job, bool *more,
                                  struct cleave_error *err)
{
    const void *bytes;
    size_t length;

    if (job->decoder == NULL)
        CV_TRY(begin_job(job, err));
    do {
        const enum cleave_status status =
            cv_decoder_next(job->decoder, &bytes, &length, err);

        if (status != CLEAVE_OK && job->starves) {
            *more = true;
            return CLEAVE_OK;
        }
        CV_TRY(status);
        CV_TRY(keep(job, bytes, length, err));
        *more = job->made >= job->parallel->form->max;
    } while (length > 0 && !*more);
    return CLEAVE_OK;
}
