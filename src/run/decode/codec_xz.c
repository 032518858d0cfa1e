/* codec_xz.c -- streams of xz. SPDX-License-Identifier: MIT */
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "run/decode/codec.h"

struct streams {
    lzma_stream stream;
    uint8_t out[CV_CODEC_OUT];
};

static bool begins(const uint8_t *bytes, size_t length)
{
    return length >= 6 && memcmp(bytes,
                                 "\xfd"
                                 "7zXZ\0",
                                 6) == 0;
}

static void close_streams(void *state)
{
    lzma_end(&((struct streams *)state)->stream);
    free(state);
}

static void *open_streams(void)
{
    struct streams *streams = malloc(sizeof *streams);

    if (streams != NULL)
        streams->stream = (lzma_stream)LZMA_STREAM_INIT;
    return streams;
}

static bool begin(void *state)
{
    return lzma_stream_decoder(&((struct streams *)state)->stream, UINT64_MAX, 0) ==
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

static enum cv_codec_step step(void *state, struct cv_codec_io *io)
{
    struct streams *streams = state;
    lzma_stream *stream = &streams->stream;
    lzma_ret ret;

    stream->next_in = io->in;
    stream->avail_in = io->length;
    stream->next_out = streams->out;
    stream->avail_out = sizeof streams->out;
    ret = lzma_code(stream, LZMA_RUN);
    io->in = stream->next_in;
    io->length = stream->avail_in;
    io->out = streams->out;
    io->made = sizeof streams->out - stream->avail_out;
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
    .begins = begins,
    .pads = true,
    .open = open_streams,
    .begin = begin,
    .step = step,
    .close = close_streams,
};
