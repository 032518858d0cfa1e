/* ordered_jobs.c -- jobs done by several threads, taken in order. SPDX-License-Identifier: MIT
 *
 * A ring of `most` places: jobs `first` to `end` are in flight, by number. A thread does the oldest
 * one that waits, as that is the one that is taken first. */
#include "run/common/ordered_jobs.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "run/common/nosignal_thread.h"

enum state { WAITS, RUNS, READY, LENT };

struct entry {
    void *job; /* owned, but when lent */
    enum state state;
    enum cleave_status status;
    bool more;
    struct cleave_error err;
};

struct worker {
    struct cv_ordered_jobs *pool;
    unsigned number;
    pthread_t thread;
};

struct cv_ordered_jobs {
    struct cv_ordered_options options;
    struct worker *workers; /* owned */
    unsigned nworkers;
    pthread_mutex_t lock; /* for all below */
    pthread_cond_t work, room, ready;
    struct entry *ring; /* owned */
    uint64_t first, end;
    uint64_t failed; /* number of the first job that failed; UINT64_MAX: none did */
    bool closed, stopped;
};

static struct entry *at(struct cv_ordered_jobs *pool, uint64_t number)
{
    return &pool->ring[number % pool->options.max];
}

/* The oldest job that waits for a thread, or pool->end. */
static uint64_t next_job(struct cv_ordered_jobs *pool)
{
    uint64_t number = pool->first;

    while (number < pool->end && at(pool, number)->state != WAITS)
        number++;
    return number < pool->failed ? number : pool->end;
}

/* One job; the lock is held before and after. */
static void do_job(struct worker *worker, uint64_t number)
{
    struct cv_ordered_jobs *pool = worker->pool;
    struct entry *entry = at(pool, number);
    struct cleave_error err;
    enum cleave_status status;
    bool more = false;

    entry->state = RUNS;
    pthread_mutex_unlock(&pool->lock);
    status = pool->options.work(pool->options.context, worker->number, entry->job, &more,
                                &err);
    pthread_mutex_lock(&pool->lock);
    entry->state = READY;
    entry->status = status;
    entry->more = status == CLEAVE_OK && more;
    if (status != CLEAVE_OK) {
        entry->err = err;
        pool->failed = number < pool->failed ? number : pool->failed;
        pthread_cond_broadcast(&pool->room);
    }
    pthread_cond_signal(&pool->ready);
}

static void *run(void *context)
{
    struct worker *worker = context;
    struct cv_ordered_jobs *pool = worker->pool;

    pthread_mutex_lock(&pool->lock);
    while (!pool->stopped) {
        const uint64_t number = next_job(pool);

        if (number < pool->end)
            do_job(worker, number);
        else if (pool->closed && pool->first == pool->end)
            break;
        else
            pthread_cond_wait(&pool->work, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static int start_threads(struct cv_ordered_jobs *pool)
{
    int error = 0;

    while (error == 0 && pool->nworkers < pool->options.threads) {
        struct worker *worker = &pool->workers[pool->nworkers];

        *worker = (struct worker){ .pool = pool, .number = pool->nworkers };
        error = cv_nosignal_thread_create(&worker->thread, NULL, run, worker);
        pool->nworkers += error == 0 ? 1 : 0;
    }
    return error;
}

enum cleave_status cv_ordered_start(const struct cv_ordered_options *options,
                                    struct cv_ordered_jobs **out,
                                    struct cleave_error *err)
{
    struct cv_ordered_jobs *pool = calloc(1, sizeof *pool);
    int error;

    if (pool == NULL)
        return cv_fail_memory(err, "threads");
    pool->options = *options;
    pool->failed = UINT64_MAX;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->room, NULL);
    pthread_cond_init(&pool->ready, NULL);
    pool->workers = calloc(options->threads, sizeof *pool->workers);
    pool->ring = calloc(options->max, sizeof *pool->ring);
    if (pool->workers == NULL || pool->ring == NULL) {
        cv_ordered_free(pool);
        return cv_fail_memory(err, "threads");
    }
    error = start_threads(pool);
    if (pool->nworkers == 0) {
        cv_ordered_free(pool);
        return cv_fail(err, CLEAVE_EENGINE, "cannot start a thread that %s: %s",
                       options->what, strerror(error));
    }
    *out = pool;
    return CLEAVE_OK;
}

bool cv_ordered_jobs_submit(struct cv_ordered_jobs *pool, void *job)
{
    bool wanted;

    pthread_mutex_lock(&pool->lock);
    while (!pool->stopped && pool->failed == UINT64_MAX &&
           pool->end - pool->first == pool->options.max)
        pthread_cond_wait(&pool->room, &pool->lock);
    wanted = !pool->stopped && pool->failed == UINT64_MAX;
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

/* Whether the first job will never be there. */
static bool is_over(const struct cv_ordered_jobs *pool)
{
    return pool->stopped || pool->first > pool->failed ||
           (pool->closed && pool->first == pool->end);
}

/* Whether the first job waits to be taken. */
static bool is_ready(struct cv_ordered_jobs *pool)
{
    return pool->first < pool->end && at(pool, pool->first)->state == READY;
}

bool cv_ordered_ready(struct cv_ordered_jobs *pool)
{
    bool ready;

    pthread_mutex_lock(&pool->lock);
    ready = is_over(pool) || is_ready(pool);
    pthread_mutex_unlock(&pool->lock);
    return ready;
}

enum cleave_status cv_ordered_jobs_wait(struct cv_ordered_jobs *pool, void **job,
                                        bool *more, struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    struct entry *entry;

    *job = NULL;
    *more = false;
    pthread_mutex_lock(&pool->lock);
    while (!is_over(pool) && !is_ready(pool))
        pthread_cond_wait(&pool->ready, &pool->lock);
    if (!is_over(pool)) {
        entry = at(pool, pool->first);
        *job = entry->job;
        *more = entry->more;
        status = entry->status;
        if (status != CLEAVE_OK && err != NULL)
            *err = entry->err;
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
    return status;
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
    for (unsigned i = 0; i < pool->nworkers; i++)
        pthread_join(pool->workers[i].thread, NULL);
    for (; pool->first < pool->end; pool->first++)
        pool->options.drop(at(pool, pool->first)->job);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->room);
    pthread_cond_destroy(&pool->ready);
    pthread_mutex_destroy(&pool->lock);
    free(pool->workers);
    free(pool->ring);
    free(pool);
}
