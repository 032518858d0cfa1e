/* worker_internal.c -- state of a worker: its tasks, words to the master, rules of frames.
 * SPDX-License-Identifier: MIT */
#include "run/worker/worker_internal.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fail.h"
#include "run/decode/arriving_input.h"
#include "run/fetch/fetched.h"

void cv_worker_has_it(struct cv_worker *worker, const struct cv_task *task)
{
    cv_link_send(&worker->link,
                 &(struct cv_frame_head){ .type = CV_FRAME_GOT,
                                          .flags = CV_FRAME_LAST,
                                          .peer = task->seat,
                                          .chunk = task->chunk },
                 NULL, 0);
}

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

struct cv_task *cv_tasks_find(const struct cv_tasks *tasks, uint64_t chunk)
{
    struct cv_task *task = tasks->first;

    while (task != NULL && task->chunk != chunk)
        task = task->next;
    return task;
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

void cv_told_free(struct cv_command_env *told)
{
    if (told != NULL)
        cv_arena_done(&told->arena);
    free(told);
}

void cv_task_free(struct cv_task *task)
{
    cv_chunk_output_drop(task->spool);
    cv_chunk_output_drop(task->mates);
    cv_chunk_output_drop(task->output);
    cv_chunk_output_drop(task->back);
    cv_told_free(task->told);
    cv_worker_item_free(task);
    cv_worker_packed_free(task);
    cv_close(&task->file);
    free(task);
}

void cv_worker_item_free(struct cv_task *task)
{
    if (task->item == NULL)
        return;
    cv_close(&task->item->errors);
    cv_arena_done(&task->item->arena);
    free(task->item);
    task->item = NULL;
}

void cv_worker_packed_free(struct cv_task *task)
{
    if (task->packed == NULL)
        return;
    cv_arriving_input_free(task->packed->arriving);
    cv_fetched_free(task->packed->fetched);
    cv_arena_done(&task->packed->arena);
    free(task->packed->header);
    free(task->packed);
    task->packed = NULL;
}

struct cv_start_usage cv_worker_crowd(void *context)
{
    const struct cv_worker *worker = context;
    struct cv_start_usage crowd = { .busy = worker->folding, .workers = worker->nseats };

    for (uint32_t i = 0; i < worker->nseats; i++) {
        const struct cv_slot *slot = &worker->seats[i].slot;
        const bool waits = slot->open.on && slot->open.more &&
                           (!slot->open.bound || slot->open.dry_s > 0);

        crowd.busy += slot->busy && !waits;
        crowd.held += slot->busy && waits;
    }
    return crowd;
}

bool cv_task_is_blank(const struct cv_task *task)
{
    return task->open && !task->shut && task->piece.body.begin == task->piece.body.end;
}

/* A command that was started before there is anything for it has read nothing, and one that stays
 * may have nothing to do: it is started anew when there is something, and makes room for one that
 * has it now. */
static void grow_array(struct cv_worker *worker)
{
    for (uint32_t i = 0; i < worker->nseats; i++) {
        struct cv_worker_slot *seat = &worker->seats[i];
        struct cv_slot *slot = &seat->slot;

        if (slot->busy && slot->open.on && !slot->open.bound) {
            cv_slot_done(slot);
            seat->tasks.first->running = false;
            return;
        }
        if (!slot->busy && seat->tasks.first == NULL && !cv_slot_release_command(slot))
            return;
    }
}

bool cv_worker_put_off(struct cv_worker *worker, struct cv_task *task,
                       const struct cleave_error *why)
{
    if (!cv_start_limiter_wait(&worker->limiter, worker->poller, why))
        return false;
    task->running = false;
    worker->crowded = true;
    if (!cv_task_is_blank(task))
        grow_array(worker);
    return true;
}

enum cv_worker_stage cv_worker_stage(const struct cv_worker *worker,
                                     const struct cv_frame_head *head,
                                     struct cv_task **out_task)
{
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
    *out_task = cv_tasks_find(&worker->seats[head->peer].tasks, head->chunk);
    if (*out_task == NULL && worker->seats[head->peer].cut_short == head->chunk + 1)
        return CV_WORKER_CUT_SHORT;
    if (*out_task == NULL)
        return CV_WORKER_OVER;
    if ((*out_task)->open && !(*out_task)->shut)
        return CV_WORKER_OPEN;
    return (*out_task)->complete ? CV_WORKER_COMPLETE : CV_WORKER_COMING;
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
