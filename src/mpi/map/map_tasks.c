/* map_tasks.c -- callbacks in a thread of their own, one after the other.
 * SPDX-License-Identifier: MIT */
#include "mpi/map/map_tasks.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "mpi/bridge/bridge_idle.h"
#include "run/common/threads.h"

/* Tasks in the order they came. */
struct line {
    struct cv_map_task *first, **last;
};

struct cv_map_tasks {
    bool threaded;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t given, ended; /* a task was handed over; one is done               */
    /* Under the lock: */
    struct line waiting, done;
    bool running, leaving;
};

static void put(struct line *line, struct cv_map_task *task)
{
    task->next = NULL;
    *line->last = task;
    line->last = &task->next;
}

static struct cv_map_task *get(struct line *line)
{
    struct cv_map_task *task = line->first;

    if (task == NULL)
        return NULL;
    line->first = task->next;
    if (line->first == NULL)
        line->last = &line->first;
    return task;
}

static void carry_out(struct cv_map_task *task)
{
    const double began_s = cv_idle_wait_clock_s();

    task->err = (struct cleave_error){ 0 };
    task->status = task->run(task, &task->err);
    task->seconds = cv_idle_wait_clock_s() - began_s;
}

static void *work(void *context)
{
    struct cv_map_tasks *tasks = context;

    pthread_mutex_lock(&tasks->lock);
    for (;;) {
        struct cv_map_task *task;

        while (tasks->waiting.first == NULL && !tasks->leaving)
            pthread_cond_wait(&tasks->given, &tasks->lock);
        task = get(&tasks->waiting);
        if (task == NULL)
            break;
        tasks->running = true;
        pthread_mutex_unlock(&tasks->lock);
        carry_out(task);
        pthread_mutex_lock(&tasks->lock);
        tasks->running = false;
        put(&tasks->done, task);
        pthread_cond_signal(&tasks->ended);
    }
    pthread_mutex_unlock(&tasks->lock);
    return NULL;
}

enum cleave_status cv_map_tasks_new(bool threaded, struct cv_map_tasks **out,
                                    struct cleave_error *err)
{
    struct cv_map_tasks *tasks = calloc(1, sizeof *tasks);
    pthread_condattr_t clock;
    int code = 0;

    if (tasks == NULL)
        return cv_fail_memory(err, "the tasks of a rank");
    tasks->threaded = threaded;
    tasks->waiting.last = &tasks->waiting.first;
    tasks->done.last = &tasks->done.first;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&tasks->lock, NULL);
    pthread_cond_init(&tasks->given, NULL);
    pthread_cond_init(&tasks->ended, &clock);
    pthread_condattr_destroy(&clock);
    /* Signals go to the threads of the program. */
    if (threaded)
        code = cv_nosignal_thread_create(&tasks->thread, NULL, work, tasks);
    if (code != 0) {
        tasks->threaded = false;
        cv_map_tasks_free(tasks);
        return cv_fail(err, CLEAVE_EENGINE, "cannot start a thread: %s", strerror(code));
    }
    *out = tasks;
    return CLEAVE_OK;
}

void cv_map_tasks_free(struct cv_map_tasks *tasks)
{
    if (tasks == NULL)
        return;
    if (tasks->threaded) {
        pthread_mutex_lock(&tasks->lock);
        tasks->leaving = true;
        pthread_cond_signal(&tasks->given);
        pthread_mutex_unlock(&tasks->lock);
        pthread_join(tasks->thread, NULL);
    }
    pthread_mutex_destroy(&tasks->lock);
    pthread_cond_destroy(&tasks->given);
    pthread_cond_destroy(&tasks->ended);
    free(tasks);
}

void cv_map_tasks_add(struct cv_map_tasks *tasks, struct cv_map_task *task)
{
    if (!tasks->threaded)
        carry_out(task);
    pthread_mutex_lock(&tasks->lock);
    put(tasks->threaded ? &tasks->waiting : &tasks->done, task);
    pthread_cond_signal(&tasks->given);
    pthread_mutex_unlock(&tasks->lock);
}

unsigned cv_map_tasks_fetch(struct cv_map_tasks *tasks)
{
    unsigned count = 0;

    for (;; count++) {
        struct cv_map_task *task;

        pthread_mutex_lock(&tasks->lock);
        task = get(&tasks->done);
        pthread_mutex_unlock(&tasks->lock);
        if (task == NULL)
            return count;
        task->done(task, task->status != CLEAVE_OK ? &task->err : NULL);
    }
}

void cv_map_tasks_drop(struct cv_map_tasks *tasks)
{
    struct cv_map_task *task;

    pthread_mutex_lock(&tasks->lock);
    while ((task = get(&tasks->waiting)) != NULL) {
        task->status = CLEAVE_OK;
        task->seconds = 0;
        put(&tasks->done, task);
    }
    pthread_mutex_unlock(&tasks->lock);
}

bool cv_map_tasks_any(struct cv_map_tasks *tasks)
{
    bool any;

    pthread_mutex_lock(&tasks->lock);
    any = tasks->running || tasks->waiting.first != NULL || tasks->done.first != NULL;
    pthread_mutex_unlock(&tasks->lock);
    return any;
}

void cv_map_tasks_nap(struct cv_map_tasks *tasks, const struct timespec *time)
{
    struct timespec until;

    if (time->tv_sec == 0 && time->tv_nsec == 0) {
        sched_yield();
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += time->tv_sec;
    until.tv_nsec += time->tv_nsec;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_nsec -= 1000000000L;
        until.tv_sec++;
    }
    pthread_mutex_lock(&tasks->lock);
    while (tasks->done.first == NULL &&
           pthread_cond_timedwait(&tasks->ended, &tasks->lock, &until) != ETIMEDOUT)
        ;
    pthread_mutex_unlock(&tasks->lock);
}
