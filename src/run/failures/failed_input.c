/* failed_input.c -- keep what a command was given that failed for good.
 * SPDX-License-Identifier: MIT */
#include "run/failures/failed_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/file_target.h"

enum {
    NAME_ROOM = 256, /* of a file in its folder                                        */
    NAME_MOST = 180, /* of an input in it: room for a range, a number and ".mates"     */
    MOST_NAMES = 100000,
};

static enum cleave_status fail_keep(const char *where, int error,
                                    struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EENGINE, "%s: cannot keep the input of a failed chunk: %s",
                   where, strerror(error));
}

enum { COPY = 64 * 1024 };

/* --- bytes -------------------------------------------------------------------------------- */

/* Some bytes from `at` on; as write(2). */
static ssize_t keep_some(const struct cv_part *part, uint64_t at, int to)
{
    off_t offset = (off_t)at;
    char bytes[COPY];
    ssize_t got;

    if (part->bytes != NULL)
        return write(to, (const char *)part->bytes + (at - part->begin), part->end - at);
    if (part->well == NULL)
        return sendfile(to, part->fd, &offset, part->end - at);
    got = cv_part_read(part, at, bytes, sizeof bytes);
    return got <= 0 ? got : write(to, bytes, (size_t)got);
}

static int keep_part(const struct cv_part *part, int to)
{
    uint64_t at = part->begin;

    while (at < part->end) {
        const ssize_t moved = keep_some(part, at, to);

        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0)
            return moved < 0 ? errno : EIO;
        at += (uint64_t)moved;
    }
    return 0;
}

/* A new file: what has that name already, be it a link to somewhere else, is EEXIST. */
static int keep_parts(int folder, const char *name, const struct cv_part *parts,
                      size_t count)
{
    const int fd =
        openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int error = 0;

    if (fd < 0)
        return errno;
    for (size_t i = 0; i < count && error == 0; i++)
        error = keep_part(&parts[i], fd);
    if (close(fd) != 0 && error == 0)
        error = errno;
    if (error != 0) /* half of it would be taken for all */
        unlinkat(folder, name, 0);
    return error;
}

/* --- names -------------------------------------------------------------------------------- */

/* The name of an input as the name of a file, one that no other input has. */
static void name_input(const struct cleave_input *inputs, const struct cv_piece *piece,
                       char out[NAME_MOST + 1])
{
    const char *name = cv_file_name(piece->name);
    bool alone = true;
    size_t length;

    if (strcmp(piece->name, "standard input") == 0)
        name = "stdin";
    for (size_t i = 0; i < inputs->count; i++)
        alone = alone && (strcmp(cv_file_name(inputs->files[i]), name) != 0 ||
                          strcmp(inputs->files[i], piece->name) == 0);
    if (!alone)
        name = piece->name;
    length = strlen(name);
    if (length > NAME_MOST) /* the end says more than the beginning */
        name += length - NAME_MOST;
    length = strlen(name);
    memcpy(out, name, length + 1);
    for (size_t i = 0; i < length; i++)
        if (out[i] == '/')
            out[i] = '%';
}

/* Keep it under a name with a number; EEXIST: that is taken. */
static int keep_as(int folder, const char *name, const struct cv_piece *piece)
{
    const struct cv_part given[] = { cv_piece_header(piece), cv_piece_body(piece),
                                     cv_piece_closing(piece) };
    const struct cv_part mate = cv_piece_mate(piece);
    char mates[NAME_ROOM + 8];
    int error = keep_parts(folder, name, given, 3);

    if (error != 0 || piece->mate_fd < 0)
        return error;
    snprintf(mates, sizeof mates, "%s.mates", name);
    error = keep_parts(folder, mates, &mate, 1);
    if (error != 0)
        unlinkat(folder, name, 0);
    return error;
}

enum cleave_status cv_failed_input_keep(const char *directory,
                                        const struct cleave_input *inputs,
                                        const struct cv_piece *piece,
                                        struct cleave_error *err)
{
    char input[NAME_MOST + 1], name[NAME_ROOM];
    int folder, error = EEXIST;

    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return fail_keep(directory, errno, err);
    folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return fail_keep(directory, errno, err);
    name_input(inputs, piece, input);
    for (unsigned number = 1; error == EEXIST && number < MOST_NAMES; number++) {
        char ending[16] = "";

        if (number > 1)
            snprintf(ending, sizeof ending, ".%u", number);
        snprintf(name, sizeof name, "%s.%llu-%llu%s", input,
                 (unsigned long long)piece->body.begin,
                 (unsigned long long)piece->body.end, ending);
        error = keep_as(folder, name, piece);
    }
    close(folder);
    return error == 0 ? CLEAVE_OK : fail_keep(directory, error, err);
}
