/* gather_write.c -- write an output whose turn it is. SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "run/output/gather_parts.h"

/* Write the blocks of the store that is being written, at most *most bytes. */
static enum cleave_status write_blocks(struct cv_gather *gather, uint64_t *most,
                                       enum cv_gather_state *out)
{
    struct cv_store *store = gather->writing;

    while (store->blocks.bytes > 0 && *most > 0 && *out == CV_GATHER_BUSY) {
        size_t length, done;
        const unsigned char *bytes = cv_blocks_front(store, &length);
        const int64_t got =
            cv_sink_write_bytes(gather, bytes, length < *most ? length : (size_t)*most);

        CV_TRY(cv_sink_wrote(gather, got, most, &done, out));
        if (done > 0)
            cv_blocks_gone(store, done);
    }
    return CLEAVE_OK;
}

/* Write what is left of the store that is being written, at most *most bytes. */
static enum cleave_status write_store(struct cv_gather *gather, uint64_t *most,
                                      enum cv_gather_state *out)
{
    struct cv_store *store = gather->writing;

    *out = CV_GATHER_BUSY;
    CV_TRY(write_blocks(gather, most, out));
    if (store->blocks.bytes > 0)
        return CLEAVE_OK;
    for (; gather->extent < store->nextents; gather->extent++) {
        struct cv_extent *extent = &store->extents[gather->extent];

        while (extent->begin < extent->end) {
            const uint64_t left = extent->end - extent->begin;
            size_t done;

            if (*most == 0 || *out == CV_GATHER_BLOCKED)
                return CLEAVE_OK;
            CV_TRY(
                cv_sink_wrote(gather,
                              cv_sink_write(gather, extent, left < *most ? left : *most),
                              most, &done, out));
            extent->begin += done;
        }
    }
    *out = CV_GATHER_IDLE;
    return CLEAVE_OK;
}

enum cleave_status cv_gather_write(struct cv_gather *gather, uint64_t *most,
                                   enum cv_gather_state *out)
{
    struct cv_store *store = gather->writing;
    uint64_t room, left;

    if (!store->offered)
        return write_store(gather, most, out);
    if (!store->passes)
        return cv_early_write(gather, most, out);
    gather->extent = 0; /* more may have come to one that was empty */
    left = room = store->whole < *most ? store->whole : *most;
    CV_TRY(write_store(gather, &left, out));
    cv_pass_written(store, room - left);
    if (store->whole == 0)
        *out = CV_GATHER_IDLE;
    return CLEAVE_OK;
}
