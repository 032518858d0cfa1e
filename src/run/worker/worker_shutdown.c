/* worker_shutdown.c -- a worker that has been told to end, by SIGTERM. SPDX-License-Identifier: MIT
 *
 * A machine that is taken away, a step of Slurm that is cancelled: some time is left. The master
 * hears of it, what was not begun goes back to it, and what runs is ended; then the master closes
 * the link. A second signal ends the worker at once, as others do at any time. */
#include <signal.h>
#include <time.h>

#include "run/worker/worker_internal.h"

enum { SIGNALLED = 128 }; /* added to the number of a signal by shells */

/* Who signals all processes of a job does so within this time. */
static const struct timespec MOMENT = { .tv_nsec = 50000000 };

/* Ranks of MPI cannot go one by one, and before it is ready a worker has nothing to end. */
bool cv_worker_can_give_notice(const struct cv_worker *worker)
{
    return worker->ready && !worker->ended && !worker->noticed &&
           worker->options->channel == NULL;
}

/* One that is open may be getting bytes: it is begun as ever, and the master closes it soon. */
void cv_worker_give_back(struct cv_worker *worker, struct cv_worker_slot *seat)
{
    struct cv_task *task = seat->tasks.first, *next;

    for (; task != NULL; task = next) {
        next = task->next;
        if (!task->complete || task->running || task->open)
            continue;
        cv_tasks_remove(&seat->tasks, task);
        cv_worker_send(worker, CV_FRAME_BACK, task->seat, task->chunk, 0);
        cv_task_free(task);
    }
}

void cv_worker_notice(struct cv_worker *worker)
{
    worker->noticed = true;
    cv_worker_send(worker, CV_FRAME_NOTICE, 0, 0, 0);
    for (uint32_t i = 0; i < worker->nseats; i++)
        cv_worker_give_back(worker, &worker->seats[i]);
}

void cv_worker_heed_signal(struct cv_worker *worker, const struct cv_slot *slot)
{
    sigset_t ends;

    if (!cv_worker_can_give_notice(worker) || slot->stopping || slot->kills > 0 ||
        (slot->process.signal != SIGTERM &&
         slot->process.exit_code != SIGNALLED + SIGTERM))
        return;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    if (sigtimedwait(&ends, NULL, &MOMENT) == SIGTERM)
        cv_worker_notice(worker);
}
