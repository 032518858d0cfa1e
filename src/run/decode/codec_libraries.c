/* codec_libraries.c -- bzip2, xz and zstd, decoded by their libraries.
 * SPDX-License-Identifier: MIT */
#include <bzlib.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "run/decode/formats.h"

/* Account for input that was used and output that was made; the step of a member that has
 * not ended. */
static enum cv_codec_step advance(struct cv_codec_io *io, size_t used, const void *out,
                                  size_t made)
{
    io->in += used;
    io->length -= used;
    io->out = out;
    io->made = made;
    return made > 0 || io->length > 0 ? CV_CODEC_MADE : CV_CODEC_MORE;
}

/* --- bzip2 ---------------------------------------------------------------------------------- */

struct bzip2 {
    bz_stream stream;
    bool begun;
    char out[CV_CODEC_OUT];
};

static bool begins_bzip2(const uint8_t *bytes, size_t length)
{
    return length >= 4 && memcmp(bytes, "BZh", 3) == 0 && bytes[3] >= '1' &&
           bytes[3] <= '9';
}

static void end_bzip2(struct bzip2 *bzip2)
{
    if (bzip2->begun)
        BZ2_bzDecompressEnd(&bzip2->stream);
    bzip2->begun = false;
}

static void close_bzip2(void *state)
{
    end_bzip2(state);
    free(state);
}

static void *open_bzip2(void)
{
    return calloc(1, sizeof(struct bzip2));
}

static bool begin_bzip2(void *state)
{
    struct bzip2 *bzip2 = state;

    end_bzip2(bzip2);
    memset(&bzip2->stream, 0, sizeof bzip2->stream);
    bzip2->begun = BZ2_bzDecompressInit(&bzip2->stream, 0, 0) == BZ_OK;
    return bzip2->begun;
}

static enum cv_codec_step step_bzip2(void *state, struct cv_codec_io *io)
{
    struct bzip2 *bzip2 = state;
    bz_stream *stream = &bzip2->stream;
    const unsigned given = io->length < 1u << 30 ? (unsigned)io->length : 1u << 30;
    /* next_in is not const in the library, which only reads it. */
    const union {
        const uint8_t *in;
        char *out;
    } bytes = { io->in };
    enum cv_codec_step step;
    int ret;

    stream->next_in = bytes.out;
    stream->avail_in = given;
    stream->next_out = bzip2->out;
    stream->avail_out = sizeof bzip2->out;
    ret = BZ2_bzDecompress(stream);
    step = advance(io, given - stream->avail_in, bzip2->out,
                   sizeof bzip2->out - stream->avail_out);
    if (ret == BZ_STREAM_END)
        return CV_CODEC_END;
    if (ret == BZ_MEM_ERROR)
        return CV_CODEC_MEMORY;
    if (ret == BZ_OK)
        return step;
    io->why = ret == BZ_DATA_ERROR_MAGIC ? "bytes that are not bzip2's"
                                         : "bytes that do not fit their check";
    return CV_CODEC_BAD;
}

const struct cv_codec cv_codec_bzip2 = {
    .name = "bzip2",
    .begins = begins_bzip2,
    .open = open_bzip2,
    .begin = begin_bzip2,
    .step = step_bzip2,
    .close = close_bzip2,
};

/* --- xz ------------------------------------------------------------------------------------- */

struct xz {
    lzma_stream stream;
    uint8_t out[CV_CODEC_OUT];
};

static bool begins_xz(const uint8_t *bytes, size_t length)
{
    return length >= 6 && memcmp(bytes,
                                 "\xfd"
                                 "7zXZ\0",
                                 6) == 0;
}

static void close_xz(void *state)
{
    lzma_end(&((struct xz *)state)->stream);
    free(state);
}

static void *open_xz(void)
{
    struct xz *xz = malloc(sizeof *xz);

    if (xz != NULL)
        xz->stream = (lzma_stream)LZMA_STREAM_INIT;
    return xz;
}

static bool begin_xz(void *state)
{
    return lzma_stream_decoder(&((struct xz *)state)->stream, UINT64_MAX, 0) == LZMA_OK;
}

static const char *reason_xz(lzma_ret ret)
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

static enum cv_codec_step step_xz(void *state, struct cv_codec_io *io)
{
    struct xz *xz = state;
    lzma_stream *stream = &xz->stream;
    enum cv_codec_step step;
    lzma_ret ret;

    stream->next_in = io->in;
    stream->avail_in = io->length;
    stream->next_out = xz->out;
    stream->avail_out = sizeof xz->out;
    ret = lzma_code(stream, LZMA_RUN);
    step = advance(io, io->length - stream->avail_in, xz->out,
                   sizeof xz->out - stream->avail_out);
    if (ret == LZMA_STREAM_END)
        return CV_CODEC_END;
    if (ret == LZMA_MEM_ERROR)
        return CV_CODEC_MEMORY;
    if (ret == LZMA_OK || ret == LZMA_BUF_ERROR)
        return step;
    io->why = reason_xz(ret);
    return CV_CODEC_BAD;
}

const struct cv_codec cv_codec_xz = {
    .name = "xz",
    .begins = begins_xz,
    .pads = true,
    .open = open_xz,
    .begin = begin_xz,
    .step = step_xz,
    .close = close_xz,
};

/* --- one block of xz, after the header of its stream ------------------------------------------ */

enum part { STREAM_HEADER, LENGTH, BLOCK_HEADER, BODY };

struct xz_block {
    struct xz xz; /* first */
    lzma_block block;
    lzma_stream_flags flags;
    enum part part;
    size_t got, wanted; /* bytes of the part */
    uint8_t header[LZMA_BLOCK_HEADER_SIZE_MAX];
};

static void *open_xz_block(void)
{
    struct xz_block *block = malloc(sizeof *block);

    if (block != NULL)
        block->xz.stream = (lzma_stream)LZMA_STREAM_INIT;
    return block;
}

static bool begin_xz_block(void *state)
{
    struct xz_block *block = state;

    block->part = STREAM_HEADER;
    block->got = 0;
    block->wanted = LZMA_STREAM_HEADER_SIZE;
    return true;
}

static lzma_ret start_body(struct xz_block *block)
{
    lzma_filter filters[LZMA_FILTERS_MAX + 1];
    lzma_ret ret;

    memset(&block->block, 0, sizeof block->block);
    block->block.version = 1;
    block->block.check = block->flags.check;
    block->block.filters = filters;
    block->block.header_size = lzma_block_header_size_decode(block->header[0]);
    ret = lzma_block_header_decode(&block->block, NULL, block->header);
    if (ret != LZMA_OK)
        return ret;
    ret = lzma_block_decoder(&block->xz.stream, &block->block);
    lzma_filters_free(filters, NULL);
    return ret;
}

/* Read a part before the body. LZMA_BUF_ERROR: more input is needed. */
static lzma_ret read_part(struct xz_block *block, struct cv_codec_io *io)
{
    const size_t left = block->wanted - block->got;
    const size_t some = left < io->length ? left : io->length;

    memcpy(block->header + block->got, io->in, some);
    block->got += some;
    advance(io, some, NULL, 0);
    if (block->got < block->wanted)
        return LZMA_BUF_ERROR;
    switch (block->part++) {
    case STREAM_HEADER:
        block->got = 0;
        block->wanted = 1;
        return lzma_stream_header_decode(&block->flags, block->header);
    case LENGTH:
        block->wanted = lzma_block_header_size_decode(block->header[0]);
        return block->header[0] == 0 ? LZMA_DATA_ERROR : LZMA_OK;
    default:
        return start_body(block);
    }
}

static enum cv_codec_step step_xz_block(void *state, struct cv_codec_io *io)
{
    struct xz_block *block = state;
    enum cv_codec_step step;

    while (block->part < BODY) {
        const lzma_ret ret = read_part(block, io);

        if (ret == LZMA_BUF_ERROR)
            return CV_CODEC_MORE;
        if (ret == LZMA_MEM_ERROR)
            return CV_CODEC_MEMORY;
        io->why = "bytes that do not fit their check";
        if (ret != LZMA_OK)
            return CV_CODEC_BAD;
    }
    step = step_xz(&block->xz, io);
    if (step == CV_CODEC_BAD)
        io->why = "bytes that do not fit their check";
    return step;
}

const struct cv_codec cv_codec_xz_block = {
    .name = "xz",
    .begins = begins_xz,
    .open = open_xz_block,
    .begin = begin_xz_block,
    .step = step_xz_block,
    .close = close_xz,
};

/* --- zstd (RFC 8878) ------------------------------------------------------------------------- */

struct zstd {
    ZSTD_DStream *stream; /* owned */
    uint8_t out[CV_CODEC_OUT];
};

static bool begins_zstd(const uint8_t *bytes, size_t length)
{
    return length >= 4 &&
           (memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0 || cv_frame_is_skippable(bytes));
}

static void close_zstd(void *state)
{
    struct zstd *zstd = state;

    ZSTD_freeDStream(zstd->stream);
    free(zstd);
}

static void *open_zstd(void)
{
    struct zstd *zstd = malloc(sizeof *zstd);

    if (zstd == NULL)
        return NULL;
    zstd->stream = ZSTD_createDStream();
    if (zstd->stream == NULL) {
        free(zstd);
        return NULL;
    }
    ZSTD_DCtx_setParameter(zstd->stream, ZSTD_d_windowLogMax, 31); /* zstd --long=31 */
    return zstd;
}

static bool begin_zstd(void *state)
{
    return ZSTD_isError(ZSTD_initDStream(((struct zstd *)state)->stream)) == 0;
}

static enum cv_codec_step fail_zstd(size_t result, struct cv_codec_io *io)
{
    io->why = ZSTD_getErrorName(result);
    if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
        return CV_CODEC_MEMORY;
    if (ZSTD_getErrorCode(result) != ZSTD_error_dictionary_wrong)
        return CV_CODEC_BAD;
    io->why = "the dictionary that it was compressed with; type 'zstd -dc -D DICTIONARY "
              "FILE | cleave ...'";
    return CV_CODEC_LACK;
}

static enum cv_codec_step step_zstd(void *state, struct cv_codec_io *io)
{
    struct zstd *zstd = state;
    ZSTD_inBuffer in = { io->in, io->length, 0 };
    ZSTD_outBuffer out = { zstd->out, sizeof zstd->out, 0 };
    const size_t left = ZSTD_decompressStream(zstd->stream, &out, &in);
    const enum cv_codec_step step = advance(io, in.pos, zstd->out, out.pos);

    if (ZSTD_isError(left) != 0)
        return fail_zstd(left, io);
    return left == 0 ? CV_CODEC_END : step;
}

const struct cv_codec cv_codec_zstd = {
    .name = "zstd",
    .begins = begins_zstd,
    .open = open_zstd,
    .begin = begin_zstd,
    .step = step_zstd,
    .close = close_zstd,
};
