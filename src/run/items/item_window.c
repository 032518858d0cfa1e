/* item_window.c -- values of a list that come, and go when nobody asks for them any more.
 * SPDX-License-Identifier: MIT */
#include "run/items/item_window.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bisect.h"
#include "base/fail.h"

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
