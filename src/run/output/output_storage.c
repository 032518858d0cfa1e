/* output_storage.c -- where outputs are kept: spill files and blocks of memory.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/common/process.h"
#include "run/output/ordered_output_internal.h"

enum {
    SPILL_LEAST = 64 * 1024,
    SPILL_MEMORY = 4 << 20,
    SPILL_DISK = 64 << 20,
    SPILLS = 32, /* about as many exist when all memory is used */
};

enum cleave_status cv_spill_file_fail(const struct cv_ordered_output *outputs, bool disk,
                                      int error, struct cleave_error *err)
{
    if (disk)
        return cv_fail(err, CLEAVE_EENGINE, "cannot keep output in '%s': %s",
                       outputs->directory, strerror(error));
    return cv_fail(err, CLEAVE_EENGINE, "cannot keep output in memory: %s",
                   strerror(error));
}

/* A file without a name, which disappears with its descriptor. */
static int open_nameless(const char *directory)
{
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char *path;

    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    if (asprintf(&path, "%s/cleave-XXXXXX", directory) < 0) {
        errno = ENOMEM;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    free(path);
    return fd;
}

enum cleave_status cv_ordered_output_file(const struct cv_ordered_output *outputs,
                                          int *out, struct cleave_error *err)
{
    *out = open_nameless(outputs->directory);
    return *out >= 0 ? CLEAVE_OK : cv_spill_file_fail(outputs, true, errno, err);
}

static enum cleave_status new_spill(struct cv_ordered_output *outputs, bool disk,
                                    struct cv_spill_file **out, struct cleave_error *err)
{
    struct cv_spill_file *spill = calloc(1, sizeof *spill);

    if (spill == NULL)
        return cv_fail_memory(err, "an output");
    spill->disk = disk;
    spill->fd = disk ? open_nameless(outputs->directory)
                     : memfd_create("cleave-output", MFD_CLOEXEC);
    if (spill->fd < 0) {
        const int error = errno;

        free(spill);
        return cv_spill_file_fail(outputs, disk, error, err);
    }
    spill->next = outputs->spills;
    if (spill->next != NULL)
        spill->next->previous = spill;
    outputs->spills = spill;
    *out = spill;
    return CLEAVE_OK;
}

static void close_spill(struct cv_ordered_output *outputs, struct cv_spill_file *spill)
{
    cv_spill_file_count(outputs, spill, -(int64_t)spill->held);
    if (spill->next != NULL)
        spill->next->previous = spill->previous;
    if (spill->previous != NULL)
        spill->previous->next = spill->next;
    else
        outputs->spills = spill->next;
    cv_close(&spill->fd);
    free(spill);
}

void cv_spill_files_close(struct cv_ordered_output *outputs)
{
    struct cv_spill_file *next;

    for (struct cv_spill_file *spill = outputs->spills; spill != NULL; spill = next) {
        next = spill->next;
        close(spill->fd);
        free(spill);
    }
    outputs->spills = NULL;
}

/* The size from which no other output is begun in the file. Few files need few descriptors; small
 * files return space early. */
static uint64_t spill_bytes(const struct cv_ordered_output *outputs, bool disk)
{
    uint64_t bytes = (disk ? outputs->disk : outputs->options.memory) / SPILLS;

    if (outputs->options.separate)
        return 0;
    if (disk)
        return bytes > SPILL_DISK ? bytes : SPILL_DISK;
    if (bytes > SPILL_MEMORY)
        bytes = SPILL_MEMORY;
    return bytes > SPILL_LEAST ? bytes : SPILL_LEAST;
}

static void list_spill(struct cv_ordered_output *outputs, struct cv_spill_file *spill)
{
    spill->listed = true;
    spill->next_free = outputs->free_spills[spill->disk];
    outputs->free_spills[spill->disk] = spill;
}

enum cleave_status cv_spill_file_take(struct cv_ordered_output *outputs, bool disk,
                                      struct cv_spill_file **out,
                                      struct cleave_error *err)
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

void cv_spill_file_return(struct cv_ordered_output *outputs, struct cv_spill_file *spill)
{
    spill->taken = false;
    if (spill->length < spill_bytes(outputs, spill->disk))
        list_spill(outputs, spill);
}

void cv_spill_file_count(struct cv_ordered_output *outputs, struct cv_spill_file *spill,
                         int64_t bytes)
{
    uint64_t *used = spill->disk ? &outputs->disk : &outputs->memory;

    *used += (uint64_t)bytes;
    spill->held += (uint64_t)bytes;
    if (outputs->disk > outputs->most_disk)
        outputs->most_disk = outputs->disk;
}

void cv_spill_file_leave(struct cv_ordered_output *outputs, struct cv_spill_file *spill)
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
    cv_spill_file_count(outputs, spill, -(int64_t)spill->held);
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

void cv_output_blocks_trim(struct cv_ordered_output *outputs)
{
    while (outputs->spare_blocks != NULL) {
        struct cv_output_block *next = outputs->spare_blocks->next;

        free(outputs->spare_blocks);
        outputs->spare_blocks = next;
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
            cv_output_blocks_trim(outputs);
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

unsigned char *cv_output_blocks_room(struct cv_chunk_output *store, size_t wanted,
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

void cv_output_blocks_added(struct cv_chunk_output *store, size_t bytes)
{
    store->blocks.last->length += bytes;
    store->blocks.bytes += bytes;
}

const unsigned char *cv_output_blocks_front(const struct cv_chunk_output *store,
                                            size_t *out_length)
{
    const struct cv_output_blocks *blocks = &store->blocks;

    *out_length = blocks->first->length - blocks->begin;
    return blocks->first->bytes + blocks->begin;
}

void cv_output_blocks_gone(struct cv_chunk_output *store, size_t bytes)
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

void cv_output_blocks_cut(struct cv_chunk_output *store)
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
    while (first != NULL) {
        struct cv_output_block *next = first->next;

        put_block(outputs, first);
        first = next;
    }
}

void cv_output_blocks_drop_last(struct cv_chunk_output *store, uint64_t bytes)
{
    struct cv_output_blocks *blocks = &store->blocks;
    uint64_t left = blocks->begin + blocks->bytes - bytes;
    struct cv_output_block *block = blocks->first;

    if (bytes == blocks->bytes) {
        cv_output_blocks_clear(store);
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

void cv_output_blocks_clear(struct cv_chunk_output *store)
{
    put_blocks(store->outputs, store->blocks.first);
    store->blocks = (struct cv_output_blocks){ 0 };
}
