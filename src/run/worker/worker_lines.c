/* worker_lines.c -- lines of an output, sent while its command runs.
 * SPDX-License-Identifier: MIT
 *
 * They are taken out of its store as far as they are whole; what the link has no room for waits
 * there. If the job does not ask for lines, the master asks for the one output that it would write
 * next (SHOW). Of that all goes that has come, once its command has run for a moment: the master
 * finds the lines, and keeps what it has until it has all. */
#include "base/fail.h"
#include "run/worker/worker_internal.h"

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
    const struct cv_task *task = worker->seats[slot->worker].tasks.first;

    if (worker->job.lines || (task != NULL && task->shown))
        cv_link_wake(&worker->link);
}

void cv_worker_show(struct cv_worker *worker, struct cv_task *task)
{
    if (!worker->job.early || worker->options->keep != NULL)
        return; /* it was not expected, or nothing is sent at all */
    task->shown = worker->shows = true;
    cv_link_wake(&worker->link);
}

static void ripened(void *context)
{
    struct cv_worker *worker = context;

    cv_link_wake(&worker->link);
}

/* Whether its command has run for a moment; if not, see to it then. */
static bool is_ripe(struct cv_worker *worker, const struct cv_worker_slot *seat)
{
    const double due_s = seat->slot.start_s + CV_EARLY_MOMENT_S;
    struct cleave_error ignored; /* then it is seen to when more comes */

    if (cv_clock_s() >= due_s)
        return true;
    if (worker->ripens.place == 0)
        (void)cv_poller_set(worker->poller, &worker->ripens, due_s, ripened, worker,
                            &ignored);
    return false;
}

/* One that is open and has been given nothing may be started again elsewhere: nobody should see
 * what it has written until then. */
static bool may_speak(const struct cv_worker_slot *seat)
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

/* What may be sent now of the output at the seat goes to worker->bytes. */
static enum cleave_status read_some(struct cv_worker *worker,
                                    const struct cv_worker_slot *seat, size_t *out_length,
                                    struct cleave_error *err)
{
    const size_t max = cv_worker_frame_size(&worker->link);

    *out_length = 0;
    if (!may_speak(seat))
        return CLEAVE_OK;
    if (worker->job.lines)
        return cv_chunk_output_read_some(seat->slot.store, worker->bytes, max, out_length,
                                         err);
    return seat->tasks.first->shown && is_ripe(worker, seat)
               ? cv_chunk_output_read_some(seat->slot.store, worker->bytes, max,
                                           out_length, err)
               : CLEAVE_OK;
}

bool cv_worker_lines(struct cv_worker *worker)
{
    for (uint32_t i = 0; (worker->job.lines || worker->shows) && i < worker->nseats;
         i++) {
        const uint32_t at = (worker->turn + i) % worker->nseats;
        const struct cv_worker_slot *seat = &worker->seats[at];
        struct cleave_error err;
        size_t length;

        if (read_some(worker, seat, &length, &err) != CLEAVE_OK) {
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
