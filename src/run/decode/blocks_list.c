/* blocks_list.c -- blocks that were found, and what is read to find them.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/bisect.h"
#include "run/decode/blocks.h"

void cv_blocks_done(struct cv_blocks *blocks)
{
    free(blocks->items);
    *blocks = (struct cv_blocks){ .items = NULL };
}

bool cv_blocks_add(struct cv_blocks *blocks, struct cv_block block)
{
    struct cv_block *larger = blocks->items;

    if (blocks->count == blocks->capacity)
        larger =
            cv_grow(blocks->items, &blocks->capacity, blocks->count + 1, sizeof *larger);
    if (larger == NULL)
        return false;
    blocks->items = larger;
    blocks->items[blocks->count++] = block;
    return true;
}

bool cv_block_read(const struct cv_block_walk *walk, uint64_t at, uint8_t *to,
                   size_t length)
{
    if (at > walk->size || length > walk->size - at)
        return false;
    while (length > 0) {
        const ssize_t got = pread(walk->fd, to, length, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += (uint64_t)got;
        to += got;
        length -= (size_t)got;
    }
    return true;
}

size_t cv_blocks_at(const struct cv_blocks *blocks, uint64_t offset)
{
    size_t n;

    CV_BISECT(n, blocks->count, i, blocks->items[i].out <= offset);
    return n > 0 ? n - 1 : 0;
}
