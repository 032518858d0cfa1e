/* codec_lz4.c -- frames of lz4. SPDX-License-Identifier: MIT
 *
 * The library decodes blocks; frames are taken apart here. So a block that is damaged is told by itself, with
 * all that was made before, however the bytes come, and blocks can be decoded by several (parallel_frames.c). */
#include "run/decode/codec_lz4.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "run/decode/decoder.h"

static const uint8_t MAGIC[] = { 0x04, 0x22, 0x4D, 0x18 };

/* --- heads ---------------------------------------------------------------------------------- */

enum {
    FLAGS = 4, /* where they are in a head, and the size of blocks behind them */
    SIZES = 5,
    VERSION = 0x40, /* bits of the flags */
    APART = 0x20,
    CHECKS = 0x10,
    SIZED = 8,
    CHECKED = 4,
    RESERVED = 2,
    NAMED = 1,       /* a dictionary */
    SMALLEST = 4,    /* sizes of blocks are 4 to 7: 64 KiB to 4 MiB */
    SMALL_BITS = 16, /* ... of the smallest */
};

uint32_t cv_lz4_number(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

size_t cv_lz4_head_length(const uint8_t *bytes)
{
    return CV_LZ4_LEAST + ((bytes[FLAGS] & SIZED) != 0 ? 8u : 0u) +
           ((bytes[FLAGS] & NAMED) != 0 ? 4u : 0u);
}

/* The check of a head: a byte of that of what is between the magic number and it. */
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
        (struct cv_lz4_head){ .apart = (flags & APART) != 0,
                              .checks = (flags & CHECKS) != 0,
                              .checked = (flags & CHECKED) != 0,
                              .sized = (flags & SIZED) != 0,
                              .max = (size_t)1 << (SMALL_BITS + 2 * (size - SMALLEST)) };
    if (head->sized)
        head->size = cv_lz4_number(bytes + SIZES + 1) |
                     (uint64_t)cv_lz4_number(bytes + SIZES + 5) << 32;
    return true;
}

void cv_lz4_head_make(const struct cv_lz4_head *head, uint8_t *bytes)
{
    unsigned size = SMALLEST;

    while ((size_t)1 << (SMALL_BITS + 2 * (size - SMALLEST)) < head->max)
        size++;
    memcpy(bytes, MAGIC, sizeof MAGIC);
    bytes[FLAGS] =
        (uint8_t)(VERSION | (head->apart ? APART : 0) | (head->checks ? CHECKS : 0));
    bytes[SIZES] = (uint8_t)(size << 4);
    bytes[SIZES + 1] = check_of(bytes, CV_LZ4_LEAST);
}

/* --- frames --------------------------------------------------------------------------------- */

enum { REACH = 64 * 1024 /* how far back a copy may go, if blocks are not apart */ };

enum part { HEAD, SKIPPING, BLOCK_HEAD, BLOCK, ENDING };

struct frames {
    enum part part;
    struct cv_lz4_head head;
    uint64_t skip;  /* bytes of a frame to be skipped                     */
    uint32_t block; /* the head of the block                              */
    size_t got;     /* bytes of what is read that are in one of these:    */
    uint8_t few[CV_LZ4_LONGEST];
    uint8_t *in;        /* owned: a block that did not come at once           */
    uint8_t *out;       /* owned: what was decoded before, then a block       */
    size_t room;        /* bytes of a block that these have                   */
    size_t before;      /* bytes of what was decoded before                   */
    uint64_t made;      /* of the frame                                       */
    XXH32_state_t *sum; /* owned                                              */
};

/* A frame, one to be skipped, or one of the form before; that is no more decoded, and said so. */
static bool begins(const uint8_t *bytes, size_t length)
{
    return length >= 4 &&
           (memcmp(bytes, MAGIC, sizeof MAGIC) == 0 ||
            ((bytes[0] & 0xF0) == 0x50 && memcmp(bytes + 1, "\x2a\x4d\x18", 3) == 0));
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

/* Collect so many bytes of the input in all; false: they have not all come. */
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

/* --- a step of each part: CV_CODEC_MADE is on to the next -------------------------------------- */

static bool grow_array(struct frames *frames)
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
        frames->skip = cv_lz4_number(frames->few + 4);
        frames->part = SKIPPING;
    } else {
        if (!collect(frames, io, frames->few, cv_lz4_head_length(frames->few)))
            return CV_CODEC_MORE;
        if (!cv_lz4_head_read(frames->few, &frames->head))
            return bad(io, "a head that is not lz4's");
        if (!grow_array(frames))
            return CV_CODEC_FULL;
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
    return frames->skip > 0 ? CV_CODEC_MORE : CV_CODEC_OVER;
}

static enum cv_codec_step read_block_head(struct frames *frames, struct cv_codec_io *io)
{
    if (!collect(frames, io, frames->few, CV_LZ4_BLOCK))
        return CV_CODEC_MORE;
    frames->got = 0;
    frames->block = cv_lz4_number(frames->few);
    frames->part = frames->block == 0 ? ENDING : BLOCK;
    return (frames->block & ~CV_LZ4_STORED) <= frames->head.max
               ? CV_CODEC_MADE
               : bad(io, "a block that is too long");
}

/* What later blocks may copy from is kept before the next one. */
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

    if (frames->head.checks && XXH32(block, length, 0) != cv_lz4_number(block + length))
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
    if (frames->head.checked)
        XXH32_update(frames->sum, out, (size_t)made);
    if (!frames->head.apart)
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
                          (frames->head.checks ? (size_t)CV_LZ4_CHECK : 0);
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
    if (!frames->head.checked)
        return CV_CODEC_OVER;
    if (!collect(frames, io, frames->few, CV_LZ4_CHECK))
        return CV_CODEC_MORE;
    return cv_lz4_number(frames->few) == XXH32_digest(frames->sum)
               ? CV_CODEC_OVER
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
