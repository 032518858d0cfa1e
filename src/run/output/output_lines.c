/* output_lines.c -- an output by lines, for those who fill it. SPDX-License-Identifier: MIT */
#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/output/ordered_output_internal.h"

enum cleave_status cv_chunk_output_write_lines(struct cv_chunk_output *store,
                                               const void *bytes, size_t length,
                                               struct cleave_error *err)
{
    const uint64_t before = cv_chunk_output_size(store);
    const char *end = length > 0 ? memrchr(bytes, '\n', length) : NULL;

    CV_TRY(cv_chunk_output_write(store, bytes, length, err));
    if (end != NULL)
        store->whole = before + (uint64_t)(end + 1 - (const char *)bytes);
    cv_ordered_output_pass_on(store);
    return CLEAVE_OK;
}

/* Bytes at the front of it, at most `most`, as they lie behind one another; 0: it is empty, or
 * cannot be read. */
static size_t read_front(const struct cv_chunk_output *store, void *room, size_t max)
{
    const struct cv_extent *extent = &store->extents[0];
    const unsigned char *bytes;
    uint64_t left;
    ssize_t got;
    size_t length;

    if (store->blocks.bytes > 0) {
        bytes = cv_blocks_front(store, &length);
        length = length < max ? length : max;
        memcpy(room, bytes, length);
        return length;
    }
    left = store->nextents > 0 ? extent->end - extent->begin : 0;
    got = left > 0 ? pread(extent->spill->fd, room, left < max ? (size_t)left : max,
                           (off_t)extent->begin)
                   : 0;
    return got > 0 ? (size_t)got : 0;
}

static void drop_front(struct cv_chunk_output *store, size_t length)
{
    if (store->blocks.bytes > 0)
        cv_blocks_gone(store, length);
    else
        store->extents[0].begin += length;
}

enum cleave_status cv_chunk_output_read_lines(struct cv_chunk_output *store, void *room,
                                              size_t max, size_t *out_length,
                                              struct cleave_error *err)
{
    assert(store->passes && !store->offered && store->nextents < 2);
    *out_length = 0;
    max = store->whole < max ? (size_t)store->whole : max;
    while (*out_length < max) {
        const size_t got =
            read_front(store, (char *)room + *out_length, max - *out_length);

        if (got == 0)
            return cv_fail(err, CLEAVE_EENGINE, "cannot read an output again");
        *out_length += got;
        drop_front(store, got);
        cv_pass_written(store, got);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_chunk_output_read_some(struct cv_chunk_output *store, void *room,
                                             size_t max, size_t *out_length,
                                             struct cleave_error *err)
{
    const uint64_t size = cv_chunk_output_size(store);

    assert(!store->passes && !store->offered && store->nextents < 2);
    *out_length = size > 0 ? read_front(store, room, max) : 0;
    if (size > 0 && *out_length == 0)
        return cv_fail(err, CLEAVE_EENGINE, "cannot read an output again");
    drop_front(store, *out_length);
    store->passed += *out_length;
    return CLEAVE_OK;
}

void cv_chunk_output_keep_lines(struct cv_chunk_output *store)
{
    cv_chunk_output_cut(store, cv_chunk_output_size(store) - store->whole);
}
