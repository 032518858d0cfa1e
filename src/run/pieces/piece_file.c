/* piece_file.c -- one output file of cleave split, plain or compressed. SPDX-License-Identifier: MIT */
#include "run/pieces/piece_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "base/fail.h"
#include "base/file_target.h"
#include "base/new_file.h"
#include "base/text.h"
#include "base/write_all.h"
#include "run/common/piece_part.h"
#include "run/common/transfer.h"
#include "run/common/pipe_writer.h"
#include "run/pieces/pack_format.h"

/* --- copies by the kernel ------------------------------------------------------------------- */

/* copy_file_range lets a file system share bytes between files, or copy them on a server. ext4 can
 * only copy: there it and sendfile move 64 KiB at a time. A write from a mapped window of the input
 * moves as much as a folio holds, and copies once, too. This process never reads the window itself,
 * which would raise SIGBUS if the input becomes shorter; write fails instead. 250 MB into 40 files by
 * two threads, cached, took 0.094 s of processor time, 0.085 with fallocate first; by a pipe 0.106, by
 * a buffer 0.113, by copy_file_range 0.129. */

enum {
    STEP = 16 << 20,         /* copied by one call                       */
    WINDOW = 8 << 20,        /* mapped at a time                         */
    MIN_WINDOW = 256 * 1024, /* for less, mapping would take as long     */
};

static size_t next_step(const struct cv_copying *copying, size_t max)
{
    const uint64_t left = copying->end - (uint64_t)copying->at;

    return left < max ? (size_t)left : max;
}

static bool is_ext4(int fd)
{
    struct statfs info;

    return fstatfs(fd, &info) == 0 && info.f_type == EXT4_SUPER_MAGIC;
}

/* To allocate blocks at once is faster. If that fails, write will report it. */
static void ask_for_room(const struct cv_copying *copying)
{
    const off_t at = lseek(copying->to, 0, SEEK_CUR);

    if (at >= 0)
        (void)fallocate(copying->to, FALLOC_FL_KEEP_SIZE, at,
                        (off_t)copying->end - copying->at);
}

/* Returns 0 or errno; EFAULT: the window could not be read. */
static int write_window(struct cv_copying *copying, const char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t got = TEMP_FAILURE_RETRY(write(copying->to, bytes, length));

        if (got <= 0)
            return got < 0 ? errno : EIO;
        copying->at += got;
        bytes += got;
        length -= (size_t)got;
    }
    return 0;
}

/* False: the window cannot be mapped or read; copy_range will report why. */
static bool next_window(struct cv_copying *copying, int *error)
{
    const size_t skip = (size_t)copying->at % (size_t)sysconf(_SC_PAGESIZE);
    const off_t begin = copying->at - (off_t)skip;
    const size_t length = skip + next_step(copying, WINDOW);
    char *window;

    /* Long reads from a disk instead of page faults. */
    (void)posix_fadvise(copying->from, begin, (off_t)length, POSIX_FADV_WILLNEED);
    window =
        mmap(NULL, length, PROT_READ, MAP_SHARED | MAP_POPULATE, copying->from, begin);
    if (window == MAP_FAILED)
        return false;
    *error = write_window(copying, window + skip, length - skip);
    munmap(window, length);
    return *error != EFAULT;
}

/* Copies as much as possible; copy_range does the rest. */
static enum cv_copied copy_windows(struct cv_copying *copying)
{
    int error = 0;

    if (copying->end - (uint64_t)copying->at < MIN_WINDOW || !is_ext4(copying->to))
        return CV_COPY_DONE;
    ask_for_room(copying);
    while ((uint64_t)copying->at < copying->end && error == 0)
        if (!next_window(copying, &error))
            return CV_COPY_DONE;
    errno = error;
    return error == 0 ? CV_COPY_DONE : CV_COPY_REFUSED;
}

static enum cv_copied copy_range(struct cv_copying *copying)
{
    bool by_range = true;

    while ((uint64_t)copying->at < copying->end) {
        const size_t step = next_step(copying, STEP);
        ssize_t got;

        errno = 0;
        got = by_range ? copy_file_range(copying->from, &copying->at, copying->to, NULL,
                                         step, 0)
                       : sendfile(copying->to, copying->from, &copying->at, step);
        if (got > 0 || (got < 0 && errno == EINTR))
            continue;
        if (!by_range)
            return got < 0 && errno != EIO ? CV_COPY_REFUSED : CV_COPY_SHORT;
        by_range = false; /* two file systems, or not supported */
    }
    return CV_COPY_DONE;
}

enum cv_copied cv_piece_copy(struct cv_copying *copying)
{
    const enum cv_copied copied = copy_windows(copying);

    return copied == CV_COPY_DONE ? copy_range(copying) : copied;
}

/* --- opening -------------------------------------------------------------------------------- */

enum { POUR = 64 * 1024 }; /* read of a decoder at a time */

struct cv_piece_writer {
    struct cv_new_file file;
    char *name;                          /* owned */
    const struct cv_pack_format *format; /* NULL: not compressed */
    void *state;                         /* owned: used by the format */
    char *part, *room;                   /* owned: a part before and after compression */
    size_t held, room_bytes;
    struct cv_packer table; /* if the format has one */
    size_t parts;
};

static enum cleave_status cannot(const char *name, const char *why,
                                 struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EENGINE, "cannot write '%s': %s", CV_SHOWN(name, 200),
                   why);
}

/* The file cannot or must not be written. */
static enum cleave_status refuse(const char *name, const struct cleave_error *why,
                                 struct cleave_error *err)
{
    const bool exists = why->status == CLEAVE_EREFUSED;

    (void)cannot(name, exists ? "it exists; use pieces.replace to replace it" : why->text,
                 err);
    return cv_fail_as(err, CLEAVE_EINPUT);
}

/* Make the directories of a name, which must not be an input: that would be replaced before it was
 * read. */
static enum cleave_status prepare(const struct cv_source *source, const char *name,
                                  struct cleave_error *err)
{
    struct cleave_error why = { .text = "it is an input" };

    return cv_folders_make(name, &why) == CLEAVE_OK && !cv_source_has(source, name)
               ? CLEAVE_OK
               : refuse(name, &why, err);
}

enum cleave_status cv_piece_check(const struct cv_source *source, const char *name,
                                  bool force, struct cleave_error *err)
{
    struct cleave_error why;

    CV_TRY(prepare(source, name, err));
    return cv_new_file_check(name, force ? 0 : CV_NEW_FILE_ONLY, &why) == CLEAVE_OK
               ? CLEAVE_OK
               : refuse(name, &why, err);
}

static enum cleave_status open_format(struct cv_piece_writer *writer,
                                      struct cleave_error *err)
{
    writer->room_bytes = writer->format->bound(writer->format->part);
    writer->state = writer->format->open != NULL ? writer->format->open() : NULL;
    writer->part = malloc(writer->format->part);
    writer->room = malloc(writer->room_bytes);
    return (writer->format->open != NULL && writer->state == NULL) ||
                   writer->part == NULL || writer->room == NULL
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

    CV_TRY(prepare(source, name, err));
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
    writer->format = cv_pack_format_find(name);
    if (status == CLEAVE_OK && writer->format != NULL)
        status = open_format(writer, err);
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
    const size_t length = writer->format->pack(writer->state, writer->part, writer->held,
                                               writer->room, writer->room_bytes);

    if (writer->format->has_table)
        cv_pack_table_add(&writer->table, length, writer->held);
    writer->parts++;
    writer->held = 0;
    return length == 0 ? cannot(writer->name, "it could not be compressed", err)
                       : put(writer, writer->room, length, err);
}

static enum cleave_status ended_early(const struct cv_part *part, uint64_t at,
                                      struct cleave_error *err)
{
    return cv_fail_at(err, CV_FILE(part->name), "cannot read at byte %" PRIu64 ": %s", at,
                      errno != 0 ? strerror(errno) : "it has become shorter");
}

/* Collect bytes, and compress full parts. */
static enum cleave_status compress(struct cv_piece_writer *writer,
                                   const struct cv_part *part, struct cleave_error *err)
{
    for (uint64_t at = part->begin; at < part->end;) {
        ssize_t got;

        errno = 0;
        got = cv_part_read(part, at, writer->part + writer->held,
                           writer->format->part - writer->held);
        if (got <= 0)
            return ended_early(part, at, err);
        at += (uint64_t)got;
        writer->held += (size_t)got;
        if (writer->held == writer->format->part)
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

/* Wait for bytes of the thread. False: it has ended without the last ones. */
static bool wait_for_bytes(const struct cv_writer_thread *threaded, int pipe)
{
    struct pollfd at[] = { { .fd = pipe, .events = POLLIN },
                           { .fd = threaded->progress, .events = POLLIN } };

    (void)TEMP_FAILURE_RETRY(poll(at, 2, -1));
    /* The event follows the bytes. */
    return TEMP_FAILURE_RETRY(poll(at, 1, 0)) > 0;
}

static enum cleave_status write_from_thread(struct cv_piece_writer *writer,
                                            const struct cv_part *part,
                                            struct cv_writer_thread *threaded, int pipe,
                                            struct cleave_error *err)
{
    char bytes[POUR];

    for (uint64_t at = part->begin; at < part->end;) {
        const uint64_t left = part->end - at;
        ssize_t got = 0;

        if (wait_for_bytes(threaded, pipe))
            got = TEMP_FAILURE_RETRY(
                read(pipe, bytes, left < sizeof bytes ? left : sizeof bytes));
        if (got <= 0) {
            CV_TRY(cv_writer_thread_end(threaded, err));
            errno = 0;
            return ended_early(part, at, err);
        }
        CV_TRY(cv_piece_writer_add(
            writer, &(struct cv_part){ .bytes = bytes, .end = (uint64_t)got }, err));
        at += (uint64_t)got;
    }
    return CLEAVE_OK;
}

static enum cleave_status copy_from_thread(struct cv_piece_writer *writer,
                                           const struct cv_part *part,
                                           struct cleave_error *err)
{
    struct cv_writer_thread *threaded;
    struct cv_pipe_width width = { .bytes = CV_PIPE_WIDE };
    struct cv_pipe pipe;
    enum cleave_status status;

    CV_TRY(cv_pipe_open(&pipe, err));
    cv_pipe_widen(pipe.write, CV_PIPE_WIDE);
    status = part->lazy->threaded(part->lazy, part->begin, part->end,
                                  &(struct cv_writer_thread_into){ .pipe = pipe.write,
                                                                   .width = &width,
                                                                   .at = part->begin,
                                                                   .until = part->end },
                                  &threaded, err);
    if (status == CLEAVE_OK) {
        status = write_from_thread(writer, part, threaded, pipe.read, err);
        part->lazy->stop(threaded);
    }
    cv_pipe_close(&pipe);
    return status;
}

enum cleave_status cv_piece_writer_add(struct cv_piece_writer *writer,
                                       const struct cv_part *part,
                                       struct cleave_error *err)
{
    if (part->end <= part->begin)
        return CLEAVE_OK;
    if (part->bytes == NULL && part->lazy != NULL)
        return copy_from_thread(writer, part, err);
    if (writer->format != NULL)
        return compress(writer, part, err);
    return part->bytes != NULL
               ? put(writer, part->bytes, (size_t)(part->end - part->begin), err)
               : copy(writer, part, err);
}

/* --- the end ------------------------------------------------------------------------------ */

/* The table of the parts; a single part needs none. */
static enum cleave_status put_table(struct cv_piece_writer *writer,
                                    struct cleave_error *err)
{
    if (!writer->format->has_table || writer->parts < 2)
        return CLEAVE_OK;
    cv_pack_table_end(&writer->table, writer->parts);
    return writer->table.failed ? cv_fail_memory(err, "the table of a file")
                                : put(writer, (const char *)writer->table.bytes,
                                      writer->table.length, err);
}

enum cleave_status cv_piece_writer_place(struct cv_piece_writer *writer,
                                         struct cleave_error *err)
{
    struct cleave_error why;
    enum cleave_status status = CLEAVE_OK;

    /* An empty file is one empty part. */
    if (writer->format != NULL &&
        (writer->held > 0 ||
         (writer->format->end == NULL && cv_new_file_size(&writer->file) == 0)))
        status = end_part(writer, err);
    if (status == CLEAVE_OK && writer->format != NULL && writer->format->end != NULL)
        status = put(writer, writer->format->end, writer->format->end_bytes, err);
    if (status == CLEAVE_OK && writer->format != NULL)
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
    cv_new_file_drop(&writer->file);
    if (writer->state != NULL)
        writer->format->close(writer->state);
    cv_pack_done(&writer->table);
    free(writer->part);
    free(writer->room);
    free(writer->name);
    free(writer);
}
