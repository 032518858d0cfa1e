/* item_lists.c -- the items of a run: lists of values, and what rows they make.
 * SPDX-License-Identifier: MIT */
#include "run/items/item_lists.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/bisect.h"
#include "base/fail.h"
#include "run/split/split_kind.h"

/* --- values of a list that come, and go when nobody asks for them any more --------- */

enum { BLOCK_BYTES = 64 << 10, BLOCK_VALUES = 4096 };

static void block_done(struct cv_item_block *block)
{
    free(block->bytes);
    free(block->starts);
}

void cv_item_window_done(struct cv_item_window *window)
{
    for (size_t i = 0; i < window->nblocks; i++)
        block_done(&window->blocks[i]);
    free(window->blocks);
    *window = (struct cv_item_window){ .blocks = NULL };
}

static void drop(struct cv_item_window *window, size_t at)
{
    block_done(&window->blocks[at]);
    window->nblocks--;
    memmove(&window->blocks[at], &window->blocks[at + 1],
            (window->nblocks - at) * sizeof *window->blocks);
}

/* The block that grows: another one if that is full. */
static struct cv_item_block *growing(struct cv_item_window *window)
{
    struct cv_item_block *last =
        window->nblocks > 0 ? &window->blocks[window->nblocks - 1] : NULL;

    if (last != NULL && last->length < BLOCK_BYTES && last->count < BLOCK_VALUES)
        return last;
    if (last != NULL && last->left == 0)
        drop(window, window->nblocks - 1);
    if (!CV_ROOM(window->blocks, &window->room, window->nblocks + 1))
        return NULL;
    last = &window->blocks[window->nblocks++];
    *last = (struct cv_item_block){ .first = window->count };
    return last;
}

enum cleave_status cv_item_window_add(struct cv_item_window *window, const char *bytes,
                                      size_t length, struct cleave_error *err)
{
    struct cv_item_block *block = growing(window);

    if (block == NULL ||
        !CV_ROOM(block->bytes, &block->room, block->length + length + 1) ||
        !CV_ROOM(block->starts, &block->starts_room, block->count + 1))
        return cv_fail_memory(err, "the items");
    block->starts[block->count++] = block->length;
    block->left++;
    if (length > 0)
        memcpy(block->bytes + block->length, bytes, length);
    block->bytes[block->length + length] = '\0';
    block->length += length + 1;
    window->count++;
    return CLEAVE_OK;
}

/* The last block that does not begin behind the value. */
static size_t block_of(const struct cv_item_window *window, size_t index)
{
    size_t n;

    CV_BISECT(n, window->nblocks, i, window->blocks[i].first <= index);
    return n > 0 ? n - 1 : 0;
}

const char *cv_item_window_at(const struct cv_item_window *window, size_t index)
{
    const struct cv_item_block *block = &window->blocks[block_of(window, index)];

    return block->bytes + block->starts[index - block->first];
}

void cv_item_window_over(struct cv_item_window *window, size_t index)
{
    const size_t at = block_of(window, index);

    window->blocks[at].left--;
    if (window->blocks[at].left == 0 && at + 1 < window->nblocks)
        drop(window, at);
}

/* --- the items of a run: lists of values, and what rows they make ------------------ */

/* More rows than any machine will run; sums of them stay exact in a double. */
static const uint64_t MOST_ROWS = UINT64_C(1) << 53;

void cv_item_lists_done(struct cv_item_lists *lists)
{
    for (size_t i = 0; i < lists->count; i++) {
        free(lists->items[i].bytes);
        free(lists->items[i].starts);
        cv_item_window_done(&lists->items[i].window);
    }
    free(lists->items);
    *lists = (struct cv_item_lists){ .items = NULL };
}

enum cleave_status cv_item_lists_begin(struct cv_item_lists *lists, bool linked,
                                       struct cleave_error *err)
{
    if (!CV_ROOM(lists->items, &lists->room, lists->count + 1))
        return cv_fail_memory(err, "the items");
    lists->items[lists->count++] = (struct cv_item_list){ .linked = linked };
    return CLEAVE_OK;
}

enum cleave_status cv_item_lists_begin_stream(struct cv_item_lists *lists,
                                              struct cleave_error *err)
{
    CV_TRY(cv_item_lists_begin(lists, false, err));
    lists->items[lists->count - 1].comes = true;
    return CLEAVE_OK;
}

/* The same for one that was read from `name`, which may have held any bytes. */
static enum cleave_status item_lists_add_from(struct cv_item_lists *lists,
                                              const char *name, const char *bytes,
                                              size_t length, struct cleave_error *err)
{
    const struct cv_place place = { name, 0, 0, NULL };

    if (length > 0 && memchr(bytes, '\0', length) != NULL)
        return cv_fail_at(err, &place,
                          "expected items without NUL bytes, which no command can be "
                          "given; if they end in NUL: --null");
    return cv_item_lists_add(lists, bytes, length, err);
}

enum cleave_status cv_item_lists_add(struct cv_item_lists *lists, const char *bytes,
                                     size_t length, struct cleave_error *err)
{
    struct cv_item_list *list = &lists->items[lists->count - 1];

    if (list->comes) {
        CV_TRY(cv_item_window_add(&list->window, bytes, length, err));
        list->count = list->window.count;
        return CLEAVE_OK;
    }
    if (!CV_ROOM(list->bytes, &list->room, list->length + length + 1) ||
        !CV_ROOM(list->starts, &list->starts_room, list->count + 1))
        return cv_fail_memory(err, "the items");
    list->starts[list->count++] = list->length;
    if (length > 0)
        memcpy(list->bytes + list->length, bytes, length);
    list->bytes[list->length + length] = '\0';
    list->length += length + 1;
    return CLEAVE_OK;
}

static size_t count_of(const struct cv_item_list *list)
{
    return list->count > list->first ? list->count - list->first : 0;
}

/* The lists from `begin` on that are linked: how many, and how many rows they make. */
static size_t group_of(const struct cv_item_lists *lists, size_t begin, uint64_t *rows)
{
    size_t end = begin;
    bool empty = false;

    *rows = count_of(&lists->items[begin]);
    for (;
         end < lists->count && (end == begin || lists->link || lists->items[end].linked);
         end++) {
        const size_t count = count_of(&lists->items[end]);

        empty = empty || count == 0;
        if (lists->link ? count > *rows : count < *rows)
            *rows = count;
    }
    if (empty)
        *rows = 0;
    return end - begin;
}

enum cleave_status cv_item_lists_close(struct cv_item_lists *lists,
                                       struct cleave_error *err)
{
    uint64_t rows = 0;

    lists->rows = lists->count > 0;
    for (size_t at = 0; at < lists->count;) {
        at += group_of(lists, at, &rows);
        if (rows > 0 && lists->rows > MOST_ROWS / rows)
            return cv_fail(err, CLEAVE_EINPUT,
                           "expected at most 2^53 items, got lists that make more");
        lists->rows *= rows;
    }
    return CLEAVE_OK;
}

/* Value `index` of a list. */
static const char *value_at(const struct cv_item_list *list, size_t index)
{
    return list->comes ? cv_item_window_at(&list->window, index)
                       : list->bytes + list->starts[index];
}

void cv_item_lists_over(struct cv_item_lists *lists, uint64_t row)
{
    struct cv_item_list *list = &lists->items[lists->count - 1];

    cv_item_window_over(&list->window, list->first + (size_t)row);
}

void cv_item_lists_row(const struct cv_item_lists *lists, uint64_t row, const char **out)
{
    uint64_t below = lists->rows, rows;

    for (size_t at = 0, next; at < lists->count; at = next) {
        uint64_t index;

        next = at + group_of(lists, at, &rows);
        if (rows == 0 || below < rows)
            return; /* then there is no row */
        below /= rows;
        index = row / below;
        row %= below;
        for (size_t i = at; i < next; i++) {
            const struct cv_item_list *list = &lists->items[i];
            const size_t count = count_of(list);

            if (count > 0)
                out[i] = value_at(list, list->first + (size_t)(index % count));
        }
    }
}

/* --- a list that is read as it comes ----------------------------------------------- */

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
    CV_TRY(item_lists_add_from(lists, piece->name, bytes,
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

/* --- lists of items that are read -------------------------------------------------- */

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
        status = item_lists_add_from(lists, standard ? "standard input" : path, line,
                                     (size_t)got, err);
    }
    /* A line that there is no memory for is no error of the file, but no end of it either. */
    if (status == CLEAVE_OK && (ferror(file) || !feof(file)))
        status = cv_fail_at(err, &place, "cannot read: %s", strerror(errno));
    free(line);
    if (!standard)
        fclose(file);
    return status;
}

enum cleave_status cv_item_read_stream(struct cv_item_lists *lists,
                                       struct cv_item_stream *stream,
                                       struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;

    for (bool ended = false; status == CLEAVE_OK && !ended;)
        status = cv_item_stream_read(stream, lists, &ended, err);
    cv_item_stream_free(stream);
    return status;
}
