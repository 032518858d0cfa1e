/* output_pass.c -- lines of an output, written before it is finished.
 * SPDX-License-Identifier: MIT
 *
 * Whoever fills a store may offer it: when all before it has been written, it is the one in front,
 * and its lines are written as they become whole. It is kept in blocks, which come back as they
 * are written, so that an output without an end takes no memory if it is read. What the memory has
 * no room for, as it has to wait or is read slowly, goes to disk as ever; once that has been
 * written, too, the beginning of a line that is left comes back from there and the space is free.
 *
 * A store in front costs a copy of its bytes, and a search for the end of the last line in
 * those that have just come. To become the one in front costs a look at all that are offered,
 * of which there are as many as commands at a time. */
#include <unistd.h>

#include "run/output/ordered_output_internal.h"

enum { LINE = 64 * 1024 }; /* a longer one stays on disk */

struct cv_chunk_output *cv_pass_find(const struct cv_ordered_output *outputs,
                                     uint64_t begin)
{
    struct cv_chunk_output *store = outputs->offered;

    while (store != NULL && store->begin != begin)
        store = store->next_offered;
    return store;
}

/* Have the beginning of a line in memory again, if it is not too long, and leave the disk. */
static void come_back(struct cv_chunk_output *store)
{
    const struct cv_extent extent = store->extents[0];
    const uint64_t length = extent.end - extent.begin;
    unsigned char *at = NULL;
    size_t room = 0;

    if (length > LINE)
        return;
    if (length > 0)
        at = cv_blocks_room(store, (size_t)length, &room);
    if (room < length || (length > 0 && pread(extent.spill->fd, at, (size_t)length,
                                              (off_t)extent.begin) != (ssize_t)length))
        return;
    if (store->filling)
        cv_spill_file_return(store->outputs, extent.spill);
    store->filling = false;
    cv_spill_file_leave(store->outputs, extent.spill);
    store->nextents = 0;
    if (length > 0)
        cv_blocks_added(store, (size_t)length);
}

void cv_pass_written(struct cv_chunk_output *store, uint64_t bytes)
{
    store->whole -= bytes;
    store->passed += bytes;
    if (store->whole == 0 && store->nextents > 0 && store->blocks.bytes == 0)
        come_back(store);
}

/* The rest of it is written from where it is now. */
void cv_pass_finish(struct cv_chunk_output *store)
{
    if (store->offered && store->outputs->writing == store)
        store->outputs->extent = 0;
    cv_chunk_output_take_out(store);
}
