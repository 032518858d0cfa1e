/* chunk_output.c -- the output of one chunk: fill it, read it, take it. SPDX-License-Identifier:
 * MIT */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/fail.h"
#include "base/write_all.h"
#include "run/common/process.h"
#include "run/output/ordered_output_internal.h"

/* --- spill files --------------------------------------------------------------------- */

enum {
    SPILL_LEAST = 64 * 1024,
    SPILL_MEMORY = 4 << 20,
    SPILL_DISK = 64 << 20,
    SPILLS = 32, /* about as many exist when all memory is used */
};

static enum cleave_status fail_spill(const struct cv_ordered_output *outputs, bool disk,
                                     int error, struct cleave_error *err)
{
    return disk ? cv_fail(err, CLEAVE_EENGINE, "cannot keep output in '%s': %s",
                          outputs->options.directory, strerror(error))
                : cv_fail_errno(err, error, "cannot keep output in memory");
}

enum cleave_status cv_ordered_output_file(const struct cv_ordered_output *outputs,
                                          int *out, struct cleave_error *err)
{
    *out = cv_nameless_file_open(outputs->options.directory);
    return *out >= 0 ? CLEAVE_OK : fail_spill(outputs, true, errno, err);
}

static enum cleave_status new_spill(struct cv_ordered_output *outputs, bool disk,
                                    struct cv_spill_file **out, struct cleave_error *err)
{
    struct cv_spill_file *spill = calloc(1, sizeof *spill);

    if (spill == NULL)
        return cv_fail_memory(err, "an output");
    spill->disk = disk;
    spill->fd = disk ? cv_nameless_file_open(outputs->options.directory)
                     : memfd_create("cleave-output", MFD_CLOEXEC);
    if (spill->fd < 0) {
        const int error = errno;

        free(spill);
        return fail_spill(outputs, disk, error, err);
    }
    spill->next = outputs->spills;
    if (spill->next != NULL)
        spill->next->previous = spill;
    outputs->spills = spill;
    *out = spill;
    return CLEAVE_OK;
}

/* Account for `bytes` more; may be negative. */
static void count_bytes(struct cv_ordered_output *outputs, struct cv_spill_file *spill,
                        int64_t bytes)
{
    uint64_t *used = spill->disk ? &outputs->disk : &outputs->memory;

    *used += (uint64_t)bytes;
    spill->held += (uint64_t)bytes;
    if (outputs->disk > outputs->most_disk)
        outputs->most_disk = outputs->disk;
}

static void close_spill(struct cv_ordered_output *outputs, struct cv_spill_file *spill)
{
    count_bytes(outputs, spill, -(int64_t)spill->held);
    if (spill->next != NULL)
        spill->next->previous = spill->previous;
    if (spill->previous != NULL)
        spill->previous->next = spill->next;
    else
        outputs->spills = spill->next;
    cv_close(&spill->fd);
    free(spill);
}

/* The size from which no other output is begun in the file. Few files need few descriptors; small
 * files return space early. */
static uint64_t spill_bytes(const struct cv_ordered_output *outputs, bool disk)
{
    const uint64_t bytes = (disk ? outputs->disk : outputs->options.memory) / SPILLS;

    if (outputs->options.separate)
        return 0;
    if (disk)
        return bytes > SPILL_DISK ? bytes : SPILL_DISK;
    return bytes > SPILL_MEMORY  ? SPILL_MEMORY
           : bytes > SPILL_LEAST ? bytes
                                 : SPILL_LEAST;
}

static void list_spill(struct cv_ordered_output *outputs, struct cv_spill_file *spill)
{
    spill->listed = true;
    spill->next_free = outputs->free_spills[spill->disk];
    outputs->free_spills[spill->disk] = spill;
}

/* Take a spill file to fill an output at its end. */
static enum cleave_status take_spill(struct cv_ordered_output *outputs, bool disk,
                                     struct cv_spill_file **out, struct cleave_error *err)
{
    struct cv_spill_file *spill = outputs->free_spills[disk];

    if (spill != NULL) {
        outputs->free_spills[disk] = spill->next_free;
        spill->listed = false;
    } else {
        CV_TRY(new_spill(outputs, disk, &spill, err));
    }
    spill->taken = true;
    spill->users++;
    *out = spill;
    return CLEAVE_OK;
}

/* The output at its end is complete. */
static void return_spill(struct cv_ordered_output *outputs, struct cv_spill_file *spill)
{
    spill->taken = false;
    if (spill->length < spill_bytes(outputs, spill->disk))
        list_spill(outputs, spill);
}

/* An output that is partly in the file is dropped. */
static void leave_spill(struct cv_ordered_output *outputs, struct cv_spill_file *spill)
{
    spill->users--;
    if (spill->users > 0 || spill->taken)
        return;
    /* A listed file continues to be filled. Truncating it for a few bytes costs more than the
     * bytes. */
    if (spill->listed && spill->length < SPILL_LEAST &&
        spill->held < outputs->options.memory / 4)
        return;
    if (outputs->options.separate || ftruncate(spill->fd, 0) != 0) {
        if (!spill->listed)
            close_spill(outputs, spill);
        return;
    }
    count_bytes(outputs, spill, -(int64_t)spill->held);
    spill->length = 0;
    if (!spill->listed)
        list_spill(outputs, spill);
}

/* --- blocks -------------------------------------------------------------------------- */

/* Bytes from or for a link pass through this process. A memfd would allocate and clear new pages
 * for each output; blocks are reused. The last block of an output is cut to size when the output
 * is complete, so that many small outputs take little memory. */

enum {
    SMALL = 16 * 1024, /* first block of an output */
    LEAST = 4 * 1024,  /* less memory than this counts as none */
    CUT = 4,           /* a block is cut if at least 1 / CUT of it is unused */
};

/* Allocate all pages in one call, not by a fault for each. Older kernels ignore it. */
static void take_pages(struct cv_output_block *block)
{
#ifdef MADV_POPULATE_WRITE
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t begin = (uintptr_t)block, end = begin + sizeof *block + block->room;
    const uintptr_t first = (begin + page - 1) / page * page, last = end / page * page;

    if (first < last)
        (void)madvise((char *)block + (first - begin), last - first, MADV_POPULATE_WRITE);
#else
    (void)block;
#endif
}

static struct cv_output_block *make_block(size_t room)
{
    struct cv_output_block *block = malloc(sizeof *block + room);

    if (block == NULL)
        return NULL;
    *block = (struct cv_output_block){ .room = room };
    if (room == CV_BLOCK)
        take_pages(block);
    return block;
}

static void free_spare_blocks(struct cv_ordered_output *outputs)
{
    for (struct cv_output_block *next; outputs->spare_blocks != NULL;
         outputs->spare_blocks = next) {
        next = outputs->spare_blocks->next;
        free(outputs->spare_blocks);
    }
    outputs->spare = 0;
}

/* NULL: no memory is left. */
static struct cv_output_block *get_block(struct cv_ordered_output *outputs, size_t wanted)
{
    const uint64_t max = outputs->options.memory;
    const uint64_t left = max > outputs->memory ? max - outputs->memory : 0;
    size_t room = wanted > SMALL ? CV_BLOCK : SMALL;
    struct cv_output_block *block = outputs->spare_blocks;

    if (left < LEAST)
        return NULL;
    if (room == CV_BLOCK && left >= CV_BLOCK && block != NULL) {
        outputs->spare_blocks = block->next;
        outputs->spare -= CV_BLOCK;
    } else {
        room = left < room ? (size_t)left : room;
        if (left < outputs->spare + room)
            free_spare_blocks(outputs);
        block = make_block(room);
    }
    if (block == NULL)
        return NULL;
    block->next = NULL;
    block->length = 0;
    outputs->memory += block->room;
    return block;
}

static void put_block(struct cv_ordered_output *outputs, struct cv_output_block *block)
{
    outputs->memory -= block->room;
    if (block->room != CV_BLOCK ||
        outputs->memory + outputs->spare + CV_BLOCK > outputs->options.memory) {
        free(block);
        return;
    }
    block->next = outputs->spare_blocks;
    outputs->spare_blocks = block;
    outputs->spare += CV_BLOCK;
}

/* Room for the next bytes, of which `wanted` are known. NULL: no memory is left. */
static unsigned char *block_room(struct cv_chunk_output *store, size_t wanted,
                                 size_t *out_room)
{
    struct cv_output_blocks *blocks = &store->blocks;
    struct cv_output_block *last = blocks->last;

    if (last == NULL || last->length == last->room) {
        last = get_block(store->outputs, last == NULL ? wanted : CV_BLOCK);
        if (last == NULL)
            return NULL;
        *(blocks->last == NULL ? &blocks->first : &blocks->last->next) = last;
        blocks->last = last;
    }
    *out_room = last->room - last->length;
    return last->bytes + last->length;
}

static void add_to_block(struct cv_chunk_output *store, size_t bytes)
{
    store->blocks.last->length += bytes;
    store->blocks.bytes += bytes;
}

/* Drop bytes of the first block. */
static void drop_first_bytes(struct cv_chunk_output *store, size_t bytes)
{
    struct cv_output_blocks *blocks = &store->blocks;
    struct cv_output_block *first = blocks->first;

    blocks->bytes -= bytes;
    blocks->begin += bytes;
    if (blocks->begin < first->length)
        return;
    blocks->begin = 0;
    blocks->first = first->next;
    if (blocks->first == NULL)
        blocks->last = NULL;
    put_block(store->outputs, first);
}

/* The output is complete: free unused room. */
static void cut_last_block(struct cv_chunk_output *store)
{
    struct cv_output_blocks *blocks = &store->blocks;
    struct cv_output_block *last = blocks->last, **link = &blocks->first, *fitting;

    if (last == NULL || last->room - last->length < last->room / CUT)
        return;
    fitting = make_block(last->length);
    if (fitting == NULL)
        return; /* the block keeps its size */
    memcpy(fitting->bytes, last->bytes, last->length);
    fitting->length = last->length;
    store->outputs->memory += fitting->room;
    while (*link != last)
        link = &(*link)->next;
    *link = blocks->last = fitting;
    put_block(store->outputs, last);
}

static void put_blocks(struct cv_ordered_output *outputs, struct cv_output_block *first)
{
    for (struct cv_output_block *next; first != NULL; first = next) {
        next = first->next;
        put_block(outputs, first);
    }
}

static void clear_blocks(struct cv_chunk_output *store)
{
    put_blocks(store->outputs, store->blocks.first);
    store->blocks = (struct cv_output_blocks){ 0 };
}

static void drop_last_bytes(struct cv_chunk_output *store, uint64_t bytes)
{
    struct cv_output_blocks *blocks = &store->blocks;
    uint64_t left = blocks->begin + blocks->bytes - bytes;
    struct cv_output_block *block = blocks->first;

    if (bytes == blocks->bytes) {
        clear_blocks(store);
        return;
    }
    for (; left > block->length; block = block->next)
        left -= block->length;
    block->length = (size_t)left;
    blocks->bytes -= bytes;
    blocks->last = block;
    put_blocks(store->outputs, block->next);
    block->next = NULL;
}

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

bool cv_chunk_output_put_in_file(struct cv_chunk_output *store, char *name,
                                 uint64_t bytes, struct cv_content_hash hash)
{
    assert(cv_chunk_output_size(store) == 0 && store->file.name == NULL);
    store->file = (struct cv_stored_file){ name, bytes, hash };
    return name != NULL;
}

const struct cv_stored_file *cv_chunk_output_file(const struct cv_chunk_output *store)
{
    return store->file.name != NULL ? &store->file : NULL;
}

static void drop_file(struct cv_chunk_output *store)
{
    if (store->file.name != NULL)
        (void)unlink(store->file.name);
    free(store->file.name);
    store->file = (struct cv_stored_file){ .name = NULL };
}

void cv_chunk_outputs_free(struct cv_ordered_output *outputs)
{
    for (struct cv_chunk_output *next; outputs->stores != NULL; outputs->stores = next) {
        next = outputs->stores->next;
        drop_file(outputs->stores);
        clear_blocks(outputs->stores);
        free(outputs->stores);
    }
    free_spare_blocks(outputs);
    while (outputs->spills != NULL)
        close_spill(outputs, outputs->spills); /* NOLINT(clang-analyzer-unix.Malloc) */
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
    return store->passed + cv_chunk_output_size(store) + store->file.bytes;
}

void cv_chunk_output_close(struct cv_chunk_output *store)
{
    if (store->filling)
        return_spill(store->outputs, store->extents[store->nextents - 1].spill);
    store->filling = false;
    cut_last_block(store);
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
    count_bytes(store->outputs, spill, -(int64_t)(extent->end - extent->begin));
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

void cv_chunk_output_note_cut(const struct cv_chunk_output *store)
{
    store->outputs->cut = cv_chunk_output_passed(store);
    store->outputs->cut_at = store->begin;
}

void cv_chunk_output_drop(struct cv_chunk_output *store)
{
    struct cv_ordered_output *outputs;

    if (store == NULL)
        return;
    outputs = store->outputs;
    if (store->offered && outputs->writing == store) {
        cv_chunk_output_note_cut(store);
        outputs->writing = NULL;
    }
    cv_chunk_output_take_out(store);
    if (store->filling)
        undo_filling(store);
    clear_blocks(store);
    drop_file(store);
    cv_chunk_output_close(store);
    for (size_t i = 0; i < store->nextents; i++)
        leave_spill(outputs, store->extents[i].spill);
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

    CV_TRY(take_spill(store->outputs, disk, &spill, err));
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
        free_spare_blocks(outputs);
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
    count_bytes(store->outputs, extent->spill, (int64_t)bytes);
}

static enum cleave_status look(int fd, enum cv_chunk_output_state *out, size_t *unread,
                               struct cleave_error *err)
{
    bool readable, end;
    int count = 0;

    CV_TRY(cv_pipe_look(fd, &readable, &end, err));
    if (readable && ioctl(fd, FIONREAD, &count) != 0)
        return cv_fail_errno(err, errno, "cannot read an output");
    *unread = count > 0 ? (size_t)count : 0;
    *out = end ? CV_STORE_END : *unread > 0 ? CV_STORE_BUSY : CV_STORE_EMPTY;
    return CLEAVE_OK;
}

static void widen(struct cv_chunk_output *store, int fd)
{
    if (store->widened || cv_chunk_output_size(store) < WIDEN_FROM)
        return;
    store->widened = true;
    cv_pipe_widen(fd, CV_PIPE_WIDE);
}

/* Read from a pipe into blocks. CV_STORE_BUSY before `max`: no memory is left. */
static enum cleave_status pump_blocks(struct cv_chunk_output *store, int fd,
                                      uint64_t *max, enum cv_chunk_output_state *out,
                                      struct cleave_error *err)
{
    size_t unread, room;

    *out = CV_STORE_BUSY;
    while (*max > 0) {
        unsigned char *at;
        ssize_t got;

        CV_TRY(look(fd, out, &unread, err));
        if (*out != CV_STORE_BUSY)
            break;
        at = block_room(store, unread, &room);
        if (at == NULL)
            return CLEAVE_OK;
        room = room < unread ? room : unread;
        got = TEMP_FAILURE_RETRY(read(fd, at, room < *max ? room : (size_t)*max));
        if (got < 0)
            return cv_fail_errno(err, errno, "cannot read an output");
        add_to_block(store, (size_t)got);
        *max -= (uint64_t)got;
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
    char bytes[COPY];

    *out = CV_STORE_BUSY;
    while (max > 0) {
        bool readable, end;
        ssize_t got;

        CV_TRY(cv_pipe_look(fd, &readable, &end, err));
        if (!readable && !end) {
            *out = CV_STORE_EMPTY;
            return CLEAVE_OK;
        }
        got = read(fd, bytes, max < sizeof bytes ? (size_t)max : sizeof bytes);
        if (got == 0) {
            *out = CV_STORE_END;
            return CLEAVE_OK;
        }
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            return cv_fail_errno(err, errno, "cannot read an output");
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
    *out = CV_STORE_BUSY;
    if (store->in_blocks && store->nextents == 0)
        CV_TRY(pump_blocks(store, fd, &max, out, err));
    else if (store->nextents == 0) /* a command that prints nothing needs no spill file */
        CV_TRY(look(fd, out, &unread, err));
    if (*out != CV_STORE_BUSY)
        return CLEAVE_OK;
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
            return fail_spill(store->outputs, extent->spill->disk, errno, err);
        }
    }
    return CLEAVE_OK;
}

enum cleave_status cv_chunk_output_write(struct cv_chunk_output *store, const void *bytes,
                                         size_t length, struct cleave_error *err)
{
    const char *from = bytes;

    while (length > 0 && store->in_blocks && store->nextents == 0) {
        size_t room;
        unsigned char *at = block_room(store, length, &room);

        if (at == NULL)
            break;
        room = room < length ? room : length;
        memcpy(at, from, room);
        add_to_block(store, room);
        from += room;
        length -= room;
    }
    while (length > 0) {
        struct cv_extent *extent;
        uint64_t room;
        ssize_t put;

        CV_TRY(find_room(store, &room, &extent, err));
        put = TEMP_FAILURE_RETRY(pwrite(extent->spill->fd, from,
                                        length < room ? length : (size_t)room,
                                        (off_t)extent->end));
        if (put < 0)
            return fail_spill(store->outputs, extent->spill->disk, errno, err);
        add_bytes(store, extent, (size_t)put);
        from += put;
        length -= (size_t)put;
    }
    return CLEAVE_OK;
}

/* --- the front ----------------------------------------------------------------------- */

struct cv_output_span cv_chunk_output_span(const struct cv_chunk_output *store,
                                           uint64_t at, uint64_t max)
{
    const struct cv_extent *extent = store->extents;
    const struct cv_output_block *block = store->blocks.first;
    struct cv_output_span span = { .bytes = NULL };

    if (at < store->blocks.bytes) {
        at += store->blocks.begin;
        for (; block->next != NULL && at >= block->length; block = block->next)
            at -= block->length;
        span.bytes = block->bytes + at;
        span.length = block->length - at;
    } else {
        at -= store->blocks.bytes;
        for (; extent < store->extents + store->nextents &&
               at >= extent->end - extent->begin;
             extent++)
            at -= extent->end - extent->begin;
        if (extent < store->extents + store->nextents)
            span = (struct cv_output_span){ .spill = extent->spill,
                                            .begin = extent->begin + at,
                                            .length = extent->end - extent->begin - at };
    }
    span.length = span.length < max ? span.length : max;
    return span;
}

bool cv_chunk_output_peek(const struct cv_chunk_output *store, uint64_t at, void *out,
                          size_t length)
{
    char *to = out;
    size_t some;

    for (; length > 0; to += some, at += some, length -= some) {
        const struct cv_output_span span = cv_chunk_output_span(store, at, length);

        some = (size_t)span.length;
        if (some == 0)
            return false;
        if (span.bytes != NULL) {
            memcpy(to, span.bytes, some);
        } else {
            const ssize_t got = pread(span.spill->fd, to, some, (off_t)span.begin);

            if (got <= 0)
                return false;
            some = (size_t)got;
        }
    }
    return true;
}

void cv_chunk_output_drop_front(struct cv_chunk_output *store, uint64_t bytes)
{
    while (bytes > 0 && store->blocks.bytes > 0) {
        const uint64_t part = cv_chunk_output_span(store, 0, bytes).length;

        drop_first_bytes(store, (size_t)part);
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
        drop_first_bytes(store, store->lent);
    store->lent = 0;
}

enum cleave_status cv_chunk_output_read(struct cv_chunk_output *store, void *room,
                                        size_t max, const void **out_bytes,
                                        size_t *out_length, struct cleave_error *err)
{
    struct cv_output_span span;

    cv_chunk_output_close(store);
    cv_chunk_output_read_over(store);
    span = cv_chunk_output_span(store, 0, max);
    *out_length = (size_t)span.length;
    *out_bytes = span.bytes != NULL ? span.bytes : room;
    if (span.bytes != NULL)
        store->lent = (size_t)span.length;
    else if (!cv_chunk_output_peek(store, 0, room, *out_length))
        return cv_fail(err, CLEAVE_EENGINE, "cannot read an output again");
    else
        cv_chunk_output_drop_front(store, span.length);
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
        at = block_room(store, (size_t)length, &room);
    if (room < length || (length > 0 && pread(extent.spill->fd, at, (size_t)length,
                                              (off_t)extent.begin) != (ssize_t)length))
        return;
    if (store->filling)
        return_spill(store->outputs, extent.spill);
    store->filling = false;
    leave_spill(store->outputs, extent.spill);
    store->nextents = 0;
    if (length > 0)
        add_to_block(store, (size_t)length);
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
    if (!store->outputs->options.lines)
        cv_chunk_output_find_line(store);
    cv_chunk_output_drop_back(store, cv_chunk_output_size(store) - store->line_end);
}

void cv_chunk_output_drop_back(struct cv_chunk_output *store, uint64_t bytes)
{
    for (size_t i = store->nextents; i > 0 && bytes > 0; i--) {
        struct cv_extent *extent = &store->extents[i - 1];
        const uint64_t length = extent->end - extent->begin;

        /* The spill file keeps the space until all of it is free. */
        extent->end -= bytes < length ? bytes : length;
        bytes -= bytes < length ? bytes : length;
    }
    if (bytes > 0)
        drop_last_bytes(store, bytes);
}

/* Copy the bytes in memory into the hole before the part on disk, the last extent. If nothing is
 * on disk there is no hole: the file has not grown, and the next output begins there. */
static enum cleave_status join(struct cv_chunk_output *store, struct cleave_error *err)
{
    struct cv_extent disk = store->extents[store->nextents - 1];
    const uint64_t length = cv_chunk_output_size(store) - (disk.end - disk.begin);
    const uint64_t begin = disk.begin - length;
    char bytes[COPY];

    if (disk.begin == disk.end) {
        leave_spill(store->outputs, disk.spill);
        store->nextents--;
        return CLEAVE_OK;
    }
    for (uint64_t done = 0; done < length;) {
        const size_t some = length - done < COPY ? (size_t)(length - done) : COPY;
        ssize_t put = -1;

        errno = EIO;
        if (cv_chunk_output_peek(store, done, bytes, some))
            put = TEMP_FAILURE_RETRY(
                pwrite(disk.spill->fd, bytes, some, (off_t)(begin + done)));
        if (put < 0)
            return fail_spill(store->outputs, true, errno, err);
        done += (uint64_t)put;
    }
    if (store->nextents == 2)
        leave_spill(store->outputs, store->extents[0].spill);
    clear_blocks(store);
    count_bytes(store->outputs, disk.spill, (int64_t)length);
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
        leave_spill(store->outputs, store->extents[0].spill);
    store->nextents = 0;
    store->blocks = (struct cv_output_blocks){ 0 };
    store->in_blocks = false;
    while (status == CLEAVE_OK && blocks.blocks.bytes > 0) {
        const struct cv_output_span span = cv_chunk_output_span(&blocks, 0, UINT64_MAX);

        status = cv_chunk_output_write(store, span.bytes, (size_t)span.length, err);
        drop_first_bytes(&blocks, (size_t)span.length);
    }
    clear_blocks(&blocks);
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
