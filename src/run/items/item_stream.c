/* item_stream.c -- a list that is read as it comes. SPDX-License-Identifier: MIT */
#include "run/items/item_stream.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/split/split_kind.h"

/* A list of this length, of half a million names or so, is not kept in memory. */
enum { LARGE = 32 << 20 };
/* Where there is nothing to wait for, so many are read at a time. */
enum { TURN = 256 };

/* Bytes of pieces of files; those of a stream are in memory already. */
struct buffer {
    char *bytes; /* owned */
    size_t room;
};

struct cv_item_stream {
    struct cv_source *source;     /* owned */
    struct cv_splitter *splitter; /* owned */
    struct buffer buffer;
};

bool cv_item_stream_is(const char *path)
{
    struct stat now;

    if ((strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &now) : stat(path, &now)) != 0)
        return false; /* reading it will tell why */
    return S_ISREG(now.st_mode) ? now.st_size >= LARGE : !S_ISDIR(now.st_mode);
}

void cv_item_stream_free(struct cv_item_stream *stream)
{
    if (stream == NULL)
        return;
    cv_source_free(stream->source);
    cv_splitter_free(stream->splitter);
    free(stream->buffer.bytes);
    free(stream);
}

enum cleave_status cv_item_stream_new(const char *const *paths, size_t npaths,
                                      const struct cv_source_options *options,
                                      struct cv_splitter *splitter,
                                      struct cv_item_stream **out,
                                      struct cleave_error *err)
{
    struct cv_source_options with = *options;
    struct cv_item_stream *stream = calloc(1, sizeof *stream);
    enum cleave_status status;

    if (stream == NULL) {
        cv_splitter_free(splitter);
        return cv_fail_memory(err, "a list of items");
    }
    stream->splitter = splitter;
    with.splitter = splitter;
    status = cv_source_open(paths, npaths, &with, &stream->source, err);
    if (status == CLEAVE_OK)
        status = cv_source_validate(stream->source, err);
    if (status == CLEAVE_OK)
        *out = stream;
    else
        cv_item_stream_free(stream);
    return status;
}

int cv_item_stream_fd(const struct cv_item_stream *stream)
{
    return cv_source_poll_fd(stream->source);
}

static enum cleave_status get_bytes(const struct cv_piece *piece, struct buffer *buffer,
                                    const char **out, struct cleave_error *err)
{
    const size_t length = (size_t)(piece->body.end - piece->body.begin);
    size_t at = 0;

    if (piece->fd < 0) {
        *out = piece->body_bytes;
        return CLEAVE_OK;
    }
    if (!CV_ROOM(buffer->bytes, &buffer->room, length))
        return cv_fail_memory(err, "an item");
    while (at < length) {
        const ssize_t got = pread(piece->fd, buffer->bytes + at, length - at,
                                  (off_t)(piece->body.begin + at));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return cv_fail(err, CLEAVE_EENGINE, "%s: cannot read: %s", piece->name,
                           got < 0 ? strerror(errno) : "it has become shorter");
        at += (size_t)got;
    }
    *out = buffer->bytes;
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

static enum cleave_status add_record(struct cv_item_stream *stream,
                                     struct cv_item_lists *lists,
                                     const struct cv_piece *piece,
                                     struct cleave_error *err)
{
    const size_t length = (size_t)(piece->body.end - piece->body.begin);
    const char *bytes = NULL;

    CV_TRY(get_bytes(piece, &stream->buffer, &bytes, err));
    CV_TRY(cv_item_lists_add_from(lists, piece->name, bytes,
                                  without_end(stream->splitter, bytes, length), err));
    return cv_source_finish(stream->source, piece, err);
}

/* It has ended: well? */
static enum cleave_status check_end(struct cv_item_stream *stream,
                                    struct cleave_error *err)
{
    struct cleave_error note = { .text = "" };
    bool torn = false;

    CV_TRY(cv_source_ends_in_record(stream->source, &torn, &note, err));
    if (torn && err != NULL)
        *err = note;
    return torn ? note.status : CLEAVE_OK;
}

/* Read some. A FIFO to which nobody has written yet looks as if it had ended, to whoever reads it
 * without waiting. A signal may end the waiting: then nothing is read. */
static enum cleave_status pump(struct cv_item_stream *stream, struct cleave_error *err)
{
    struct pollfd wait = { .fd = cv_item_stream_fd(stream), .events = POLLIN };

    if (wait.fd >= 0 && poll(&wait, 1, -1) < 0 && errno == EINTR)
        return CLEAVE_OK;
    return cv_source_pump(stream->source, err);
}

enum cleave_status cv_item_stream_read(struct cv_item_stream *stream,
                                       struct cv_item_lists *lists, bool *ended,
                                       struct cleave_error *err)
{
    const bool waits = cv_item_stream_fd(stream) >= 0;
    bool pumped = false;
    struct cv_piece piece;
    enum cv_take state;

    *ended = false;
    for (unsigned count = 0; waits || count < TURN; count++) {
        CV_TRY(cv_source_take(stream->source, 1, &state, &piece, err));
        if (state == CV_TAKE_PIECE) {
            CV_TRY(add_record(stream, lists, &piece, err));
        } else if (state == CV_TAKE_END) {
            *ended = true;
            return check_end(stream, err);
        } else if (pumped) {
            return CLEAVE_OK;
        } else {
            CV_TRY(pump(stream, err));
            pumped = true;
        }
    }
    return CLEAVE_OK;
}
