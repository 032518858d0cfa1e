/* codec_xz_block.c -- one block of xz. SPDX-License-Identifier: MIT
 *
 * Before it comes the head of the stream that it is in, which says what checks are made. */
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "run/decode/blocks.h"
#include "run/decode/codec.h"

enum part { STREAM, LENGTH, HEAD, BODY };

struct block {
    lzma_stream stream;
    lzma_block block;
    lzma_stream_flags flags;
    enum part part;
    size_t got, wanted;
    uint8_t head[LZMA_BLOCK_HEADER_SIZE_MAX];
    uint8_t out[CV_CODEC_OUT];
};

static bool begins(const uint8_t *bytes, size_t length)
{
    return cv_codec_xz.begins(bytes, length);
}

static void close_block(void *state)
{
    lzma_end(&((struct block *)state)->stream);
    free(state);
}

static void *open_block(void)
{
    struct block *block = malloc(sizeof *block);

    if (block != NULL)
        block->stream = (lzma_stream)LZMA_STREAM_INIT;
    return block;
}

static bool begin(void *state)
{
    struct block *block = state;

    block->part = STREAM;
    block->got = 0;
    block->wanted = LZMA_STREAM_HEADER_SIZE;
    return true;
}

/* The head of a block, which says how it is made. */
static lzma_ret start(struct block *block)
{
    lzma_filter filters[LZMA_FILTERS_MAX + 1];
    lzma_ret ret;

    memset(&block->block, 0, sizeof block->block);
    block->block.version = 1;
    block->block.check = block->flags.check;
    block->block.filters = filters;
    block->block.header_size = lzma_block_header_size_decode(block->head[0]);
    ret = lzma_block_header_decode(&block->block, NULL, block->head);
    if (ret != LZMA_OK)
        return ret;
    ret = lzma_block_decoder(&block->stream, &block->block);
    lzma_filters_free(filters, NULL);
    return ret;
}

/* A part before the body; false: more is needed, or *ret is not LZMA_OK. */
static bool pass(struct block *block, struct cv_codec_io *io, lzma_ret *ret)
{
    const size_t left = block->wanted - block->got;
    const size_t some = left < io->length ? left : io->length;

    memcpy(block->head + block->got, io->in, some);
    block->got += some;
    io->in += some;
    io->length -= some;
    if (block->got < block->wanted)
        return false;
    if (block->part == STREAM) {
        *ret = lzma_stream_header_decode(&block->flags, block->head);
        block->got = 0;
        block->wanted = 1;
    } else if (block->part == LENGTH) {
        *ret = block->head[0] == 0 ? LZMA_DATA_ERROR : LZMA_OK;
        block->wanted = lzma_block_header_size_decode(block->head[0]);
    } else {
        *ret = start(block);
    }
    block->part++;
    return *ret == LZMA_OK;
}

static enum cv_codec_step step(void *state, struct cv_codec_io *io)
{
    struct block *block = state;
    lzma_stream *stream = &block->stream;
    lzma_ret ret = LZMA_OK;

    while (block->part < BODY && pass(block, io, &ret))
        continue;
    if (ret == LZMA_OK && block->part < BODY)
        return CV_CODEC_MORE;
    stream->next_in = io->in;
    stream->avail_in = io->length;
    stream->next_out = block->out;
    stream->avail_out = sizeof block->out;
    if (ret == LZMA_OK)
        ret = lzma_code(stream, LZMA_RUN);
    io->in = stream->next_in;
    io->length = stream->avail_in;
    io->out = block->out;
    io->made = sizeof block->out - stream->avail_out;
    if (ret == LZMA_STREAM_END)
        return CV_CODEC_OVER;
    if (ret == LZMA_MEM_ERROR)
        return CV_CODEC_FULL;
    if (ret != LZMA_OK && ret != LZMA_BUF_ERROR) {
        io->why = "bytes that do not fit their check";
        return CV_CODEC_BAD;
    }
    return io->made > 0 || io->length > 0 ? CV_CODEC_MADE : CV_CODEC_MORE;
}

const struct cv_codec cv_codec_xz_block = {
    .name = "xz",
    .begins = begins,
    .open = open_block,
    .begin = begin,
    .step = step,
    .close = close_block,
};
