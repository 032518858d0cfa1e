/* output_take.c -- what has been kept, for others than the sink. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/output/ordered_output_internal.h"

enum { COPY = 64 * 1024 }; /* read and written at a time */

/* --- as a file ---------------------------------------------------------------------------- */

/* Put what is in memory into the room left for it on disk. There is none if nothing came
 * to the disk: then its end has not moved, and the next output begins there. */
static enum cleave_status join(struct cv_chunk_output *store, struct cleave_error *err)
{
    struct cv_extent *memory = &store->extents[0], *disk = &store->extents[1];
    const uint64_t length = memory->end - memory->begin;
    const uint64_t begin = disk->begin - length;
    char bytes[COPY];

    if (disk->begin == disk->end) {
        cv_spill_file_leave(store->outputs, disk->spill);
        store->nextents = 1;
        return CLEAVE_OK;
    }
    for (uint64_t done = 0; done < length;) {
        const uint64_t left = length - done;
        ssize_t got = pread(memory->spill->fd, bytes, left < COPY ? (size_t)left : COPY,
                            (off_t)(memory->begin + done));

        if (got > 0)
            got = pwrite(disk->spill->fd, bytes, (size_t)got, (off_t)(begin + done));
        if (got < 0 && errno != EINTR)
            return cv_spill_file_fail(store->outputs, true, errno, err);
        done += got > 0 ? (uint64_t)got : 0;
    }
    cv_spill_file_leave(store->outputs, memory->spill);
    cv_spill_file_count(store->outputs, disk->spill, (int64_t)length);
    disk->begin = begin;
    store->extents[0] = *disk;
    store->nextents = 1;
    return CLEAVE_OK;
}

/* Write blocks to where room was left for them, before what follows on disk. */
static enum cleave_status put_before(struct cv_chunk_output *store,
                                     struct cleave_error *err)
{
    struct cv_extent *disk = &store->extents[0];
    const uint64_t length = store->blocks.bytes;
    uint64_t at = disk->begin - length;

    while (store->blocks.bytes > 0) {
        size_t some;
        const unsigned char *bytes = cv_blocks_front(store, &some);
        const ssize_t put = pwrite(disk->spill->fd, bytes, some, (off_t)at);

        if (put < 0 && errno != EINTR)
            return cv_spill_file_fail(store->outputs, true, errno, err);
        if (put > 0) {
            cv_blocks_gone(store, (size_t)put);
            at += (uint64_t)put;
        }
    }
    cv_spill_file_count(store->outputs, disk->spill, (int64_t)length);
    disk->begin -= length;
    return CLEAVE_OK;
}

/* Blocks become bytes of a file. */
static enum cleave_status put_down(struct cv_chunk_output *store,
                                   struct cleave_error *err)
{
    struct cv_chunk_output blocks = { .outputs = store->outputs,
                                      .blocks = store->blocks };
    enum cleave_status status = CLEAVE_OK;

    if (store->nextents > 0 && store->extents[0].begin < store->extents[0].end)
        return put_before(store, err);
    if (store->nextents > 0)
        cv_spill_file_leave(store->outputs, store->extents[0].spill);
    store->nextents = 0;
    store->blocks = (struct cv_chunk_output_blocks){ 0 };
    store->in_blocks = false;
    while (status == CLEAVE_OK && blocks.blocks.bytes > 0) {
        size_t some;
        const unsigned char *bytes = cv_blocks_front(&blocks, &some);

        status = cv_chunk_output_write(store, bytes, some, err);
        cv_blocks_gone(&blocks, some);
    }
    cv_blocks_clear(&blocks);
    cv_chunk_output_close(store);
    return status;
}

enum cleave_status cv_ordered_output_take(struct cv_chunk_output *store,
                                          struct cv_taken *out, struct cleave_error *err)
{
    cv_chunk_output_close(store);
    if (store->blocks.bytes > 0)
        CV_TRY(put_down(store, err));
    if (store->nextents == 0)
        CV_TRY(cv_chunk_output_begin_extent(store, false, err));
    cv_chunk_output_close(store);
    if (store->nextents == 2)
        CV_TRY(join(store, err));
    *out = (struct cv_taken){ store->extents[0].spill->fd, store->extents[0].begin,
                              store->extents[0].end };
    return CLEAVE_OK;
}

/* --- from the front ----------------------------------------------------------------------- */

void cv_chunk_output_read_over(struct cv_chunk_output *store)
{
    if (store->lent > 0)
        cv_blocks_gone(store, store->lent);
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
        *out_bytes = cv_blocks_front(store, out_length);
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
