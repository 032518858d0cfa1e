/* output_blocks.c -- outputs in blocks of memory that are used again and again.
 * SPDX-License-Identifier: MIT
 *
 * What comes from a link, or goes to one, passes through this process anyway. A file in
 * memory would take new pages for it, clear them, and give them back, once per output;
 * blocks stay where they are. The last block of an output is cut to size when nothing is
 * added any more, so that many small outputs take no more than they are. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run/output/ordered_output_internal.h"

enum {
    SMALL = 16 * 1024, /* of an output that may be small                           */
    LEAST = 4 * 1024,  /* less room than this is none                              */
    CUT = 4, /* of how many parts one has to be unused to be worth a copy      */
};

/* --- blocks ------------------------------------------------------------------------------- */

/* Have all pages of a block in one call, rather than by a fault for each when it is first
 * written to. A kernel that does not know how gives them as ever. */
static void take_pages(struct cv_chunk_output_block *block)
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

static struct cv_chunk_output_block *make_block(size_t room)
{
    struct cv_chunk_output_block *block = malloc(sizeof *block + room);

    if (block == NULL)
        return NULL;
    *block = (struct cv_chunk_output_block){ .room = room };
    if (room == CV_BLOCK)
        take_pages(block);
    return block;
}

void cv_blocks_trim(struct cv_ordered_output *outputs)
{
    while (outputs->spare_blocks != NULL) {
        struct cv_chunk_output_block *next = outputs->spare_blocks->next;

        free(outputs->spare_blocks);
        outputs->spare_blocks = next;
    }
    outputs->spare = 0;
}

/* A block, of which at least one byte is wanted. NULL: the memory is used up. */
static struct cv_chunk_output_block *get_block(struct cv_ordered_output *outputs,
                                               size_t wanted)
{
    const uint64_t max = outputs->options.memory;
    const uint64_t left = max > outputs->memory ? max - outputs->memory : 0;
    size_t room = wanted > SMALL ? CV_BLOCK : SMALL;
    struct cv_chunk_output_block *block = outputs->spare_blocks;

    if (left < LEAST)
        return NULL;
    if (room == CV_BLOCK && left >= CV_BLOCK && block != NULL) {
        outputs->spare_blocks = block->next;
        outputs->spare -= CV_BLOCK;
    } else {
        room = left < room ? (size_t)left : room;
        if (left < outputs->spare + room)
            cv_blocks_trim(outputs);
        block = make_block(room);
    }
    if (block == NULL)
        return NULL;
    block->next = NULL;
    block->length = 0;
    outputs->memory += block->room;
    return block;
}

static void put_block(struct cv_ordered_output *outputs,
                      struct cv_chunk_output_block *block)
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

/* --- those of an output ------------------------------------------------------------------- */

unsigned char *cv_blocks_room(struct cv_chunk_output *store, size_t wanted,
                              size_t *out_room)
{
    struct cv_chunk_output_blocks *blocks = &store->blocks;
    struct cv_chunk_output_block *last = blocks->last;

    if (last == NULL || last->length == last->room) {
        last = get_block(store->outputs, last == NULL ? wanted : CV_BLOCK);
        if (last == NULL)
            return NULL;
        if (blocks->last == NULL)
            blocks->first = last;
        else
            blocks->last->next = last;
        blocks->last = last;
    }
    *out_room = last->room - last->length;
    return last->bytes + last->length;
}

void cv_blocks_added(struct cv_chunk_output *store, size_t bytes)
{
    store->blocks.last->length += bytes;
    store->blocks.bytes += bytes;
}

const unsigned char *cv_blocks_front(const struct cv_chunk_output *store,
                                     size_t *out_length)
{
    const struct cv_chunk_output_blocks *blocks = &store->blocks;

    *out_length = blocks->first->length - blocks->begin;
    return blocks->first->bytes + blocks->begin;
}

void cv_blocks_gone(struct cv_chunk_output *store, size_t bytes)
{
    struct cv_chunk_output_blocks *blocks = &store->blocks;
    struct cv_chunk_output_block *first = blocks->first;

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

void cv_blocks_cut(struct cv_chunk_output *store)
{
    struct cv_chunk_output_blocks *blocks = &store->blocks;
    struct cv_chunk_output_block *last = blocks->last, *before = blocks->first, *fitting;

    if (last == NULL || last->room - last->length < last->room / CUT)
        return;
    fitting = make_block(last->length);
    if (fitting == NULL)
        return; /* then it stays as large as it is */
    memcpy(fitting->bytes, last->bytes, last->length);
    fitting->length = last->length;
    store->outputs->memory += fitting->room;
    if (before == last) {
        blocks->first = fitting;
    } else {
        while (before->next != last)
            before = before->next;
        before->next = fitting;
    }
    blocks->last = fitting;
    put_block(store->outputs, last);
}

void cv_blocks_drop_last(struct cv_chunk_output *store, uint64_t bytes)
{
    struct cv_chunk_output_blocks *blocks = &store->blocks;
    uint64_t left = blocks->begin + blocks->bytes - bytes;
    struct cv_chunk_output_block *block = blocks->first, *next;

    if (bytes == blocks->bytes) {
        cv_blocks_clear(store);
        return;
    }
    for (; left > block->length; block = block->next)
        left -= block->length;
    block->length = (size_t)left;
    next = block->next;
    block->next = NULL;
    blocks->last = block;
    blocks->bytes -= bytes;
    for (; next != NULL; next = block) {
        block = next->next;
        put_block(store->outputs, next);
    }
}

void cv_blocks_clear(struct cv_chunk_output *store)
{
    while (store->blocks.first != NULL) {
        struct cv_chunk_output_block *next = store->blocks.first->next;

        put_block(store->outputs, store->blocks.first);
        store->blocks.first = next;
    }
    store->blocks = (struct cv_chunk_output_blocks){ 0 };
}
