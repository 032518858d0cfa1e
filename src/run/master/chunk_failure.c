/* chunk_failure.c -- what happens when a command fails. SPDX-License-Identifier: MIT */
#include "run/master/chunk_failure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/master/attempt_report.h"

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
    if (close(fd) != 0 && status == CLEAVE_OK)
        return cv_fail(err, CLEAVE_EINPUT, "%s: cannot write: %s", path, strerror(errno));
    return status;
}

/* DIR/NAME.BEGIN-END: what the command was given; its mates are beside it. */
static enum cleave_status keep_input(const char *directory, const struct cv_piece *piece,
                                     struct cleave_error *err)
{
    const char *name = strrchr(piece->name, '/');
    const struct cv_part given[] = { cv_piece_header(piece), cv_piece_body(piece),
                                     cv_piece_closing(piece) };
    const struct cv_part mate = cv_piece_mate(piece);
    char path[4096];

    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return cv_fail(err, CLEAVE_EINPUT, "%s: cannot make the folder: %s", directory,
                       strerror(errno));
    name = name != NULL ? name + 1 : piece->name;
    snprintf(path, sizeof path, "%s/%s.%llu-%llu", directory,
             strcmp(name, "standard input") == 0 ? "stdin" : name,
             (unsigned long long)piece->body.begin, (unsigned long long)piece->body.end);
    CV_TRY(keep_parts(path, given, 3, err));
    if (piece->mate_fd < 0)
        return CLEAVE_OK;
    strncat(path, ".mates", sizeof path - strlen(path) - 1);
    return keep_parts(path, &mate, 1, err);
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

enum cleave_status cv_chunk_failed(struct cv_real_run *run, struct cv_errand *errand,
                                   enum cv_slot_end end, bool *out_given_up,
                                   struct cleave_error *err)
{
    struct cv_books *books = &run->books;
    const struct cv_piece piece = errand->slot.piece;

    *out_given_up = false;
    drop_output(errand);
    if (end == CV_SLOT_STOPPED) {
        books->running--;
        return cv_source_put_back(books->source, &piece, err);
    }
    if (!cv_attempt_last(run->asked, errand) && !run->halted && run->stopped_by == 0) {
        errand->attempt++;
        books->retries++;
        return cv_slot_start(&errand->slot, &piece, err);
    }
    books->failed++;
    cv_note_failure(run->asked, books->source, errand);
    if (run->asked->failing.directory != NULL)
        CV_TRY(keep_input(run->asked->failing.directory, &piece, err));
    halt_if_asked(run);
    CV_TRY(cv_outlet_skip(run->outlet, piece.begin, piece.end, err));
    CV_TRY(cv_ledger_fail(&books->ledger, piece.begin, piece.end, err));
    CV_TRY(cv_source_finish(books->source, &piece, err));
    *out_given_up = true;
    return CLEAVE_OK;
}
