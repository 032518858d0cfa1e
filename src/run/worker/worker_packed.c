/* worker_packed.c -- pieces whose body is decoded or fetched by the worker.
 * SPDX-License-Identifier: MIT
 *
 * Compressed bytes are kept as they arrive; a thread of each command decodes them while the
 * command reads. */
#include <stdio.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/common/pipe_writer.h"
#include "run/decode/decoded_file.h"
#include "run/decode/decoder.h"
#include "run/fetch/fetch.h"
#include "run/worker/worker_internal.h"

static enum cleave_status add_packed(struct cv_task *task, struct cleave_error *err)
{
    task->packed = cv_array(&task->arena, 1, sizeof *task->packed);
    if (task->packed == NULL)
        return cv_fail_memory(err, "a piece");
    task->packed->file = -1;
    return CLEAVE_OK;
}

/* The descriptor of the file to be read; -1: the bytes are sent. */
static int file_of(const struct cv_worker *worker, const struct cv_remote_packed *told)
{
    return told->file > 0 ? worker->files[told->file - 1] : -1;
}

static enum cleave_status begin(const struct cv_worker *worker, struct cv_task *task,
                                const struct cv_remote_packed *told,
                                struct cleave_error *err)
{
    const struct cv_codec *codec = cv_codec_named(told->form);

    if (codec == NULL)
        return cv_fail(err, CLEAVE_EINPUT, "got a piece of a form that is not known");
    CV_TRY(add_packed(task, err));
    task->packed->file = file_of(worker, told);
    task->packed->header_length = told->header;
    return cv_arriving_input_new(codec, &task->packed->arriving, err);
}

/* The frame agrees with bytes that were announced, fed and received before. */
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
           file_of(worker, told) == packed->file &&
           told->header == packed->header_length &&
           told->in.end - told->in.begin >= task->bytes[CV_PART_BODY] &&
           told->body.end >= fed;
}

static enum cleave_status learn_packed(struct cv_worker *worker, struct cv_task *task,
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
                       "got a compressed piece that does not continue");
    task->packed->body = told->body;
    task->packed->in = told->in;
    task->packed->closing = told->closing;
    return CLEAVE_OK;
}

/* The body is fetched, or nothing else was announced. */
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

static enum cleave_status learn_drawn(const struct cv_worker *worker,
                                      struct cv_task *task,
                                      const struct cv_remote_drawn *told,
                                      struct cleave_error *err)
{
    if (!may_draw(worker, task, told) || cv_fetch_check(told->line, NULL) != CLEAVE_OK)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a piece to be fetched, got something else");
    if (task->packed == NULL) {
        const char *line, *name;

        CV_TRY(add_packed(task, err));
        line = cv_arena_text(&task->arena, told->line);
        name = cv_arena_text(&task->arena, told->name);
        if (line == NULL || name == NULL)
            return cv_fail_memory(err, "a piece");
        CV_TRY(cv_fetched_new(line, name, told->size, &task->packed->fetched, err));
    }
    task->packed->body = told->body;
    task->packed->closing = told->closing;
    return CLEAVE_OK;
}

enum cleave_status cv_worker_packed_learn(struct cv_worker *worker, struct cv_task *task,
                                          const struct cv_frame_head *head,
                                          const void *payload, struct cleave_error *err)
{
    struct cv_remote_packed packed;
    struct cv_remote_drawn drawn;
    enum cleave_status status;
    struct cv_arena arena;

    cv_arena_init(&arena);
    if (head->type == CV_FRAME_PACKED &&
        cv_unpack_packed(payload, head->length, &arena, &packed))
        status = learn_packed(worker, task, &packed, err);
    else if (head->type == CV_FRAME_DRAWN &&
             cv_unpack_drawn(payload, head->length, &arena, &drawn))
        status = learn_drawn(worker, task, &drawn, err);
    else
        status = cv_fail(err, CLEAVE_EINPUT, "expected %s, got something else",
                         head->type == CV_FRAME_DRAWN ? "a piece to be fetched"
                                                      : "a compressed piece");
    cv_arena_done(&arena);
    return status;
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

/* The header is not compressed. */
static enum cleave_status read_header(struct cv_task *task, int fd, uint64_t at,
                                      struct cleave_error *err)
{
    const size_t length = (size_t)task->bytes[CV_PART_HEADER];
    const struct cv_part part = { .fd = fd, .end = at + length };

    if (task->packed->header != NULL || length == 0)
        return CLEAVE_OK;
    task->packed->header = cv_array(&task->arena, length, 1);
    if (task->packed->header == NULL)
        return cv_fail_memory(err, "a header");
    if (cv_part_read(&part, at, task->packed->header, length) != (ssize_t)length)
        return cv_fail(err, CLEAVE_EENGINE, "cannot read a piece that was kept");
    return CLEAVE_OK;
}

/* The end of the bytes that can be decoded by now. */
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
    task->piece.fd = packed->file >= 0 ? packed->file : fd;
    if (packed->arriving != NULL) {
        packed->arriving->fd = task->piece.fd;
        packed->arriving->in = packed->in.begin;
        packed->arriving->at = packed->file >= 0 ? packed->in.begin : at + header;
    }
    task->piece.lazy =
        packed->arriving != NULL ? &packed->arriving->reader : &packed->fetched->reader;
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

uint64_t cv_worker_packed_needs(const struct cv_task *task, uint64_t fed)
{
    const uint64_t header = task->bytes[CV_PART_HEADER];
    uint64_t in;

    if (fed <= header || task->packed->file >= 0) /* the file is not kept here */
        return 0;
    in = cv_arriving_input_needs(task->packed->arriving,
                                 task->packed->body.begin + (fed - header));
    return header + (in - task->packed->in.begin);
}

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
