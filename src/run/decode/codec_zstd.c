/* codec_zstd.c -- frames of zstd (RFC 8878). SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "run/decode/codec.h"

struct frames {
    ZSTD_DStream *stream; /* owned */
    uint8_t out[CV_CODEC_OUT];
};

/* A frame, or one to be skipped: 0x184D2A50 to 5F. */
static bool begins(const uint8_t *bytes, size_t length)
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

static bool begin(void *state)
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

static enum cv_codec_step step(void *state, struct cv_codec_io *io)
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
    .begins = begins,
    .open = open_frames,
    .begin = begin,
    .step = step,
    .close = close_frames,
};
