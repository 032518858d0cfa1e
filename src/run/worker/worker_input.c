/* worker_input.c -- pieces whose command is started before all of them has come.
 * SPDX-License-Identifier: MIT
 *
 * What comes is kept in a file, header and body one behind the other, and given to the command
 * at once. The master hears how much the command has been fed, and sends no more than it may
 * want in a moment; what it has read of the file is given back. Of an input that is seen from
 * here, the master only says how far it may be read. */
#include "run/worker/worker_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/fail.h"
#include "run/common/writer_thread.h"
#include "run/decode/arriving_input.h"
#include "run/decode/decoder.h"
#include "run/fetch/fetched.h"
#include "run/slot/open_slot.h"
#include "run/wire/protocol.h"

/* --- pieces that come as they lie in a compressed file ----------------------------- */

/* They are kept as they come, and decoded by a thread of each command while that reads. */

/* --- what it is --------------------------------------------------------------------------- */

/* The first word of it. */
static enum cleave_status begin(const struct cv_worker *worker, struct cv_task *task,
                                const struct cv_remote_packed *told,
                                struct cleave_error *err)
{
    const struct cv_codec *codec = cv_codec_named(told->form);

    if (codec == NULL)
        return cv_fail(err, CLEAVE_EINPUT, "got a piece of a form that is not known");
    task->packed = calloc(1, sizeof *task->packed);
    if (task->packed == NULL)
        return cv_fail_memory(err, "a piece");
    cv_arena_init(&task->packed->arena);
    task->packed->body = told->body;
    task->packed->in = told->in;
    task->packed->file = told->file > 0 ? worker->files[told->file - 1] : -1;
    task->packed->header_length = told->header;
    return cv_arriving_input_new(codec, &task->packed->arriving, err);
}

/* Whether it goes on like that: what has been fed was of it, and what has come is. */
static bool fits(const struct cv_worker *worker, const struct cv_task *task,
                 const struct cv_remote_packed *told)
{
    const struct cv_task_packed *packed = task->packed;
    const bool placed =
        task->bytes[CV_PART_BODY] > 0 || (packed != NULL && packed->file >= 0);
    const uint64_t fed = task->open && task->running && placed ? task->piece.body.end : 0;

    if (worker->job.persistent || worker->job.items || task->request.shared ||
        task->request.mates || (task->open && task->shut))
        return false;
    if (packed != NULL && packed->arriving == NULL)
        return false;
    if (told->file > 0 && (worker->files == NULL || told->file > worker->job.nfiles ||
                           told->in.end > worker->job.files[told->file - 1].size))
        return false;
    if (packed == NULL)
        return task->bytes[CV_PART_BODY] == 0 && told->nblocks > 0 &&
               told->blocks[0].in == told->in.begin &&
               told->blocks[0].out <= told->body.begin;
    return told->in.begin == packed->in.begin && told->body.begin == packed->body.begin &&
           (told->file > 0 ? worker->files[told->file - 1] : -1) == packed->file &&
           told->header == packed->header_length &&
           told->in.end - told->in.begin >= task->bytes[CV_PART_BODY] &&
           told->body.end >= fed;
}

static enum cleave_status learn(struct cv_worker *worker, struct cv_task *task,
                                const struct cv_remote_packed *told,
                                struct cleave_error *err)
{
    bool good = fits(worker, task, told);

    if (good && task->packed == NULL)
        CV_TRY(begin(worker, task, told, err));
    if (good)
        CV_TRY(cv_arriving_input_add(task->packed->arriving, told->blocks, told->nblocks,
                                     told->out_end, &good, err));
    if (!good)
        return cv_fail(err, CLEAVE_EINPUT,
                       "got a compressed piece that does not go on like that");
    task->packed->body = told->body;
    task->packed->in = told->in;
    task->packed->closing = told->closing;
    return CLEAVE_OK;
}

enum cleave_status cv_worker_packed_learn(struct cv_worker *worker, struct cv_task *task,
                                          const void *payload, size_t length,
                                          struct cleave_error *err)
{
    struct cv_remote_packed told;
    enum cleave_status status;
    struct cv_arena arena;

    cv_arena_init(&arena);
    status = cv_unpack_packed(payload, length, &arena, &told)
                 ? learn(worker, task, &told, err)
                 : cv_fail(err, CLEAVE_EINPUT,
                           "expected a compressed piece, got something else");
    cv_arena_done(&arena);
    return status;
}

/* Whether it is fetched, or may be. */
static bool may_draw(const struct cv_worker *worker, const struct cv_task *task,
                     const struct cv_remote_drawn *told)
{
    const struct cv_task_packed *packed = task->packed;

    if (worker->job.persistent || worker->job.items || task->request.shared ||
        task->request.mates || task->open || task->bytes[CV_PART_BODY] > 0 ||
        told->body.begin == told->body.end)
        return false;
    return packed == NULL ||
           (packed->fetched != NULL && told->body.begin == packed->body.begin);
}

enum cleave_status cv_worker_drawn_learn(struct cv_worker *worker, struct cv_task *task,
                                         const void *payload, size_t length,
                                         struct cleave_error *err)
{
    struct cv_remote_drawn told;
    struct cv_arena arena;

    cv_arena_init(&arena);
    if (!cv_unpack_drawn(payload, length, &arena, &told) ||
        !may_draw(worker, task, &told) || cv_fetch_check(told.line, NULL) != CLEAVE_OK) {
        cv_arena_done(&arena);
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a piece to be fetched, got something else");
    }
    if (task->packed == NULL) {
        task->packed = calloc(1, sizeof *task->packed);
        if (task->packed != NULL)
            task->packed->file = -1;
        if (task->packed == NULL) {
            cv_arena_done(&arena);
            return cv_fail_memory(err, "a piece");
        }
        task->packed->arena = arena;
        CV_TRY(
            cv_fetched_new(told.line, told.name, told.size, &task->packed->fetched, err));
    } else {
        cv_arena_done(&arena);
    }
    task->packed->body = told.body;
    task->packed->closing = told.closing;
    return CLEAVE_OK;
}

bool cv_worker_packed_may_come(const struct cv_task *task, uint64_t length)
{
    const struct cv_range in = task->packed->in;

    if (task->packed->file >= 0)
        return length == 0;
    return length <= in.end - in.begin - task->bytes[CV_PART_BODY];
}

bool cv_worker_packed_complete(const struct cv_task *task)
{
    const struct cv_range in = task->packed->in;

    if (task->packed->file >= 0)
        return task->bytes[CV_PART_HEADER] == task->packed->header_length;
    return task->bytes[CV_PART_BODY] == in.end - in.begin;
}

/* --- where it is -------------------------------------------------------------------------- */

/* The header is no part of what is decoded. */
static enum cleave_status read_header(struct cv_task *task, int fd, uint64_t at,
                                      struct cleave_error *err)
{
    const size_t length = (size_t)task->bytes[CV_PART_HEADER];
    size_t done = 0;

    if (task->packed->header != NULL || length == 0)
        return CLEAVE_OK;
    task->packed->header = malloc(length);
    if (task->packed->header == NULL)
        return cv_fail_memory(err, "a header");
    while (done < length) {
        const ssize_t got =
            pread(fd, task->packed->header + done, length - done, (off_t)(at + done));

        if (got <= 0)
            return cv_fail(err, CLEAVE_EENGINE, "cannot read a piece that was kept");
        done += (size_t)got;
    }
    return CLEAVE_OK;
}

/* How far it can be decoded. */
static uint64_t there(const struct cv_task *task)
{
    const struct cv_task_packed *packed = task->packed;
    uint64_t whole;

    if (cv_worker_packed_complete(task))
        return packed->body.end;
    if (packed->file >= 0)
        return packed->body.begin;
    whole = cv_arriving_input_whole(packed->arriving,
                                    packed->in.begin + task->bytes[CV_PART_BODY]);
    return whole < packed->body.begin ? packed->body.begin
           : whole < packed->body.end ? whole
                                      : packed->body.end;
}

enum cleave_status cv_worker_packed_place(struct cv_task *task, int fd, uint64_t at,
                                          struct cleave_error *err)
{
    struct cv_task_packed *packed = task->packed;
    const uint64_t header = task->bytes[CV_PART_HEADER], end = there(task);

    if (end == packed->body.begin)
        return CLEAVE_OK;
    CV_TRY(read_header(task, fd, at, err));
    if (packed->arriving != NULL && packed->file >= 0)
        cv_arriving_input_place(packed->arriving, packed->file, packed->in.begin,
                                packed->in.begin);
    else if (packed->arriving != NULL)
        cv_arriving_input_place(packed->arriving, fd, packed->in.begin, at + header);
    task->piece.fd = packed->file >= 0 ? packed->file : fd;
    task->piece.well = packed->arriving != NULL ? cv_arriving_input_well(packed->arriving)
                                                : cv_fetched_well(packed->fetched);
    task->piece.header_bytes = packed->header;
    task->piece.header = (struct cv_range){ 0, header };
    task->piece.body = (struct cv_range){ packed->body.begin, end };
    task->piece.closing = end == packed->body.end ? packed->closing : CV_CLOSING_NONE;
    return CLEAVE_OK;
}

void cv_worker_packed_cut(struct cv_task *task, uint64_t body)
{
    task->packed->body.end = task->packed->body.begin + body;
    task->packed->closing = CV_CLOSING_NONE;
}

/* From where on what has come is needed, when so many bytes have been fed. */
static uint64_t worker_packed_needs(const struct cv_task *task, uint64_t fed)
{
    const uint64_t header = task->bytes[CV_PART_HEADER];
    uint64_t in;

    if (fed <= header || task->packed->file >= 0) /* it takes no space here */
        return 0;
    in = cv_arriving_input_needs(task->packed->arriving,
                                 task->packed->body.begin + (fed - header));
    return header + (in - task->packed->in.begin);
}

/* --- what cannot be decoded --------------------------------------------------------------- */

void cv_worker_packed_spoil(struct cv_task *task, const struct cleave_error *err)
{
    const bool drawn = task->packed->fetched != NULL;

    task->end.flags = drawn ? CV_END_FAILED : CV_END_SPOILED;
    task->end.exit_code = -1;
    snprintf(task->fault, sizeof task->fault, "%s%.160s", drawn ? "lacks input: " : "",
             err->text);
}

struct cv_worker_slot *cv_worker_packed_spoiled(struct cv_worker *worker)
{
    for (uint32_t i = 0; i < worker->nseats; i++) {
        struct cv_worker_slot *seat = &worker->seats[i];
        const struct cv_task *task = seat->tasks.first;
        const struct cv_writer_thread *threaded = seat->slot.in.writer.threaded;

        if (task != NULL && task->running && task->packed != NULL && seat->slot.busy &&
            threaded != NULL && !threaded->running &&
            (threaded->status == CLEAVE_EINPUT ||
             (threaded->status != CLEAVE_OK && task->packed->fetched != NULL)))
            return seat;
    }
    return NULL;
}

/* --- pieces whose command is started before all of them has come ------------------- */

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
    const uint64_t used = task->packed != NULL ? worker_packed_needs(task, read) : read;
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
