/* codec_libraries.c -- streams of bzip2. SPDX-License-Identifier: MIT */
#include <bzlib.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>
#include "run/decode/blocks.h"
#include "run/decode/decoder.h"

struct streams {
    bz_stream stream;
    bool begun;
    char out[CV_CODEC_OUT];
};

static bool begins(const uint8_t *bytes, size_t length)
{
    return length >= 4 && memcmp(bytes, "BZh", 3) == 0 && bytes[3] >= '1' &&
           bytes[3] <= '9';
}

static void end(struct streams *streams)
{
    if (streams->begun)
        BZ2_bzDecompressEnd(&streams->stream);
    streams->begun = false;
}

static void close_streams(void *state)
{
    end(state);
    free(state);
}

static void *open_streams(void)
{
    return calloc(1, sizeof(struct streams));
}

static bool begin(void *state)
{
    struct streams *streams = state;

    end(streams);
    memset(&streams->stream, 0, sizeof streams->stream);
    streams->begun = BZ2_bzDecompressInit(&streams->stream, 0, 0) == BZ_OK;
    return streams->begun;
}

static enum cv_codec_step step(void *state, struct cv_codec_io *io)
{
    struct streams *streams = state;
    bz_stream *stream = &streams->stream;
    const unsigned given = io->length < 1u << 30 ? (unsigned)io->length : 1u << 30;
    /* The library's type is for both directions; nothing is written there. */
    const union {
        const uint8_t *in;
        char *out;
    } bytes = { io->in };
    int ret;

    stream->next_in = bytes.out;
    stream->avail_in = given;
    stream->next_out = streams->out;
    stream->avail_out = sizeof streams->out;
    ret = BZ2_bzDecompress(stream);
    io->in += given - stream->avail_in;
    io->length -= given - stream->avail_in;
    io->out = (const uint8_t *)streams->out;
    io->made = sizeof streams->out - stream->avail_out;
    if (ret == BZ_STREAM_END)
        return CV_CODEC_OVER;
    if (ret == BZ_MEM_ERROR)
        return CV_CODEC_FULL;
    if (ret != BZ_OK) {
        io->why = ret == BZ_DATA_ERROR_MAGIC ? "bytes that are not bzip2's"
                                             : "bytes that do not fit their check";
        return CV_CODEC_BAD;
    }
    return io->made > 0 || io->length > 0 ? CV_CODEC_MADE : CV_CODEC_MORE;
}

const struct cv_codec cv_codec_bzip2 = {
    .name = "bzip2",
    .begins = begins,
    .open = open_streams,
    .begin = begin,
    .step = step,
    .close = close_streams,
};

/* --- streams of xz ----------------------------------------------------------------- */

struct xz_streams {
    lzma_stream stream;
    uint8_t out[CV_CODEC_OUT];
};

static bool xz_begins(const uint8_t *bytes, size_t length)
{
    return length >= 6 && memcmp(bytes,
                                 "\xfd"
                                 "7zXZ\0",
                                 6) == 0;
}

static void xz_close_streams(void *state)
{
    lzma_end(&((struct xz_streams *)state)->stream);
    free(state);
}

static void *xz_open_streams(void)
{
    struct xz_streams *xz_streams = malloc(sizeof *xz_streams);

    if (xz_streams != NULL)
        xz_streams->stream = (lzma_stream)LZMA_STREAM_INIT;
    return xz_streams;
}

static bool xz_begin(void *state)
{
    return lzma_stream_decoder(&((struct xz_streams *)state)->stream, UINT64_MAX, 0) ==
           LZMA_OK;
}

static const char *reason(lzma_ret ret)
{
    switch (ret) {
    case LZMA_FORMAT_ERROR:
        return "bytes that are not xz's";
    case LZMA_OPTIONS_ERROR:
        return "a filter that is not known";
    case LZMA_DATA_ERROR:
        return "bytes that do not fit their check";
    default:
        return "bytes that make no sense";
    }
}

static enum cv_codec_step xz_step(void *state, struct cv_codec_io *io)
{
    struct xz_streams *xz_streams = state;
    lzma_stream *stream = &xz_streams->stream;
    lzma_ret ret;

    stream->next_in = io->in;
    stream->avail_in = io->length;
    stream->next_out = xz_streams->out;
    stream->avail_out = sizeof xz_streams->out;
    ret = lzma_code(stream, LZMA_RUN);
    io->in = stream->next_in;
    io->length = stream->avail_in;
    io->out = xz_streams->out;
    io->made = sizeof xz_streams->out - stream->avail_out;
    if (ret == LZMA_STREAM_END)
        return CV_CODEC_OVER;
    if (ret == LZMA_MEM_ERROR)
        return CV_CODEC_FULL;
    if (ret != LZMA_OK && ret != LZMA_BUF_ERROR) {
        io->why = reason(ret);
        return CV_CODEC_BAD;
    }
    return io->made > 0 || io->length > 0 ? CV_CODEC_MADE : CV_CODEC_MORE;
}

const struct cv_codec cv_codec_xz = {
    .name = "xz",
    .begins = xz_begins,
    .pads = true,
    .open = xz_open_streams,
    .begin = xz_begin,
    .step = xz_step,
    .close = xz_close_streams,
};

/* --- one block of xz --------------------------------------------------------------- */

/* Before it comes the head of the stream that it is in, which says what checks are made. */

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

static bool block_begins(const uint8_t *bytes, size_t length)
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

static bool block_begin(void *state)
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

static enum cv_codec_step block_step(void *state, struct cv_codec_io *io)
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
    .begins = block_begins,
    .open = open_block,
    .begin = block_begin,
    .step = block_step,
    .close = close_block,
};

/* --- frames of zstd (RFC 8878) ----------------------------------------------------- */

struct frames {
    ZSTD_DStream *stream; /* owned */
    uint8_t out[CV_CODEC_OUT];
};

/* A frame, or one to be skipped: 0x184D2A50 to 5F. */
static bool zstd_begins(const uint8_t *bytes, size_t length)
{
    return length >= 4 &&
           (memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0 ||
            ((bytes[0] & 0xF0) == 0x50 && memcmp(bytes + 1, "\x2a\x4d\x18", 3) == 0));
}

static void close_frames(void *state)
{
    struct frames *frames = state;

    ZSTD_freeDStream(frames->stream);
    free(frames);
}

static void *open_frames(void)
{
    struct frames *frames = malloc(sizeof *frames);

    if (frames == NULL)
        return NULL;
    frames->stream = ZSTD_createDStream();
    if (frames->stream == NULL) {
        free(frames);
        return NULL;
    }
    /* As wide as --long=31 makes them. */
    ZSTD_DCtx_setParameter(frames->stream, ZSTD_d_windowLogMax, 31);
    return frames;
}

static bool zstd_begin(void *state)
{
    return ZSTD_isError(ZSTD_initDStream(((struct frames *)state)->stream)) == 0;
}

static enum cv_codec_step fail(ZSTD_ErrorCode error, struct cv_codec_io *io)
{
    if (error == ZSTD_error_memory_allocation)
        return CV_CODEC_FULL;
    if (error != ZSTD_error_dictionary_wrong)
        return CV_CODEC_BAD;
    io->why = "the dictionary that it was compressed with; type 'zstd -dc -D DICTIONARY "
              "FILE | cleave ...'";
    return CV_CODEC_LACK;
}

static enum cv_codec_step zstd_step(void *state, struct cv_codec_io *io)
{
    struct frames *frames = state;
    ZSTD_inBuffer in = { io->in, io->length, 0 };
    ZSTD_outBuffer out = { frames->out, sizeof frames->out, 0 };
    const size_t left = ZSTD_decompressStream(frames->stream, &out, &in);

    io->in += in.pos;
    io->length -= in.pos;
    io->out = frames->out;
    io->made = out.pos;
    if (ZSTD_isError(left) != 0) {
        io->why = ZSTD_getErrorName(left);
        return fail(ZSTD_getErrorCode(left), io);
    }
    if (left == 0)
        return CV_CODEC_OVER;
    return out.pos > 0 || io->length > 0 ? CV_CODEC_MADE : CV_CODEC_MORE;
}

const struct cv_codec cv_codec_zstd = {
    .name = "zstd",
    .begins = zstd_begins,
    .open = open_frames,
    .begin = zstd_begin,
    .step = zstd_step,
    .close = close_frames,
};
