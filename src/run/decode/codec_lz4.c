/* codec_lz4.c -- frames of lz4. SPDX-License-Identifier: MIT
 *
 * The library decodes blocks; frames are parsed here. So the output before a damaged block does
 * not depend on how the input arrives. */
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "run/decode/formats.h"

static const uint8_t MAGIC[] = { 0x04, 0x22, 0x4D, 0x18 };

/* --- frame headers -------------------------------------------------------------------------- */

enum {
    FLAGS = 4, /* offsets in a header */
    SIZES = 5,
    VERSION = 0x40, /* flags */
    INDEPENDENT = 0x20,
    BLOCK_CHECK = 0x10,
    SIZED = 8,
    FRAME_CHECK = 4,
    RESERVED = 2,
    DICTIONARY = 1,
    SMALLEST = 4, /* block sizes are 4 (64 KiB) to 7 (4 MiB) */
    SMALL_BITS = 16,
};

static uint32_t number(const uint8_t *bytes)
{
    return (uint32_t)cv_little_endian(bytes, 4);
}

size_t cv_lz4_head_length(const uint8_t *bytes)
{
    return CV_LZ4_LEAST + ((bytes[FLAGS] & SIZED) != 0 ? 8u : 0u) +
           ((bytes[FLAGS] & DICTIONARY) != 0 ? 4u : 0u);
}

/* The checksum of a header, over the bytes after the magic number. */
static uint8_t check_of(const uint8_t *bytes, size_t length)
{
    return (uint8_t)(XXH32(bytes + FLAGS, length - FLAGS - 1, 0) >> 8);
}

bool cv_lz4_head_read(const uint8_t *bytes, struct cv_lz4_head *head)
{
    const size_t length = cv_lz4_head_length(bytes);
    const unsigned flags = bytes[FLAGS], size = bytes[SIZES] >> 4;

    if (memcmp(bytes, MAGIC, sizeof MAGIC) != 0 || (flags & 0xC0) != VERSION ||
        (flags & RESERVED) != 0 || (bytes[SIZES] & 0x8F) != 0 || size < SMALLEST ||
        check_of(bytes, length) != bytes[length - 1])
        return false;
    *head =
        (struct cv_lz4_head){ .independent = (flags & INDEPENDENT) != 0,
                              .block_check = (flags & BLOCK_CHECK) != 0,
                              .frame_check = (flags & FRAME_CHECK) != 0,
                              .sized = (flags & SIZED) != 0,
                              .max = (size_t)1 << (SMALL_BITS + 2 * (size - SMALLEST)) };
    if (head->sized)
        head->size = cv_little_endian(bytes + SIZES + 1, 8);
    return true;
}

/* --- frames --------------------------------------------------------------------------------- */

enum { REACH = 64 * 1024 /* largest distance of a copy into earlier blocks */ };

enum part { HEAD, SKIPPING, BLOCK_HEAD, BLOCK, ENDING };

struct frames {
    enum part part;
    struct cv_lz4_head head;
    uint64_t skip;  /* bytes left of a skippable frame                      */
    uint32_t block; /* the header of the block                              */
    size_t got;     /* bytes of the part that are in `few` or `in`          */
    uint8_t few[CV_LZ4_LONGEST];
    uint8_t *in;        /* owned: a block that arrived in several pieces    */
    uint8_t *out;       /* owned: REACH bytes of earlier output, then a block */
    size_t room;        /* largest block that `in` and `out` can hold       */
    size_t before;      /* bytes of earlier output                          */
    uint64_t made;      /* decoded bytes of the frame                       */
    XXH32_state_t *sum; /* owned                                            */
};

static bool begins(const uint8_t *bytes, size_t length)
{
    return length >= 4 &&
           (memcmp(bytes, MAGIC, sizeof MAGIC) == 0 || cv_frame_is_skippable(bytes));
}

static void close_frames(void *state)
{
    struct frames *frames = state;

    XXH32_freeState(frames->sum);
    free(frames->in);
    free(frames->out);
    free(frames);
}

static void *open_frames(void)
{
    struct frames *frames = calloc(1, sizeof *frames);

    if (frames == NULL)
        return NULL;
    frames->sum = XXH32_createState();
    if (frames->sum != NULL)
        return frames;
    free(frames);
    return NULL;
}

static bool begin(void *state)
{
    struct frames *frames = state;

    frames->part = HEAD;
    frames->got = frames->before = 0;
    frames->made = 0;
    XXH32_reset(frames->sum, 0);
    return true;
}

static enum cv_codec_step bad(struct cv_codec_io *io, const char *why)
{
    io->made = 0;
    io->why = why;
    return CV_CODEC_BAD;
}

/* Collect `wanted` bytes in `to`; false: more input is needed. */
static bool collect(struct frames *frames, struct cv_codec_io *io, uint8_t *to,
                    size_t wanted)
{
    const size_t missing = wanted > frames->got ? wanted - frames->got : 0;
    const size_t some = missing < io->length ? missing : io->length;

    if (some > 0)
        memcpy(to + frames->got, io->in, some);
    frames->got += some;
    io->in += some;
    io->length -= some;
    return frames->got >= wanted;
}

/* A step of each part. CV_CODEC_MADE without output: continue with the next part. */

static bool grow_buffers(struct frames *frames)
{
    if (frames->room >= frames->head.max)
        return true;
    frames->room = 0;
    free(frames->in);
    free(frames->out);
    frames->in = malloc(frames->head.max + CV_LZ4_CHECK);
    frames->out = malloc(REACH + frames->head.max);
    if (frames->in == NULL || frames->out == NULL)
        return false;
    frames->room = frames->head.max;
    return true;
}

static enum cv_codec_step read_head(struct frames *frames, struct cv_codec_io *io)
{
    enum { FIRST = 5, SKIPPABLE = 8 };

    if (!collect(frames, io, frames->few, FIRST))
        return CV_CODEC_MORE;
    if (frames->few[0] != 0x04) {
        if (!collect(frames, io, frames->few, SKIPPABLE))
            return CV_CODEC_MORE;
        frames->skip = number(frames->few + 4);
        frames->part = SKIPPING;
    } else {
        if (!collect(frames, io, frames->few, cv_lz4_head_length(frames->few)))
            return CV_CODEC_MORE;
        if (!cv_lz4_head_read(frames->few, &frames->head))
            return bad(io, "a head that is not lz4's");
        if (!grow_buffers(frames))
            return CV_CODEC_MEMORY;
        frames->part = BLOCK_HEAD;
    }
    frames->got = 0;
    return CV_CODEC_MADE;
}

static enum cv_codec_step skip(struct frames *frames, struct cv_codec_io *io)
{
    const size_t some = frames->skip < io->length ? (size_t)frames->skip : io->length;

    io->in += some;
    io->length -= some;
    frames->skip -= some;
    return frames->skip > 0 ? CV_CODEC_MORE : CV_CODEC_END;
}

static enum cv_codec_step read_block_head(struct frames *frames, struct cv_codec_io *io)
{
    if (!collect(frames, io, frames->few, CV_LZ4_BLOCK))
        return CV_CODEC_MORE;
    frames->got = 0;
    frames->block = number(frames->few);
    frames->part = frames->block == 0 ? ENDING : BLOCK;
    return (frames->block & ~CV_LZ4_STORED) <= frames->head.max
               ? CV_CODEC_MADE
               : bad(io, "a block that is too long");
}

/* Keep the output that later blocks may copy from. */
static void keep(struct frames *frames, size_t made)
{
    const size_t all = frames->before + made, kept = all < REACH ? all : REACH;
    uint8_t *out = frames->out + REACH;

    memmove(out - kept, out + made - kept, kept);
    frames->before = kept;
}

static enum cv_codec_step decode(struct frames *frames, struct cv_codec_io *io,
                                 const uint8_t *block)
{
    const size_t length = frames->block & ~CV_LZ4_STORED;
    const int room = (int)frames->head.max;
    uint8_t *out = frames->out + REACH;
    int made;

    if (frames->head.block_check && XXH32(block, length, 0) != number(block + length))
        return bad(io, "a block that does not fit its check");
    if ((frames->block & CV_LZ4_STORED) != 0) {
        memcpy(out, block, length);
        made = (int)length;
    } else if (frames->before == 0) {
        made = LZ4_decompress_safe((const char *)block, (char *)out, (int)length, room);
    } else {
        made =
            LZ4_decompress_safe_usingDict((const char *)block, (char *)out, (int)length,
                                          room, (const char *)(out - frames->before),
                                          (int)frames->before);
    }
    if (made < 0)
        return bad(io, "a block that cannot be decoded");
    if (frames->head.frame_check)
        XXH32_update(frames->sum, out, (size_t)made);
    if (!frames->head.independent)
        keep(frames, (size_t)made);
    frames->made += (unsigned)made;
    io->out = out;
    io->made = (size_t)made;
    frames->part = BLOCK_HEAD;
    return CV_CODEC_MADE;
}

static enum cv_codec_step read_block(struct frames *frames, struct cv_codec_io *io)
{
    const size_t length = (frames->block & ~CV_LZ4_STORED) +
                          (frames->head.block_check ? (size_t)CV_LZ4_CHECK : 0);
    const uint8_t *block = frames->in;

    if (frames->got == 0 && io->length >= length) {
        block = io->in;
        io->in += length;
        io->length -= length;
    } else if (!collect(frames, io, frames->in, length)) {
        return CV_CODEC_MORE;
    }
    frames->got = 0;
    return decode(frames, io, block);
}

static enum cv_codec_step end(struct frames *frames, struct cv_codec_io *io)
{
    if (frames->head.sized && frames->made != frames->head.size)
        return bad(io, "another number of bytes than it says");
    if (!frames->head.frame_check)
        return CV_CODEC_END;
    if (!collect(frames, io, frames->few, CV_LZ4_CHECK))
        return CV_CODEC_MORE;
    return number(frames->few) == XXH32_digest(frames->sum)
               ? CV_CODEC_END
               : bad(io, "bytes that do not fit their check");
}

static enum cv_codec_step step(void *state, struct cv_codec_io *io)
{
    static enum cv_codec_step (*const steps[])(struct frames *, struct cv_codec_io *) = {
        [HEAD] = read_head,   [SKIPPING] = skip, [BLOCK_HEAD] = read_block_head,
        [BLOCK] = read_block, [ENDING] = end,
    };
    struct frames *frames = state;
    enum cv_codec_step got;

    io->made = 0;
    do
        got = steps[frames->part](frames, io);
    while (got == CV_CODEC_MADE && io->made == 0);
    return got;
}

const struct cv_codec cv_codec_lz4 = {
    .name = "lz4",
    .begins = begins,
    .open = open_frames,
    .begin = begin,
    .step = step,
    .close = close_frames,
};
