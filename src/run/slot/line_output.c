/* line_output.c -- outputs by lines, and outputs of items. SPDX-License-Identifier: MIT
 *
 * On one machine lines are written at once: a slow reader delays all commands, as if they had its
 * pipe themselves. With hosts, which must be served all the time, the lines that arrive at a time
 * are one output for the ordered output, which does not wait. */
#include "run/slot/slot.h"

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

static enum cleave_status put_at_once(int fd, const char *bytes, size_t length,
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

/* Into `store`, or to the sink if it is NULL. */
static enum cleave_status put(const struct cv_slot *slot, struct cv_chunk_output *store,
                              const char *bytes, size_t length, struct cleave_error *err)
{
    if (store != NULL)
        return cv_chunk_output_write(store, bytes, length, err);
    cv_ordered_output_make_room(slot->outputs);
    return put_at_once(slot->lines_to, bytes, length, err);
}

/* Put `tag`, unless it is NULL, before each line. *begins: the bytes begin a line; set for the
 * next call. */
static enum cleave_status put_tagged(const struct cv_slot *slot,
                                     struct cv_chunk_output *store, const char *tag,
                                     const char *bytes, size_t length, bool *begins,
                                     struct cleave_error *err)
{
    if (tag == NULL)
        return put(slot, store, bytes, length, err);
    while (length > 0) {
        const char *end = memchr(bytes, '\n', length);
        const size_t line = end != NULL ? (size_t)(end + 1 - bytes) : length;

        if (*begins)
            CV_TRY(put(slot, store, tag, strlen(tag), err));
        CV_TRY(put(slot, store, bytes, line, err));
        *begins = end != NULL;
        bytes += line;
        length -= line;
    }
    return CLEAVE_OK;
}

/* Write the first `length` bytes, which end with a line or with the output: at once, or as one
 * output after all finished outputs. */
static enum cleave_status put_lines(struct cv_slot *slot, size_t length,
                                    struct cleave_error *err)
{
    struct cv_line_output *lines = &slot->lines;
    struct cv_chunk_output *store = NULL;
    enum cleave_status status;
    bool begins = true;

    if (length == 0)
        return CLEAVE_OK;
    if (slot->lines_to <= 0) {
        CV_TRY(cv_chunk_output_open(slot->outputs, &store, err));
        cv_chunk_output_use_blocks(store);
    }
    status = put_tagged(slot, store, lines->tag, lines->bytes, length, &begins, err);
    if (status == CLEAVE_OK && store != NULL)
        status = cv_ordered_output_finish(slot->outputs, store, 0, 1, err);
    if (status != CLEAVE_OK) {
        cv_chunk_output_drop(store);
        return status;
    }
    lines->written += length;
    lines->length -= length;
    memmove(lines->bytes, lines->bytes + length, lines->length);
    return CLEAVE_OK;
}

static enum cleave_status reserve(struct cv_line_output *lines, size_t length,
                                  struct cleave_error *err)
{
    return CV_ROOM(lines->bytes, &lines->room, lines->length + length)
               ? CLEAVE_OK
               : cv_fail_memory(err, "a line of an output");
}

/* `length` bytes were added to the buffer. */
static enum cleave_status came(struct cv_slot *slot, size_t length,
                               struct cleave_error *err)
{
    struct cv_line_output *lines = &slot->lines;
    const char *end = memrchr(lines->bytes + lines->length, '\n', length);

    lines->length += length;
    return end != NULL ? put_lines(slot, (size_t)(end + 1 - lines->bytes), err)
                       : CLEAVE_OK;
}

enum cleave_status cv_line_output_take(struct cv_slot *slot, const void *bytes,
                                       size_t length, struct cleave_error *err)
{
    if (length == 0)
        return CLEAVE_OK;
    CV_TRY(reserve(&slot->lines, length, err));
    memcpy(slot->lines.bytes + slot->lines.length, bytes, length);
    return came(slot, length, err);
}

enum cleave_status cv_line_output_end(struct cv_slot *slot, struct cleave_error *err)
{
    return put_lines(slot, slot->lines.length, err);
}

enum cleave_status cv_line_output_pump(struct cv_slot *slot, uint64_t max,
                                       enum cv_chunk_output_state *out,
                                       struct cleave_error *err)
{
    struct cv_line_output *lines = &slot->lines;

    for (uint64_t moved = 0; moved < max;) {
        bool readable, end;
        ssize_t got;

        CV_TRY(reserve(lines, READ, err));
        CV_TRY(cv_pipe_look(slot->out, &readable, &end, err));
        if (!readable && !end) {
            *out = CV_STORE_EMPTY;
            return CLEAVE_OK;
        }
        got = read(slot->out, lines->bytes + lines->length, READ);
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            return cv_fail(err, CLEAVE_EENGINE, "cannot read an output: %s",
                           strerror(errno));
        if (got == 0) {
            *out = CV_STORE_END;
            return put_lines(slot, lines->length, err);
        }
        if (got > 0)
            CV_TRY(came(slot, (size_t)got, err));
        moved += got > 0 ? (uint64_t)got : 0;
    }
    *out = CV_STORE_BUSY;
    return CLEAVE_OK;
}

/* --- outputs of items ---------------------------------------------------------------- */

static enum cleave_status copy_lines(const struct cv_slot *slot,
                                     struct cv_chunk_output *from,
                                     struct cv_chunk_output *to, const char *tag,
                                     struct cleave_error *err)
{
    char *room = malloc(READ);
    enum cleave_status status = CLEAVE_OK;
    bool begins = true;
    size_t length = 1;

    if (room == NULL)
        return cv_fail_memory(err, "an output");
    while (status == CLEAVE_OK && length > 0) {
        const void *bytes = NULL;

        status = cv_chunk_output_read(from, room, READ, &bytes, &length, err);
        if (status == CLEAVE_OK)
            status = put_tagged(slot, to, tag, bytes, length, &begins, err);
    }
    free(room);
    return status;
}

/* Replace the output by a text, or by a copy with tags. */
static enum cleave_status replace(const struct cv_slot *slot,
                                  struct cv_chunk_output **store, const char *text,
                                  size_t length, bool lines, struct cleave_error *err)
{
    struct cv_chunk_output *made;
    enum cleave_status status;

    CV_TRY(cv_chunk_output_open(slot->outputs, &made, err));
    status = lines ? copy_lines(slot, *store, made, text, err)
                   : cv_chunk_output_write(made, text, length, err);
    cv_chunk_output_drop(status == CLEAVE_OK ? *store : made);
    if (status == CLEAVE_OK)
        *store = made;
    return status;
}

enum cleave_status cv_item_output_format(const struct cv_slot *slot,
                                         struct cv_chunk_output **store,
                                         struct cleave_error *err)
{
    const struct cleave_items *items = slot->items;
    const uint64_t item = slot->piece.begin;
    enum cleave_status status = CLEAVE_OK;
    struct cv_taken taken;
    size_t length = 0;
    char *text;

    if (items == NULL || *store == NULL)
        return CLEAVE_OK;
    if (items->keep != NULL) {
        CV_TRY(cv_ordered_output_take(*store, &taken, err));
        CV_TRY(items->keep(items->context, item, taken.fd, taken.begin, taken.end, &text,
                           &length, err));
        status = replace(slot, store, text != NULL ? text : "", text != NULL ? length : 0,
                         false, err);
        free(text);
        return status;
    }
    if (items->tag == NULL || cv_chunk_output_size(*store) == 0)
        return CLEAVE_OK;
    CV_TRY(items->tag(items->context, item, slot->worker + 1, &text, err));
    status = replace(slot, store, text, 0, true, err);
    free(text);
    return status;
}
