/* blocks_frames.c -- blocks of BGZF, frames of zstd and lz4. SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "run/decode/blocks.h"

static uint64_t number(const uint8_t *bytes, unsigned count)
{
    uint64_t value = 0;

    while (count > 0)
        value = value << 8 | bytes[--count];
    return value;
}

/* What holds bytes is noted, unless it is too near the one before. */
static bool note(struct cv_blocks *blocks, const struct cv_block_walk *walk, uint64_t in,
                 uint64_t bytes)
{
    const uint64_t out = blocks->out_end;

    if (bytes > UINT64_MAX / 4 - out)
        return false;
    blocks->out_end += bytes;
    if (bytes == 0 ||
        (blocks->count > 0 && in - blocks->items[blocks->count - 1].in < walk->grain))
        return true;
    return cv_blocks_add(blocks, (struct cv_block){ in, out, in });
}

/* --- BGZF ----------------------------------------------------------------------------------- */

bool cv_blocks_of_bgzf(struct cv_blocks *blocks, const struct cv_block_walk *walk)
{
    enum { HEAD = 18, TAIL = 8, SIZE = 4, BYTES_MOST = 65536 };
    uint8_t bytes[SIZE + HEAD], *const head = bytes + SIZE;
    uint64_t at = 0;

    if (walk->size > 0 && !cv_block_read(walk, 0, head, HEAD))
        return false;
    while (at < walk->size) {
        const uint64_t begin = at, length = number(head + 16, 2) + 1;
        uint64_t left;

        if (!cv_codec_bgzf.begins(head, HEAD) || length < HEAD + TAIL ||
            length > walk->size - at)
            return false;
        at += length;
        left = walk->size - at;
        /* What a block holds stands at its end, and there the next one begins: a call for both,
         * as there are thousands of blocks before the first command is started. */
        if ((left > 0 && left < HEAD) ||
            !cv_block_read(walk, at - SIZE, bytes, left > 0 ? SIZE + HEAD : SIZE) ||
            number(bytes, SIZE) > BYTES_MOST ||
            !note(blocks, walk, begin, number(bytes, SIZE)))
            return false;
    }
    return true;
}

/* --- frames to be skipped ------------------------------------------------------------------- */

static bool skip(const uint8_t *head, uint64_t *at)
{
    if ((head[0] & 0xF0) != 0x50 || memcmp(head + 1, "\x2a\x4d\x18", 3) != 0)
        return false;
    *at += 8 + number(head + 4, 4);
    return true;
}

/* --- zstd (RFC 8878, 3.1.1) ------------------------------------------------------------------ */

/* The end of the blocks of a frame, given where they begin. */
static bool pass_zstd(const struct cv_block_walk *walk, uint64_t *at)
{
    for (;;) {
        uint8_t bytes[3];
        uint64_t head;

        if (!cv_block_read(walk, *at, bytes, sizeof bytes))
            return false;
        head = number(bytes, 3);
        *at += 3 + ((head >> 1 & 3) == 1 ? 1 : head >> 3);
        if ((head & 1) != 0)
            return true;
    }
}

static bool one_zstd(struct cv_blocks *blocks, const struct cv_block_walk *walk,
                     uint64_t *at)
{
    static const uint8_t dictionary[] = { 0, 1, 2, 4 }, content[] = { 0, 2, 4, 8 };
    const uint64_t begin = *at;
    uint8_t head[4 + 14] = { 0 };
    const size_t there =
        walk->size - begin < sizeof head ? (size_t)(walk->size - begin) : sizeof head;
    unsigned flags, single, before, bytes;
    uint64_t size;

    if (there < 8 || !cv_block_read(walk, begin, head, there))
        return false;
    if (skip(head, at))
        return true;
    if (memcmp(head, "\x28\xb5\x2f\xfd", 4) != 0)
        return false;
    flags = head[4];
    single = flags >> 5 & 1;
    before = 5 + (1 - single) + dictionary[flags & 3];
    bytes = flags >> 6 == 0 ? single : content[flags >> 6];
    if (bytes == 0)
        return false;
    size = number(head + before, bytes) + (bytes == 2 ? 256 : 0);
    *at = begin + before + bytes;
    if (!pass_zstd(walk, at))
        return false;
    *at += (flags >> 2 & 1) != 0 ? 4 : 0;
    return note(blocks, walk, begin, size);
}

/* --- the seekable format of zstd ------------------------------------------------------------ */

enum {
    TABLE_HEAD =
        8, /* of the frame to be skipped that it is in                           */
    TABLE_FOOT =
        9, /* how many frames, flags, 0x8F92EAB1                                 */
    ROWS_MOST = 1 << 20,
};

/* Bytes that each frame has, in the file and decoded, and perhaps a check, which its own check
 * makes needless. */
static bool read_rows(struct cv_blocks *blocks, const uint8_t *rows, size_t count,
                      size_t row, uint64_t *in)
{
    for (*in = 0; count > 0; count--, rows += row) {
        const uint64_t holds = number(rows + 4, 4);

        /* What has no bytes, as a frame to be skipped, cannot be checked: not to be told. */
        if (number(rows, 4) == 0 || holds == 0 ||
            !cv_blocks_add(blocks, (struct cv_block){ *in, blocks->out_end, *in }))
            return false;
        *in += number(rows, 4);
        blocks->out_end += holds;
    }
    return true;
}

/* The table at the end of the file. False: there is none, or it does not fit. */
static bool read_table(struct cv_blocks *blocks, const struct cv_block_walk *walk)
{
    uint8_t foot[TABLE_FOOT], head[TABLE_HEAD], *rows;
    uint64_t count, row, length, begin, end = 0;
    bool good;

    if (walk->size < TABLE_HEAD + TABLE_FOOT ||
        !cv_block_read(walk, walk->size - TABLE_FOOT, foot, sizeof foot) ||
        number(foot + 5, 4) != 0x8F92EAB1 || (foot[4] & 0x7C) != 0)
        return false;
    count = number(foot, 4);
    row = (foot[4] & 0x80) != 0 ? 12 : 8;
    length = count * row + TABLE_FOOT;
    if (count == 0 || count > ROWS_MOST || length > walk->size - TABLE_HEAD)
        return false;
    begin = walk->size - TABLE_HEAD - length;
    if (!cv_block_read(walk, begin, head, sizeof head) ||
        memcmp(head, "\x5e\x2a\x4d\x18", 4) != 0 || number(head + 4, 4) != length)
        return false;
    rows = malloc((size_t)(count * row));
    good = rows != NULL &&
           cv_block_read(walk, begin + TABLE_HEAD, rows, (size_t)(count * row)) &&
           read_rows(blocks, rows, (size_t)count, (size_t)row, &end) && end == begin;
    free(rows);
    blocks->told_end = end;
    blocks->grain = 0;
    return good;
}

bool cv_blocks_of_zstd(struct cv_blocks *blocks, const struct cv_block_walk *walk)
{
    uint64_t at = 0;

    if (read_table(blocks, walk))
        return true;
    cv_blocks_done(blocks);
    blocks->grain = walk->grain;
    while (at < walk->size)
        if (!one_zstd(blocks, walk, &at))
            return false;
    return at == walk->size;
}

bool cv_blocks_proven(const struct cv_blocks *blocks, int fd, uint64_t begin,
                      uint64_t end)
{
    const struct cv_block_walk walk = { fd, blocks->told_end, 0 };
    bool good = true;

    for (size_t i = blocks->told_end > 0 ? cv_blocks_at(blocks, begin) : blocks->count;
         good && i < blocks->count && blocks->items[i].out < end; i++) {
        const bool last = i + 1 == blocks->count;
        struct cv_blocks one = { .items = NULL };
        uint64_t at = blocks->items[i].in;

        good = one_zstd(&one, &walk, &at) &&
               at == (last ? blocks->told_end : blocks->items[i + 1].in) &&
               blocks->items[i].out + one.out_end ==
                   (last ? blocks->out_end : blocks->items[i + 1].out);
        cv_blocks_done(&one);
    }
    return good;
}

/* --- lz4 ------------------------------------------------------------------------------------ */

static bool pass_lz4(const struct cv_block_walk *walk, unsigned flags, uint64_t *at)
{
    for (;;) {
        uint8_t bytes[4];
        uint64_t length;

        if (!cv_block_read(walk, *at, bytes, sizeof bytes))
            return false;
        length = number(bytes, 4) & 0x7FFFFFFF;
        *at += 4;
        if (number(bytes, 4) == 0)
            break;
        *at += length + ((flags >> 4 & 1) != 0 ? 4 : 0);
    }
    *at += (flags >> 2 & 1) != 0 ? 4 : 0;
    return true;
}

static bool one_lz4(struct cv_blocks *blocks, const struct cv_block_walk *walk,
                    uint64_t *at)
{
    const uint64_t begin = *at;
    uint8_t head[4 + 15] = { 0 };
    const size_t there =
        walk->size - begin < sizeof head ? (size_t)(walk->size - begin) : sizeof head;
    unsigned flags;

    if (there < 8 || !cv_block_read(walk, begin, head, there))
        return false;
    if (skip(head, at))
        return true;
    flags = head[4];
    if (memcmp(head, "\x04\x22\x4d\x18", 4) != 0 || (flags >> 3 & 1) == 0)
        return false;
    *at = begin + 4 + 2 + 8 + ((flags & 1) != 0 ? 4 : 0) + 1;
    return pass_lz4(walk, flags, at) && note(blocks, walk, begin, number(head + 6, 8));
}

bool cv_blocks_of_lz4(struct cv_blocks *blocks, const struct cv_block_walk *walk)
{
    uint64_t at = 0;

    while (at < walk->size)
        if (!one_lz4(blocks, walk, &at))
            return false;
    return at == walk->size;
}
