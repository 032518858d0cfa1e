/* blocks.c -- places where decoding of a compressed file can begin. SPDX-License-Identifier: MIT */
#include "run/decode/blocks.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/bisect.h"
#include "base/fail.h"
#include "run/common/machine.h"
#include "run/common/piece_part.h"
#include "run/decode/decode_ahead.h"
#include "run/decode/formats.h"

enum {
    MAX_BLOCKS = 1 << 20, /* about: 24 bytes of memory each */
    TAIL = 4,             /* bytes at the end of a BGZF block: its decoded size */
    MAX_BGZF = 65536,     /* decoded bytes of a BGZF block */
    TABLE_HEAD = 8,       /* bytes of the skippable frame with the table of zstd */
    TABLE_FOOT = 9,       /* number of frames, flags, 0x8F92EAB1 */
    MAX_ROWS = 1 << 20,
    MAX_INDEX = 256 << 20, /* memory for the index of xz */
};

void cv_blocks_done(struct cv_blocks *blocks)
{
    free(blocks->items);
    *blocks = (struct cv_blocks){ .items = NULL };
}

bool cv_blocks_add(struct cv_blocks *blocks, struct cv_block block)
{
    if (!CV_ROOM(blocks->items, &blocks->capacity, blocks->count + 1))
        return false;
    blocks->items[blocks->count++] = block;
    return true;
}

size_t cv_blocks_at(const struct cv_blocks *blocks, uint64_t offset)
{
    size_t n;

    CV_BISECT(n, blocks->count, i, blocks->items[i].out <= offset);
    return n > 0 ? n - 1 : 0;
}

uint64_t cv_block_out_end(const struct cv_blocks *blocks, size_t index)
{
    return index + 1 < blocks->count ? blocks->items[index + 1].out : blocks->out_end;
}

/* --- the file ------------------------------------------------------------------------------- */

struct file {
    int fd;
    uint64_t size;
    uint64_t held_at; /* offset of `held`                            */
    size_t nheld;     /* one call reads a BGZF tail and a header     */
    uint8_t held[TAIL + CV_FRAME_HEAD];
};

/* All of `length` bytes, or false. */
static bool read_at(const struct file *file, uint64_t at, uint8_t *to, size_t length)
{
    const struct cv_part part = { .fd = file->fd, .end = file->size };

    return at <= file->size && length <= file->size - at &&
           cv_part_read(&part, at, to, length) == (ssize_t)length;
}

/* At least `length` bytes, valid until the next call; NULL: the file does not have them. */
static const uint8_t *peek(struct file *file, uint64_t at, size_t length)
{
    if (at > file->size || length > file->size - at)
        return NULL;
    if (at < file->held_at || at + length > file->held_at + file->nheld) {
        const uint64_t left = file->size - at;

        file->held_at = at;
        file->nheld = left < sizeof file->held ? (size_t)left : sizeof file->held;
        if (!read_at(file, at, file->held, file->nheld)) {
            file->nheld = 0;
            return NULL;
        }
    }
    return file->held + (at - file->held_at);
}

/* --- BGZF, zstd, lz4 ------------------------------------------------------------------------ */

/* Move *at from the start of a member to its end and set scan->size. False: it is damaged, or
 * does not tell its size. */
static bool pass_member(struct cv_frame_scan *scan, struct file *file, uint64_t *at)
{
    const uint8_t *bytes;

    do {
        do {
            bytes = peek(file, *at, scan->need);
            if (bytes == NULL)
                return false;
            memcpy(scan->head, bytes, scan->need);
            scan->have = scan->need;
        } while (!scan->step(scan));
        if (scan->part == CV_FRAME_LOST || (scan->part == CV_FRAME_BLOCK && !scan->sized))
            return false;
        *at += scan->have + scan->pass;
    } while (scan->part != CV_FRAME_MEMBER);
    if (scan->sized)
        return true;
    bytes = peek(file, *at - TAIL, TAIL);
    if (bytes == NULL)
        return false;
    scan->size = cv_little_endian(bytes, TAIL);
    return scan->size <= MAX_BGZF;
}

static bool find_frames(struct cv_blocks *blocks, const struct cv_codec *codec,
                        struct file *file)
{
    struct cv_frame_scan scan;
    uint64_t at = 0;

    if (!cv_frame_scan_init(&scan, codec))
        return false;
    while (at < file->size) {
        const uint64_t begin = at, out = blocks->out_end;

        if (!pass_member(&scan, file, &at) || scan.size > UINT64_MAX / 4 - out)
            return false;
        blocks->out_end += scan.size;
        if (scan.size > 0 &&
            (blocks->count == 0 ||
             begin - blocks->items[blocks->count - 1].in >= blocks->grain) &&
            !cv_blocks_add(blocks, (struct cv_block){ begin, out, begin }))
            return false;
    }
    return at == file->size;
}

/* --- the seekable format of zstd ------------------------------------------------------------ */

/* Rows of the table: bytes of a frame in the file and decoded, and a checksum, which is not used:
 * the frame has its own. *in becomes the end of the last frame. */
static bool read_rows(struct cv_blocks *blocks, const uint8_t *rows, size_t count,
                      size_t row, uint64_t *in)
{
    for (*in = 0; count > 0; count--, rows += row) {
        const uint64_t bytes = cv_little_endian(rows, 4),
                       decoded = cv_little_endian(rows + 4, 4);

        /* A frame without bytes, such as a skippable one, cannot be verified. */
        if (bytes == 0 || decoded == 0 ||
            !cv_blocks_add(blocks, (struct cv_block){ *in, blocks->out_end, *in }))
            return false;
        *in += bytes;
        blocks->out_end += decoded;
    }
    return true;
}

/* The table at the end of the file. False: none, or it does not fit the file. */
static bool read_table(struct cv_blocks *blocks, const struct file *file)
{
    uint8_t foot[TABLE_FOOT], head[TABLE_HEAD], *rows;
    uint64_t count, row, length, begin, end = 0;
    bool good;

    if (file->size < TABLE_HEAD + TABLE_FOOT ||
        !read_at(file, file->size - TABLE_FOOT, foot, sizeof foot) ||
        cv_little_endian(foot + 5, 4) != 0x8F92EAB1 || (foot[4] & 0x7C) != 0)
        return false;
    count = cv_little_endian(foot, 4);
    row = (foot[4] & 0x80) != 0 ? 12 : 8;
    length = count * row + TABLE_FOOT;
    if (count == 0 || count > MAX_ROWS || length > file->size - TABLE_HEAD)
        return false;
    begin = file->size - TABLE_HEAD - length;
    if (!read_at(file, begin, head, sizeof head) ||
        memcmp(head, "\x5e\x2a\x4d\x18", 4) != 0 ||
        cv_little_endian(head + 4, 4) != length)
        return false;
    rows = malloc((size_t)(count * row));
    good = rows != NULL &&
           read_at(file, begin + TABLE_HEAD, rows, (size_t)(count * row)) &&
           read_rows(blocks, rows, (size_t)count, (size_t)row, &end) && end == begin;
    free(rows);
    blocks->table_end = end;
    return good;
}

bool cv_blocks_verify_table(const struct cv_blocks *blocks, int fd, uint64_t begin,
                            uint64_t end)
{
    struct file file = { .fd = fd, .size = blocks->table_end };

    if (blocks->table_end == 0)
        return true;
    for (size_t i = cv_blocks_at(blocks, begin);
         i < blocks->count && blocks->items[i].out < end; i++) {
        struct cv_frame_scan scan;
        uint64_t at = blocks->items[i].in;

        cv_frame_scan_init(&scan, &cv_codec_zstd);
        if (!pass_member(&scan, &file, &at) ||
            at != (i + 1 < blocks->count ? blocks->items[i + 1].in : file.size) ||
            blocks->items[i].out + scan.size != cv_block_out_end(blocks, i))
            return false;
    }
    return true;
}

/* --- xz ------------------------------------------------------------------------------------- */

/* The index of all streams; NULL: it cannot be read. */
static lzma_index *read_index(const struct file *file)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    lzma_index *index = NULL;
    uint8_t bytes[8192];
    uint64_t at = 0;
    lzma_ret ret = lzma_file_info_decoder(&stream, &index, MAX_INDEX, file->size);

    while (ret == LZMA_OK) {
        if (stream.avail_in == 0 && at < file->size) {
            const uint64_t left = file->size - at;

            stream.next_in = bytes;
            stream.avail_in = left < sizeof bytes ? (size_t)left : sizeof bytes;
            if (!read_at(file, at, bytes, stream.avail_in))
                break;
            at += stream.avail_in;
        }
        ret = lzma_code(&stream, at < file->size ? LZMA_RUN : LZMA_FINISH);
        if (ret == LZMA_SEEK_NEEDED) {
            at = stream.seek_pos;
            stream.avail_in = 0;
            ret = LZMA_OK;
        }
    }
    lzma_end(&stream);
    return ret == LZMA_STREAM_END ? index : NULL;
}

static bool find_xz(struct cv_blocks *blocks, const struct file *file)
{
    lzma_index *index = read_index(file);
    lzma_index_iter at;
    bool good = true;

    if (index == NULL)
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

bool cv_blocks_find(struct cv_blocks *blocks, const struct cv_codec *codec, int fd,
                    uint64_t size)
{
    struct file file = { .fd = fd, .size = size };

    if (codec == &cv_codec_zstd && read_table(blocks, &file))
        return true;
    cv_blocks_done(blocks);
    blocks->grain = size / MAX_BLOCKS;
    if (codec == &cv_codec_xz ? find_xz(blocks, &file)
                              : find_frames(blocks, codec, &file))
        return true;
    cv_blocks_done(blocks);
    return false;
}

/* --- by decoding ---------------------------------------------------------------------------- */

struct reader {
    int fd;
    uint64_t at;
};

static ssize_t read_next(void *context, void *to, size_t max)
{
    struct reader *reader = context;
    const ssize_t got = pread(reader->fd, to, max, (off_t)reader->at);

    reader->at += got > 0 ? (uint64_t)got : 0;
    return got;
}

enum cleave_status cv_blocks_scan(struct cv_blocks *blocks, const struct cv_codec *codec,
                                  int fd, const char *name, struct cleave_error *err)
{
    struct reader reader = { fd, 0 };
    const struct cv_decoder_input input = { .read = read_next,
                                            .context = &reader,
                                            .name = name };
    struct cv_ahead *ahead;
    enum cleave_status status;
    uint64_t member = UINT64_MAX;
    const void *bytes;
    size_t length;

    CV_TRY(cv_ahead_open(codec, &input, cv_usable_cores(), true, &ahead, err));
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
