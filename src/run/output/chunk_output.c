/* chunk_output.c -- the output of one chunk: fill it, read it, take it. SPDX-License-Identifier:
 * MIT */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/common/process.h"
#include "run/output/ordered_output_internal.h"

enum {
    COPY = 64 * 1024,          /* read and written at a time */
    MOST = 16 << 20,           /* bytes per system call */
    WIDEN_FROM = 4 * 64 << 10, /* an output of this size is worth a wider pipe */
    LINE = 64 * 1024,          /* a longer line stays on disk */
    WINDOW = 16 * 1024,        /* read at a time to find a line */
};

enum cleave_status cv_chunk_output_open(struct cv_ordered_output *outputs,
                                        struct cv_chunk_output **out,
                                        struct cleave_error *err)
{
    struct cv_chunk_output *store = outputs->free_stores;

    if (store != NULL) {
        outputs->free_stores = store->next_free;
    } else {
        store = calloc(1, sizeof *store);
        if (store == NULL)
            return cv_fail_memory(err, "an output");
        store->next = outputs->stores;
        outputs->stores = store;
    }
    *store = (struct cv_chunk_output){ .outputs = outputs,
                                       .next = store->next,
                                       .in_blocks = outputs->options.lines };
    *out = store;
    return CLEAVE_OK;
}

void cv_chunk_output_use_blocks(struct cv_chunk_output *store)
{
    const struct cv_ordered_output *outputs = store->outputs;

    assert(store->nextents == 0 && store->blocks.bytes == 0);
    if (outputs->options.lines)
        return;
    store->in_blocks = !outputs->options.files && !outputs->options.separate &&
                       !outputs->options.early && cv_sink_takes_bytes(outputs);
}

uint64_t cv_chunk_output_size(const struct cv_chunk_output *store)
{
    uint64_t size = store->blocks.bytes;

    for (size_t i = 0; i < store->nextents; i++)
        size += store->extents[i].end - store->extents[i].begin;
    return size;
}

uint64_t cv_chunk_output_passed(const struct cv_chunk_output *store)
{
    return store->passed + store->shown;
}

uint64_t cv_chunk_output_came(const struct cv_chunk_output *store)
{
    return store->passed + cv_chunk_output_size(store);
}

void cv_chunk_output_close(struct cv_chunk_output *store)
{
    if (store->filling)
        cv_spill_file_return(store->outputs, store->extents[store->nextents - 1].spill);
    store->filling = false;
    cv_output_blocks_cut(store);
}

/* The output of a failed chunk at the end of a spill file is truncated at once. Other outputs may
 * still be in a pipe. */
static void undo_filling(struct cv_chunk_output *store)
{
    const struct cv_extent *extent = &store->extents[store->nextents - 1];
    struct cv_spill_file *spill = extent->spill;

    if (extent->begin == extent->end || store->shown > 0 ||
        ftruncate(spill->fd, (off_t)extent->begin) != 0)
        return;
    spill->length = extent->begin;
    cv_spill_file_count(store->outputs, spill, -(int64_t)(extent->end - extent->begin));
}

void cv_chunk_output_take_out(struct cv_chunk_output *store)
{
    struct cv_chunk_output **at = &store->outputs->offered;

    if (!store->offered)
        return;
    while (*at != store)
        at = &(*at)->next_offered;
    *at = store->next_offered;
    store->offered = false;
}

void cv_chunk_output_drop(struct cv_chunk_output *store)
{
    struct cv_ordered_output *outputs;

    if (store == NULL)
        return;
    outputs = store->outputs;
    if (store->offered && outputs->writing == store)
        outputs->writing = NULL;
    cv_chunk_output_take_out(store);
    if (store->filling)
        undo_filling(store);
    cv_output_blocks_clear(store);
    cv_chunk_output_close(store);
    for (size_t i = 0; i < store->nextents; i++)
        cv_spill_file_leave(outputs, store->extents[i].spill);
    store->nextents = 0;
    store->next_free = outputs->free_stores;
    outputs->free_stores = store;
}

/* --- filling ------------------------------------------------------------------------- */

static enum cleave_status begin_extent(struct cv_chunk_output *store, bool disk,
                                       struct cleave_error *err)
{
    const uint64_t before = cv_chunk_output_size(store);
    struct cv_extent *extent = &store->extents[store->nextents];
    struct cv_spill_file *spill;

    CV_TRY(cv_spill_file_take(store->outputs, disk, &spill, err));
    if (store->filling)
        cv_chunk_output_close(store);
    extent->spill = spill;
    extent->begin = extent->end = spill->length + before;
    store->nextents++;
    store->filling = true;
    return CLEAVE_OK;
}

/* The extent for the next bytes, and its room. */
static enum cleave_status find_room(struct cv_chunk_output *store, uint64_t *room,
                                    struct cv_extent **out, struct cleave_error *err)
{
    struct cv_ordered_output *outputs = store->outputs;
    const uint64_t max = outputs->options.memory;
    uint64_t left;

    if (outputs->memory + outputs->spare >= max)
        cv_output_blocks_trim(outputs);
    left = max > outputs->memory + outputs->spare ? max - outputs->memory - outputs->spare
                                                  : 0;
    assert(store->filling || store->nextents == 0);
    if (store->nextents == 0)
        CV_TRY(begin_extent(store, left == 0 || store->in_blocks, err));
    if (left == 0 && !store->extents[store->nextents - 1].spill->disk)
        CV_TRY(begin_extent(store, true, err));
    *out = &store->extents[store->nextents - 1];
    *room = (*out)->spill->disk ? UINT64_MAX : left;
    return CLEAVE_OK;
}

static void add_bytes(struct cv_chunk_output *store, struct cv_extent *extent,
                      size_t bytes)
{
    extent->end += bytes;
    extent->spill->length = extent->end;
    cv_spill_file_count(store->outputs, extent->spill, (int64_t)bytes);
}

/* Commands that print nothing need no spill file. */
static enum cv_chunk_output_state look(int fd, size_t *unread)
{
    struct pollfd wait = { .fd = fd, .events = POLLIN };
    int count = 0;

    *unread = 0;
    if (poll(&wait, 1, 0) <= 0)
        return CV_STORE_EMPTY;
    if ((wait.revents & POLLIN) == 0)
        return CV_STORE_END;
    if (ioctl(fd, FIONREAD, &count) == 0 && count > 0)
        *unread = (size_t)count;
    return *unread > 0 ? CV_STORE_BUSY : CV_STORE_EMPTY;
}

static void widen(struct cv_chunk_output *store, int fd)
{
    if (store->widened || cv_chunk_output_size(store) < WIDEN_FROM)
        return;
    store->widened = true;
    cv_pipe_widen(fd, CV_PIPE_WIDE);
}

/* Read from a pipe into blocks. *out_used_up: no memory is left, continue in files. */
static enum cleave_status pump_blocks(struct cv_chunk_output *store, int fd,
                                      uint64_t *max, bool *out_used_up,
                                      enum cv_chunk_output_state *out,
                                      struct cleave_error *err)
{
    size_t unread, room;

    *out = CV_STORE_BUSY;
    *out_used_up = false;
    while (*max > 0 && (*out = look(fd, &unread)) == CV_STORE_BUSY) {
        unsigned char *at = cv_output_blocks_room(store, unread, &room);
        ssize_t got;

        *out_used_up = at == NULL;
        if (at == NULL)
            return CLEAVE_OK;
        room = room < unread ? room : unread;
        got = read(fd, at, room < *max ? room : (size_t)*max);
        if (got < 0 && errno != EINTR)
            return cv_fail(err, CLEAVE_EENGINE, "cannot read an output: %s",
                           strerror(errno));
        if (got > 0) {
            cv_output_blocks_added(store, (size_t)got);
            *max -= (uint64_t)got;
        }
    }
    if (*out == CV_STORE_EMPTY)
        widen(store, fd);
    return CLEAVE_OK;
}

enum cleave_status cv_chunk_output_append_lines(struct cv_chunk_output *store,
                                                const void *bytes, size_t length,
                                                struct cleave_error *err)
{
    const uint64_t before = cv_chunk_output_size(store);
    const char *end = length > 0 ? memrchr(bytes, '\n', length) : NULL;

    CV_TRY(cv_chunk_output_write(store, bytes, length, err));
    if (end != NULL)
        store->line_end = before + (uint64_t)(end + 1 - (const char *)bytes);
    return CLEAVE_OK;
}

/* Read and write, to see lines or because splice is refused. */
static enum cleave_status pump_copying(struct cv_chunk_output *store, int fd,
                                       uint64_t max, enum cv_chunk_output_state *out,
                                       struct cleave_error *err)
{
    struct pollfd readable = { .fd = fd, .events = POLLIN };
    char bytes[COPY];

    *out = CV_STORE_BUSY;
    while (max > 0) {
        ssize_t got;

        if (poll(&readable, 1, 0) <= 0) {
            *out = CV_STORE_EMPTY;
            return CLEAVE_OK;
        }
        got = read(fd, bytes, max < sizeof bytes ? (size_t)max : sizeof bytes);
        if (got == 0) {
            *out = CV_STORE_END;
            return CLEAVE_OK;
        }
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            return cv_fail(err, CLEAVE_EENGINE, "cannot read an output: %s",
                           strerror(errno));
        if (got > 0) {
            CV_TRY(cv_chunk_output_append_lines(store, bytes, (size_t)got, err));
            max -= (uint64_t)got;
        }
    }
    return CLEAVE_OK;
}

enum cleave_status cv_chunk_output_pump(struct cv_chunk_output *store, int fd,
                                        uint64_t max, enum cv_chunk_output_state *out,
                                        struct cleave_error *err)
{
    size_t unread;

    if (store->outputs->options.lines)
        return pump_copying(store, fd, max, out, err);
    if (store->in_blocks && store->nextents == 0) {
        bool used_up;

        CV_TRY(pump_blocks(store, fd, &max, &used_up, out, err));
        if (!used_up)
            return CLEAVE_OK;
    } else if (store->nextents == 0) {
        *out = look(fd, &unread);
        if (*out != CV_STORE_BUSY)
            return CLEAVE_OK;
    }
    while (max > 0) {
        struct cv_extent *extent;
        uint64_t room;
        ssize_t got;
        off_t offset;

        CV_TRY(find_room(store, &room, &extent, err));
        room = room < max ? room : max;
        offset = (off_t)extent->end;
        got =
            splice(fd, NULL, extent->spill->fd, &offset,
                   room < MOST ? (size_t)room : MOST, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
        if (got > 0) {
            add_bytes(store, extent, (size_t)got);
            max -= (uint64_t)got;
        } else if (got == 0 || errno == EAGAIN) {
            *out = got == 0 ? CV_STORE_END : CV_STORE_EMPTY;
            widen(store, fd);
            return CLEAVE_OK;
        } else if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP) {
            return pump_copying(store, fd, max, out, err);
        } else if (errno != EINTR) {
            return cv_spill_file_fail(store->outputs, extent->spill->disk, errno, err);
        }
    }
    *out = CV_STORE_BUSY;
    return CLEAVE_OK;
}

enum cleave_status cv_chunk_output_write(struct cv_chunk_output *store, const void *bytes,
                                         size_t length, struct cleave_error *err)
{
    const char *from = bytes;

    while (length > 0 && store->in_blocks && store->nextents == 0) {
        size_t room;
        unsigned char *at = cv_output_blocks_room(store, length, &room);

        if (at == NULL)
            break;
        room = room < length ? room : length;
        memcpy(at, from, room);
        cv_output_blocks_added(store, room);
        from += room;
        length -= room;
    }
    while (length > 0) {
        struct cv_extent *extent;
        uint64_t room;
        ssize_t put;

        CV_TRY(find_room(store, &room, &extent, err));
        put = pwrite(extent->spill->fd, from, length < room ? length : (size_t)room,
                     (off_t)extent->end);
        if (put < 0 && errno != EINTR)
            return cv_spill_file_fail(store->outputs, extent->spill->disk, errno, err);
        if (put > 0) {
            add_bytes(store, extent, (size_t)put);
            from += put;
            length -= (size_t)put;
        }
    }
    return CLEAVE_OK;
}

/* --- the front ----------------------------------------------------------------------- */

bool cv_chunk_output_peek(const struct cv_chunk_output *store, uint64_t at, void *out,
                          size_t length)
{
    size_t skip = store->blocks.begin;
    char *to = out;

    for (const struct cv_output_block *block = store->blocks.first;
         block != NULL && length > 0; block = block->next, skip = 0) {
        const size_t there = block->length - skip;
        size_t part;

        if (at >= there) {
            at -= there;
            continue;
        }
        part = there - (size_t)at < length ? there - (size_t)at : length;
        memcpy(to, block->bytes + skip + at, part);
        to += part;
        length -= part;
        at = 0;
    }
    for (size_t i = 0; i < store->nextents && length > 0; i++) {
        const struct cv_extent *extent = &store->extents[i];
        const uint64_t there = extent->end - extent->begin;

        while (at < there && length > 0) {
            const ssize_t got =
                pread(extent->spill->fd, to, there - at < length ? there - at : length,
                      (off_t)(extent->begin + at));

            if (got <= 0)
                return false;
            to += got;
            length -= (size_t)got;
            at += (uint64_t)got;
        }
        at -= there;
    }
    return length == 0;
}

void cv_chunk_output_drop_front(struct cv_chunk_output *store, uint64_t bytes)
{
    while (bytes > 0 && store->blocks.bytes > 0) {
        size_t part;

        (void)cv_output_blocks_front(store, &part);
        part = part < bytes ? part : (size_t)bytes;
        cv_output_blocks_gone(store, part);
        bytes -= part;
    }
    for (size_t i = 0; i < store->nextents && bytes > 0; i++) {
        struct cv_extent *extent = &store->extents[i];
        const uint64_t there = extent->end - extent->begin;
        const uint64_t part = there < bytes ? there : bytes;

        extent->begin += part;
        bytes -= part;
    }
}

void cv_chunk_output_read_over(struct cv_chunk_output *store)
{
    if (store->lent > 0)
        cv_output_blocks_gone(store, store->lent);
    store->lent = 0;
}

enum cleave_status cv_chunk_output_read(struct cv_chunk_output *store, void *room,
                                        size_t max, const void **out_bytes,
                                        size_t *out_length, struct cleave_error *err)
{
    cv_chunk_output_close(store);
    cv_chunk_output_read_over(store);
    *out_length = 0;
    if (store->blocks.bytes > 0) {
        *out_bytes = cv_output_blocks_front(store, out_length);
        *out_length = *out_length < max ? *out_length : max;
        store->lent = *out_length;
        return CLEAVE_OK;
    }
    for (size_t i = 0; i < store->nextents && *out_length == 0; i++) {
        struct cv_extent *extent = &store->extents[i];
        const uint64_t left = extent->end - extent->begin;
        ssize_t got;

        if (left == 0)
            continue;
        got = pread(extent->spill->fd, room, left < max ? (size_t)left : max,
                    (off_t)extent->begin);
        if (got <= 0)
            return cv_fail(err, CLEAVE_EENGINE, "cannot read an output again");
        extent->begin += (uint64_t)got;
        *out_bytes = room;
        *out_length = (size_t)got;
    }
    return CLEAVE_OK;
}

/* --- lines --------------------------------------------------------------------------- */

/* Only the beginning of a line is left, on disk: move it to memory unless it is long, and leave
 * the file. */
static void return_from_disk(struct cv_chunk_output *store)
{
    const struct cv_extent extent = store->extents[0];
    const uint64_t length = extent.end - extent.begin;
    unsigned char *at = NULL;
    size_t room = 0;

    if (length > LINE)
        return;
    if (length > 0)
        at = cv_output_blocks_room(store, (size_t)length, &room);
    if (room < length || (length > 0 && pread(extent.spill->fd, at, (size_t)length,
                                              (off_t)extent.begin) != (ssize_t)length))
        return;
    if (store->filling)
        cv_spill_file_return(store->outputs, extent.spill);
    store->filling = false;
    cv_spill_file_leave(store->outputs, extent.spill);
    store->nextents = 0;
    if (length > 0)
        cv_output_blocks_added(store, (size_t)length);
}

void cv_chunk_output_note_passed(struct cv_chunk_output *store, uint64_t bytes)
{
    store->line_end -= bytes;
    store->passed += bytes;
    if (store->line_end == 0 && store->nextents > 0 && store->blocks.bytes == 0)
        return_from_disk(store);
}

enum cleave_status cv_chunk_output_read_some(struct cv_chunk_output *store, void *room,
                                             size_t max, size_t *out_length,
                                             struct cleave_error *err)
{
    const bool lines = store->outputs->options.lines;
    const uint64_t there = lines ? store->line_end : cv_chunk_output_size(store);

    assert(!store->offered && store->nextents < 2);
    *out_length = 0;
    max = there < max ? (size_t)there : max;
    if (!cv_chunk_output_peek(store, 0, room, max))
        return cv_fail(err, CLEAVE_EENGINE, "cannot read an output again");
    cv_chunk_output_drop_front(store, max);
    if (lines && max > 0)
        cv_chunk_output_note_passed(store, max);
    else
        store->passed += max;
    *out_length = max;
    return CLEAVE_OK;
}

/* Bytes that cannot be read are left to the end, when writing them fails. */
void cv_chunk_output_find_line(struct cv_chunk_output *store)
{
    const uint64_t size = cv_chunk_output_size(store);
    uint64_t end = size;
    char bytes[WINDOW];

    while (end > store->looked) {
        const uint64_t left = end - store->looked;
        const size_t length = left < WINDOW ? (size_t)left : WINDOW;
        const char *line = NULL;

        if (cv_chunk_output_peek(store, end - length, bytes, length))
            line = memrchr(bytes, '\n', length);
        if (line != NULL) {
            store->line_end = end - length + (uint64_t)(line + 1 - bytes);
            break;
        }
        end -= length;
    }
    store->looked = size;
}

void cv_chunk_output_keep_lines(struct cv_chunk_output *store)
{
    uint64_t bytes;

    if (!store->outputs->options.lines)
        cv_chunk_output_find_line(store);
    bytes = cv_chunk_output_size(store) - store->line_end;
    for (size_t i = store->nextents; i > 0 && bytes > 0; i--) {
        struct cv_extent *extent = &store->extents[i - 1];
        const uint64_t length = extent->end - extent->begin;

        /* The spill file keeps the space until all of it is free. */
        extent->end -= bytes < length ? bytes : length;
        bytes -= bytes < length ? bytes : length;
    }
    if (bytes > 0)
        cv_output_blocks_drop_last(store, bytes);
}

/* --- as a file ----------------------------------------------------------------------- */

/* Copy the bytes in memory into the hole before the part on disk, the last extent. If nothing is
 * on disk there is no hole: the file has not grown, and the next output begins there. */
static enum cleave_status join(struct cv_chunk_output *store, struct cleave_error *err)
{
    struct cv_extent disk = store->extents[store->nextents - 1];
    const uint64_t length = cv_chunk_output_size(store) - (disk.end - disk.begin);
    const uint64_t begin = disk.begin - length;
    char bytes[COPY];

    if (disk.begin == disk.end) {
        cv_spill_file_leave(store->outputs, disk.spill);
        store->nextents--;
        return CLEAVE_OK;
    }
    for (uint64_t done = 0; done < length;) {
        const size_t some = length - done < COPY ? (size_t)(length - done) : COPY;
        ssize_t put = -1;

        errno = EIO;
        if (cv_chunk_output_peek(store, done, bytes, some))
            put = pwrite(disk.spill->fd, bytes, some, (off_t)(begin + done));
        if (put < 0 && errno != EINTR)
            return cv_spill_file_fail(store->outputs, true, errno, err);
        done += put > 0 ? (uint64_t)put : 0;
    }
    if (store->nextents == 2)
        cv_spill_file_leave(store->outputs, store->extents[0].spill);
    cv_output_blocks_clear(store);
    cv_spill_file_count(store->outputs, disk.spill, (int64_t)length);
    disk.begin = begin;
    store->extents[0] = disk;
    store->nextents = 1;
    return CLEAVE_OK;
}

/* Write blocks to a file. */
static enum cleave_status put_down(struct cv_chunk_output *store,
                                   struct cleave_error *err)
{
    struct cv_chunk_output blocks = { .outputs = store->outputs,
                                      .blocks = store->blocks };
    enum cleave_status status = CLEAVE_OK;

    if (store->nextents > 0)
        cv_spill_file_leave(store->outputs, store->extents[0].spill);
    store->nextents = 0;
    store->blocks = (struct cv_output_blocks){ 0 };
    store->in_blocks = false;
    while (status == CLEAVE_OK && blocks.blocks.bytes > 0) {
        size_t some;
        const unsigned char *bytes = cv_output_blocks_front(&blocks, &some);

        status = cv_chunk_output_write(store, bytes, some, err);
        cv_output_blocks_gone(&blocks, some);
    }
    cv_output_blocks_clear(&blocks);
    cv_chunk_output_close(store);
    return status;
}

enum cleave_status cv_ordered_output_take(struct cv_chunk_output *store,
                                          struct cv_taken *out, struct cleave_error *err)
{
    const struct cv_extent *first = &store->extents[0];

    cv_chunk_output_close(store);
    if (store->blocks.bytes > 0 && (store->nextents == 0 || first->begin == first->end))
        CV_TRY(put_down(store, err));
    if (store->nextents == 0)
        CV_TRY(begin_extent(store, false, err));
    cv_chunk_output_close(store);
    if (store->nextents == 2 || store->blocks.bytes > 0)
        CV_TRY(join(store, err));
    *out = (struct cv_taken){ first->spill->fd, first->begin, first->end };
    return CLEAVE_OK;
}
