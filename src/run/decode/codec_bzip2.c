/* codec_bzip2.c -- streams of bzip2. SPDX-License-Identifier: MIT */
#include <bzlib.h>
#include <stdlib.h>
#include <string.h>

#include "run/decode/codec.h"

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
