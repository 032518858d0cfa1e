/* blocks.c -- where a compressed file can be decoded from. SPDX-License-Identifier: MIT */
#include "run/decode/blocks.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/bisect.h"
#include "base/fail.h"
#include "run/common/usable_cores.h"
#include "run/decode/decode_ahead.h"

/* --- blocks that were found, and what is read to find them ------------------------- */

void cv_blocks_done(struct cv_blocks *blocks)
{
    free(blocks->items);
    *blocks = (struct cv_blocks){ .items = NULL };
}

bool cv_blocks_add(struct cv_blocks *blocks, struct cv_block block)
{
    struct cv_block *larger = blocks->items;

    if (blocks->count == blocks->capacity)
        larger =
            cv_grow(blocks->items, &blocks->capacity, blocks->count + 1, sizeof *larger);
    if (larger == NULL)
        return false;
    blocks->items = larger;
    blocks->items[blocks->count++] = block;
    return true;
}

/* All of so many bytes, or false. */
static bool block_read(const struct cv_block_walk *walk, uint64_t at, uint8_t *to,
                       size_t length)
{
    if (at > walk->size || length > walk->size - at)
        return false;
    while (length > 0) {
        const ssize_t got = pread(walk->fd, to, length, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += (uint64_t)got;
        to += got;
        length -= (size_t)got;
    }
    return true;
}

size_t cv_blocks_at(const struct cv_blocks *blocks, uint64_t offset)
{
    size_t n;

    CV_BISECT(n, blocks->count, i, blocks->items[i].out <= offset);
    return n > 0 ? n - 1 : 0;
}

/* --- blocks of BGZF, frames of zstd and lz4 ---------------------------------------- */

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

/* False: see `whole` above. */
static bool blocks_of_bgzf(struct cv_blocks *blocks, const struct cv_block_walk *walk)
{
    enum { HEAD = 18, TAIL = 8, SIZE = 4, BYTES_MOST = 65536 };
    uint8_t bytes[SIZE + HEAD], *const head = bytes + SIZE;
    uint64_t at = 0;

    if (walk->size > 0 && !block_read(walk, 0, head, HEAD))
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
            !block_read(walk, at - SIZE, bytes, left > 0 ? SIZE + HEAD : SIZE) ||
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

        if (!block_read(walk, *at, bytes, sizeof bytes))
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

    if (there < 8 || !block_read(walk, begin, head, there))
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
        !block_read(walk, walk->size - TABLE_FOOT, foot, sizeof foot) ||
        number(foot + 5, 4) != 0x8F92EAB1 || (foot[4] & 0x7C) != 0)
        return false;
    count = number(foot, 4);
    row = (foot[4] & 0x80) != 0 ? 12 : 8;
    length = count * row + TABLE_FOOT;
    if (count == 0 || count > ROWS_MOST || length > walk->size - TABLE_HEAD)
        return false;
    begin = walk->size - TABLE_HEAD - length;
    if (!block_read(walk, begin, head, sizeof head) ||
        memcmp(head, "\x5e\x2a\x4d\x18", 4) != 0 || number(head + 4, 4) != length)
        return false;
    rows = malloc((size_t)(count * row));
    good = rows != NULL &&
           block_read(walk, begin + TABLE_HEAD, rows, (size_t)(count * row)) &&
           read_rows(blocks, rows, (size_t)count, (size_t)row, &end) && end == begin;
    free(rows);
    blocks->told_end = end;
    blocks->grain = 0;
    return good;
}

static bool blocks_of_zstd(struct cv_blocks *blocks, const struct cv_block_walk *walk)
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

        if (!block_read(walk, *at, bytes, sizeof bytes))
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

    if (there < 8 || !block_read(walk, begin, head, there))
        return false;
    if (skip(head, at))
        return true;
    flags = head[4];
    if (memcmp(head, "\x04\x22\x4d\x18", 4) != 0 || (flags >> 3 & 1) == 0)
        return false;
    *at = begin + 4 + 2 + 8 + ((flags & 1) != 0 ? 4 : 0) + 1;
    return pass_lz4(walk, flags, at) && note(blocks, walk, begin, number(head + 6, 8));
}

static bool blocks_of_lz4(struct cv_blocks *blocks, const struct cv_block_walk *walk)
{
    uint64_t at = 0;

    while (at < walk->size)
        if (!one_lz4(blocks, walk, &at))
            return false;
    return at == walk->size;
}

/* --- blocks of xz, by the index behind them ---------------------------------------- */

enum { MEMORY = 256 << 20 }; /* most for an index */

/* The index of all streams, or NULL. */
static lzma_index *read_index(const struct cv_block_walk *walk)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    lzma_index *index = NULL;
    uint8_t bytes[8192];
    uint64_t at = 0;
    lzma_ret ret = lzma_file_info_decoder(&stream, &index, MEMORY, walk->size);

    while (ret == LZMA_OK) {
        if (stream.avail_in == 0 && at < walk->size) {
            const uint64_t left = walk->size - at;

            stream.next_in = bytes;
            stream.avail_in = left < sizeof bytes ? (size_t)left : sizeof bytes;
            if (!block_read(walk, at, bytes, stream.avail_in))
                break;
            at += stream.avail_in;
        }
        ret = lzma_code(&stream, at < walk->size ? LZMA_RUN : LZMA_FINISH);
        if (ret == LZMA_SEEK_NEEDED) {
            at = stream.seek_pos;
            stream.avail_in = 0;
            ret = LZMA_OK;
        }
    }
    lzma_end(&stream);
    return ret == LZMA_STREAM_END ? index : NULL;
}

static bool blocks_of_xz(struct cv_blocks *blocks, const struct cv_block_walk *walk)
{
    lzma_index *index = read_index(walk);
    lzma_index_iter at;
    bool good = index != NULL;

    if (!good)
        return false;
    lzma_index_iter_init(&at, index);
    while (good && !lzma_index_iter_next(&at, LZMA_INDEX_ITER_NONEMPTY_BLOCK))
        good = cv_blocks_add(blocks,
                             (struct cv_block){ .in = at.block.compressed_file_offset,
                                                .out = at.block.uncompressed_file_offset,
                                                .head = at.stream.compressed_offset });
    blocks->out_end = lzma_index_uncompressed_size(index);
    lzma_index_end(index, NULL);
    return good;
}

/* --- where a compressed file can be decoded from ----------------------------------- */

enum { BLOCKS_MOST = 1 << 20 }; /* or so: 24 bytes each are kept */

enum cleave_status cv_blocks_find(struct cv_blocks *blocks, const struct cv_codec *codec,
                                  int fd, uint64_t size, bool *whole,
                                  struct cleave_error *err)
{
    static const struct {
        const struct cv_codec *codec;
        bool (*find)(struct cv_blocks *blocks, const struct cv_block_walk *walk);
    } forms[] = {
        { &cv_codec_bgzf, blocks_of_bgzf },
        { &cv_codec_zstd, blocks_of_zstd },
        { &cv_codec_lz4, blocks_of_lz4 },
        { &cv_codec_xz, blocks_of_xz },
    };
    const struct cv_block_walk walk = { fd, size, size / BLOCKS_MOST };

    (void)err;
    *whole = false;
    blocks->grain = walk.grain;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (forms[i].codec == codec)
            *whole = forms[i].find(blocks, &walk);
    if (!*whole)
        cv_blocks_done(blocks);
    return CLEAVE_OK;
}

/* --- by decoding ---------------------------------------------------------------------------- */

struct place {
    int fd;
    uint64_t at;
};

static ssize_t read_on(void *context, void *to, size_t max)
{
    struct place *place = context;
    const ssize_t got = pread(place->fd, to, max, (off_t)place->at);

    place->at += got > 0 ? (uint64_t)got : 0;
    return got;
}

enum cleave_status cv_blocks_scan(struct cv_blocks *blocks, const struct cv_codec *codec,
                                  int fd, const char *name, struct cleave_error *err)
{
    struct place place = { fd, 0 };
    const struct cv_decoder_input input = { .read = read_on,
                                            .context = &place,
                                            .name = name };
    struct cv_ahead_file file = { .fd = fd };
    struct cv_ahead *ahead;
    enum cleave_status status;
    uint64_t member = UINT64_MAX;
    const void *bytes;
    struct stat now;
    size_t length;

    if (fstat(fd, &now) == 0)
        file.size = (uint64_t)now.st_size;
    CV_TRY(cv_ahead_open_members(codec, &input, &file, cv_usable_cores(), &ahead, err));
    do {
        status = ahead->next(ahead, &bytes, &length, err);
        if (status == CLEAVE_OK && length > 0 && ahead->member(ahead) != member) {
            member = ahead->member(ahead);
            if (!cv_blocks_add(blocks,
                               (struct cv_block){ member, blocks->out_end, member }))
                status = cv_fail_memory(err, "an index of the input");
        }
        blocks->out_end += status == CLEAVE_OK ? length : 0;
    } while (status == CLEAVE_OK && length > 0);
    ahead->free(ahead);
    return status;
}
