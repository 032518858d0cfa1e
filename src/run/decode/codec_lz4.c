/* codec_lz4.c -- frames of lz4. SPDX-License-Identifier: MIT */
#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>

#include "run/decode/codec.h"

struct frames {
    LZ4F_dctx *context; /* owned */
    uint8_t out[CV_CODEC_OUT];
};

/* A frame, one to be skipped, or one of the form before; that is no more decoded, and said so. */
static bool begins(const uint8_t *bytes, size_t length)
{
    return length >= 4 &&
           (memcmp(bytes, "\x04\x22\x4d\x18", 4) == 0 ||
            ((bytes[0] & 0xF0) == 0x50 && memcmp(bytes + 1, "\x2a\x4d\x18", 3) == 0));
}

static void close_frames(void *state)
{
    struct frames *frames = state;

    LZ4F_freeDecompressionContext(frames->context);
    free(frames);
}

static void *open_frames(void)
{
    struct frames *frames = malloc(sizeof *frames);

    if (frames != NULL &&
        LZ4F_isError(LZ4F_createDecompressionContext(&frames->context, LZ4F_VERSION)) !=
            0) {
        free(frames);
        frames = NULL;
    }
    return frames;
}

static bool begin(void *state)
{
    LZ4F_resetDecompressionContext(((struct frames *)state)->context);
    return true;
}

static enum cv_codec_step step(void *state, struct cv_codec_io *io)
{
    struct frames *frames = state;
    size_t used = io->length, made = sizeof frames->out;
    const size_t left =
        LZ4F_decompress(frames->context, frames->out, &made, io->in, &used, NULL);

    if (LZ4F_isError(left) != 0) {
        io->made = 0;
        io->why = LZ4F_getErrorName(left);
        return CV_CODEC_BAD;
    }
    io->in += used;
    io->length -= used;
    io->out = frames->out;
    io->made = made;
    if (left == 0)
        return CV_CODEC_OVER;
    return made > 0 || io->length > 0 ? CV_CODEC_MADE : CV_CODEC_MORE;
}

const struct cv_codec cv_codec_lz4 = {
    .name = "lz4",
    .begins = begins,
    .open = open_frames,
    .begin = begin,
    .step = step,
    .close = close_frames,
};
