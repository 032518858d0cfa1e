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
static void put_back(struct cv_parallel_decoder *wide,
                     struct cv_parallel_decode_slice *slice)
{
    if (slice == NULL || slice->room != SLICE || wide->nslices == CV_WIDE_IDLE) {
        free(slice);
        return;
    }
    slice->next = wide->slices;
    wide->slices = slice;
    wide->nslices++;
}

/* One for so many bytes; NULL: no memory. What is small, as it comes slowly, takes no more than it has. */
static struct cv_parallel_decode_slice *new_slice(struct cv_parallel_decoder *wide,
                                                  size_t length)
{
    const size_t room = length > SLICE / 4 && length < SLICE ? SLICE : length;
    struct cv_parallel_decode_slice *slice = NULL;

    pthread_mutex_lock(&wide->lock);
    if (room == SLICE && wide->slices != NULL) {
        slice = wide->slices;
        wide->slices = slice->next;
        wide->nslices--;
    }
    pthread_mutex_unlock(&wide->lock);
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
    pthread_mutex_lock(&job->wide->lock);
    put_back(job->wide, job->spent);
    pthread_mutex_unlock(&job->wide->lock);
    cv_wide_drop_chunks(job->chunks);
    cv_decoder_free(job->decoder);
    free(job);
}

struct cv_parallel_decode_job *cv_wide_begin(struct cv_parallel_decoder *wide,
                                             uint64_t offset)
{
    struct cv_parallel_decode_job *job = calloc(1, wide->form->job_size);

    if (job != NULL) {
        job->wide = wide;
        job->offset = offset;
    }
    pthread_mutex_lock(&wide->lock);
    wide->full = wide->full || job == NULL;
    pthread_mutex_unlock(&wide->lock);
    return job;
}

bool cv_wide_give(struct cv_parallel_decoder *wide, struct cv_parallel_decode_job *job)
{
    return cv_ordered_jobs_submit(wide->pool, job);
}

bool cv_wide_put(struct cv_parallel_decode_job *job, const uint8_t *bytes, size_t length)
{
    struct cv_parallel_decoder *wide = job->wide;
    struct cv_parallel_decode_slice *slice = new_slice(wide, length);
    bool wanted;

    if (slice == NULL) {
        cv_wide_complete(job, ENOMEM);
        return false;
    }
    memcpy(slice->bytes, bytes, length);
    job->given += length;
    pthread_mutex_lock(&wide->lock);
    *(job->first == NULL ? &job->first : &job->last->next) = slice;
    job->last = slice;
    wide->held += length;
    pthread_cond_broadcast(&wide->more);
    wanted = !wide->stopped;
    pthread_mutex_unlock(&wide->lock);
    return wanted;
}

void cv_wide_complete(struct cv_parallel_decode_job *job, int error)
{
    struct cv_parallel_decoder *wide = job->wide;

    pthread_mutex_lock(&wide->lock);
    job->complete = true;
    job->error = error;
    pthread_cond_broadcast(&wide->more);
    pthread_mutex_unlock(&wide->lock);
}

void cv_wide_forget(struct cv_parallel_decode_job *job)
{
    struct cv_parallel_decoder *wide = job->wide;

    pthread_mutex_lock(&wide->lock);
    for (const struct cv_parallel_decode_slice *slice = job->first; slice != NULL;
         slice = slice->next)
        wide->held -= slice->length - slice->at;
    pthread_cond_signal(&wide->room);
    pthread_mutex_unlock(&wide->lock);
}

/* --- decoding ------------------------------------------------------------------------------- */

/* As read: the next bytes of a job. It waits for them, but not with bytes that others could have. */
static ssize_t read_job(void *context, void *to, size_t max)
{
    struct cv_parallel_decode_job *job = context;
    struct cv_parallel_decoder *wide = job->wide;
    struct cv_parallel_decode_slice *slice;
    size_t some = 0;
    int error = 0;

    pthread_mutex_lock(&wide->lock);
    job->starves = job->first == NULL && !job->complete && job->made > 0;
    while (job->first == NULL && !job->complete && !wide->stopped && !job->starves)
        pthread_cond_wait(&wide->more, &wide->lock);
    slice = job->first;
    if (wide->stopped || job->starves)
        error = wide->stopped ? ECANCELED : EAGAIN;
    else if (slice == NULL && job->error != 0)
        error = job->error;
    else if (slice != NULL) {
        some = slice->length - slice->at < max ? slice->length - slice->at : max;
        memcpy(to, slice->bytes + slice->at, some);
        slice->at += some;
        wide->held -= some;
        if (slice->at == slice->length) {
            put_back(wide, job->spent);
            job->spent = slice;
            job->first = slice->next;
            pthread_cond_signal(&wide->room);
        }
    }
    pthread_mutex_unlock(&wide->lock);
    errno = error;
    return error != 0 ? -1 : (ssize_t)some;
}

static enum cleave_status begin_job(struct cv_parallel_decode_job *job,
                                    struct cleave_error *err)
{
    struct cv_parallel_decoder *wide = job->wide;
    const struct cv_decoder_input input = { .read = read_job,
                                            .context = job,
                                            .name = wide->input.name,
                                            .offset = job->offset,
                                            .made = job->made_some ? 1 : 0,
                                            .before = job->before };

    pthread_mutex_lock(&wide->lock);
    if (wide->nidle > 0)
        job->decoder = wide->idle[--wide->nidle];
    pthread_mutex_unlock(&wide->lock);
    if (job->decoder != NULL)
        return cv_decoder_reopen(job->decoder, wide->form->codec, &input, err);
    return cv_decoder_open(wide->form->codec, &input, &job->decoder, err);
}

/* An empty chunk behind those of the job; NULL: no memory. */
static struct cv_parallel_decode_chunk *add_chunk(struct cv_parallel_decode_job *job)
{
    struct cv_parallel_decoder *wide = job->wide;
    struct cv_parallel_decode_chunk *chunk;

    pthread_mutex_lock(&wide->lock);
    chunk = wide->spare;
    if (chunk != NULL)
        wide->spare = chunk->next;
    pthread_mutex_unlock(&wide->lock);
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
            (job->wide->members && chunk->member != member))
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
        *more = job->made >= job->wide->form->max;
    } while (length > 0 && !*more);
    return CLEAVE_OK;
}
