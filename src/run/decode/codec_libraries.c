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
    bz_stream stream; /* all zeros: not begun, which its end ignores */
    char out[CV_CODEC_OUT];
};

static bool begins_bzip2(const uint8_t *bytes, size_t length)
{
    return length >= 4 && memcmp(bytes, "BZh", 3) == 0 && bytes[3] >= '1' &&
           bytes[3] <= '9';
}

static void close_bzip2(void *state)
{
    BZ2_bzDecompressEnd(&((struct bzip2 *)state)->stream);
    free(state);
}

static void *open_bzip2(void)
{
    return calloc(1, sizeof(struct bzip2));
}

static bool begin_bzip2(void *state)
{
    struct bzip2 *bzip2 = state;

    BZ2_bzDecompressEnd(&bzip2->stream);
    memset(&bzip2->stream, 0, sizeof bzip2->stream);
    return BZ2_bzDecompressInit(&bzip2->stream, 0, 0) == BZ_OK;
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

enum part { STREAM_HEADER, LENGTH, BLOCK_HEADER, BODY };

struct xz {
    lzma_stream stream;
    uint8_t out[CV_CODEC_OUT];
    /* The state of one block. */
    lzma_block block;
    lzma_stream_flags flags;
    enum part part;
    size_t got, wanted; /* bytes of the part */
    uint8_t header[LZMA_BLOCK_HEADER_SIZE_MAX];
};

static bool begins_xz(const uint8_t *bytes, size_t length)
{
    return length >= 6 && memcmp(bytes, "\3757zXZ", 6) == 0;
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
    .pads = 4,
    .open = open_xz,
    .begin = begin_xz,
    .step = step_xz,
    .close = close_xz,
};

/* --- one block of xz, after the header of its stream ------------------------------------------ */

static bool begin_xz_block(void *state)
{
    struct xz *xz = state;

    xz->part = STREAM_HEADER;
    xz->got = 0;
    xz->wanted = LZMA_STREAM_HEADER_SIZE;
    return true;
}

static lzma_ret start_body(struct xz *xz)
{
    lzma_filter filters[LZMA_FILTERS_MAX + 1];
    lzma_ret ret;

    memset(&xz->block, 0, sizeof xz->block);
    xz->block.version = 1;
    xz->block.check = xz->flags.check;
    xz->block.filters = filters;
    xz->block.header_size = lzma_block_header_size_decode(xz->header[0]);
    ret = lzma_block_header_decode(&xz->block, NULL, xz->header);
    if (ret != LZMA_OK)
        return ret;
    ret = lzma_block_decoder(&xz->stream, &xz->block);
    lzma_filters_free(filters, NULL);
    return ret;
}

/* Read a part before the body. LZMA_BUF_ERROR: more input is needed. */
static lzma_ret read_part(struct xz *xz, struct cv_codec_io *io)
{
    const size_t left = xz->wanted - xz->got;
    const size_t some = left < io->length ? left : io->length;

    memcpy(xz->header + xz->got, io->in, some);
    xz->got += some;
    advance(io, some, NULL, 0);
    if (xz->got < xz->wanted)
        return LZMA_BUF_ERROR;
    switch (xz->part++) {
    case STREAM_HEADER:
        xz->got = 0;
        xz->wanted = 1;
        return lzma_stream_header_decode(&xz->flags, xz->header);
    case LENGTH:
        xz->wanted = lzma_block_header_size_decode(xz->header[0]);
        return xz->header[0] == 0 ? LZMA_DATA_ERROR : LZMA_OK;
    default:
        return start_body(xz);
    }
}

static enum cv_codec_step step_xz_block(void *state, struct cv_codec_io *io)
{
    struct xz *xz = state;
    enum cv_codec_step step;

    while (xz->part < BODY) {
        const lzma_ret ret = read_part(xz, io);

        if (ret == LZMA_BUF_ERROR)
            return CV_CODEC_MORE;
        if (ret == LZMA_MEM_ERROR)
            return CV_CODEC_MEMORY;
        io->why = "bytes that do not fit their check";
        if (ret != LZMA_OK)
            return CV_CODEC_BAD;
    }
    step = step_xz(xz, io);
    if (step == CV_CODEC_BAD)
        io->why = "bytes that do not fit their check";
    return step;
}

const struct cv_codec cv_codec_xz_block = {
    .name = "xz",
    .begins = begins_xz,
    .open = open_xz,
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
