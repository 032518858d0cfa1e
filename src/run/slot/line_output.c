/* line_output.c -- lines of an item's output, written when they are whole.
 * SPDX-License-Identifier: MIT
 *
 * Whoever reads slowly holds up all commands, as with a pipe of their own. */
#include "run/slot/line_output.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cleave/execute.h>

#include "base/arena.h"
#include "base/fail.h"

enum { READ = 64 << 10 };

void cv_line_output_done(struct cv_line_output *lines)
{
    free(lines->bytes);
    free(lines->tag);
    *lines = (struct cv_line_output){ .bytes = NULL };
}

enum cleave_status cv_line_output_begin(struct cv_slot *slot, struct cleave_error *err)
{
    const struct cleave_items *items = slot->items;
    struct cv_line_output *lines = &slot->lines;

    lines->length = 0;
    lines->written = 0;
    free(lines->tag);
    lines->tag = NULL;
    if (items == NULL || items->tag == NULL)
        return CLEAVE_OK;
    return items->tag(items->context, slot->piece.begin, slot->worker + 1, &lines->tag,
                      err);
}

static enum cleave_status put(int fd, const char *bytes, size_t length,
                              struct cleave_error *err)
{
    while (length > 0) {
        const ssize_t some = write(fd, bytes, length);

        if (some < 0 && errno == EAGAIN)
            (void)poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
        else if (some < 0 && errno != EINTR)
            return cv_fail(err, errno == EPIPE ? CLEAVE_ECLOSED : CLEAVE_EENGINE,
                           "cannot write the output: %s", strerror(errno));
        bytes += some > 0 ? some : 0;
        length -= some > 0 ? (size_t)some : 0;
    }
    return CLEAVE_OK;
}

/* The first `length` bytes, which end with a line or with the output. */
static enum cleave_status put_lines(struct cv_slot *slot, size_t length,
                                    struct cleave_error *err)
{
    struct cv_line_output *lines = &slot->lines;
    size_t at = 0;

    if (lines->tag == NULL)
        CV_TRY(put(slot->lines_to, lines->bytes, length, err));
    while (lines->tag != NULL && at < length) {
        const char *end = memchr(lines->bytes + at, '\n', length - at);
        const size_t line =
            end != NULL ? (size_t)(end + 1 - lines->bytes) - at : length - at;

        CV_TRY(put(slot->lines_to, lines->tag, strlen(lines->tag), err));
        CV_TRY(put(slot->lines_to, lines->bytes + at, line, err));
        at += line;
    }
    lines->written += length;
    lines->length -= length;
    memmove(lines->bytes, lines->bytes + length, lines->length);
    return CLEAVE_OK;
}

enum cleave_status cv_line_output_pump(struct cv_slot *slot, uint64_t most,
                                       enum cv_store_state *out, struct cleave_error *err)
{
    struct cv_line_output *lines = &slot->lines;
    struct pollfd readable = { .fd = slot->out, .events = POLLIN };

    for (uint64_t moved = 0; moved < most;) {
        char *grown = cv_grow(lines->bytes, &lines->room, lines->length + READ, 1);
        const char *end;
        ssize_t got;

        if (grown == NULL)
            return cv_fail_memory(err, "a line of an output");
        lines->bytes = grown;
        if (poll(&readable, 1, 0) <= 0) {
            *out = CV_STORE_EMPTY;
            return CLEAVE_OK;
        }
        got = read(slot->out, grown + lines->length, READ);
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            return cv_fail(err, CLEAVE_EENGINE, "cannot read an output: %s",
                           strerror(errno));
        if (got == 0) {
            *out = CV_STORE_END;
            return put_lines(slot, lines->length, err);
        }
        lines->length += got > 0 ? (size_t)got : 0;
        moved += got > 0 ? (uint64_t)got : 0;
        end = got > 0 ? memrchr(grown, '\n', lines->length) : NULL;
        if (end != NULL)
            CV_TRY(put_lines(slot, (size_t)(end + 1 - grown), err));
    }
    *out = CV_STORE_BUSY;
    return CLEAVE_OK;
}
