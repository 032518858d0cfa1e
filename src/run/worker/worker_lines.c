/* worker_lines.c -- lines of an output, sent while its command runs.
 * SPDX-License-Identifier: MIT
 *
 * They are taken out of its store as far as they are whole; what the link has no room for waits
 * there. */
#include "base/fail.h"
#include "run/worker/worker_inner.h"

/* Of an output that goes into one frame: on a slow link others get their turn, and a sign
 * of life is a whole frame. Between them while nothing is known of the link. */
enum { FRAME_SLOW = 32 * 1024, FRAME_FIRST = 64 * 1024, FRAME_FAST = 256 * 1024 };
static const double SLOW_BPS = 10e6;

size_t cv_worker_frame_size(const struct cv_link *link)
{
    const size_t fits = cv_link_fits(link);

    if (link->channel != NULL)
        return fits < FRAME_FAST ? fits : FRAME_FAST;
    if (!(link->other_Bps > 0))
        return FRAME_FIRST;
    return link->other_Bps < SLOW_BPS ? FRAME_SLOW : FRAME_FAST;
}

void cv_worker_wrote(void *context, struct cv_slot *slot)
{
    struct cv_worker *worker = context;

    (void)slot;
    cv_link_wake(&worker->link);
}

/* One that is open and has been given nothing may be started again elsewhere: nobody should see
 * what it has written until then. */
static bool may_speak(const struct cv_seat *seat)
{
    const struct cv_task *task = seat->tasks.first;

    return seat->slot.busy && seat->slot.store != NULL && task != NULL && task->running &&
           (!task->open || task->piece.body.end > task->piece.body.begin);
}

static void send(struct cv_worker *worker, struct cv_task *task, size_t length)
{
    struct cv_frame_head head = { .type = CV_FRAME_LINES,
                                  .length = (uint32_t)length,
                                  .peer = task->seat,
                                  .chunk = task->chunk,
                                  .value = task->lined };

    head.checksum = cv_frame_checksum(&head, worker->bytes);
    task->lined += length;
    task->end.output_sum = cv_frame_sum(task->end.output_sum, &head);
    cv_link_send_summed(&worker->link, &head, worker->bytes);
}

bool cv_worker_lines(struct cv_worker *worker)
{
    const size_t most = cv_worker_frame_size(&worker->link);

    for (uint32_t i = 0; worker->job.lines && i < worker->nseats; i++) {
        const uint32_t at = (worker->turn + i) % worker->nseats;
        const struct cv_seat *seat = &worker->seats[at];
        struct cleave_error err;
        size_t length = 0;

        if (!may_speak(seat))
            continue;
        if (cv_store_read_lines(seat->slot.store, worker->bytes, most, &length, &err) !=
            CLEAVE_OK) {
            cv_worker_fail(worker, &err);
            return false;
        }
        if (length == 0)
            continue;
        send(worker, seat->tasks.first, length);
        worker->turn = at + 1;
        return true;
    }
    return false;
}
