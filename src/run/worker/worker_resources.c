/* worker_resources.c -- tasks of a worker for whose commands there is no room now, and which wait for it.
 * SPDX-License-Identifier: MIT
 *
 * The rule is that of the gate (run/common/start_limiter.h). */
#include "run/worker/worker_internal.h"

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
