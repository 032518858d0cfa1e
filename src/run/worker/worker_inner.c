/* worker_inner.c -- what the parts of a worker share: words to the master, lists of tasks.
 * SPDX-License-Identifier: MIT */
#include "run/worker/worker_item.h"
#include "run/worker/worker_packed.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

/* --- words -------------------------------------------------------------------------------- */

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

/* --- lists -------------------------------------------------------------------------------- */

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

/* --- pieces ------------------------------------------------------------------------------- */

enum cleave_status cv_worker_place(struct cv_worker *worker, struct cv_task *task,
                                   struct cleave_error *err)
{
    struct cv_piece *piece = &task->piece;
    struct cv_taken taken;

    *piece = (struct cv_piece){ .name = "the piece", .mate_fd = -1 };
    if (task->request.shared) {
        piece->fd = worker->files[task->request.file];
        piece->name = worker->job.files[task->request.file].path;
        piece->header = task->request.header;
        piece->body = task->request.body;
        piece->mate = task->request.mate;
        piece->closing = task->request.closing;
        if (task->request.mates)
            piece->mate_fd = worker->files[task->request.mate_file];
        return CLEAVE_OK;
    }
    CV_TRY(cv_ordered_output_take(task->spool, &taken, err));
    if (task->packed != NULL)
        return cv_worker_packed_place(task, taken.fd, taken.begin, err);
    piece->fd = taken.fd;
    piece->header =
        (struct cv_range){ taken.begin, taken.begin + task->bytes[CV_PART_HEADER] };
    piece->body = (struct cv_range){ piece->header.end, taken.end };
    if (!task->request.mates)
        return CLEAVE_OK;
    CV_TRY(cv_ordered_output_take(task->mates, &taken, err));
    piece->mate_fd = taken.fd;
    piece->mate = (struct cv_range){ taken.begin, taken.end };
    return CLEAVE_OK;
}
