/* worker_output.c -- outputs of pieces, on their way to the master. SPDX-License-Identifier: MIT
 *
 * While a command runs, complete lines of its output are sent if the job asks for lines. Else the
 * master asks for the one output that it would write next (SHOW): all bytes of it are sent once
 * the command has run for CV_EARLY_MOMENT_S. The rest is sent when the command has ended, or kept
 * for a fold. Bytes that the link cannot take wait in their store. With job.store they go to a file
 * instead, a frame at a time, so that the worker does other work in between. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/file_target.h"
#include "base/random.h"
#include "base/write_all.h"
#include "run/worker/worker_internal.h"

/* Bytes of output in a frame. On a slow link other frames get their turn, and only a complete
 * frame is a sign of life. */
enum { FRAME_SLOW = 32 * 1024, FRAME_FIRST = 64 * 1024, FRAME_FAST = 256 * 1024 };
static const double SLOW_BPS = 10e6;

/* Bytes that are hashed between two frames to the master, or written between two waits for the
 * disk. */
enum { STRETCH = 64 << 20 };
enum { NEW_FILE = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC };

static size_t frame_size(const struct cv_link *link)
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
    if (!worker->job.early || worker->keeps)
        return; /* not announced in the job, or outputs are kept */
    task->shown = worker->shows = true;
    cv_link_wake(&worker->link);
}

static void ripened(void *context)
{
    struct cv_worker *worker = context;

    cv_link_wake(&worker->link);
}

/* The command has run for a moment; if not, a timer wakes the link. */
static bool is_ripe(struct cv_worker *worker, const struct cv_worker_slot *seat)
{
    const double due_s = seat->slot.start_s + CV_EARLY_MOMENT_S;

    if (cv_clock_s() >= due_s)
        return true;
    if (!worker->ripens.is_set)
        cv_poller_set(worker->poller, &worker->ripens, due_s, ripened, worker);
    return false;
}

/* An open piece without input may be started elsewhere: its output must not be seen. */
static bool may_speak(const struct cv_worker_slot *seat)
{
    const struct cv_task *task = seat->tasks.first;

    return seat->slot.busy && seat->slot.store != NULL && task != NULL && task->running &&
           (!task->open || task->piece.body.end > task->piece.body.begin);
}

static void send_output(struct cv_worker *worker, struct cv_task *task,
                        enum cv_frame_type type, uint64_t value, const void *bytes,
                        size_t length)
{
    struct cv_frame_head head = { .type = (uint8_t)type,
                                  .length = (uint32_t)length,
                                  .peer = task->seat,
                                  .chunk = task->chunk,
                                  .value = value };

    head.checksum = cv_frame_checksum(&head, bytes);
    task->end.output_sum = cv_frame_sum(task->end.output_sum, &head);
    cv_link_send_summed(&worker->link, &head, bytes);
}

/* Read output of the seat that may be sent now into worker->bytes. */
static enum cleave_status read_some(struct cv_worker *worker,
                                    const struct cv_worker_slot *seat, size_t *out_length,
                                    struct cleave_error *err)
{
    *out_length = 0;
    return may_speak(seat) && (worker->job.lines ||
                               (seat->tasks.first->shown && is_ripe(worker, seat)))
               ? cv_chunk_output_read_some(seat->slot.store, worker->bytes,
                                           frame_size(&worker->link), out_length, err)
               : CLEAVE_OK;
}

static bool send_lines(struct cv_worker *worker)
{
    for (uint32_t i = 0; (worker->job.lines || worker->shows) && i < worker->nseats;
         i++) {
        const uint32_t at = (worker->turn + i) % worker->nseats;
        const struct cv_worker_slot *seat = &worker->seats[at];
        struct cv_task *task = seat->tasks.first;
        struct cleave_error err;
        size_t length;

        if (read_some(worker, seat, &length, &err) != CLEAVE_OK) {
            cv_worker_fail(worker, &err);
            return false;
        }
        if (length == 0)
            continue;
        send_output(worker, task, CV_FRAME_LINES, task->lined, worker->bytes, length);
        task->lined += length;
        worker->turn = at + 1;
        return true;
    }
    return false;
}

static enum cleave_status hash_range(struct cv_worker *worker, struct cv_part part,
                                     struct cleave_error *err)
{
    const uint64_t end = part.end;

    while (part.begin < end) {
        part.end = end - part.begin < STRETCH ? end : part.begin + STRETCH;
        CV_TRY(cv_content_hasher_add_part(worker->hasher, &part, err));
        if (part.bytes != NULL)
            part.bytes = (const char *)part.bytes + (part.end - part.begin);
        part.begin = part.end;
        if (part.begin < end)
            cv_worker_send(worker, CV_FRAME_PING, 0, 0, 0);
    }
    return CLEAVE_OK;
}

/* The hash of the bytes for the command, unless the master has sent these bytes. */
static enum cleave_status hash_input(struct cv_worker *worker, struct cv_task *task,
                                     struct cleave_error *err)
{
    const struct cv_piece *piece = &task->piece;
    const struct cv_part parts[] = { cv_piece_header(piece), cv_piece_body(piece),
                                     cv_piece_closing(piece), cv_piece_mate(piece) };

    if (!worker->job.hashes || (!task->request.shared && task->packed == NULL) ||
        (task->end.flags & CV_END_SPOILED) != 0)
        return CLEAVE_OK;
    if (worker->hasher == NULL)
        CV_TRY(cv_content_hasher_new(&worker->hasher, err));
    cv_content_hasher_reset(worker->hasher);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        CV_TRY(hash_range(worker, parts[i], err));
    task->end.hash = cv_content_hasher_finish(worker->hasher);
    return CLEAVE_OK;
}

void cv_worker_send_away(struct cv_worker *worker, struct cv_task *task)
{
    struct cleave_error err;

    if (hash_input(worker, task, &err) != CLEAVE_OK ||
        cv_worker_item_end(worker, task, &err) != CLEAVE_OK) {
        cv_worker_fail(worker, &err);
        cv_task_free(task);
        return;
    }
    cv_chunk_output_drop(task->spool);
    cv_chunk_output_drop(task->mates);
    task->spool = task->mates = NULL;
    cv_close(&task->file);
    /* Output of a failed piece is dropped, except of items or if a part was sent. */
    if (task->output != NULL &&
        (task->item == NULL && !worker->job.lines && task->lined == 0
             ? task->end.flags
             : task->end.flags & CV_END_STOPPED) != 0) {
        cv_chunk_output_drop(task->output);
        task->output = NULL;
    }
    task->end.given = task->item != NULL ? task->end.come : cv_slot_whole(&task->piece);
    task->end.output = task->lined +
                       (task->output != NULL ? cv_chunk_output_size(task->output) : 0) +
                       (task->back != NULL ? cv_chunk_output_size(task->back) : 0);
    if (task->output != NULL && worker->options->keep != NULL &&
        worker->options->keep(worker->options->context, worker, task->chunk,
                              task->output))
        task->output = NULL;
    cv_worker_send(worker, CV_FRAME_COMPUTED, task->seat, task->chunk,
                   (uint64_t)(1e6 * task->end.compute_s));
    if (task->output != NULL)
        cv_chunk_output_close(task->output);
    if (task->back != NULL)
        cv_chunk_output_close(task->back);
    cv_tasks_add(&worker->outgoing, task);
    cv_link_wake(&worker->link);
}

void cv_worker_send_end(struct cv_worker *worker, const struct cv_task *task)
{
    const struct cv_frame_head head = { .type = CV_FRAME_END,
                                        .peer = task->seat,
                                        .chunk = task->chunk };
    struct cv_remote_end end = task->end;
    struct cv_packer packer = { NULL, 0, 0, false };
    struct cleave_error err;

    end.fault = task->fault;
    cv_pack_end(&packer, &end);
    if (!cv_link_send_packed(&worker->link, &head, &packer)) {
        cv_fail_memory(&err, "a frame");
        cv_worker_fail(worker, &err);
    }
}

/* --- outputs in files ---------------------------------------------------------------- */

enum cleave_status cv_worker_store_check(const struct cv_worker *worker,
                                         struct cleave_error *err)
{
    const char *store = worker->job.store;
    char *path = cv_stored_output_name(store, cv_random_key());
    int fd = -1;

    if (path != NULL && access(store, F_OK) == 0)
        fd = open(path, NEW_FILE, 0666);
    if (fd < 0)
        cv_fail(err, CLEAVE_EINPUT,
                "cannot write outputs to '%.*s': %s; without output.shared they are sent",
                (int)cv_folder_length(store), store, strerror(errno));
    else if (close(fd) == 0)
        (void)unlink(path);
    free(path);
    return fd >= 0 ? CLEAVE_OK : CLEAVE_EINPUT;
}

void cv_worker_store_done(struct cv_worker *worker)
{
    struct cv_stored_output *stored = &worker->stored;

    cv_content_hasher_free(stored->hasher);
    if (stored->path == NULL)
        return;
    cv_close(&stored->fd);
    (void)unlink(stored->path);
    free(stored->path);
}

static enum cleave_status fail_store(const struct cv_worker *worker,
                                     struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EENGINE, "cannot write the output '%.160s': %s",
                   worker->stored.path, strerror(errno));
}

static enum cleave_status store_begin(struct cv_worker *worker, struct cv_task *task,
                                      struct cleave_error *err)
{
    struct cv_stored_output *stored = &worker->stored;

    if (stored->hasher == NULL)
        CV_TRY(cv_content_hasher_new(&stored->hasher, err));
    cv_content_hasher_reset(stored->hasher);
    task->end.file = cv_random_key();
    stored->path = cv_stored_output_name(worker->job.store, task->end.file);
    if (stored->path == NULL)
        return cv_fail_memory(err, "the name of an output");
    stored->unsynced = 0;
    stored->fd = open(stored->path, NEW_FILE, 0666);
    return stored->fd >= 0 ? CLEAVE_OK : fail_store(worker, err);
}

/* The output is on the disk before the master knows of it: this machine may be lost next, with the
 * pages that it has not written. */
static enum cleave_status store_end(struct cv_worker *worker, struct cv_task *task,
                                    struct cleave_error *err)
{
    struct cv_stored_output *stored = &worker->stored;
    const int fd = stored->fd;

    if (fsync(fd) != 0 && errno != EINVAL)
        return fail_store(worker, err);
    stored->fd = -1;
    if (close(fd) != 0)
        return fail_store(worker, err);
    task->end.output_hash = cv_content_hasher_finish(stored->hasher);
    free(stored->path);
    stored->path = NULL;
    return CLEAVE_OK;
}

/* Write the next bytes of the output of the task; none: that was all. The master itself makes the
 * file of an empty output. */
static enum cleave_status store(struct cv_worker *worker, struct cv_task *task,
                                const void *bytes, size_t length,
                                struct cleave_error *err)
{
    struct cv_stored_output *stored = &worker->stored;

    if (length == 0)
        return stored->path != NULL ? store_end(worker, task, err) : CLEAVE_OK;
    if (stored->path == NULL)
        CV_TRY(store_begin(worker, task, err));
    errno = cv_write_all(stored->fd, bytes, length);
    if (errno != 0)
        return fail_store(worker, err);
    cv_content_hasher_add_bytes(stored->hasher, bytes, length);
    stored->unsynced += length;
    if (stored->unsynced < STRETCH)
        return CLEAVE_OK;
    stored->unsynced = 0;
    return fdatasync(stored->fd) == 0 || errno == EINVAL ? CLEAVE_OK
                                                         : fail_store(worker, err);
}

bool cv_worker_more(void *context)
{
    struct cv_worker *worker = context;
    struct cv_task *task = worker->outgoing.first;
    const size_t max = frame_size(&worker->link);
    const void *bytes = NULL;
    size_t length = 0;
    struct cleave_error err;

    /* Lines and outputs take turns. */
    worker->lines_next = !worker->lines_next;
    if ((task == NULL || worker->lines_next) && send_lines(worker))
        return true;
    if (task == NULL)
        return worker->options->more != NULL &&
               worker->options->more(worker->options->context, worker);
    if (task->output != NULL &&
        cv_chunk_output_read(task->output, worker->bytes, max, &bytes, &length, &err) !=
            CLEAVE_OK) {
        cv_worker_fail(worker, &err);
        return false;
    }
    if (length == 0 && task->back != NULL) {
        cv_chunk_output_drop(task->output); /* all of it was sent */
        task->output = task->back;
        task->back = NULL;
        task->behind = true;
        return cv_worker_more(worker);
    }
    if (worker->job.store[0] != '\0') {
        if (store(worker, task, bytes, length, &err) != CLEAVE_OK) {
            cv_worker_fail(worker, &err);
            return false;
        }
        if (length > 0)
            return true;
    }
    if (length == 0) {
        cv_tasks_remove(&worker->outgoing, task);
        cv_worker_send_end(worker, task);
        cv_task_free(task);
        return true;
    }
    send_output(worker, task, CV_FRAME_OUTPUT, task->behind, bytes, length);
    return true;
}
