/* blocks_xz.c -- blocks of xz, by the index behind them. SPDX-License-Identifier: MIT */
#include <lzma.h>
#include <string.h>

#include "run/decode/blocks.h"

enum { MEMORY = 256 << 20 }; /* most for an index */

/* The index of all streams, or NULL. */
static lzma_index *read_index(const struct cv_block_walk *walk)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    lzma_index *index = NULL;
    uint8_t bytes[8192];
    uint64_t at = 0;
    lzma_ret ret = lzma_file_info_decoder(&stream, &index, MEMORY, walk->size);

    while (ret == LZMA_OK) {
        if (stream.avail_in == 0 && at < walk->size) {
            const uint64_t left = walk->size - at;

            stream.next_in = bytes;
            stream.avail_in = left < sizeof bytes ? (size_t)left : sizeof bytes;
            if (!cv_block_read(walk, at, bytes, stream.avail_in))
                break;
            at += stream.avail_in;
        }
        ret = lzma_code(&stream, at < walk->size ? LZMA_RUN : LZMA_FINISH);
        if (ret == LZMA_SEEK_NEEDED) {
            at = stream.seek_pos;
            stream.avail_in = 0;
            ret = LZMA_OK;
        }
    }
    lzma_end(&stream);
    return ret == LZMA_STREAM_END ? index : NULL;
}

bool cv_blocks_of_xz(struct cv_blocks *blocks, const struct cv_block_walk *walk)
{
    lzma_index *index = read_index(walk);
    lzma_index_iter at;
    bool good = index != NULL;

    if (!good)
        return false;
    lzma_index_iter_init(&at, index);
    while (good && !lzma_index_iter_next(&at, LZMA_INDEX_ITER_NONEMPTY_BLOCK))
        good = cv_blocks_add(blocks,
                             (struct cv_block){ .in = at.block.compressed_file_offset,
                                                .out = at.block.uncompressed_file_offset,
                                                .head = at.stream.compressed_offset });
    blocks->out_end = lzma_index_uncompressed_size(index);
    lzma_index_end(index, NULL);
    return good;
}
