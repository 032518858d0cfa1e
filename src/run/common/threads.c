/* threads.c -- threads, jobs done in order, and a buffer between two threads.
 * SPDX-License-Identifier: MIT */
#include "run/common/threads.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fail.h"

int cv_nosignal_thread_create(pthread_t *thread, void *(*work)(void *context),
                              void *context)
{
    sigset_t all, before;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, NULL, work, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* --- ordered jobs -------------------------------------------------------------------- */

enum state { WAITS, RUNS, READY, LENT };

struct entry {
    void *job; /* owned, except while it is lent */
    enum state state;
    bool more;
};

struct cv_ordered_jobs {
    struct cv_ordered_options options;
    pthread_t *threads; /* owned */
    unsigned nthreads;
    pthread_mutex_t lock; /* for all below */
    pthread_cond_t work, room, ready;
    struct entry *ring; /* owned: job n is at n % max; jobs [first, end) are in flight */
    uint64_t first, end;
    bool closed, stopped;
};

static struct entry *at(struct cv_ordered_jobs *pool, uint64_t number)
{
    return &pool->ring[number % pool->options.max];
}

/* The oldest waiting job, because it is taken first; NULL: none. */
static struct entry *next_job(struct cv_ordered_jobs *pool)
{
    for (uint64_t number = pool->first; number < pool->end; number++)
        if (at(pool, number)->state == WAITS)
            return at(pool, number);
    return NULL;
}

static void *run(void *context)
{
    struct cv_ordered_jobs *pool = context;

    pthread_mutex_lock(&pool->lock);
    while (!pool->stopped) {
        struct entry *entry = next_job(pool);

        if (entry != NULL) {
            entry->state = RUNS;
            pthread_mutex_unlock(&pool->lock);
            entry->more = pool->options.work(pool->options.context, entry->job);
            pthread_mutex_lock(&pool->lock);
            entry->state = READY;
            pthread_cond_signal(&pool->ready);
        } else if (pool->closed && pool->first == pool->end) {
            break;
        } else {
            pthread_cond_wait(&pool->work, &pool->lock);
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

enum cleave_status cv_ordered_start(const struct cv_ordered_options *options,
                                    struct cv_ordered_jobs **out,
                                    struct cleave_error *err)
{
    struct cv_ordered_jobs *pool = calloc(1, sizeof *pool);
    int error = 0;

    if (pool == NULL)
        return cv_fail_memory(err, "threads");
    pool->options = *options;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->room, NULL);
    pthread_cond_init(&pool->ready, NULL);
    pool->threads = calloc(options->threads, sizeof *pool->threads);
    pool->ring = calloc(options->max, sizeof *pool->ring);
    if (pool->threads == NULL || pool->ring == NULL) {
        cv_ordered_free(pool);
        return cv_fail_memory(err, "threads");
    }
    while (error == 0 && pool->nthreads < options->threads) {
        error = cv_nosignal_thread_create(&pool->threads[pool->nthreads], run, pool);
        pool->nthreads += error == 0;
    }
    if (pool->nthreads == 0) {
        cv_ordered_free(pool);
        return cv_fail_errno(err, error, "cannot start a thread that decodes");
    }
    *out = pool;
    return CLEAVE_OK;
}

bool cv_ordered_jobs_submit(struct cv_ordered_jobs *pool, void *job)
{
    bool wanted;

    pthread_mutex_lock(&pool->lock);
    while (!pool->stopped && pool->end - pool->first == pool->options.max)
        pthread_cond_wait(&pool->room, &pool->lock);
    wanted = !pool->stopped;
    if (wanted) {
        *at(pool, pool->end) = (struct entry){ .job = job, .state = WAITS };
        pool->end++;
        pthread_cond_signal(&pool->work);
    }
    pthread_mutex_unlock(&pool->lock);
    if (!wanted)
        pool->options.drop(job);
    return wanted;
}

void cv_ordered_close(struct cv_ordered_jobs *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->closed = true;
    pthread_cond_broadcast(&pool->work);
    pthread_cond_broadcast(&pool->ready);
    pthread_mutex_unlock(&pool->lock);
}

/* Whether no further job will be ready. */
static bool is_over(const struct cv_ordered_jobs *pool)
{
    return pool->stopped || (pool->closed && pool->first == pool->end);
}

static bool is_ready(struct cv_ordered_jobs *pool)
{
    return pool->first < pool->end && at(pool, pool->first)->state == READY;
}

void *cv_ordered_jobs_wait(struct cv_ordered_jobs *pool, bool *more)
{
    void *job = NULL;

    *more = false;
    pthread_mutex_lock(&pool->lock);
    while (!is_over(pool) && !is_ready(pool))
        pthread_cond_wait(&pool->ready, &pool->lock);
    if (!is_over(pool)) {
        struct entry *entry = at(pool, pool->first);

        job = entry->job;
        *more = entry->more;
        entry->state = LENT;
        if (!*more) {
            entry->job = NULL;
            pool->first++;
            pthread_cond_signal(&pool->room);
        }
        if (pool->closed && pool->first == pool->end)
            pthread_cond_broadcast(&pool->work);
    }
    pthread_mutex_unlock(&pool->lock);
    return job;
}

void cv_ordered_again(struct cv_ordered_jobs *pool)
{
    pthread_mutex_lock(&pool->lock);
    at(pool, pool->first)->state = WAITS;
    pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

void cv_ordered_stop(struct cv_ordered_jobs *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->stopped = true;
    pthread_cond_broadcast(&pool->work);
    pthread_cond_broadcast(&pool->room);
    pthread_cond_broadcast(&pool->ready);
    pthread_mutex_unlock(&pool->lock);
}

void cv_ordered_free(struct cv_ordered_jobs *pool)
{
    if (pool == NULL)
        return;
    cv_ordered_stop(pool);
    for (unsigned i = 0; i < pool->nthreads; i++)
        pthread_join(pool->threads[i], NULL);
    for (; pool->first < pool->end; pool->first++)
        pool->options.drop(at(pool, pool->first)->job);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->room);
    pthread_cond_destroy(&pool->ready);
    pthread_mutex_destroy(&pool->lock);
    free(pool->threads);
    free(pool->ring);
    free(pool);
}

/* --- handoff buffer ------------------------------------------------------------------ */

/* Bytes are counted from the first one: [taken, made) are available, [made, lent) is free. The
 * event is readable while bytes are available.
 *
 * Threads are woken without the lock: on a machine with few cores the woken thread would run at
 * once and wait for the lock. So the event may be readable although the bytes were taken. A
 * producer that waits is woken when half of the largest loan is free, or when nothing is left to
 * take. */

struct cv_handoff_buffer {
    size_t min;
    int event;
    pthread_mutex_t lock; /* for all below */
    pthread_cond_t more;
    uint8_t *at; /* borrowed: the address of byte `taken` */
    uint64_t taken, made, lent;
    size_t max;     /* largest loan so far */
    bool signalled; /* the event is readable, or will be in a moment */
    bool waiting;   /* the producer waits for room */
    bool closed, stopped;
};

static void signal_event(const struct cv_handoff_buffer *buffer)
{
    (void)eventfd_write(buffer->event, 1);
}

/* Whether to wake the consumer: enough bytes, or no room for more. */
static bool has_enough(const struct cv_handoff_buffer *buffer)
{
    const uint64_t there = buffer->made - buffer->taken;

    return buffer->closed || there >= buffer->min || buffer->made == buffer->lent;
}

/* The event is cleared, unless bytes became available. */
static void clear_event(struct cv_handoff_buffer *buffer)
{
    eventfd_t count;
    bool signals;

    (void)eventfd_read(buffer->event, &count);
    pthread_mutex_lock(&buffer->lock);
    signals = buffer->signalled = has_enough(buffer);
    pthread_mutex_unlock(&buffer->lock);
    if (signals)
        signal_event(buffer);
}

enum cleave_status cv_handoff_buffer_new(size_t min, struct cv_handoff_buffer **out,
                                         struct cleave_error *err)
{
    struct cv_handoff_buffer *buffer = calloc(1, sizeof *buffer);
    enum cleave_status status;

    if (buffer == NULL)
        return cv_fail_memory(err, "a buffer");
    buffer->min = min;
    buffer->signalled = true; /* nothing is lent */
    buffer->event = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&buffer->lock, NULL);
    pthread_cond_init(&buffer->more, NULL);
    if (buffer->event >= 0) {
        *out = buffer;
        return CLEAVE_OK;
    }
    status = cv_fail_errno(err, errno, "cannot make an event");
    cv_handoff_buffer_free(buffer);
    return status;
}

void cv_handoff_buffer_free(struct cv_handoff_buffer *buffer)
{
    if (buffer == NULL)
        return;
    if (buffer->event >= 0)
        close(buffer->event);
    pthread_cond_destroy(&buffer->more);
    pthread_mutex_destroy(&buffer->lock);
    free(buffer);
}

/* Wait for room: where the next bytes go, and how many fit. NULL: stopped. */
static uint8_t *wait_for_room(struct cv_handoff_buffer *buffer, size_t *room)
{
    uint8_t *to = NULL;

    pthread_mutex_lock(&buffer->lock);
    buffer->waiting = buffer->made == buffer->lent;
    while (buffer->waiting && !buffer->stopped)
        pthread_cond_wait(&buffer->more, &buffer->lock);
    if (!buffer->stopped) {
        to = buffer->at + (buffer->made - buffer->taken);
        *room = (size_t)(buffer->lent - buffer->made);
    }
    pthread_mutex_unlock(&buffer->lock);
    return to;
}

/* `length` bytes were written there. */
static void add_bytes(struct cv_handoff_buffer *buffer, size_t length)
{
    bool signals;

    pthread_mutex_lock(&buffer->lock);
    buffer->made += length;
    signals = !buffer->signalled && has_enough(buffer);
    buffer->signalled = buffer->signalled || signals;
    pthread_mutex_unlock(&buffer->lock);
    if (signals)
        signal_event(buffer);
}

bool cv_handoff_buffer_write(struct cv_handoff_buffer *buffer, const void *bytes,
                             size_t length)
{
    const uint8_t *from = bytes;
    size_t some;

    for (; length > 0; from += some, length -= some) {
        uint8_t *to = wait_for_room(buffer, &some);

        if (to == NULL)
            return false;
        some = some < length ? some : length;
        memcpy(to, from, some);
        add_bytes(buffer, some);
    }
    return true;
}

void cv_handoff_buffer_close(struct cv_handoff_buffer *buffer)
{
    pthread_mutex_lock(&buffer->lock);
    buffer->closed = buffer->signalled = true;
    pthread_mutex_unlock(&buffer->lock);
    signal_event(buffer);
}

int cv_handoff_buffer_fd(const struct cv_handoff_buffer *buffer)
{
    return buffer->event;
}

/* Whether to wake a producer that waits for room. */
static bool wakes_producer(struct cv_handoff_buffer *buffer)
{
    const uint64_t room = buffer->lent - buffer->made;

    if (!buffer->waiting || room == 0 ||
        (room < buffer->max / 2 && buffer->made > buffer->taken))
        return false;
    buffer->waiting = false;
    return true;
}

void cv_handoff_buffer_lend(struct cv_handoff_buffer *buffer, void *at, size_t room)
{
    bool wakes;

    pthread_mutex_lock(&buffer->lock);
    assert(buffer->taken + room >= buffer->lent); /* the producer may be writing there */
    assert(at == buffer->at || buffer->taken == buffer->lent);
    buffer->at = at;
    buffer->lent = buffer->taken + room;
    buffer->max = room > buffer->max ? room : buffer->max;
    wakes = wakes_producer(buffer);
    pthread_mutex_unlock(&buffer->lock);
    if (wakes)
        pthread_cond_signal(&buffer->more);
}

ssize_t cv_handoff_buffer_take(struct cv_handoff_buffer *buffer, size_t max)
{
    bool closed, last, wakes;
    size_t some;

    pthread_mutex_lock(&buffer->lock);
    some = (size_t)(buffer->made - buffer->taken);
    some = some < max ? some : max;
    closed = buffer->closed;
    buffer->taken += some;
    buffer->at += some;
    last = buffer->taken == buffer->made && !closed;
    wakes = wakes_producer(buffer);
    pthread_mutex_unlock(&buffer->lock);
    if (wakes)
        pthread_cond_signal(&buffer->more);
    if (last)
        clear_event(buffer);
    if (some > 0 || closed)
        return (ssize_t)some;
    errno = EAGAIN;
    return -1;
}

void cv_handoff_buffer_stop(struct cv_handoff_buffer *buffer)
{
    pthread_mutex_lock(&buffer->lock);
    buffer->stopped = true;
    pthread_mutex_unlock(&buffer->lock);
    pthread_cond_signal(&buffer->more);
}
