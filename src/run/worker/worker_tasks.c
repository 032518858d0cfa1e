/* worker_tasks.c -- the pieces that a worker works on. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "run/slot/slot.h"
#include "run/slot/persistent_slot.h"
#include "run/worker/worker_item.h"
#include "run/worker/worker_packed.h"

/* --- their end ---------------------------------------------------------------------------- */

static void start_next(struct cv_worker *worker, struct cv_worker_slot *seat);
static void rouse(struct cv_worker *worker);

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

/* Whether there was no room for what should have become its command, and it waits for some. */
static bool was_unbegun(struct cv_worker *worker, struct cv_slot *slot,
                        struct cv_task *task)
{
    struct cleave_error why = { .status = CLEAVE_ERESOURCES };

    if (!slot->unbegun && slot->process.start_error == 0)
        return false;
    if (!slot->unbegun)
        cv_command_fail_start(slot->command, slot->process.start_error, &why);
    if (!cv_worker_put_off(worker, task, &why))
        return false;
    if (slot->store != NULL)
        cv_chunk_output_drop(slot->store);
    slot->store = NULL;
    return true;
}

static void slot_ended(void *context, struct cv_slot *slot, enum cv_slot_end end)
{
    struct cv_worker *worker = context;
    struct cv_worker_slot *seat = &worker->seats[slot->worker];
    struct cv_task *task = seat->tasks.first;

    if (was_unbegun(worker, slot, task))
        return;
    if (end == CV_SLOT_FAILED)
        cv_worker_heed_signal(worker, slot);
    cv_tasks_remove(&seat->tasks, task);
    task->output = slot->store;
    slot->store = NULL;
    if (!task->open) /* it may have been cut; one that is open may also have grown in vain */
        task->piece = slot->piece;
    if (task->open && !task->shut)
        seat->cut_short = task->chunk + 1;
    if (slot->open.read_s > 0)
        task->end.after_s = cv_clock_s() - slot->open.read_s;
    task->end.flags = end == CV_SLOT_TIMED_OUT ? CV_END_TIMED_OUT
                      : end == CV_SLOT_STOPPED ? CV_END_STOPPED
                      : end == CV_SLOT_FAILED  ? CV_END_FAILED
                                               : 0;
    task->end.exit_code = slot->process.exit_code;
    task->end.signal = slot->process.signal;
    task->end.compute_s = cv_clock_s() - slot->start_s;
    task->end.user_s = seconds(slot->process.usage.ru_utime);
    task->end.system_s = seconds(slot->process.usage.ru_stime);
    snprintf(task->fault, sizeof task->fault, "%s",
             slot->fault != NULL ? slot->fault : "");
    /* The next one is not kept waiting by what is to be sent. */
    start_next(worker, seat);
    cv_worker_send_away(worker, task);
    rouse(worker);
}

/* What the slot of the seat was given could not be decoded: its command is ended, and its task. */
static void end_spoiled(struct cv_worker *worker, struct cv_worker_slot *seat,
                        const struct cleave_error *err)
{
    struct cv_task *task = seat->tasks.first;

    task->end.compute_s = cv_clock_s() - seat->slot.start_s;
    if (seat->slot.busy)
        cv_slot_done(&seat->slot);
    cv_tasks_remove(&seat->tasks, task);
    task->running = false;
    if (task->open && !task->shut)
        seat->cut_short = task->chunk + 1;
    cv_worker_packed_spoil(task, err);
    start_next(worker, seat);
    cv_worker_send_away(worker, task);
    rouse(worker);
}

static void slot_broke(void *context, const struct cleave_error *err)
{
    struct cv_worker_slot *seat = cv_worker_packed_spoiled(context);

    if (seat != NULL)
        end_spoiled(context, seat, err);
    else
        cv_worker_fail(context, err);
}

static void slot_left(void *context, struct cv_slot *slot)
{
    struct cv_worker *worker = context;
    struct cv_packer packer = { NULL, 0, 0, false };

    if (slot->stopping || !worker->job.persistent)
        return;
    cv_pack_end(&packer, &(struct cv_remote_end){
                             .exit_code = slot->process.exit_code,
                             .signal = slot->process.signal,
                             .flags = slot->timed_out ? CV_END_TIMED_OUT : 0,
                             .fault = slot->fault != NULL ? slot->fault : "" });
    if (!packer.failed)
        cv_link_send(&worker->link,
                     &(struct cv_frame_head){ .type = CV_FRAME_LEFT,
                                              .peer = slot->worker },
                     packer.bytes, packer.length);
    cv_pack_done(&packer);
}

static void slot_silent(void *context, struct cv_slot *slot)
{
    struct cv_worker *worker = context;

    if (worker->options->lead == NULL) /* its first answer takes as long as the piece */
        cv_worker_send(worker, CV_FRAME_SILENT, slot->worker, 0, 0);
}

void cv_worker_seat_init(struct cv_worker *worker, uint32_t index)
{
    static const struct cv_slot_events events = {
        .ended = slot_ended,
        .broke = slot_broke,
        .left = slot_left,
        .silent = slot_silent,
        .began = cv_worker_began,
        .drained = cv_worker_drained,
        .moved = cv_worker_moved,
        .wrote = cv_worker_wrote,
    };
    struct cv_worker_slot *seat = &worker->seats[index];
    struct cv_slot *slot = &seat->slot;

    cv_tasks_init(&seat->tasks);
    cv_slot_init(slot);
    slot->poller = worker->poller;
    slot->outputs = worker->outputs;
    slot->command = &worker->commands[index];
    slot->timeout_s = worker->job.timeout_s;
    if (worker->stays)
        cv_persistent_init(slot);
    else
        slot->base = slot->command;
    slot->persistent.in_parts =
        worker->options->lead != NULL && (worker->job.lines || worker->job.early);
    slot->events = &events;
    slot->context = worker;
    slot->worker = index;
    slot->sends = true;
    cv_worker_item_seat(worker, slot);
}

/* --- their beginning ---------------------------------------------------------------------- */

static enum cleave_status start(struct cv_worker *worker, struct cv_worker_slot *seat,
                                struct cv_task *task, struct cleave_error *err)
{
    static const char *const nothing[] = { NULL };

    seat->slot.told =
        task->told != NULL ? (const char *const *)task->told->list : nothing;
    if (cv_slot_starts(&seat->slot))
        CV_TRY(cv_start_limiter_room(&worker->limiter, err));
    if (task->item != NULL)
        CV_TRY(cv_worker_item_begin(worker, task, err));
    return task->open && !task->shut ? cv_slot_open(&seat->slot, &task->piece, err)
                                     : cv_slot_start(&seat->slot, &task->piece, err);
}

/* Something has ended, or some time has passed: those who had no room try again, first those who
 * have something to do. */
static void rouse(struct cv_worker *worker)
{
    if (!worker->crowded)
        return;
    worker->crowded = false;
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < worker->nseats && !worker->ended; i++) {
            const struct cv_task *task = worker->seats[i].tasks.first;

            if (task != NULL && cv_task_is_blank(task) == (pass == 1) &&
                (pass == 0 || !worker->crowded))
                start_next(worker, &worker->seats[i]);
        }
}

static void opens(void *context)
{
    rouse(context);
}

void cv_worker_watch_room(struct cv_worker *worker)
{
    worker->limiter = (struct cv_start_limiter){ .most_files = cv_start_limiter_files(),
                                                 .look = cv_worker_crowd,
                                                 .opens = opens,
                                                 .context = worker };
}

static void start_next(struct cv_worker *worker, struct cv_worker_slot *seat)
{
    if (worker->noticed)
        cv_worker_give_back(worker, seat);
    while (!seat->slot.busy && seat->tasks.first != NULL && seat->tasks.first->complete &&
           !worker->ended) {
        struct cv_task *task = seat->tasks.first;
        struct cleave_error err = { .text = "" };

        enum cleave_status status;

        task->running = true;
        status = start(worker, seat, task, &err);
        if (status == CLEAVE_OK) {
            cv_start_limiter_begun(&worker->limiter);
            return;
        }
        if (status == CLEAVE_ERESOURCES && cv_worker_put_off(worker, task, &err))
            return;
        if (status == CLEAVE_EINPUT && task->packed != NULL) {
            end_spoiled(worker, seat, &err);
            return;
        }
        /* As if the command had failed; the master decides what to do about it. */
        cv_tasks_remove(&seat->tasks, task);
        task->running = false;
        task->end.flags = cv_worker_item_unseen(task) ? CV_END_UNSEEN : CV_END_FAILED;
        task->end.exit_code = 127;
        snprintf(task->fault, sizeof task->fault, "%s%.180s",
                 cv_worker_item_unseen(task) ? "" : "did not start: ", err.text);
        cv_worker_send_away(worker, task);
    }
}

static void complain(struct cv_worker *worker, const char *what)
{
    struct cleave_error err;

    cv_fail(&err, CLEAVE_EINPUT, "%s", what);
    cv_worker_fail(worker, &err);
}

static void completed(struct cv_worker *worker, struct cv_task *task)
{
    struct cleave_error err;

    if (task->packed != NULL && !cv_worker_packed_complete(task)) {
        complain(worker, "not all of a compressed piece has come");
        return;
    }
    task->complete = true;
    if (cv_worker_place(worker, task, &err) != CLEAVE_OK ||
        (worker->job.items && cv_worker_item_open(worker, task, &err) != CLEAVE_OK))
        cv_worker_fail(worker, &err);
    else
        start_next(worker, &worker->seats[task->seat]);
}

static enum cleave_status open_stores(struct cv_worker *worker, struct cv_task *task,
                                      struct cleave_error *err)
{
    if (task->request.shared)
        return CLEAVE_OK;
    CV_TRY(cv_chunk_output_open(worker->outputs, &task->spool, err));
    return task->request.mates ? cv_chunk_output_open(worker->outputs, &task->mates, err)
                               : CLEAVE_OK;
}

void cv_worker_told(struct cv_worker *worker, const struct cv_frame_head *head,
                    const unsigned char *payload)
{
    struct cv_unpacker unpacker = { payload, head->length, false };
    struct cv_worker_slot *seat = &worker->seats[head->peer];
    struct cv_command_env *told = calloc(1, sizeof *told);

    cv_told_free(seat->told);
    seat->told = told;
    if (told == NULL) {
        unpacker.failed = true;
    } else {
        cv_arena_init(&told->arena);
        told->list = cv_unpack_list(&unpacker, &told->arena);
    }
    for (size_t i = 0; !unpacker.failed && told->list[i] != NULL; i++)
        unpacker.failed = i == CV_TOLD || strncmp(told->list[i], "CLEAVE_", 7) != 0 ||
                          strchr(told->list[i], '=') == NULL;
    if (!cv_unpack_good(&unpacker))
        complain(worker, "expected variables for a command, got something else");
}

void cv_worker_piece(struct cv_worker *worker, const struct cv_frame_head *head,
                     const unsigned char *payload)
{
    struct cv_remote_piece request;
    struct cleave_error err;
    struct cv_task *task;

    if (head->chunk == UINT64_MAX || head->value > 1 ||
        (worker->options->lead != NULL && head->value == 1) ||
        !cv_unpack_piece(payload, head->length, &request) ||
        (worker->job.items && (request.shared || request.mates || head->value == 1)) ||
        (request.shared &&
         (worker->files == NULL || request.file >= worker->job.nfiles ||
          (request.mates && request.mate_file >= worker->job.nfiles)))) {
        complain(worker, "expected a piece of the input, got something else");
        return;
    }
    task = calloc(1, sizeof *task);
    if (task == NULL) {
        cv_fail_memory(&err, "a piece");
        cv_worker_fail(worker, &err);
        return;
    }
    worker->next_chunk = head->chunk + 1;
    task->chunk = head->chunk;
    task->seat = head->peer;
    task->request = request;
    task->file = -1;
    task->told = worker->seats[head->peer].told;
    worker->seats[head->peer].told = NULL;
    cv_tasks_add(&worker->seats[head->peer].tasks, task);
    task->open = head->value == 1;
    if ((task->open ? cv_worker_open_piece : open_stores)(worker, task, &err) !=
        CLEAVE_OK) {
        cv_worker_fail(worker, &err);
        return;
    }
    if (task->open) {
        start_next(worker, &worker->seats[task->seat]);
        return;
    }
    if (!request.shared)
        return;
    cv_worker_has_it(worker, task);
    completed(worker, task);
}

/* Whether so many bytes of a part can come now: one part after the other, and no more than
 * was announced. */
static bool can_come(const struct cv_task *task, uint64_t part, uint64_t length)
{
    const struct cv_range ranges[CV_PARTS] = { task->request.header, task->request.body,
                                               task->request.mate };
    const uint64_t closing = cv_closing_part(task->request.closing).end;

    for (uint64_t later = part + 1; later < CV_PARTS; later++)
        if (task->bytes[later] > 0)
            return false;
    if (part == CV_PART_BODY && task->packed != NULL)
        return cv_worker_packed_may_come(task, length);
    if (task->open)
        return !task->request.shared && part <= CV_PART_BODY;
    return !task->request.shared && part < CV_PARTS &&
           (part != CV_PART_MATE || task->request.mates) &&
           length <= ranges[part].end - ranges[part].begin +
                         (part == CV_PART_BODY ? closing : 0) - task->bytes[part];
}

/* Its command gets what there is by now. */
static void feed_open(struct cv_worker *worker, struct cv_task *task, bool last)
{
    struct cleave_error err;
    const enum cleave_status status = cv_worker_open_feed(worker, task, last, &err);

    if (status == CLEAVE_EINPUT && task->packed != NULL)
        end_spoiled(worker, &worker->seats[task->seat], &err);
    else if (status != CLEAVE_OK)
        cv_worker_fail(worker, &err);
}

void cv_worker_data(struct cv_worker *worker, struct cv_task *task,
                    const struct cv_frame_head *head, const unsigned char *payload)
{
    const bool last = (head->flags & CV_FRAME_LAST) != 0;
    struct cleave_error err;
    enum cleave_status status;

    if (!can_come(task, head->value, head->length)) {
        complain(worker, "got bytes that belong to no piece");
        return;
    }
    status = task->open
                 ? cv_worker_open_keep(task, head->value, payload, head->length, &err)
                 : cv_chunk_output_write(head->value == CV_PART_MATE ? task->mates
                                                                     : task->spool,
                                         payload, head->length, &err);
    if (status != CLEAVE_OK) {
        cv_worker_fail(worker, &err);
        return;
    }
    task->bytes[head->value] += head->length;
    task->end.come += head->length;
    task->end.come_sum = cv_frame_sum(task->end.come_sum, head);
    cv_link_send(&worker->link,
                 &(struct cv_frame_head){ .type = CV_FRAME_GOT,
                                          .flags = head->flags & CV_FRAME_LAST,
                                          .peer = task->seat,
                                          .chunk = task->chunk,
                                          .value = task->end.come },
                 NULL, 0);
    if (task->open)
        feed_open(worker, task, last);
    else if (last)
        completed(worker, task);
}

void cv_worker_packed(struct cv_worker *worker, struct cv_task *task,
                      const struct cv_frame_head *head, const unsigned char *payload)
{
    struct cleave_error err = { .status = CLEAVE_OK };

    if ((head->type == CV_FRAME_DRAWN ? cv_worker_drawn_learn : cv_worker_packed_learn)(
            worker, task, payload, head->length, &err) != CLEAVE_OK)
        cv_worker_fail(worker, &err);
    else if (task->open)
        feed_open(worker, task, false);
}

/* --- changes ------------------------------------------------------------------------------ */

void cv_worker_cut(struct cv_worker *worker, struct cv_task *task,
                   const struct cv_frame_head *head, const unsigned char *payload)
{
    struct cv_unpacker unpacker = { payload, head->length, false };
    const uint64_t mates = cv_unpack_number(&unpacker);
    bool done = false;

    if (task != NULL && cv_unpack_good(&unpacker) &&
        head->value < task->piece.body.end - task->piece.body.begin &&
        mates <= task->piece.mate.end - task->piece.mate.begin) {
        struct cv_piece shorter = task->piece;

        shorter.body.end = shorter.body.begin + head->value;
        shorter.mate.end = shorter.mate.begin + mates;
        shorter.closing = CV_CLOSING_NONE; /* it was behind what is cut off */
        done =
            task->running ? cv_slot_cut(&worker->seats[task->seat].slot, &shorter) : true;
        if (done)
            task->piece = shorter;
        if (done && task->packed != NULL)
            cv_worker_packed_cut(task, head->value);
        if (done && task->open && task->packed == NULL) {
            task->bytes[CV_PART_BODY] = head->value;
            task->request.body.end = task->request.body.begin + head->value;
            task->request.closing = CV_CLOSING_NONE;
        }
    }
    cv_worker_send(worker, CV_FRAME_CUT_DONE, head->peer, head->chunk, done);
}

void cv_worker_stop(struct cv_worker *worker, struct cv_task *task)
{
    struct cv_worker_slot *seat = &worker->seats[task->seat];

    if (task->running) {
        cv_slot_stop(&seat->slot);
        return;
    }
    cv_tasks_remove(&seat->tasks, task);
    task->end.flags = CV_END_STOPPED;
    task->end.exit_code = -1;
    cv_worker_send_end(worker, task);
    cv_task_free(task);
    start_next(worker, seat);
}
