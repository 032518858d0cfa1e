/* item_lists.c -- lists of items, and the rows that they make. SPDX-License-Identifier: MIT
 *
 * Values are kept in blocks of about 64 KiB. A block is freed when all its values are released,
 * so an old value that is still in use keeps its neighbours, not all values after it. */
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
#include "run/common/piece_part.h"
#include "run/split/split_kind.h"

enum { BLOCK_BYTES = 64 << 10, BLOCK_VALUES = 4096 };
/* Sums of this many rows are exact in a double. */
static const uint64_t MOST_ROWS = UINT64_C(1) << 53;
/* Lists of this size, about half a million names, are not kept in memory. */
enum { LARGE_BYTES = 32 << 20 };
/* Values that one call reads from a file. */
enum { VALUES_PER_CALL = 256 };

/* --- values ------------------------------------------------------------------------------- */

struct cv_item_block {
    size_t first, count; /* values of the list         */
    size_t used;         /* values that are not released */
    char *bytes;         /* owned: values, each with a NUL at its end */
    size_t length, room;
    size_t *starts; /* owned: offsets of values */
    size_t starts_room;
};

static void block_done(struct cv_item_block *block)
{
    free(block->bytes);
    free(block->starts);
}

static void drop_block(struct cv_item_list *list, size_t at)
{
    block_done(&list->blocks[at]);
    list->nblocks--;
    memmove(&list->blocks[at], &list->blocks[at + 1],
            (list->nblocks - at) * sizeof *list->blocks);
}

/* The last block, or a new one if it is full; NULL: memory is short. */
static struct cv_item_block *growing_block(struct cv_item_list *list)
{
    struct cv_item_block *last =
        list->nblocks > 0 ? &list->blocks[list->nblocks - 1] : NULL;

    if (last != NULL && last->length < BLOCK_BYTES && last->count < BLOCK_VALUES)
        return last;
    if (last != NULL && last->used == 0)
        drop_block(list, list->nblocks - 1);
    if (!CV_ROOM(list->blocks, &list->room, list->nblocks + 1))
        return NULL;
    last = &list->blocks[list->nblocks++];
    *last = (struct cv_item_block){ .first = list->count };
    return last;
}

static size_t find_block(const struct cv_item_list *list, size_t index)
{
    size_t n;

    CV_BISECT(n, list->nblocks, i, list->blocks[i].first <= index);
    return n > 0 ? n - 1 : 0;
}

static const char *value_at(const struct cv_item_list *list, size_t index)
{
    const struct cv_item_block *block = &list->blocks[find_block(list, index)];

    return block->bytes + block->starts[index - block->first];
}

static void release_value(struct cv_item_list *list, size_t index)
{
    const size_t at = find_block(list, index);

    list->blocks[at].used--;
    if (list->blocks[at].used == 0 && at + 1 < list->nblocks)
        drop_block(list, at);
}

/* --- lists -------------------------------------------------------------------------------- */

void cv_item_lists_done(struct cv_item_lists *lists)
{
    for (size_t i = 0; i < lists->count; i++) {
        for (size_t k = 0; k < lists->items[i].nblocks; k++)
            block_done(&lists->items[i].blocks[k]);
        free(lists->items[i].blocks);
        cv_text_done(&lists->items[i].held);
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

static bool is_blank(const char *bytes, size_t length)
{
    while (length > 0 && strchr(" \t\n\v\f\r", bytes[length - 1]) != NULL)
        length--;
    return length == 0;
}

static enum cleave_status add_value(struct cv_item_list *list, const char *bytes,
                                    size_t length, struct cleave_error *err)
{
    struct cv_item_block *block = growing_block(list);

    if (block == NULL ||
        !CV_ROOM(block->bytes, &block->room, block->length + length + 1) ||
        !CV_ROOM(block->starts, &block->starts_room, block->count + 1))
        return cv_fail_memory(err, "the items");
    block->starts[block->count++] = block->length;
    block->used++;
    if (length > 0)
        memcpy(block->bytes + block->length, bytes, length);
    block->bytes[block->length + length] = '\0';
    block->length += length + 1;
    list->count++;
    return CLEAVE_OK;
}

enum cleave_status cv_item_lists_end(struct cv_item_lists *lists,
                                     struct cleave_error *err)
{
    struct cv_item_list *list = lists->count > 0 ? &lists->items[lists->count - 1] : NULL;
    enum cleave_status status = CLEAVE_OK;

    if (list != NULL && list->held.failed)
        return cv_fail_memory(err, "the items");
    if (list != NULL && list->held.length > 0)
        status = add_value(list, list->held.bytes, list->held.length, err);
    if (list != NULL)
        cv_text_done(&list->held);
    return status;
}

enum cleave_status cv_item_lists_add(struct cv_item_lists *lists, const char *bytes,
                                     size_t length, struct cleave_error *err)
{
    struct cv_item_list *list = &lists->items[lists->count - 1];
    const bool goes_on = lists->continues && length > 0 &&
                         (bytes[length - 1] == ' ' || bytes[length - 1] == '\t');

    list->ended = list->ended || (lists->end != NULL && strlen(lists->end) == length &&
                                  memcmp(lists->end, bytes, length) == 0);
    if (list->ended || (lists->skips_blank && is_blank(bytes, length)))
        return CLEAVE_OK;
    if (!goes_on && list->held.length == 0)
        return add_value(list, bytes, length, err);
    cv_text_add(&list->held, "%.*s", (int)length, bytes);
    return goes_on ? CLEAVE_OK : cv_item_lists_end(lists, err);
}

/* Append a value that was read from `name` and may have any bytes. */
static enum cleave_status add_from(struct cv_item_lists *lists, const char *name,
                                   const char *bytes, size_t length,
                                   struct cleave_error *err)
{
    if (length > 0 && memchr(bytes, '\0', length) != NULL)
        return cv_fail_at(err, CV_FILE(name),
                          "expected items without NUL bytes, which no command can be "
                          "given; if they end in NUL: items.null");
    return cv_item_lists_add(lists, bytes, length, err);
}

enum cleave_status cv_item_lists_add_file(struct cv_item_lists *lists, const char *path,
                                          char mark, struct cleave_error *err)
{
    const bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "re");
    enum cleave_status status = CLEAVE_OK;
    char *line = NULL;
    size_t room = 0;
    ssize_t got = 0;

    if (file == NULL)
        return cv_fail_at(err, CV_FILE(path), "cannot read: %s", strerror(errno));
    errno = 0;
    while (status == CLEAVE_OK && !lists->items[lists->count - 1].ended &&
           (got = getdelim(&line, &room, mark, file)) >= 0) {
        if (got > 0 && line[got - 1] == mark)
            got--;
        status =
            add_from(lists, standard ? "standard input" : path, line, (size_t)got, err);
    }
    /* If memory for a line is short, neither ferror nor feof is set. */
    if (status == CLEAVE_OK && got < 0 && (ferror(file) || !feof(file)))
        status = cv_fail_at(err, CV_FILE(path), "cannot read: %s", strerror(errno));
    free(line);
    if (!standard)
        fclose(file);
    CV_THEN(status, cv_item_lists_end(lists, err));
    return status;
}

/* --- rows --------------------------------------------------------------------------------- */

static size_t count_values(const struct cv_item_list *list)
{
    return list->count > list->first ? list->count - list->first : 0;
}

/* How many lists from `begin` are linked to each other, and how many rows they make. */
static size_t count_linked(const struct cv_item_lists *lists, size_t begin,
                           uint64_t *rows)
{
    size_t end = begin;
    bool empty = false;

    *rows = count_values(&lists->items[begin]);
    for (;
         end < lists->count && (end == begin || lists->link || lists->items[end].linked);
         end++) {
        const size_t count = count_values(&lists->items[end]);

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
        at += count_linked(lists, at, &rows);
        if (rows > 0 && lists->rows > MOST_ROWS / rows)
            return cv_fail(err, CLEAVE_EINPUT,
                           "expected at most 2^53 items, got lists that make more");
        lists->rows *= rows;
    }
    return CLEAVE_OK;
}

void cv_item_lists_row(const struct cv_item_lists *lists, uint64_t row, const char **out)
{
    uint64_t below = lists->rows, rows;

    for (size_t at = 0, next; at < lists->count; at = next) {
        uint64_t index;

        next = at + count_linked(lists, at, &rows);
        if (rows == 0 || below < rows)
            return; /* there are no rows */
        below /= rows;
        index = row / below;
        row %= below;
        for (size_t i = at; i < next; i++) {
            const struct cv_item_list *list = &lists->items[i];
            const size_t count = count_values(list);

            if (count > 0)
                out[i] = value_at(list, list->first + (size_t)(index % count));
        }
    }
}

enum cleave_status cv_item_lists_skip_row(struct cv_item_lists *lists,
                                          struct cleave_error *err)
{
    for (size_t i = 0; i < lists->count; i++) {
        lists->items[i].first = 1;
        if (lists->items[i].count > 0)
            release_value(&lists->items[i], 0);
    }
    return cv_item_lists_close(lists, err);
}

void cv_item_lists_release(struct cv_item_lists *lists, uint64_t row)
{
    struct cv_item_list *list = &lists->items[lists->count - 1];

    release_value(list, list->first + (size_t)row);
}

/* --- streams ------------------------------------------------------------------------------ */

struct cv_item_stream {
    struct cv_source *source; /* owned, as all here */
    struct cv_splitter *splitter;
    char *bytes; /* a record of a file; a record of a pipe is in memory already */
    size_t room;
};

bool cv_item_list_is_streamed(const char *path)
{
    struct stat now;

    if ((strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &now) : stat(path, &now)) != 0)
        return false; /* reading will report why */
    return S_ISREG(now.st_mode) ? now.st_size >= LARGE_BYTES : !S_ISDIR(now.st_mode);
}

void cv_item_stream_free(struct cv_item_stream *stream)
{
    if (stream == NULL)
        return;
    cv_source_free(stream->source);
    cv_splitter_free(stream->splitter);
    free(stream->bytes);
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
    CV_THEN(status, cv_source_validate(stream->source, err));
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

static enum cleave_status get_bytes(struct cv_item_stream *stream,
                                    const struct cv_piece *piece, const char **out,
                                    struct cleave_error *err)
{
    const struct cv_part part = { .fd = piece->fd,
                                  .begin = piece->body.begin,
                                  .end = piece->body.end };
    const size_t length = (size_t)(part.end - part.begin);

    *out = piece->body_bytes;
    if (piece->fd < 0)
        return CLEAVE_OK;
    if (!CV_ROOM(stream->bytes, &stream->room, length))
        return cv_fail_memory(err, "an item");
    errno = 0;
    if (cv_part_read(&part, part.begin, stream->bytes, length) != (ssize_t)length)
        return cv_fail(err, CLEAVE_EENGINE, "%s: cannot read: %s", piece->name,
                       errno != 0 ? strerror(errno) : "it has become shorter");
    *out = stream->bytes;
    return CLEAVE_OK;
}

/* The length of a record without the NUL or the newlines at its end. */
static size_t trim_record(const struct cv_splitter *splitter, const char *bytes,
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

    CV_TRY(get_bytes(stream, piece, &bytes, err));
    if (piece->fd >= 0)
        CV_TRY(cv_source_check(stream->source, piece, err));
    CV_TRY(add_from(lists, piece->name, bytes,
                    trim_record(stream->splitter, bytes, length), err));
    return cv_source_finish(stream->source, piece, err);
}

/* poll() first: a FIFO without a writer looks like an ended one to a read that does not wait. If
 * a signal ends poll(), nothing is read. */
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
    for (unsigned count = 0; waits || count < VALUES_PER_CALL; count++) {
        CV_TRY(cv_source_take(stream->source, 1, &state, &piece, err));
        if (state == CV_TAKE_PIECE) {
            CV_TRY(add_record(stream, lists, &piece, err));
            if (lists->items[lists->count - 1].ended) {
                *ended = true;
                return cv_item_lists_end(lists, err);
            }
        } else if (state == CV_TAKE_END) {
            *ended = true;
            CV_TRY(cv_item_lists_end(lists, err));
            return cv_source_check_end(stream->source, err);
        } else if (pumped) {
            return CLEAVE_OK;
        } else {
            CV_TRY(pump(stream, err));
            pumped = true;
        }
    }
    return CLEAVE_OK;
}

enum cleave_status cv_item_stream_read_all(struct cv_item_stream *stream,
                                           struct cv_item_lists *lists,
                                           struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;

    for (bool ended = false; status == CLEAVE_OK && !ended;)
        status = cv_item_stream_read(stream, lists, &ended, err);
    cv_item_stream_free(stream);
    return status;
}
