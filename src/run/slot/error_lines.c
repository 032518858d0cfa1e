/* error_lines.c -- standard error of commands, passed on by whole lines; the lines of an item are passed
 * on together, when its command has ended. SPDX-License-Identifier: MIT */
#include "run/slot/slot.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/write_all.h"
#include "run/slot/slot_kind.h"
#include "run/spawn/starter.h"

enum {
    READ = 1 << 12,
    HELD = 1 << 20, /* bytes that are held back for an end of line or of a command */
};

void cv_error_lines_keep(struct cv_error_lines *lines, const char *bytes, size_t length)
{
    const size_t room = sizeof lines->tail - 1, held = strlen(lines->tail);
    const size_t add = length < room ? length : room;
    const size_t stay = held < room - add ? held : room - add;

    memmove(lines->tail, lines->tail + held - stay, stay);
    for (size_t i = 0; i < add; i++) {
        const char byte = bytes[length - add + i];

        lines->tail[stay + i] = byte != '\0' ? byte : ' ';
    }
    lines->tail[stay + add] = '\0';
}

const char *cv_error_lines_last(const struct cv_error_lines *lines)
{
    const char *end = strchr(lines->tail, '\n');
    const bool full = strlen(lines->tail) == sizeof lines->tail - 1;

    return full && end != NULL && end[1] != '\0' ? end + 1 : lines->tail;
}

/* As in an HTTP header: in any case, maybe with '\r' at its end. */
double cv_error_lines_retry_after(const struct cv_error_lines *lines)
{
    static const char name[] = "Retry-After:";
    const double longest_s = 24 * 3600; /* then the command is asked again */
    size_t length = strlen(lines->tail);
    const char *line = lines->tail;
    double seconds;
    char *end;

    while (length > 0 && strchr("\r\n", lines->tail[length - 1]) != NULL)
        length--;
    for (const char *at = line; at < lines->tail + length; at++)
        line = *at == '\n' ? at + 1 : line;
    if (strncasecmp(line, name, sizeof name - 1) != 0)
        return 0;
    seconds = strtod(line + sizeof name - 1, &end);
    return end == lines->tail + length && seconds > 0 ? fmin(seconds, longest_s) : 0;
}

static void pass(struct cv_slot *slot, size_t length)
{
    struct cv_error_lines *lines = &slot->error_lines;
    const struct cleave_listener *listener = slot->listener;

    if (length == 0)
        return;
    cv_error_lines_keep(lines, lines->bytes, length);
    if (listener != NULL && listener->errors != NULL)
        listener->errors(listener->context, lines->bytes, length);
    else
        (void)cv_write_all(STDERR_FILENO, lines->bytes, length);
    lines->length -= length;
    memmove(lines->bytes, lines->bytes + length, lines->length);
}

/* Read all bytes in the pipe, at most HELD: another process may write all the time. */
static void take(struct cv_slot *slot)
{
    struct cv_error_lines *lines = &slot->error_lines;
    const bool held = slot->busy && slot->items != NULL && !slot->by_lines;
    ssize_t got = 1;

    for (size_t moved = 0; moved < HELD && got > 0; moved += (size_t)got) {
        const char *end;

        if (!CV_ROOM(lines->bytes, &lines->room, lines->length + READ + 1))
            pass(slot,
                 lines->length); /* there is room for READ since the pipe was opened */
        got = read(lines->pipe.read, lines->bytes + lines->length, READ);
        if (got <= 0)
            return;
        lines->length += (size_t)got;
        end = memrchr(lines->bytes, '\n', lines->length);
        if (end != NULL && (!held || lines->length > HELD))
            pass(slot, (size_t)(end + 1 - lines->bytes));
        else if (lines->length > HELD)
            pass(slot, lines->length);
    }
}

static void errors_ready(void *context, unsigned events)
{
    (void)events;
    take(context);
}

static void watch(struct cv_slot *slot)
{
    struct cv_error_lines *lines = &slot->error_lines;

    if (!CV_ROOM(lines->bytes, &lines->room, READ + 1) ||
        cv_poller_add(slot->poller, &lines->watch, lines->pipe.read, CV_READABLE,
                      errors_ready, slot, NULL) != CLEAVE_OK)
        cv_pipe_close(&lines->pipe);
}

int cv_error_lines_open(struct cv_slot *slot)
{
    struct cv_error_lines *lines = &slot->error_lines;

    if (lines->watch.added || slot->listener == NULL ||
        cv_pipe_open(&lines->pipe, NULL) != CLEAVE_OK)
        return lines->pipe.write;
    (void)fcntl(lines->pipe.read, F_SETFL, O_NONBLOCK);
    watch(slot);
    return lines->pipe.write;
}

void cv_error_lines_exchange(struct cv_slot *slot, struct cv_start *child)
{
    struct cv_error_lines *lines = &slot->error_lines;

    cv_poller_remove(slot->poller, &lines->watch);
    cv_starter_exchange_errors(child, &lines->pipe.read, &lines->pipe.write);
    if (lines->pipe.read >= 0)
        watch(slot);
}

void cv_error_lines_end(struct cv_slot *slot)
{
    struct cv_error_lines *lines = &slot->error_lines;

    if (!lines->watch.added)
        return;
    take(slot);
    if (lines->length > 0 && lines->bytes[lines->length - 1] != '\n')
        lines->bytes[lines->length++] = '\n';
    pass(slot, lines->length);
}

void cv_error_lines_close(struct cv_slot *slot)
{
    struct cv_error_lines *lines = &slot->error_lines;

    cv_error_lines_end(slot);
    if (lines->watch.added)
        cv_poller_remove(slot->poller, &lines->watch);
    cv_pipe_close(&lines->pipe);
    free(lines->bytes);
    *lines = (struct cv_error_lines){ .pipe = { -1, -1 } };
}
