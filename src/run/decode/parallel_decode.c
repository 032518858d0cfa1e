/* parallel_decode.c -- a compressed input that several threads decode. SPDX-License-Identifier: MIT
 *
 * Three kinds of threads: the reader, the pool, the consumer. Input is in lists of slices, one for
 * each job, and their total is limited. The limit cannot block the oldest job: when a younger job
 * has input, the input of the oldest is complete. The pool has one thread more than asked for, because
 * one may wait for input. */
#include "run/decode/parallel_decode.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/common/threads.h"

enum {
    READ = 256 * 1024,
    HELD = 8 << 20,     /* input bytes for each thread                          */
    MAX_SPARE = 20,     /* decoders and slices that are kept for the next jobs  */
    SLICE = 256 * 1024, /* of a kept slice: malloc would return it to the system */
};

/* Input bytes, in a list. */
struct cv_decode_slice {
    struct cv_decode_slice *next;
    size_t room;
    size_t length, at; /* bytes, and how many of them were read */
    uint8_t bytes[];
};

struct cv_parallel_decoder {
    struct cv_ahead ahead; /* first */
    const struct cv_parallel_format *format;
    const struct cv_codec *codec;
    struct cv_decoder_input input;
    void *state; /* owned: of the format, for the reader and the consumer */
    struct cv_ordered_jobs *pool; /* owned */
    pthread_t reader;
    bool reading;
    bool members;
    size_t max_held;
    pthread_mutex_t lock; /* for the members below and the input of jobs */
    pthread_cond_t more, room;
    size_t held; /* input bytes that no decoder has read */
    bool stopped;
    bool out_of_memory;                 /* in the reader */
    struct cv_decode_chunk *spare;      /* owned */
    struct cv_decode_slice *slices;     /* owned: spare ones of SLICE bytes */
    struct cv_decoder *idle[MAX_SPARE]; /* owned */
    unsigned nslices, nidle;
    /* For the consumer. */
    struct cv_decode_chunk *chunks, *current; /* owned */
    uint64_t made;                            /* bytes given out, and those in `chunks` */
    struct cv_decode_job *failed; /* owned: the reader may still add input to it */
    bool ended;
    enum cleave_status status;
    struct cleave_error err;
};

/* --- slices --------------------------------------------------------------------------------- */

/* To be called with the lock. `slice` may be NULL. */
static void recycle_slice(struct cv_parallel_decoder *parallel,
                          struct cv_decode_slice *slice)
{
    if (slice == NULL || slice->room != SLICE || parallel->nslices == MAX_SPARE) {
        free(slice);
        return;
    }
    slice->next = parallel->slices;
    parallel->slices = slice;
    parallel->nslices++;
}

/* A small slice, of input that arrives slowly, has no spare room. */
static struct cv_decode_slice *new_slice(struct cv_parallel_decoder *parallel,
                                         size_t length)
{
    const size_t room = length > SLICE / 4 && length < SLICE ? SLICE : length;
    struct cv_decode_slice *slice = NULL;

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
        *slice = (struct cv_decode_slice){ .room = room, .length = length };
    return slice;
}

/* --- jobs ----------------------------------------------------------------------------------- */

void cv_decode_chunks_free(struct cv_decode_chunk *chunks)
{
    for (struct cv_decode_chunk *next; chunks != NULL; chunks = next) {
        next = chunks->next;
        free(chunks);
    }
}

void cv_decode_job_free(void *given)
{
    struct cv_decode_job *job = given;
    struct cv_parallel_decoder *parallel;

    if (job == NULL)
        return;
    parallel = job->parallel;
    pthread_mutex_lock(&parallel->lock);
    while (job->first != NULL) {
        struct cv_decode_slice *slice = job->first;

        job->first = slice->next;
        parallel->held -= slice->length - slice->at;
        free(slice);
    }
    recycle_slice(parallel, job->spent);
    pthread_cond_signal(&parallel->room);
    pthread_mutex_unlock(&parallel->lock);
    cv_decode_chunks_free(job->chunks);
    cv_decoder_free(job->decoder);
    free(job);
}

struct cv_decode_job *cv_decode_job_new(struct cv_parallel_decoder *parallel,
                                        uint64_t offset)
{
    struct cv_decode_job *job = calloc(1, parallel->format->job_size);

    if (job != NULL) {
        job->parallel = parallel;
        job->offset = offset;
    }
    pthread_mutex_lock(&parallel->lock);
    parallel->out_of_memory = parallel->out_of_memory || job == NULL;
    pthread_mutex_unlock(&parallel->lock);
    return job;
}

bool cv_decode_job_submit(struct cv_parallel_decoder *parallel, struct cv_decode_job *job)
{
    return cv_ordered_jobs_submit(parallel->pool, job);
}

bool cv_decode_job_add(struct cv_decode_job *job, const uint8_t *bytes, size_t length)
{
    struct cv_parallel_decoder *parallel = job->parallel;
    struct cv_decode_slice *slice = new_slice(parallel, length);
    bool wanted;

    if (slice == NULL) {
        cv_decode_job_complete(job, ENOMEM);
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

void cv_decode_job_complete(struct cv_decode_job *job, int error)
{
    struct cv_parallel_decoder *parallel = job->parallel;

    pthread_mutex_lock(&parallel->lock);
    job->complete = true;
    job->error = error;
    pthread_cond_broadcast(&parallel->more);
    pthread_mutex_unlock(&parallel->lock);
}

const uint8_t *cv_decode_job_input(const struct cv_decode_job *job)
{
    const struct cv_decode_slice *slice = job->spent != NULL ? job->spent : job->first;

    return slice != NULL ? slice->bytes : NULL;
}

/* --- decoding ------------------------------------------------------------------------------- */

/* Read of a decoder: waits for input, unless the job has output that can be given out. */
static ssize_t read_job(void *context, void *to, size_t max)
{
    struct cv_decode_job *job = context;
    struct cv_parallel_decoder *parallel = job->parallel;
    struct cv_decode_slice *slice;
    size_t some = 0;
    int error = 0;

    pthread_mutex_lock(&parallel->lock);
    job->starved = job->first == NULL && !job->complete && job->made > 0;
    while (job->first == NULL && !job->complete && !parallel->stopped && !job->starved)
        pthread_cond_wait(&parallel->more, &parallel->lock);
    slice = job->first;
    if (parallel->stopped || job->starved)
        error = parallel->stopped ? ECANCELED : EAGAIN;
    else if (slice == NULL && job->error != 0)
        error = job->error;
    else if (slice != NULL) {
        some = slice->length - slice->at < max ? slice->length - slice->at : max;
        memcpy(to, slice->bytes + slice->at, some);
        slice->at += some;
        parallel->held -= some;
        if (slice->at == slice->length) {
            recycle_slice(parallel, job->spent);
            job->spent = slice;
            job->first = slice->next;
            pthread_cond_signal(&parallel->room);
        }
    }
    pthread_mutex_unlock(&parallel->lock);
    errno = error;
    return error != 0 ? -1 : (ssize_t)some;
}

static enum cleave_status begin_job(struct cv_decode_job *job, struct cleave_error *err)
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
        return cv_decoder_reopen(job->decoder, parallel->codec, &input, err);
    return cv_decoder_open(parallel->codec, &input, &job->decoder, err);
}

/* Append an empty chunk; NULL: no memory. */
static struct cv_decode_chunk *add_chunk(struct cv_decode_job *job)
{
    struct cv_parallel_decoder *parallel = job->parallel;
    struct cv_decode_chunk *chunk;

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

static enum cleave_status keep(struct cv_decode_job *job, const uint8_t *bytes,
                               size_t length, struct cleave_error *err)
{
    const uint64_t member = cv_decoder_member(job->decoder);

    job->made += length;
    while (length > 0) {
        struct cv_decode_chunk *chunk = job->tail;
        size_t some;

        if (job->chunks == NULL || chunk->length == CV_DECODE_CHUNK ||
            (job->parallel->members && chunk->member != member))
            chunk = add_chunk(job);
        if (chunk == NULL)
            return cv_fail_memory(err, "decoded bytes");
        if (chunk->length == 0)
            chunk->member = member;
        some = CV_DECODE_CHUNK - chunk->length;
        some = some < length ? some : length;
        memcpy(chunk->bytes + chunk->length, bytes, some);
        chunk->length += some;
        bytes += some;
        length -= some;
    }
    return CLEAVE_OK;
}

enum cleave_status cv_decode_job_run(struct cv_decode_job *job, bool *more,
                                     struct cleave_error *err)
{
    const void *bytes;
    size_t length;

    if (job->decoder == NULL)
        CV_TRY(begin_job(job, err));
    do {
        const enum cleave_status status =
            cv_decoder_next(job->decoder, &bytes, &length, err);

        if (status != CLEAVE_OK && job->starved) {
            *more = true;
            return CLEAVE_OK;
        }
        CV_TRY(status);
        CV_TRY(keep(job, bytes, length, err));
        *more = job->made >= job->parallel->format->max;
    } while (length > 0 && !*more);
    return CLEAVE_OK;
}

/* Work of the pool. The consumer decides on failures (settle). */
static bool work(void *context, void *given)
{
    struct cv_decode_job *job = given;
    bool more = false;

    (void)context;
    job->status = job->idle ? CLEAVE_OK : cv_decode_job_run(job, &more, &job->err);
    return more;
}

/* --- the reader ----------------------------------------------------------------------------- */

/* False: stopped. */
static bool wait_for_room(struct cv_parallel_decoder *parallel)
{
    bool wanted;

    pthread_mutex_lock(&parallel->lock);
    while (parallel->held >= parallel->max_held && !parallel->stopped)
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
        parallel->out_of_memory = true;
        pthread_mutex_unlock(&parallel->lock);
    }
    while (bytes != NULL && got > 0 && wait_for_room(parallel)) {
        got = TEMP_FAILURE_RETRY(
            parallel->input.read(parallel->input.context, bytes, READ));
        if (got <= 0)
            parallel->format->end(parallel->state, parallel, got < 0 ? errno : 0);
        else if (!parallel->format->cut(parallel->state, parallel, bytes, (size_t)got))
            got = 0;
    }
    free(bytes);
    cv_ordered_close(parallel->pool);
    return NULL;
}

/* --- the consumer --------------------------------------------------------------------------- */

void *cv_parallel_take(struct cv_parallel_decoder *parallel)
{
    bool more;

    return cv_ordered_jobs_wait(parallel->pool, &more);
}

/* Keep the decoder of a job for the next one. */
static void end_job(struct cv_parallel_decoder *parallel, struct cv_decode_job *job)
{
    if (job->status != CLEAVE_OK) {
        parallel->failed = job;
        return;
    }
    pthread_mutex_lock(&parallel->lock);
    if (job->decoder != NULL && parallel->nidle < MAX_SPARE) {
        parallel->idle[parallel->nidle++] = job->decoder;
        job->decoder = NULL;
    }
    pthread_mutex_unlock(&parallel->lock);
    cv_decode_job_free(job);
}

/* Take output of the next job. */
static void take(struct cv_parallel_decoder *parallel)
{
    bool more;
    struct cv_decode_job *job = cv_ordered_jobs_wait(parallel->pool, &more);

    parallel->ended = job == NULL;
    if (parallel->ended) {
        pthread_mutex_lock(&parallel->lock);
        if (parallel->out_of_memory)
            parallel->status = cv_fail_memory(&parallel->err, "a decoder");
        pthread_mutex_unlock(&parallel->lock);
        return;
    }
    if (!more)
        job->status = parallel->status =
            parallel->format->settle(parallel->state, parallel, job, &parallel->err);
    parallel->chunks = job->chunks;
    job->chunks = NULL;
    parallel->made += job->made;
    job->made = 0;
    if (more) {
        cv_ordered_again(parallel->pool);
        return;
    }
    if (parallel->status == CLEAVE_EINPUT && job->decoder != NULL)
        cv_decoder_restate(job->decoder, parallel->made, &parallel->err);
    end_job(parallel, job);
}

static enum cleave_status next(struct cv_ahead *ahead, const void **bytes, size_t *length,
                               struct cleave_error *err)
{
    struct cv_parallel_decoder *parallel = (struct cv_parallel_decoder *)ahead;

    *length = 0;
    if (parallel->current != NULL) {
        pthread_mutex_lock(&parallel->lock);
        parallel->current->next = parallel->spare;
        parallel->spare = parallel->current;
        pthread_mutex_unlock(&parallel->lock);
        parallel->current = NULL;
    }
    while (parallel->chunks == NULL && parallel->status == CLEAVE_OK && !parallel->ended)
        take(parallel);
    if (parallel->chunks != NULL) {
        parallel->current = parallel->chunks;
        parallel->chunks = parallel->current->next;
        *bytes = parallel->current->bytes;
        *length = parallel->current->length;
        return CLEAVE_OK;
    }
    return parallel->status == CLEAVE_OK ? CLEAVE_OK : cv_fail_again(err, &parallel->err);
}

static bool inside(const struct cv_ahead *ahead)
{
    const struct cv_decode_job *failed =
        ((const struct cv_parallel_decoder *)ahead)->failed;

    return failed != NULL && failed->decoder != NULL &&
           cv_decoder_inside(failed->decoder);
}

static uint64_t member(const struct cv_ahead *ahead)
{
    const struct cv_decode_chunk *current =
        ((const struct cv_parallel_decoder *)ahead)->current;

    return current != NULL ? current->member : 0;
}

static void free_parallel(struct cv_ahead *ahead)
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
    cv_decode_job_free(parallel->failed);
    cv_decode_chunks_free(parallel->chunks);
    cv_decode_chunks_free(parallel->spare);
    free(parallel->current);
    for (struct cv_decode_slice *next; parallel->slices != NULL;
         parallel->slices = next) {
        next = parallel->slices->next;
        free(parallel->slices);
    }
    while (parallel->nidle > 0)
        cv_decoder_free(parallel->idle[--parallel->nidle]);
    if (parallel->state != NULL)
        parallel->format->close(parallel->state);
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
                                                .drop = cv_decode_job_free };
    int error;

    CV_TRY(cv_ordered_start(&options, &parallel->pool, err));
    error = cv_nosignal_thread_create(&parallel->reader, read_all, parallel);
    parallel->reading = error == 0;
    return error == 0 ? CLEAVE_OK
                      : cv_fail_errno(err, error, "cannot start a thread that reads");
}

enum cleave_status cv_parallel_open(const struct cv_parallel_format *format,
                                    const struct cv_codec *codec,
                                    const struct cv_decoder_input *input,
                                    unsigned threads, bool members, struct cv_ahead **out,
                                    struct cleave_error *err)
{
    struct cv_parallel_decoder *parallel = calloc(1, sizeof *parallel);
    enum cleave_status status;

    if (parallel == NULL)
        return cv_fail_memory(err, "a decoder");
    parallel->ahead = (struct cv_ahead){ next, inside, member, free_parallel };
    parallel->members = members;
    parallel->format = format;
    parallel->codec = codec;
    parallel->input = *input;
    parallel->made = input->made;
    parallel->max_held = (size_t)HELD * threads;
    pthread_mutex_init(&parallel->lock, NULL);
    pthread_cond_init(&parallel->more, NULL);
    pthread_cond_init(&parallel->room, NULL);
    parallel->state = format->open(codec, format->batch, input->offset);
    status = parallel->state == NULL ? cv_fail_memory(err, "a decoder")
                                     : start(parallel, threads, err);
    if (status == CLEAVE_OK)
        *out = &parallel->ahead;
    else
        free_parallel(&parallel->ahead);
    return status;
}
