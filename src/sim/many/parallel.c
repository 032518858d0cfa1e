/* parallel.c -- a loop shared over threads. SPDX-License-Identifier: MIT */
#include "sim/many/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/fail.h"

enum { MAX_THREADS = 256 };

struct shared {
    const struct cv_parallel *loop;
    atomic_uint_fast64_t next, done;
};

struct worker {
    struct shared *shared;
    unsigned number;
    pthread_t thread;
    enum cleave_status status;
    uint64_t failed_at;
    struct cleave_error err;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct shared *shared = worker->shared;
    const struct cv_parallel *loop = shared->loop;
    uint64_t begin;

    while (worker->status == CLEAVE_OK &&
           (begin = atomic_fetch_add(&shared->next, loop->block)) < loop->count) {
        uint64_t end =
            loop->count - begin < loop->block ? loop->count : begin + loop->block;
        uint64_t done;

        worker->status =
            loop->body(loop->context, worker->number, begin, end, &worker->err);
        worker->failed_at = begin;
        done = atomic_fetch_add(&shared->done, end - begin) + (end - begin);
        if (worker->number == 0 && loop->progress != NULL)
            loop->progress(loop->progress_context, done);
    }
    if (worker->status != CLEAVE_OK)
        atomic_store(&shared->next, loop->count);
    return NULL;
}

static unsigned usable_cores(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 1)
        return 1;
    return (unsigned)CPU_COUNT(&set);
}

unsigned cv_parallel_threads(const struct cv_parallel *loop)
{
    uint64_t max = (loop->count + loop->block - 1) / loop->block;
    unsigned threads = loop->threads == 0 ? usable_cores() : loop->threads;

    if (threads > MAX_THREADS)
        threads = MAX_THREADS;
    if (threads > max)
        threads = max == 0 ? 1 : (unsigned)max;
    return threads;
}

enum cleave_status cv_parallel_run(const struct cv_parallel *loop,
                                   struct cleave_error *err)
{
    unsigned count = cv_parallel_threads(loop), begun;
    struct shared shared = { .loop = loop };
    struct worker *workers = calloc(count, sizeof *workers), *earliest = NULL;
    enum cleave_status status = CLEAVE_OK;

    if (workers == NULL)
        return cv_fail_memory(err, "the threads");
    for (unsigned i = 0; i < count; i++) {
        workers[i].shared = &shared;
        workers[i].number = i;
    }
    /* Fewer threads than asked for give the same result, only later. */
    for (begun = 1; begun < count; begun++)
        if (pthread_create(&workers[begun].thread, NULL, work, &workers[begun]) != 0)
            break;
    work(&workers[0]);
    for (unsigned i = 1; i < begun; i++)
        pthread_join(workers[i].thread, NULL);
    for (unsigned i = 0; i < begun; i++)
        if (workers[i].status != CLEAVE_OK &&
            (earliest == NULL || workers[i].failed_at < earliest->failed_at))
            earliest = &workers[i];
    if (earliest != NULL) {
        status = earliest->status;
        if (err != NULL)
            *err = earliest->err;
    }
    free(workers);
    return status;
}
