/* chunk_failure.c -- what happens when a command fails. SPDX-License-Identifier: MIT */
#include "run/master/chunk_failure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/master/real_chunks.h"

static bool last_attempt(const struct cv_real_run *run, const struct cv_errand *errand)
{
    return errand->attempt > run->asked->failing.retries;
}

void cv_local_report(struct cv_real_run *run, const struct cv_errand *errand,
                     enum cv_slot_end end)
{
    const struct cleave_execution *execution = run->asked;
    const struct cv_slot *slot = &errand->slot;
    const double seconds = cv_clock_s() - slot->start_s;
    struct timespec now;

    if (execution->tell.attempted == NULL)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    execution->tell.attempted(
        execution->tell.context,
        &(struct cleave_attempt){
            .worker = run->staff.names[slot->worker],
            .chunk = errand->chunk,
            .attempt = errand->attempt,
            .start_s = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - seconds,
            .seconds = seconds,
            .sent = cv_slot_sent(slot),
            .received = slot->store != NULL ? cv_store_size(slot->store) : 0,
            .exit_code = slot->process.exit_code,
            .signal = slot->process.signal,
            .input = slot->piece.name,
            .begin = slot->piece.body.begin,
            .end = slot->piece.body.end,
            .timed_out = end == CV_SLOT_TIMED_OUT,
            .given_up = end != CV_SLOT_DONE && last_attempt(run, errand),
        });
}

static enum cleave_status keep_part(const struct cv_part *part, int to,
                                    struct cleave_error *err)
{
    uint64_t at = part->begin;

    while (at < part->end) {
        off_t offset = (off_t)at;
        const ssize_t moved =
            part->bytes != NULL
                ? write(to, (const char *)part->bytes + (at - part->begin),
                        part->end - at)
                : sendfile(to, part->fd, &offset, part->end - at);

        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0)
            return cv_fail(err, CLEAVE_EENGINE,
                           "cannot keep the input of a failed chunk: %s",
                           strerror(moved < 0 ? errno : EIO));
        at += (uint64_t)moved;
    }
    return CLEAVE_OK;
}

static enum cleave_status keep_parts(const char *path, const struct cv_part *parts,
                                     size_t count, struct cleave_error *err)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    enum cleave_status status = CLEAVE_OK;

    if (fd < 0)
        return cv_fail(err, CLEAVE_EINPUT, "%s: cannot write: %s", path, strerror(errno));
    for (size_t i = 0; i < count && status == CLEAVE_OK; i++)
        status = keep_part(&parts[i], fd, err);
    close(fd);
    return status;
}

/* DIR/NAME.BEGIN-END: what the command was given; its mates are beside it. */
static enum cleave_status keep_input(const struct cv_real_run *run,
                                     const struct cv_piece *piece,
                                     struct cleave_error *err)
{
    const char *directory = run->asked->failing.directory;
    const char *name = strrchr(piece->name, '/');
    const struct cv_part given[] = { cv_piece_header(piece), cv_piece_body(piece) };
    const struct cv_part mate = cv_piece_mate(piece);
    char path[4096];

    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return cv_fail(err, CLEAVE_EINPUT, "%s: cannot make the folder: %s", directory,
                       strerror(errno));
    name = name != NULL ? name + 1 : piece->name;
    snprintf(path, sizeof path, "%s/%s.%llu-%llu", directory,
             strcmp(name, "standard input") == 0 ? "stdin" : name,
             (unsigned long long)piece->body.begin, (unsigned long long)piece->body.end);
    CV_TRY(keep_parts(path, given, 2, err));
    if (piece->mate_fd < 0)
        return CLEAVE_OK;
    strncat(path, ".mates", sizeof path - strlen(path) - 1);
    return keep_parts(path, &mate, 1, err);
}

void cv_local_silent(void *context, struct cv_slot *slot)
{
    const struct cv_real_run *run = context;
    const struct cleave_execution *execution = run->asked;
    char text[600];

    if (execution->tell.note == NULL)
        return;
    snprintf(text, sizeof text,
             "%s: no answer to the first chunk yet: is '%s' made to be persistent?",
             run->staff.names[slot->worker], execution->command[0]);
    execution->tell.note(execution->tell.context, text);
}

void cv_local_left(void *context, struct cv_slot *slot)
{
    struct cv_real_run *run = context;
    const struct cleave_execution *execution = run->asked;
    char text[600], how[64];

    if (slot->stopping || slot->process.exit_code == 0)
        return;
    run->books.bad_ends++;
    if (execution->tell.note == NULL)
        return;
    cv_slot_describe_end(slot, how, sizeof how);
    snprintf(text, sizeof text, "%s: the command %s after its last chunk",
             run->staff.names[slot->worker], how);
    execution->tell.note(execution->tell.context, text);
}

static void note_failure(struct cv_real_run *run, const struct cv_errand *errand)
{
    const struct cleave_execution *execution = run->asked;
    const struct cv_piece *piece = &errand->slot.piece;
    uint64_t first = 0, count = 0;
    struct cleave_error ignored;
    char text[600], records[80] = "", how[64];

    if (execution->tell.note == NULL)
        return;
    if (cv_source_records(run->books.source, piece, &first, &count, &ignored) ==
            CLEAVE_OK &&
        count > 0 && first > 0)
        snprintf(records, sizeof records, " (records %llu to %llu)",
                 (unsigned long long)first, (unsigned long long)(first + count - 1));
    cv_slot_describe_end(&errand->slot, how, sizeof how);
    snprintf(text, sizeof text, "%s: bytes %llu to %llu%s: the command %s%s", piece->name,
             (unsigned long long)piece->body.begin, (unsigned long long)piece->body.end,
             records, how, errand->attempt > 1 ? ", also when tried again" : "");
    execution->tell.note(execution->tell.context, text);
}

static void halt_if_asked(struct cv_real_run *run)
{
    const struct cleave_execution *execution = run->asked;
    const double over = (double)run->books.chunks + 1;
    const bool many = (execution->failing.halt_fails > 0 &&
                       run->books.failed >= execution->failing.halt_fails) ||
                      (execution->failing.halt_share > 0 && over >= 3 &&
                       (double)run->books.failed >= execution->failing.halt_share * over);

    if (execution->failing.halt == CLEAVE_HALT_NEVER || !many)
        return;
    run->halted = true;
    if (execution->failing.halt == CLEAVE_HALT_NOW)
        cv_desks_stop(&run->desks);
}

static void drop_output(struct cv_errand *errand)
{
    if (errand->slot.store != NULL)
        cv_store_drop(errand->slot.store);
    errand->slot.store = NULL;
}

enum cleave_status cv_local_failure(struct cv_real_run *run, struct cv_errand *errand,
                                    enum cv_slot_end end, struct cleave_error *err)
{
    const struct cv_piece piece = errand->slot.piece;

    drop_output(errand);
    if (end == CV_SLOT_STOPPED) {
        run->books.running--;
        return cv_source_put_back(run->books.source, &piece, err);
    }
    if (!last_attempt(run, errand) && !run->halted && run->stopped_by == 0) {
        errand->attempt++;
        run->books.retries++;
        return cv_slot_start(&errand->slot, &piece, err);
    }
    run->books.failed++;
    note_failure(run, errand);
    if (run->asked->failing.directory != NULL)
        CV_TRY(keep_input(run, &piece, err));
    halt_if_asked(run);
    CV_TRY(cv_outlet_skip(run->outlet, piece.begin, piece.end, err));
    CV_TRY(cv_source_finish(run->books.source, &piece, err));
    cv_local_chunk_over(run, errand);
    return CLEAVE_OK;
}
