/* worker_open.c -- pieces whose command is started before all of them has come.
 * SPDX-License-Identifier: MIT
 *
 * What comes is kept in a file, header and body one behind the other, and given to the command
 * at once. The master hears how much the command has been fed, and sends no more than it may
 * want in a moment; what it has read of the file is given back. Of an input that is seen from
 * here, the master only says how far it may be read. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/slot/slot.h"
#include "run/worker/worker_packed.h"

enum {
    STEP = 256 * 1024, /* fed since the master last heard of it                         */
    /* Of the file, at a time. It begins at multiples, so that no page is only partly in it:
     * those would be zeroed, and the command may have passed them on. */
    BLOCK = 4 << 20,
};

/* --- its beginning ------------------------------------------------------------------------ */

enum cleave_status cv_worker_open_piece(struct cv_worker *worker, struct cv_task *task,
                                        struct cleave_error *err)
{
    if (task->request.mates)
        return cv_fail(err, CLEAVE_EINPUT,
                       "got an open piece that has mates, which cannot be");
    task->complete = true;
    if (task->request.shared)
        return cv_worker_place(worker, task, err);
    CV_TRY(cv_ordered_output_file(worker->outputs, &task->file, err));
    task->piece =
        (struct cv_piece){ .name = "the piece", .fd = task->file, .mate_fd = -1 };
    return CLEAVE_OK;
}

/* --- more of it --------------------------------------------------------------------------- */

enum cleave_status cv_worker_open_keep(struct cv_task *task, uint64_t part,
                                       const void *bytes, size_t length,
                                       struct cleave_error *err)
{
    uint64_t at = task->bytes[CV_PART_HEADER] +
                  (part == CV_PART_BODY ? task->bytes[CV_PART_BODY] : 0);
    const char *from = bytes;

    while (length > 0) {
        const ssize_t put = pwrite(task->file, from, length, (off_t)at);

        if (put < 0 && errno != EINTR)
            return cv_fail(err, CLEAVE_EENGINE, "cannot keep a piece: %s",
                           strerror(errno));
        if (put > 0) {
            from += put;
            at += (uint64_t)put;
            length -= (size_t)put;
        }
    }
    return CLEAVE_OK;
}

/* Its command gets what there is now. The task may be over then. */
static enum cleave_status pass_on(struct cv_worker *worker, struct cv_task *task,
                                  bool last, struct cleave_error *err)
{
    struct cv_slot *slot = &worker->seats[task->seat].slot;

    task->shut = last;
    if (!task->running)
        return CLEAVE_OK;
    if (task->piece.body.end > slot->piece.body.end && cv_slot_is_open(slot)) {
        CV_TRY(cv_slot_extend(slot, &task->piece, err));
        if (worker->seats[task->seat].tasks.first == task)
            cv_worker_moved(worker, slot);
    }
    if (last && slot->busy && worker->seats[task->seat].tasks.first == task)
        cv_slot_close_input(slot);
    return CLEAVE_OK;
}

enum cleave_status cv_worker_open_feed(struct cv_worker *worker, struct cv_task *task,
                                       bool last, struct cleave_error *err)
{
    const uint64_t header = task->bytes[CV_PART_HEADER];

    if (task->packed != NULL) {
        CV_TRY(cv_worker_packed_place(task, task->file, 0, err));
    } else if (task->bytes[CV_PART_BODY] > 0) {
        task->piece.header = (struct cv_range){ 0, header };
        task->piece.body =
            (struct cv_range){ header, header + task->bytes[CV_PART_BODY] };
    }
    return pass_on(worker, task, last, err);
}

/* Whether the piece, which has bytes or none so far, may become the other one. */
static bool continues(const struct cv_remote_piece *piece,
                      const struct cv_remote_piece *longer)
{
    if (piece->body.begin == piece->body.end)
        return longer->body.begin < longer->body.end;
    return longer->file == piece->file && longer->header.begin == piece->header.begin &&
           longer->header.end == piece->header.end &&
           longer->body.begin == piece->body.begin && longer->body.end >= piece->body.end;
}

void cv_worker_open_more(struct cv_worker *worker, struct cv_task *task,
                         const struct cv_frame_head *head, const unsigned char *payload)
{
    const bool last = (head->flags & CV_FRAME_LAST) != 0;
    struct cv_remote_piece longer;
    struct cleave_error err;
    enum cleave_status status;

    if (!task->request.shared || !cv_unpack_piece(payload, head->length, &longer) ||
        !longer.shared || longer.mates || longer.file >= worker->job.nfiles ||
        !continues(&task->request, &longer)) {
        cv_fail(&err, CLEAVE_EINPUT, "got more of a piece that does not go on like that");
        cv_worker_fail(worker, &err);
        return;
    }
    task->request = longer;
    if (last)
        cv_worker_has_it(worker, task);
    status = cv_worker_place(worker, task, &err);
    if (status == CLEAVE_OK)
        status = pass_on(worker, task, last, &err);
    if (status != CLEAVE_OK)
        cv_worker_fail(worker, &err);
}

/* --- its reader --------------------------------------------------------------------------- */

void cv_worker_look(struct cv_worker *worker, const struct cv_task *task)
{
    struct cv_packer packer = { NULL, 0, 0, false };
    struct cv_slot_seen seen = { .read = 0 };

    if (task->running)
        seen = cv_slot_look(&worker->seats[task->seat].slot);
    cv_pack_seen(&packer, &(struct cv_remote_seen){ .read = seen.read,
                                                    .output = seen.output,
                                                    .cpu_s = seen.cpu_s });
    if (!packer.failed)
        cv_link_send(&worker->link,
                     &(struct cv_frame_head){ .type = CV_FRAME_SEEN,
                                              .peer = task->seat,
                                              .chunk = task->chunk },
                     packer.bytes, packer.length);
    cv_pack_done(&packer);
}

void cv_worker_began(void *context, struct cv_slot *slot)
{
    struct cv_worker *worker = context;
    const struct cv_task *task = worker->seats[slot->worker].tasks.first;

    cv_worker_send(worker, CV_FRAME_STARTED, slot->worker, task->chunk,
                   (uint64_t)(1e6 * (cv_clock_s() - slot->start_s)));
}

/* Of the file, what is not even in the pipe any more. Where that cannot be given back, it stays
 * until the piece is over. */
static void give_back(struct cv_task *task, uint64_t fed)
{
    const uint64_t read = fed > CV_PIPE_WIDE ? fed - CV_PIPE_WIDE : 0;
    const uint64_t used =
        task->packed != NULL ? cv_worker_packed_needs(task, read) : read;
    const uint64_t end = used - used % BLOCK;

    if (task->file < 0 || end <= task->freed)
        return;
    (void)fallocate(task->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    (off_t)task->freed, (off_t)(end - task->freed));
    task->freed = end;
}

void cv_worker_moved(void *context, struct cv_slot *slot)
{
    struct cv_worker *worker = context;
    struct cv_task *task = worker->seats[slot->worker].tasks.first;
    const struct cv_piece *piece = &slot->piece;
    const uint64_t fed =
        piece->header.end - piece->header.begin + (cv_slot_fed(slot) - piece->body.begin);

    if (!slot->busy || slot->in.fd < 0 || fed < task->told_fed + STEP)
        return;
    task->told_fed = fed;
    cv_worker_send(worker, CV_FRAME_FED, slot->worker, task->chunk, fed);
    give_back(task, fed);
}

void cv_worker_drained(void *context, struct cv_slot *slot)
{
    struct cv_worker *worker = context;
    struct cv_task *task = worker->seats[slot->worker].tasks.first;

    if (task->shut) /* that was all, as the master knows */
        return;
    task->told_fed = cv_slot_whole(&slot->piece);
    cv_worker_send(worker, CV_FRAME_DRAINED, slot->worker, task->chunk, task->told_fed);
}
