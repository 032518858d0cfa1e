/* piece_file.c -- write one file, as it is or compressed. SPDX-License-Identifier: MIT
 *
 * Bytes of a file are copied by the kernel. What is compressed by zstd is in frames of a few
 * megabytes, so that it can be cut again. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>
#include <zstd.h>

#include "base/fail.h"
#include "base/file_target.h"
#include "base/new_file.h"
#include "base/text.h"
#include "run/pieces/piece_list.h"

enum {
    FRAME = 4 << 20, /* bytes of a frame of zstd, before compression */
    STEP = 16 << 20, /* copied by one call                           */
};

struct cv_piece_writer {
    struct cv_new_file file;
    char *name;         /* owned */
    ZSTD_CCtx *context; /* owned; NULL: as it is */
    char *frame, *room; /* owned */
    size_t framed, room_bytes;
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

    CV_TRY(check_inputs(source, name, err));
    return cv_new_file_check(name, force ? 0 : CV_NEW_FILE_ONLY, &why) == CLEAVE_OK
               ? CLEAVE_OK
               : refuse(name, &why, err);
}

static enum cleave_status open_frame(struct cv_piece_writer *writer,
                                     struct cleave_error *err)
{
    writer->room_bytes = ZSTD_compressBound(FRAME);
    writer->context = ZSTD_createCCtx();
    writer->frame = malloc(FRAME);
    writer->room = malloc(writer->room_bytes);
    return writer->context == NULL || writer->frame == NULL || writer->room == NULL
               ? cv_fail_memory(err, "a file that is compressed")
               : CLEAVE_OK;
}

enum cleave_status cv_piece_writer_open(const struct cv_source *source, const char *name,
                                        bool force, struct cv_piece_writer **out,
                                        struct cleave_error *err)
{
    const size_t length = strlen(name);
    struct cv_piece_writer *writer;
    struct cleave_error why;
    enum cleave_status status;

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
    if (status == CLEAVE_OK && length > 4 && strcmp(name + length - 4, ".zst") == 0)
        status = open_frame(writer, err);
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
    while (length > 0) {
        const ssize_t got = write(writer->file.fd, bytes, length);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return cannot(writer->name, got < 0 ? strerror(errno) : "nothing was taken",
                          err);
        bytes += got;
        length -= (size_t)got;
    }
    return CLEAVE_OK;
}

static enum cleave_status end_frame(struct cv_piece_writer *writer,
                                    struct cleave_error *err)
{
    const size_t length =
        ZSTD_compressCCtx(writer->context, writer->room, writer->room_bytes,
                          writer->frame, writer->framed, ZSTD_CLEVEL_DEFAULT);

    writer->framed = 0;
    if (ZSTD_isError(length))
        return cannot(writer->name, ZSTD_getErrorName(length), err);
    return put(writer, writer->room, length, err);
}

static enum cleave_status ended_early(const struct cv_part *part, uint64_t at,
                                      struct cleave_error *err)
{
    const struct cv_place place = { part->name, 0, 0, NULL };

    return cv_fail_at(err, &place, "cannot read at byte %" PRIu64 ": %s", at,
                      errno != 0 ? strerror(errno) : "it has become shorter");
}

/* Collect frames. */
static enum cleave_status compress(struct cv_piece_writer *writer,
                                   const struct cv_part *part, struct cleave_error *err)
{
    for (uint64_t at = part->begin; at < part->end;) {
        ssize_t got;

        errno = 0;
        got = cv_part_read(part, at, writer->frame + writer->framed,
                           FRAME - writer->framed);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return ended_early(part, at, err);
        at += (uint64_t)got;
        writer->framed += (size_t)got;
        if (writer->framed == FRAME)
            CV_TRY(end_frame(writer, err));
    }
    return CLEAVE_OK;
}

/* Let the kernel copy; file systems share the bytes where they can. */
static enum cleave_status copy(struct cv_piece_writer *writer, const struct cv_part *part,
                               struct cleave_error *err)
{
    bool by_range = true;

    for (off_t at = (off_t)part->begin; (uint64_t)at < part->end;) {
        const uint64_t left = part->end - (uint64_t)at;
        const size_t step = left < STEP ? (size_t)left : STEP;
        ssize_t got;

        errno = 0;
        got = by_range ? copy_file_range(part->fd, &at, writer->file.fd, NULL, step, 0)
                       : sendfile(writer->file.fd, part->fd, &at, step);
        if (got > 0 || (got < 0 && errno == EINTR))
            continue;
        if (by_range)
            by_range = false; /* another file system, or one that does not know how */
        else if (got < 0 && errno != EIO)
            return cannot(writer->name, strerror(errno), err);
        else
            return ended_early(part, (uint64_t)at, err);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_piece_writer_add(struct cv_piece_writer *writer,
                                       const struct cv_part *part,
                                       struct cleave_error *err)
{
    if (part->end <= part->begin)
        return CLEAVE_OK;
    if (writer->context != NULL)
        return compress(writer, part, err);
    return part->bytes != NULL
               ? put(writer, part->bytes, (size_t)(part->end - part->begin), err)
               : copy(writer, part, err);
}

/* --- the end ------------------------------------------------------------------------------ */

enum cleave_status cv_piece_writer_place(struct cv_piece_writer *writer,
                                         struct cleave_error *err)
{
    struct cleave_error why;
    enum cleave_status status = CLEAVE_OK;

    /* A file without bytes is one frame of none, rather than no zstd at all. */
    if (writer->context != NULL &&
        (writer->framed > 0 || cv_new_file_size(&writer->file) == 0))
        status = end_frame(writer, err);
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
    ZSTD_freeCCtx(writer->context);
    free(writer->frame);
    free(writer->room);
    free(writer->name);
    free(writer);
}
