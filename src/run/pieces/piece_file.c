/* piece_file.c -- write one file, as it is or compressed. SPDX-License-Identifier: MIT
 *
 * Bytes of a file are copied by the kernel. What is compressed is in parts that are decoded alone
 * (piece_pack.h), so that it can be cut again. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/file_target.h"
#include "base/new_file.h"
#include "base/text.h"
#include "base/write_all.h"
#include "run/common/pipe_writer.h"
#include "run/common/piece_part.h"
#include "run/pieces/piece_copy.h"
#include "run/pieces/piece_list.h"
#include "run/pieces/piece_pack.h"

enum { POUR = 64 * 1024 }; /* read of a decoder at a time */

struct cv_piece_writer {
    struct cv_new_file file;
    char *name;                      /* owned */
    const struct cv_pack_form *form; /* NULL: as it is */
    void *state;                     /* owned: of the form */
    char *part, *room; /* owned: bytes to be compressed, and what comes of it */
    size_t held, room_bytes;
    struct cv_packer table; /* of the parts, if the form has one */
    size_t parts;
};

static enum cleave_status cannot(const char *name, const char *why,
                                 struct cleave_error *err)
{
    char shown[200];

    return cv_fail(err, CLEAVE_EENGINE, "cannot write '%s': %s",
                   cv_shown(name, strlen(name), shown, sizeof shown), why);
}

/* --- beginning ---------------------------------------------------------------------------- */

/* A file of that name cannot be made, or must not. */
static enum cleave_status refuse(const char *name, const struct cleave_error *why,
                                 struct cleave_error *err)
{
    const bool exists = why->status == CLEAVE_EREFUSED;

    (void)cannot(name, exists ? "it exists; use --force to replace it" : why->text, err);
    if (err != NULL)
        err->status = CLEAVE_EINPUT;
    return CLEAVE_EINPUT;
}

/* Folders of its name that are not there are made. */
static enum cleave_status make_folders(const char *name, struct cleave_error *err)
{
    struct cleave_error why;

    return cv_folders_make(name, &why) == CLEAVE_OK ? CLEAVE_OK : refuse(name, &why, err);
}

/* A file that is an input would be replaced before it has been read. */
static enum cleave_status check_inputs(const struct cv_source *source, const char *name,
                                       struct cleave_error *err)
{
    struct cv_file_identity identity;

    cv_file_identify(name, &identity);
    for (size_t i = 0; identity.known && i < cv_source_inputs(source); i++) {
        const struct cv_input input = cv_source_input(source, i);

        if (identity.name[0] == '\0' && (uint64_t)identity.device == input.device &&
            (uint64_t)identity.number == input.inode)
            return refuse(name, &(struct cleave_error){ .text = "it is an input" }, err);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_piece_check(const struct cv_source *source, const char *name,
                                  bool force, struct cleave_error *err)
{
    struct cleave_error why;

    CV_TRY(make_folders(name, err));
    CV_TRY(check_inputs(source, name, err));
    return cv_new_file_check(name, force ? 0 : CV_NEW_FILE_ONLY, &why) == CLEAVE_OK
               ? CLEAVE_OK
               : refuse(name, &why, err);
}

static enum cleave_status open_form(struct cv_piece_writer *writer,
                                    struct cleave_error *err)
{
    writer->room_bytes = writer->form->bound(writer->form->part);
    writer->state = writer->form->open();
    writer->part = malloc(writer->form->part);
    writer->room = malloc(writer->room_bytes);
    return writer->state == NULL || writer->part == NULL || writer->room == NULL
               ? cv_fail_memory(err, "a file that is compressed")
               : CLEAVE_OK;
}

enum cleave_status cv_piece_writer_open(const struct cv_source *source, const char *name,
                                        bool force, struct cv_piece_writer **out,
                                        struct cleave_error *err)
{
    struct cv_piece_writer *writer;
    struct cleave_error why;
    enum cleave_status status;

    CV_TRY(make_folders(name, err));
    CV_TRY(check_inputs(source, name, err));
    writer = calloc(1, sizeof *writer);
    if (writer == NULL)
        return cv_fail_memory(err, "a file");
    writer->file.fd = -1;
    writer->name = strdup(name);
    status = writer->name == NULL ? cv_fail_memory(err, "a file") : CLEAVE_OK;
    if (status == CLEAVE_OK) {
        status =
            cv_new_file_open(name, force ? 0 : CV_NEW_FILE_ONLY, &writer->file, &why);
        if (status != CLEAVE_OK)
            status = refuse(name, &why, err);
    }
    writer->form = cv_pack_form_of(name);
    if (status == CLEAVE_OK && writer->form != NULL)
        status = open_form(writer, err);
    if (status == CLEAVE_OK)
        *out = writer;
    else
        cv_piece_writer_drop(writer);
    return status;
}

/* --- bytes -------------------------------------------------------------------------------- */

static enum cleave_status put(struct cv_piece_writer *writer, const char *bytes,
                              size_t length, struct cleave_error *err)
{
    const int error = cv_write_all(writer->file.fd, bytes, length);

    return error == 0 ? CLEAVE_OK : cannot(writer->name, strerror(error), err);
}

static enum cleave_status end_part(struct cv_piece_writer *writer,
                                   struct cleave_error *err)
{
    const size_t length = writer->form->pack(writer->state, writer->part, writer->held,
                                             writer->room, writer->room_bytes);

    if (writer->form->note != NULL)
        writer->form->note(&writer->table, length, writer->held);
    writer->parts++;
    writer->held = 0;
    return length == 0 ? cannot(writer->name, "it could not be compressed", err)
                       : put(writer, writer->room, length, err);
}

static enum cleave_status ended_early(const struct cv_part *part, uint64_t at,
                                      struct cleave_error *err)
{
    const struct cv_place place = { part->name, 0, 0, NULL };

    return cv_fail_at(err, &place, "cannot read at byte %" PRIu64 ": %s", at,
                      errno != 0 ? strerror(errno) : "it has become shorter");
}

/* Collect parts. */
static enum cleave_status compress(struct cv_piece_writer *writer,
                                   const struct cv_part *part, struct cleave_error *err)
{
    for (uint64_t at = part->begin; at < part->end;) {
        ssize_t got;

        errno = 0;
        got = cv_part_read(part, at, writer->part + writer->held,
                           writer->form->part - writer->held);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return ended_early(part, at, err);
        at += (uint64_t)got;
        writer->held += (size_t)got;
        if (writer->held == writer->form->part)
            CV_TRY(end_part(writer, err));
    }
    return CLEAVE_OK;
}

static enum cleave_status copy(struct cv_piece_writer *writer, const struct cv_part *part,
                               struct cleave_error *err)
{
    struct cv_copying copying = { .from = part->fd,
                                  .to = writer->file.fd,
                                  .at = (off_t)part->begin,
                                  .end = part->end };

    switch (cv_piece_copy(&copying)) {
    case CV_COPY_DONE:
        return CLEAVE_OK;
    case CV_COPY_REFUSED:
        return cannot(writer->name, strerror(errno), err);
    default:
        return ended_early(part, (uint64_t)copying.at, err);
    }
}

/* Bytes that were decoded. */
static enum cleave_status take(struct cv_piece_writer *writer, const char *bytes,
                               size_t length, struct cleave_error *err)
{
    return writer->form == NULL
               ? put(writer, bytes, length, err)
               : compress(writer, &(struct cv_part){ .bytes = bytes, .end = length },
                          err);
}

/* What comes out of a flow. */
static enum cleave_status write_from_thread(struct cv_piece_writer *writer,
                                            const struct cv_part *part,
                                            struct cv_writer_thread *threaded,
                                            struct cleave_error *err)
{
    char bytes[POUR];

    for (uint64_t at = part->begin; at < part->end;) {
        const uint64_t left = part->end - at;
        const ssize_t got = read(cv_writer_thread_fd(threaded), bytes,
                                 left < sizeof bytes ? left : sizeof bytes);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            CV_TRY(cv_writer_thread_end(threaded, err));
            errno = 0;
            return ended_early(part, at, err);
        }
        CV_TRY(take(writer, bytes, (size_t)got, err));
        at += (uint64_t)got;
    }
    return CLEAVE_OK;
}

static enum cleave_status copy_from_thread(struct cv_piece_writer *writer,
                                           const struct cv_part *part,
                                           struct cleave_error *err)
{
    struct cv_writer_thread *threaded;
    enum cleave_status status;

    CV_TRY(
        part->well->threaded(part->well, part->begin, part->end, NULL, &threaded, err));
    status = write_from_thread(writer, part, threaded, err);
    part->well->stop(threaded);
    return status;
}

enum cleave_status cv_piece_writer_add(struct cv_piece_writer *writer,
                                       const struct cv_part *part,
                                       struct cleave_error *err)
{
    if (part->end <= part->begin)
        return CLEAVE_OK;
    if (part->bytes == NULL && part->well != NULL)
        return copy_from_thread(writer, part, err);
    if (writer->form != NULL)
        return compress(writer, part, err);
    return part->bytes != NULL
               ? put(writer, part->bytes, (size_t)(part->end - part->begin), err)
               : copy(writer, part, err);
}

/* --- the end ------------------------------------------------------------------------------ */

/* Where the parts are, for who looks for them; of one part there is nothing to find. */
static enum cleave_status put_table(struct cv_piece_writer *writer,
                                    struct cleave_error *err)
{
    if (writer->form->tell == NULL || writer->parts < 2)
        return CLEAVE_OK;
    writer->form->tell(&writer->table, writer->parts);
    return writer->table.failed ? cv_fail_memory(err, "the table of a file")
                                : put(writer, (const char *)writer->table.bytes,
                                      writer->table.length, err);
}

enum cleave_status cv_piece_writer_place(struct cv_piece_writer *writer,
                                         struct cleave_error *err)
{
    struct cleave_error why;
    enum cleave_status status = CLEAVE_OK;

    /* A file without bytes is one part of none, rather than none at all. */
    if (writer->form != NULL &&
        (writer->held > 0 ||
         (writer->form->end == NULL && cv_new_file_size(&writer->file) == 0)))
        status = end_part(writer, err);
    if (status == CLEAVE_OK && writer->form != NULL && writer->form->end != NULL)
        status = put(writer, writer->form->end, writer->form->end_bytes, err);
    if (status == CLEAVE_OK && writer->form != NULL)
        status = put_table(writer, err);
    if (status == CLEAVE_OK && cv_new_file_place(&writer->file, &why) != CLEAVE_OK)
        status = refuse(writer->name, &why, err);
    if (status == CLEAVE_OK && cv_new_file_close(&writer->file, &why) != CLEAVE_OK)
        status = cannot(writer->name, why.text, err);
    cv_piece_writer_drop(writer);
    return status;
}

void cv_piece_writer_drop(struct cv_piece_writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->file.fd >= 0)
        cv_new_file_drop(&writer->file);
    if (writer->state != NULL)
        writer->form->close(writer->state);
    cv_pack_done(&writer->table);
    free(writer->part);
    free(writer->room);
    free(writer->name);
    free(writer);
}
