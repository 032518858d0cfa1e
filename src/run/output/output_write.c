/* output_write.c -- write an output whose turn it is. SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "run/output/ordered_output_internal.h"

/* Write the blocks of the store that is being written, at most *most bytes. */
static enum cleave_status write_blocks(struct cv_ordered_output *outputs, uint64_t *max,
                                       enum cv_ordered_output_state *out)
{
    struct cv_chunk_output *store = outputs->writing;

    while (store->blocks.bytes > 0 && *max > 0 && *out == CV_GATHER_BUSY) {
        size_t length, done;
        const unsigned char *bytes = cv_blocks_front(store, &length);
        const int64_t got =
            cv_sink_write_bytes(outputs, bytes, length < *max ? length : (size_t)*max);

        CV_TRY(cv_sink_wrote(outputs, got, max, &done, out));
        if (done > 0)
            cv_blocks_gone(store, done);
    }
    return CLEAVE_OK;
}

/* Write what is left of the store that is being written, at most *most bytes. */
static enum cleave_status write_store(struct cv_ordered_output *outputs, uint64_t *max,
                                      enum cv_ordered_output_state *out)
{
    struct cv_chunk_output *store = outputs->writing;

    *out = CV_GATHER_BUSY;
    CV_TRY(write_blocks(outputs, max, out));
    if (store->blocks.bytes > 0)
        return CLEAVE_OK;
    for (; outputs->extent < store->nextents; outputs->extent++) {
        struct cv_extent *extent = &store->extents[outputs->extent];

        while (extent->begin < extent->end) {
            const uint64_t left = extent->end - extent->begin;
            size_t done;

            if (*max == 0 || *out == CV_GATHER_BLOCKED)
                return CLEAVE_OK;
            CV_TRY(
                cv_sink_wrote(outputs,
                              cv_sink_write(outputs, extent, left < *max ? left : *max),
                              max, &done, out));
            extent->begin += done;
        }
    }
    *out = CV_GATHER_IDLE;
    return CLEAVE_OK;
}

enum cleave_status cv_ordered_output_write(struct cv_ordered_output *outputs,
                                           uint64_t *max,
                                           enum cv_ordered_output_state *out)
{
    struct cv_chunk_output *store = outputs->writing;
    uint64_t room, left;

    if (!store->offered)
        return write_store(outputs, max, out);
    if (!store->passes)
        return cv_streamed_output_write(outputs, max, out);
    outputs->extent = 0; /* more may have come to one that was empty */
    left = room = store->whole < *max ? store->whole : *max;
    CV_TRY(write_store(outputs, &left, out));
    cv_pass_written(store, room - left);
    if (store->whole == 0)
        *out = CV_GATHER_IDLE;
    return CLEAVE_OK;
}
