/* worker_internal.c -- parts of a worker that its other files share: tasks, frames to the
 * master, rules, and the notice after SIGTERM. SPDX-License-Identifier: MIT */
#include "run/worker/worker_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "run/decode/decoded_file.h"
#include "run/fetch/fetch.h"

void cv_worker_send(struct cv_worker *worker, enum cv_frame_type type, uint32_t seat,
                    uint64_t chunk, uint64_t value)
{
    cv_link_send(&worker->link,
                 &(struct cv_frame_head){ .type = (uint8_t)type,
                                          .peer = seat,
                                          .chunk = chunk,
                                          .value = value },
                 NULL, 0);
}

void cv_worker_fail(struct cv_worker *worker, const struct cleave_error *err)
{
    if (worker->ended)
        return;
    worker->ended = true;
    worker->err = *err;
    cv_link_send(&worker->link, &(struct cv_frame_head){ .type = CV_FRAME_REFUSED },
                 err->text, strlen(err->text));
}

enum cv_worker_stage cv_worker_stage(const struct cv_worker *worker,
                                     const struct cv_frame_head *head,
                                     struct cv_task **out_task)
{
    const struct cv_worker_slot *seat;
    struct cv_task *task;

    *out_task = NULL;
    if (!worker->ready)
        return worker->greeted ? CV_WORKER_GREETED : CV_WORKER_NEW;
    if (head->type >= CV_FRAME_OTHERS)
        return CV_WORKER_ALONE;
    if (head->peer >= worker->nseats)
        return CV_WORKER_NO_SEAT;
    if (head->type == CV_FRAME_LEAVE)
        return CV_WORKER_SEAT;
    if (head->chunk >= worker->next_chunk)
        return CV_WORKER_UNHEARD;
    seat = &worker->seats[head->peer];
    task = seat->tasks.first;
    while (task != NULL && task->chunk != head->chunk)
        task = task->next;
    *out_task = task;
    if (task == NULL)
        return seat->cut_short == head->chunk + 1 ? CV_WORKER_CUT_SHORT : CV_WORKER_OVER;
    if (task->open && !task->shut)
        return CV_WORKER_OPEN;
    return task->complete ? CV_WORKER_COMPLETE : CV_WORKER_COMING;
}

bool cv_worker_admit(struct cv_worker *worker, enum cv_worker_stage stage,
                     const struct cv_frame_head *head)
{
    const char *refused = cv_frame_refused_by_worker(stage, head->type);
    struct cleave_error err;

    if (refused == NULL)
        return true;
    cv_fail(&err, CLEAVE_EINPUT, "the master broke the protocol: %s %s",
            cv_frame_name(head->type), refused);
    cv_worker_fail(worker, &err);
    return false;
}

void cv_tasks_init(struct cv_tasks *tasks)
{
    tasks->first = NULL;
    tasks->last = &tasks->first;
}

void cv_tasks_add(struct cv_tasks *tasks, struct cv_task *task)
{
    task->next = NULL;
    *tasks->last = task;
    tasks->last = &task->next;
}

void cv_tasks_remove(struct cv_tasks *tasks, struct cv_task *task)
{
    struct cv_task **at = &tasks->first;

    while (*at != task)
        at = &(*at)->next;
    *at = task->next;
    if (tasks->last == &task->next)
        tasks->last = at;
}

void cv_task_free(struct cv_task *task)
{
    cv_chunk_output_drop(task->spool);
    cv_chunk_output_drop(task->mates);
    cv_chunk_output_drop(task->output);
    cv_chunk_output_drop(task->back);
    if (task->item != NULL)
        cv_close(&task->item->errors);
    if (task->packed != NULL) {
        cv_arriving_input_free(task->packed->arriving);
        cv_fetched_free(task->packed->fetched);
    }
    cv_close(&task->file);
    cv_arena_done(&task->arena);
    free(task);
}

/* --- notice -------------------------------------------------------------------------------
 *
 * SIGTERM means that the machine is taken away or the step of Slurm is cancelled, and that some
 * time is left: the master gets NOTICE, pieces that were not started are returned, commands that
 * run end, and the master closes the link. A second signal ends the worker at once. */

/* Ranks of MPI cannot leave one by one; and a worker that is not ready has nothing to end. */
bool cv_worker_can_give_notice(const struct cv_worker *worker)
{
    return worker->ready && !worker->ended && !worker->noticed &&
           worker->options->channel == NULL;
}

/* An open piece may be receiving bytes: it is started as usual, and the master closes it soon. */
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
