/* worker_tasks.c -- the pieces that a worker works on. SPDX-License-Identifier: MIT
 *
 * A piece is kept in a spool until it is complete, then it is started. The command of an open
 * piece is started before the piece has arrived: its bytes, header and body, are kept in a file
 * and passed on at once. FED tells the master how much the command has been given, so that it
 * sends no more than the command needs soon; bytes of the file that were read are released. If
 * the worker sees the input, the master only sends how far the command may read. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/slot/slot.h"
#include "run/slot/persistent_slot.h"
#include "run/worker/worker_internal.h"

enum {
    STEP = 256 * 1024, /* bytes between two FED */
    /* Bytes of a file are released in multiples, at multiples: a page that is released in part
     * is zeroed, and the command may have passed it on (splice). */
    BLOCK = 4 << 20,
};

/* A machine that goes down, or a batch system, signals the command and then this process: in the
 * meantime nothing is reported, so that the chunk is lost with its host, or given back. */
static const double HOLD_S = 0.5;

enum { SIGNALLED = 128 }; /* added by shells to the number of a signal */

static void start_next(struct cv_worker *worker, struct cv_worker_slot *seat);
static void start_waiting(void *context);

/* Let task->piece be the bytes of a complete or shared piece. */
static enum cleave_status place(struct cv_worker *worker, struct cv_task *task,
                                struct cleave_error *err)
{
    const struct cv_remote_piece *request = &task->request;
    struct cv_piece *piece = &task->piece;
    struct cv_taken taken;

    *piece = (struct cv_piece){ .name = "the piece", .mate_fd = -1 };
    if (request->shared) {
        piece->fd = worker->files[request->file];
        piece->name = worker->job.files[request->file].path;
        piece->header = request->header;
        piece->body = request->body;
        piece->mate = request->mate;
        piece->closing = request->closing;
        if (request->mates)
            piece->mate_fd = worker->files[request->mate_file];
        return CLEAVE_OK;
    }
    CV_TRY(cv_ordered_output_take(task->spool, &taken, err));
    if (task->packed != NULL)
        return cv_worker_packed_place(task, taken.fd, taken.begin, err);
    piece->fd = taken.fd;
    piece->header =
        (struct cv_range){ taken.begin, taken.begin + task->bytes[CV_PART_HEADER] };
    piece->body = (struct cv_range){ piece->header.end, taken.end };
    if (!request->mates)
        return CLEAVE_OK;
    CV_TRY(cv_ordered_output_take(task->mates, &taken, err));
    piece->mate_fd = taken.fd;
    piece->mate = (struct cv_range){ taken.begin, taken.end };
    return CLEAVE_OK;
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

static enum cleave_status open_file(struct cv_worker *worker, struct cv_task *task,
                                    struct cleave_error *err)
{
    if (task->request.mates)
        return cv_fail(err, CLEAVE_EINPUT,
                       "got an open piece that has mates, which cannot be");
    task->complete = true;
    if (task->request.shared)
        return place(worker, task, err);
    CV_TRY(cv_ordered_output_file(worker->outputs, &task->file, err));
    task->piece =
        (struct cv_piece){ .name = "the piece", .fd = task->file, .mate_fd = -1 };
    return CLEAVE_OK;
}

static enum cleave_status write_file(struct cv_task *task, uint64_t part,
                                     const char *bytes, size_t length,
                                     struct cleave_error *err)
{
    uint64_t at = task->bytes[CV_PART_HEADER] +
                  (part == CV_PART_BODY ? task->bytes[CV_PART_BODY] : 0);

    while (length > 0) {
        const ssize_t put =
            TEMP_FAILURE_RETRY(pwrite(task->file, bytes, length, (off_t)at));

        if (put < 0)
            return cv_fail_errno(err, errno, "cannot keep a piece");
        bytes += put;
        at += (uint64_t)put;
        length -= (size_t)put;
    }
    return CLEAVE_OK;
}

/* Bytes that are no longer in the pipe either. If the file system cannot release them, they stay
 * until the end of the piece. */
static void release_read_bytes(struct cv_task *task, uint64_t fed)
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

static void slot_began(void *context, struct cv_slot *slot)
{
    struct cv_worker *worker = context;

    cv_worker_send(worker, CV_FRAME_STARTED, slot->worker,
                   worker->seats[slot->worker].tasks.first->chunk,
                   (uint64_t)(1e6 * (cv_clock_s() - slot->start_s)));
}

static void slot_moved(void *context, struct cv_slot *slot)
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
    release_read_bytes(task, fed);
}

static void slot_drained(void *context, struct cv_slot *slot)
{
    struct cv_worker *worker = context;
    struct cv_task *task = worker->seats[slot->worker].tasks.first;

    if (task->shut) /* the master knows that this was all */
        return;
    task->told_fed = cv_slot_whole(&slot->piece);
    cv_worker_send(worker, CV_FRAME_DRAINED, slot->worker, task->chunk, task->told_fed);
}

/* Let the command of an open piece have the bytes of task->piece. The task may end. */
static enum cleave_status pass_on(struct cv_worker *worker, struct cv_task *task,
                                  bool last, struct cleave_error *err)
{
    struct cv_worker_slot *seat = &worker->seats[task->seat];
    struct cv_slot *slot = &seat->slot;

    task->shut = last;
    if (!task->running)
        return CLEAVE_OK;
    if (task->piece.body.end > slot->piece.body.end && cv_slot_is_open(slot)) {
        CV_TRY(cv_slot_extend(slot, &task->piece, err));
        if (seat->tasks.first == task)
            slot_moved(worker, slot);
    }
    if (last && slot->busy && seat->tasks.first == task)
        cv_slot_close_input(slot);
    return CLEAVE_OK;
}

/* --- processes ---------------------------------------------------------------------------- */

static struct cv_start_usage count_processes(void *context)
{
    const struct cv_worker *worker = context;
    struct cv_start_usage usage = { .busy = worker->folding };

    for (uint32_t i = 0; i < worker->nseats; i++) {
        const struct cv_slot *slot = &worker->seats[i].slot;
        const bool waits = slot->open.on && slot->open.more &&
                           (!slot->open.bound || slot->open.dry_s > 0);

        usage.busy += slot->busy && !waits;
        usage.held += slot->busy && waits;
    }
    return usage;
}

void cv_worker_watch_room(struct cv_worker *worker)
{
    worker->limiter = (struct cv_start_limiter){ .most_files = cv_start_limiter_files(),
                                                 .workers = worker->nseats,
                                                 .look = count_processes,
                                                 .opens = start_waiting,
                                                 .context = worker };
}

/* The command of the task has no input yet. */
static bool is_blank(const struct cv_task *task)
{
    return task->open && !task->shut && task->piece.body.begin == task->piece.body.end;
}

/* End a command that has nothing to do, so that another one can be started: one that has no
 * input yet, which is started again later, or an idle persistent one. */
static void end_idle_command(struct cv_worker *worker)
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

/* The command of the task could not be started: true if the task waits (start_limiter.h). */
static bool put_off(struct cv_worker *worker, struct cv_task *task,
                    const struct cleave_error *why)
{
    if (!cv_start_limiter_wait(&worker->limiter, worker->poller, why))
        return false;
    task->running = false;
    worker->crowded = true;
    if (!is_blank(task))
        end_idle_command(worker);
    return true;
}

/* Start tasks that wait for a process, tasks with input first. */
static void start_waiting(void *context)
{
    struct cv_worker *worker = context;

    if (!worker->crowded)
        return;
    worker->crowded = false;
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < worker->nseats && !worker->ended; i++) {
            const struct cv_task *task = worker->seats[i].tasks.first;

            if (task != NULL && is_blank(task) == (pass == 1) &&
                (pass == 0 || !worker->crowded))
                start_next(worker, &worker->seats[i]);
        }
}

/* --- the end of a task -------------------------------------------------------------------- */

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

/* The process could not be started, and the task waits. */
static bool was_put_off(struct cv_worker *worker, struct cv_slot *slot,
                        struct cv_task *task)
{
    struct cleave_error why = { .status = CLEAVE_ERESOURCES };

    if (!slot->unbegun && slot->process.start_error == 0)
        return false;
    if (!slot->unbegun)
        cv_command_fail_start(slot->command, slot->process.start_error, &why);
    if (!put_off(worker, task, &why))
        return false;
    if (slot->store != NULL)
        cv_chunk_output_drop(slot->store);
    slot->store = NULL;
    return true;
}

/* Remove the task, start the next one, and only then send its output. */
static void end_task(struct cv_worker *worker, struct cv_worker_slot *seat)
{
    struct cv_task *task = seat->tasks.first;

    cv_tasks_remove(&seat->tasks, task);
    if (task->open && !task->shut)
        seat->cut_short = task->chunk + 1;
    start_next(worker, seat);
    cv_worker_send_away(worker, task);
    start_waiting(worker);
}

static void hold_over(void *context)
{
    struct cv_worker_slot *seat = context;

    end_task(seat->slot.context, seat);
}

static bool was_ended_by(const struct cv_process *process, int signal)
{
    return process->signal == signal || process->exit_code == SIGNALLED + signal;
}

/* The command was ended by a signal that this worker did not send. */
static bool was_signalled(const struct cv_slot *slot, enum cv_slot_end end)
{
    return end == CV_SLOT_FAILED && slot->kills == 0 && slot->fault == NULL &&
           (was_ended_by(&slot->process, SIGKILL) ||
            was_ended_by(&slot->process, SIGTERM));
}

static void slot_ended(void *context, struct cv_slot *slot, enum cv_slot_end end)
{
    struct cv_worker *worker = context;
    struct cv_worker_slot *seat = &worker->seats[slot->worker];
    struct cv_task *task = seat->tasks.first;

    if (was_put_off(worker, slot, task))
        return;
    task->output = slot->store;
    slot->store = NULL;
    if (!task->open) /* the piece may have been cut; an open one may also have grown in vain */
        task->piece = slot->piece;
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
    task->end.retry_s = slot->later_s > 0
                            ? slot->later_s
                            : cv_error_lines_retry_after(&slot->error_lines);
    if (slot->later_s > 0)
        task->end.flags |= CV_END_LATER;
    snprintf(task->fault, sizeof task->fault, "%s",
             slot->fault != NULL ? slot->fault : "");
    if (was_signalled(slot, end) && !worker->noticed)
        cv_poller_set(worker->poller, &seat->hold, cv_clock_s() + HOLD_S, hold_over,
                      seat);
    else
        end_task(worker, seat);
}

/* The body could not be decoded or fetched: end the command and the task. */
static void end_spoiled(struct cv_worker *worker, struct cv_worker_slot *seat,
                        const struct cleave_error *err)
{
    struct cv_task *task = seat->tasks.first;

    task->end.compute_s = cv_clock_s() - seat->slot.start_s;
    if (seat->slot.busy)
        cv_slot_done(&seat->slot);
    task->running = false;
    cv_worker_packed_spoil(task, err);
    end_task(worker, seat);
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
    (void)cv_link_send_packed(&worker->link,
                              &(struct cv_frame_head){ .type = CV_FRAME_LEFT,
                                                       .peer = slot->worker },
                              &packer);
}

static void slot_silent(void *context, struct cv_slot *slot)
{
    struct cv_worker *worker = context;

    if (worker->options->lead == NULL) /* a leader answers when the piece is done */
        cv_worker_send(worker, CV_FRAME_SILENT, slot->worker, 0, 0);
}

static const struct cv_slot_events slot_events = {
    .ended = slot_ended,
    .broke = slot_broke,
    .left = slot_left,
    .silent = slot_silent,
    .began = slot_began,
    .drained = slot_drained,
    .moved = slot_moved,
    .wrote = cv_worker_wrote,
};

/* --- the start of a task ------------------------------------------------------------------ */

enum cleave_status cv_worker_seat_init(struct cv_worker *worker, uint32_t index,
                                       struct cleave_error *err)
{
    const uint32_t window = worker->job.window > 0 ? (uint32_t)worker->job.window : 1;
    const uint32_t place = index % window;
    struct cv_worker_slot *seat = &worker->seats[index];
    struct cv_slot *slot = &seat->slot;
    const bool leads = worker->options->lead != NULL;
    static const struct cleave_listener none;

    cv_tasks_init(&seat->tasks);
    cv_slot_init(slot);
    slot->poller = worker->poller;
    slot->outputs = worker->outputs;
    slot->command = &worker->commands[index];
    slot->ok = &worker->job.ok;
    slot->timeout_s = worker->job.timeout_s;
    if (worker->job.persistent || leads)
        CV_TRY(cv_persistent_init(slot,
                                  place > 0 ? &worker->seats[index - place].slot : NULL,
                                  window, err));
    else
        slot->base = slot->command;
    slot->persistent.in_parts = leads && (worker->job.lines || worker->job.early);
    slot->events = &slot_events;
    slot->context = worker;
    slot->worker = index;
    slot->sends = true;
    slot->listener =
        cv_start_limiter_has_spare_files(&worker->limiter, worker->nseats) ? &none : NULL;
    cv_worker_item_seat(worker, slot);
    return CLEAVE_OK;
}

static enum cleave_status start(struct cv_worker *worker, struct cv_worker_slot *seat,
                                struct cv_task *task, struct cleave_error *err)
{
    static const char *const nothing[] = { NULL };

    seat->slot.told = task->told != NULL ? task->told : nothing;
    if (cv_slot_starts(&seat->slot))
        CV_TRY(cv_start_limiter_room(&worker->limiter, err));
    if (task->item != NULL)
        CV_TRY(cv_worker_item_begin(worker, task, err));
    return task->open && !task->shut ? cv_slot_open(&seat->slot, &task->piece, err)
                                     : cv_slot_start(&seat->slot, &task->piece, err);
}

static void start_next(struct cv_worker *worker, struct cv_worker_slot *seat)
{
    if (worker->noticed)
        cv_worker_give_back(worker, seat);
    while (!seat->slot.busy && !seat->hold.is_set && seat->tasks.first != NULL &&
           seat->tasks.first->complete && !worker->ended) {
        struct cv_task *task = seat->tasks.first;
        struct cleave_error err = { .text = "" };
        enum cleave_status status;

        task->running = true;
        status = start(worker, seat, task, &err);
        if (status == CLEAVE_OK) {
            cv_start_limiter_begun(&worker->limiter);
            return;
        }
        if (status == CLEAVE_ERESOURCES && put_off(worker, task, &err))
            return;
        if (status == CLEAVE_EINPUT && task->packed != NULL) {
            end_spoiled(worker, seat, &err);
            return;
        }
        /* As if the command had failed: the master decides what to do. */
        cv_tasks_remove(&seat->tasks, task);
        task->running = false;
        task->end.flags = cv_worker_item_unseen(task) ? CV_END_UNSEEN : CV_END_FAILED;
        task->end.exit_code = 127;
        snprintf(task->fault, sizeof task->fault, "%s%.180s",
                 cv_worker_item_unseen(task) ? "" : "did not start: ", err.text);
        cv_worker_send_away(worker, task);
    }
}

static enum cleave_status complete(struct cv_worker *worker, struct cv_task *task,
                                   struct cleave_error *err)
{
    if (task->packed != NULL && !cv_worker_packed_complete(task))
        return cv_fail(err, CLEAVE_EINPUT, "a compressed piece is incomplete");
    task->complete = true;
    CV_TRY(place(worker, task, err));
    if (worker->job.items)
        CV_TRY(cv_worker_item_open(worker, task, err));
    start_next(worker, &worker->seats[task->seat]);
    return CLEAVE_OK;
}

static void send_got(struct cv_worker *worker, const struct cv_task *task, uint16_t flags)
{
    cv_link_send(&worker->link,
                 &(struct cv_frame_head){ .type = CV_FRAME_GOT,
                                          .flags = flags,
                                          .peer = task->seat,
                                          .chunk = task->chunk,
                                          .value = task->end.come },
                 NULL, 0);
}

static enum cleave_status take_variables(struct cv_worker *worker,
                                         const struct cv_frame_head *head,
                                         const unsigned char *payload,
                                         struct cleave_error *err)
{
    struct cv_unpacker unpacker = { payload, head->length, false };
    struct cv_worker_slot *seat = &worker->seats[head->peer];
    const char **told;

    cv_arena_done(&seat->arena);
    seat->told = told = cv_unpack_list(&unpacker, &seat->arena);
    for (size_t i = 0; !unpacker.failed && told[i] != NULL; i++)
        unpacker.failed = i == CV_TOLD || strncmp(told[i], "CLEAVE_", 7) != 0 ||
                          strchr(told[i], '=') == NULL;
    return cv_unpack_good(&unpacker)
               ? CLEAVE_OK
               : cv_fail(err, CLEAVE_EINPUT,
                         "expected variables for a command, got something else");
}

static enum cleave_status take_piece(struct cv_worker *worker,
                                     const struct cv_frame_head *head,
                                     const unsigned char *payload,
                                     struct cleave_error *err)
{
    struct cv_worker_slot *seat = &worker->seats[head->peer];
    struct cv_remote_piece request;
    struct cv_task *task;

    if (head->chunk == UINT64_MAX || head->value > 1 ||
        (worker->options->lead != NULL && head->value == 1) ||
        !cv_unpack_piece(payload, head->length, NULL, &request) ||
        (worker->job.items && (request.shared || request.mates || head->value == 1)) ||
        (request.shared && (worker->files == NULL || request.file >= worker->job.nfiles ||
                            (request.mates && request.mate_file >= worker->job.nfiles))))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a piece of the input, got something else");
    task = calloc(1, sizeof *task);
    if (task == NULL)
        return cv_fail_memory(err, "a piece");
    worker->next_chunk = head->chunk + 1;
    task->chunk = head->chunk;
    task->seat = head->peer;
    task->request = request;
    task->file = -1;
    task->arena = seat->arena;
    task->told = seat->told;
    cv_arena_init(&seat->arena);
    seat->told = NULL;
    cv_tasks_add(&seat->tasks, task);
    task->open = head->value == 1;
    CV_TRY((task->open ? open_file : open_stores)(worker, task, err));
    if (task->open) {
        start_next(worker, seat);
        return CLEAVE_OK;
    }
    if (!request.shared)
        return CLEAVE_OK;
    send_got(worker, task, CV_FRAME_LAST);
    return complete(worker, task, err);
}

/* The parts of a piece arrive in order, and no more bytes than were announced. */
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

/* Let the command of an open piece have the bytes that have arrived. */
static enum cleave_status feed(struct cv_worker *worker, struct cv_task *task, bool last,
                               struct cleave_error *err)
{
    const uint64_t header = task->bytes[CV_PART_HEADER];
    enum cleave_status status = CLEAVE_OK;

    if (task->packed != NULL) {
        status = cv_worker_packed_place(task, task->file, 0, err);
    } else if (task->bytes[CV_PART_BODY] > 0) {
        task->piece.header = (struct cv_range){ 0, header };
        task->piece.body =
            (struct cv_range){ header, header + task->bytes[CV_PART_BODY] };
    }
    CV_THEN(status, pass_on(worker, task, last, err));
    if (status != CLEAVE_EINPUT || task->packed == NULL)
        return status;
    end_spoiled(worker, &worker->seats[task->seat], err);
    return CLEAVE_OK;
}

static enum cleave_status take_data(struct cv_worker *worker, struct cv_task *task,
                                    const struct cv_frame_head *head,
                                    const unsigned char *payload,
                                    struct cleave_error *err)
{
    const bool last = (head->flags & CV_FRAME_LAST) != 0;

    if (!can_come(task, head->value, head->length))
        return cv_fail(err, CLEAVE_EINPUT, "got bytes that belong to no piece");
    if (task->open)
        CV_TRY(write_file(task, head->value, (const char *)payload, head->length, err));
    else
        CV_TRY(
            cv_chunk_output_write(head->value == CV_PART_MATE ? task->mates : task->spool,
                                  payload, head->length, err));
    task->bytes[head->value] += head->length;
    task->end.come += head->length;
    task->end.come_sum = cv_frame_sum(task->end.come_sum, head);
    send_got(worker, task, head->flags & CV_FRAME_LAST);
    if (task->open)
        return feed(worker, task, last, err);
    return last ? complete(worker, task, err) : CLEAVE_OK;
}

/* The shared piece may become `longer`. */
static bool continues(const struct cv_remote_piece *piece,
                      const struct cv_remote_piece *longer)
{
    if (piece->body.begin == piece->body.end)
        return longer->body.begin < longer->body.end;
    return longer->file == piece->file && longer->header.begin == piece->header.begin &&
           longer->header.end == piece->header.end &&
           longer->body.begin == piece->body.begin && longer->body.end >= piece->body.end;
}

static enum cleave_status take_more(struct cv_worker *worker, struct cv_task *task,
                                    const struct cv_frame_head *head,
                                    const unsigned char *payload,
                                    struct cleave_error *err)
{
    const bool last = (head->flags & CV_FRAME_LAST) != 0;
    struct cv_remote_piece longer;

    if (!task->request.shared || !cv_unpack_piece(payload, head->length, NULL, &longer) ||
        !longer.shared || longer.mates || longer.file >= worker->job.nfiles ||
        !continues(&task->request, &longer))
        return cv_fail(err, CLEAVE_EINPUT, "got more of a piece that does not continue");
    task->request = longer;
    if (last)
        send_got(worker, task, CV_FRAME_LAST);
    CV_TRY(place(worker, task, err));
    return pass_on(worker, task, last, err);
}

static void take_look(struct cv_worker *worker, const struct cv_task *task)
{
    struct cv_packer packer = { NULL, 0, 0, false };
    struct cv_slot_seen seen = { .read = 0 };

    if (task->running && !worker->seats[task->seat].hold.is_set)
        seen = cv_slot_look(&worker->seats[task->seat].slot);
    cv_pack_seen(&packer, &(struct cv_remote_seen){ .read = seen.read,
                                                    .output = seen.output,
                                                    .cpu_s = seen.cpu_s });
    (void)cv_link_send_packed(&worker->link,
                              &(struct cv_frame_head){ .type = CV_FRAME_SEEN,
                                                       .peer = task->seat,
                                                       .chunk = task->chunk },
                              &packer);
}

static void take_cut(struct cv_worker *worker, struct cv_task *task,
                     const struct cv_frame_head *head, const unsigned char *payload)
{
    struct cv_unpacker unpacker = { payload, head->length, false };
    const uint64_t mates = cv_unpack_number(&unpacker);
    const bool held =
        task != NULL && task->running && worker->seats[task->seat].hold.is_set;
    bool done = false;

    if (task != NULL && !held && cv_unpack_good(&unpacker) &&
        head->value < task->piece.body.end - task->piece.body.begin &&
        mates <= task->piece.mate.end - task->piece.mate.begin) {
        struct cv_piece shorter = task->piece;

        shorter.body.end = shorter.body.begin + head->value;
        shorter.mate.end = shorter.mate.begin + mates;
        shorter.closing =
            CV_CLOSING_NONE; /* the closing followed the bytes that are cut off */
        done = !task->running || cv_slot_cut(&worker->seats[task->seat].slot, &shorter);
        if (done)
            task->piece = shorter;
        if (done && task->packed != NULL) {
            cv_worker_packed_cut(task, head->value);
        } else if (done && task->open) {
            task->bytes[CV_PART_BODY] = head->value;
            task->request.body.end = task->request.body.begin + head->value;
            task->request.closing = CV_CLOSING_NONE;
        }
    }
    cv_worker_send(worker, CV_FRAME_CUT_DONE, head->peer, head->chunk, done);
}

static void take_stop(struct cv_worker *worker, struct cv_task *task)
{
    struct cv_worker_slot *seat = &worker->seats[task->seat];

    if (task->running) {
        if (!seat->hold.is_set)
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

void cv_worker_task_frame(struct cv_worker *worker, struct cv_task *task,
                          const struct cv_frame_head *head, const unsigned char *payload)
{
    enum cleave_status status = CLEAVE_OK;
    struct cleave_error err = { .status = CLEAVE_OK };

    if (head->type == CV_FRAME_PIECE) {
        status = take_piece(worker, head, payload, &err);
    } else if (head->type == CV_FRAME_TOLD) {
        status = take_variables(worker, head, payload, &err);
    } else if (head->type == CV_FRAME_LEAVE) {
        worker->seats[head->peer].leaving = true;
    } else if (head->type == CV_FRAME_CUT) {
        take_cut(worker, task, head, payload);
    } else if (task == NULL) {
        return; /* the task has ended */
    } else if (head->type == CV_FRAME_PACKED || head->type == CV_FRAME_DRAWN) {
        status = cv_worker_packed_learn(worker, task, head, payload, &err);
        if (status == CLEAVE_OK && task->open)
            status = feed(worker, task, false, &err);
    } else if (head->type == CV_FRAME_DATA) {
        status = take_data(worker, task, head, payload, &err);
    } else if (head->type == CV_FRAME_MORE) {
        status = take_more(worker, task, head, payload, &err);
    } else if (head->type == CV_FRAME_LOOK && task->open) {
        take_look(worker, task);
    } else if (head->type == CV_FRAME_SHOW) {
        cv_worker_show(worker, task);
    } else if (head->type == CV_FRAME_STOP) {
        take_stop(worker, task);
    }
    if (status != CLEAVE_OK)
        cv_worker_fail(worker, &err);
}
