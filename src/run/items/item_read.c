/* item_read.c -- lists of items that are read. SPDX-License-Identifier: MIT */
#include "run/items/item_read.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/split/split_kind.h"

/* A word of a command cannot hold a NUL. */
static enum cleave_status add_value(struct cv_item_lists *lists, const char *name,
                                    const char *bytes, size_t length,
                                    struct cleave_error *err)
{
    const struct cv_place place = { name, 0, 0, NULL };

    if (length > 0 && memchr(bytes, '\0', length) != NULL)
        return cv_fail_at(err, &place,
                          "expected items without NUL bytes, which no command can be "
                          "given; if they end in NUL: --null");
    return cv_item_lists_add(lists, bytes, length, err);
}

enum cleave_status cv_item_read_file(struct cv_item_lists *lists, const char *path,
                                     char mark, struct cleave_error *err)
{
    const bool standard = strcmp(path, "-") == 0;
    const struct cv_place place = { path, 0, 0, NULL };
    FILE *file = standard ? stdin : fopen(path, "re");
    enum cleave_status status = CLEAVE_OK;
    char *line = NULL;
    size_t room = 0;
    ssize_t got;

    if (file == NULL)
        return cv_fail_at(err, &place, "cannot read: %s", strerror(errno));
    errno = 0;
    while (status == CLEAVE_OK && (got = getdelim(&line, &room, mark, file)) >= 0) {
        if (got > 0 && line[got - 1] == mark)
            got--;
        status =
            add_value(lists, standard ? "standard input" : path, line, (size_t)got, err);
    }
    if (status == CLEAVE_OK && ferror(file))
        status = cv_fail_at(err, &place, "cannot read: %s", strerror(errno));
    free(line);
    if (!standard)
        fclose(file);
    return status;
}

/* --- records ------------------------------------------------------------------------------ */

/* Bytes of pieces of files; those of a stream are in memory already. */
struct buffer {
    char *bytes; /* owned */
    size_t room;
};

static enum cleave_status get_bytes(const struct cv_piece *piece, struct buffer *buffer,
                                    const char **out, struct cleave_error *err)
{
    const size_t length = (size_t)(piece->body.end - piece->body.begin);
    char *grown = buffer->bytes;
    size_t at = 0;

    if (piece->fd < 0) {
        *out = piece->body_bytes;
        return CLEAVE_OK;
    }
    if (length > buffer->room)
        grown = cv_grow(grown, &buffer->room, length, 1);
    if (grown == NULL)
        return cv_fail_memory(err, "an item");
    buffer->bytes = grown;
    while (at < length) {
        const ssize_t got =
            pread(piece->fd, grown + at, length - at, (off_t)(piece->body.begin + at));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return cv_fail(err, CLEAVE_EENGINE, "%s: cannot read: %s", piece->name,
                           got < 0 ? strerror(errno) : "it has become shorter");
        at += (size_t)got;
    }
    *out = grown;
    return CLEAVE_OK;
}

/* Without what ends it: a NUL, or the ends of lines. */
static size_t without_end(const struct cv_splitter *splitter, const char *bytes,
                          size_t length)
{
    const bool nul = splitter->kind == &cv_split_nul;

    if (splitter->record_bytes > 0)
        return length;
    if (length > 0 && bytes[length - 1] == (nul ? '\0' : '\n'))
        length--;
    while (splitter->kind == &cv_split_paragraph && length > 0 &&
           bytes[length - 1] == '\n')
        length--;
    return length;
}

static enum cleave_status wait_for(struct cv_source *source, struct cleave_error *err)
{
    struct pollfd wait = { .fd = cv_source_poll_fd(source), .events = POLLIN };

    if (wait.fd >= 0 && poll(&wait, 1, -1) < 0 && errno != EINTR)
        return cv_fail(err, CLEAVE_EENGINE, "cannot wait for items: %s", strerror(errno));
    return cv_source_pump(source, err);
}

static enum cleave_status read_all(struct cv_item_lists *lists, struct cv_source *source,
                                   const struct cv_splitter *splitter,
                                   struct buffer *buffer, struct cleave_error *err)
{
    struct cv_piece piece;
    enum cv_take state;
    const char *bytes = NULL;

    for (;;) {
        CV_TRY(cv_source_take(source, 1, &state, &piece, err));
        if (state == CV_TAKE_END)
            return CLEAVE_OK;
        if (state == CV_TAKE_WAIT) {
            CV_TRY(wait_for(source, err));
            continue;
        }
        CV_TRY(get_bytes(&piece, buffer, &bytes, err));
        CV_TRY(add_value(lists, piece.name, bytes,
                         without_end(splitter, bytes,
                                     (size_t)(piece.body.end - piece.body.begin)),
                         err));
        CV_TRY(cv_source_finish(source, &piece, err));
    }
}

enum cleave_status cv_item_read_records(struct cv_item_lists *lists,
                                        const char *const *paths, size_t npaths,
                                        const struct cv_source_options *options,
                                        struct cleave_error *err)
{
    struct buffer buffer = { NULL, 0 };
    struct cleave_error note = { .text = "" };
    struct cv_source *source = NULL;
    bool torn = false;
    enum cleave_status status = cv_source_open(paths, npaths, options, &source, err);

    if (status == CLEAVE_OK)
        status = cv_source_vet(source, err);
    if (status == CLEAVE_OK)
        status = read_all(lists, source, options->splitter, &buffer, err);
    if (status == CLEAVE_OK)
        status = cv_source_torn(source, &torn, &note, err);
    if (status == CLEAVE_OK && torn) {
        status = note.status;
        if (err != NULL)
            *err = note;
    }
    cv_source_free(source);
    free(buffer.bytes);
    return status;
}
