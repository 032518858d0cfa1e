/* gather_lines.c -- an output by lines, for those who fill it. SPDX-License-Identifier: MIT */
#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/output/gather_parts.h"

enum cleave_status cv_store_write_lines(struct cv_store *store, const void *bytes,
                                        size_t length, struct cleave_error *err)
{
    const uint64_t before = cv_store_size(store);
    const char *end = length > 0 ? memrchr(bytes, '\n', length) : NULL;

    CV_TRY(cv_store_write(store, bytes, length, err));
    if (end != NULL)
        store->whole = before + (uint64_t)(end + 1 - (const char *)bytes);
    cv_gather_pass_on(store);
    return CLEAVE_OK;
}

/* Bytes at the front of it, at most `most`, as they lie behind one another; 0: it is empty, or
 * cannot be read. */
static size_t read_front(const struct cv_store *store, void *room, size_t most)
{
    const struct cv_extent *extent = &store->extents[0];
    const unsigned char *bytes;
    uint64_t left;
    ssize_t got;
    size_t length;

    if (store->blocks.bytes > 0) {
        bytes = cv_blocks_front(store, &length);
        length = length < most ? length : most;
        memcpy(room, bytes, length);
        return length;
    }
    left = store->nextents > 0 ? extent->end - extent->begin : 0;
    got = left > 0 ? pread(extent->shelf->fd, room, left < most ? (size_t)left : most,
                           (off_t)extent->begin)
                   : 0;
    return got > 0 ? (size_t)got : 0;
}

static void drop_front(struct cv_store *store, size_t length)
{
    if (store->blocks.bytes > 0)
        cv_blocks_gone(store, length);
    else
        store->extents[0].begin += length;
}

enum cleave_status cv_store_read_lines(struct cv_store *store, void *room, size_t most,
                                       size_t *out_length, struct cleave_error *err)
{
    assert(store->passes && !store->offered && store->nextents < 2);
    *out_length = 0;
    most = store->whole < most ? (size_t)store->whole : most;
    while (*out_length < most) {
        const size_t got =
            read_front(store, (char *)room + *out_length, most - *out_length);

        if (got == 0)
            return cv_fail(err, CLEAVE_EENGINE, "cannot read an output again");
        *out_length += got;
        drop_front(store, got);
        cv_pass_written(store, got);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_store_read_some(struct cv_store *store, void *room, size_t most,
                                      size_t *out_length, struct cleave_error *err)
{
    const uint64_t size = cv_store_size(store);

    assert(!store->passes && !store->offered && store->nextents < 2);
    *out_length = size > 0 ? read_front(store, room, most) : 0;
    if (size > 0 && *out_length == 0)
        return cv_fail(err, CLEAVE_EENGINE, "cannot read an output again");
    drop_front(store, *out_length);
    store->passed += *out_length;
    return CLEAVE_OK;
}

void cv_store_keep_lines(struct cv_store *store)
{
    cv_store_cut(store, cv_store_size(store) - store->whole);
}
