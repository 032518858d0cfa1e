/* block_cover.c -- which bytes of a compressed file hold some of its decoded bytes.
 * SPDX-License-Identifier: MIT */
#include "run/decode/block_cover.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/bisect.h"
#include "base/fail.h"

enum {
    BEFORE = 128 * 1024, /* bytes that are decoded in vain, at most                     */
    BEHIND = 1 << 20,    /* ... that are decoded here to send less of a block           */
    SPARE = 64 * 1024,   /* of the file, for decoders that want more at a time          */
    APART = 64 * 1024,   /* of the file, between blocks of BGZF that are worth a word   */
};

static uint64_t in_end(const struct cv_blocks *blocks, size_t index, uint64_t size)
{
    return index + 1 < blocks->count ? blocks->items[index + 1].in : size;
}

static uint64_t out_end(const struct cv_blocks *blocks, size_t index)
{
    return index + 1 < blocks->count ? blocks->items[index + 1].out : blocks->out_end;
}

/* The last one that begins at or before a place of the file; the first if none does. */
static size_t find(const struct cv_blocks *blocks, uint64_t in)
{
    size_t n;

    CV_BISECT(n, blocks->count, i, blocks->items[i].in <= in);
    return n > 0 ? n - 1 : 0;
}

bool cv_cover_holds(const struct cv_decoded_file *decoded, uint64_t offset)
{
    const struct cv_blocks *blocks = cv_decoded_file_blocks(decoded);
    const struct cv_block *block;

    if (offset >= blocks->out_end)
        return false;
    block = &blocks->items[cv_blocks_at(blocks, offset)];
    return cv_decoded_file_codec(decoded) != &cv_codec_xz || block->head != block->in;
}

bool cv_cover_begins(const struct cv_decoded_file *decoded, uint64_t offset)
{
    const struct cv_blocks *blocks = cv_decoded_file_blocks(decoded);

    return cv_cover_holds(decoded, offset) &&
           offset - blocks->items[cv_blocks_at(blocks, offset)].out <= BEFORE;
}

struct cv_range cv_cover_span(const struct cv_decoded_file *decoded, struct cv_range out,
                              uint64_t size)
{
    const struct cv_blocks *blocks = cv_decoded_file_blocks(decoded);

    return (struct cv_range){ blocks->items[cv_blocks_at(blocks, out.begin)].in,
                              in_end(blocks, cv_blocks_at(blocks, out.end - 1), size) };
}

struct cv_range cv_cover_find(struct cv_decoded_file *decoded, struct cv_range out,
                              uint64_t size)
{
    const struct cv_blocks *blocks = cv_decoded_file_blocks(decoded);
    const size_t last = cv_blocks_at(blocks, out.end - 1);
    const uint64_t begin = blocks->items[last].out;
    struct cv_range in = cv_cover_span(decoded, out, size);
    uint64_t read;

    if (out.end - begin < BEHIND &&
        out.end - begin < (out_end(blocks, last) - begin) / 2 &&
        in.end - blocks->items[last].in > (uint64_t)2 * SPARE &&
        cv_decoded_file_look(decoded, out.end - 1, &read) == CLEAVE_OK &&
        read + SPARE < in.end)
        in.end = read + SPARE;
    return in;
}

uint64_t cv_cover_whole(const struct cv_decoded_file *decoded, uint64_t in)
{
    const struct cv_blocks *blocks = cv_decoded_file_blocks(decoded);

    return blocks->items[find(blocks, in)].out;
}

uint64_t cv_cover_touched(const struct cv_decoded_file *decoded, uint64_t in)
{
    const struct cv_blocks *blocks = cv_decoded_file_blocks(decoded);

    return in > 0 ? out_end(blocks, find(blocks, in - 1)) : 0;
}

size_t cv_cover_index(const struct cv_decoded_file *decoded, uint64_t offset)
{
    return cv_blocks_at(cv_decoded_file_blocks(decoded), offset);
}

static enum cleave_status read_head(const struct cv_decoded_file *decoded, uint64_t at,
                                    uint8_t to[CV_PACKED_HEAD], struct cleave_error *err)
{
    const ssize_t got = pread(cv_decoded_file_fd(decoded), to, CV_PACKED_HEAD, (off_t)at);

    return got == CV_PACKED_HEAD
               ? CLEAVE_OK
               : cv_fail(err, CLEAVE_EENGINE, "cannot read the head of a stream: %s",
                         got < 0 ? strerror(errno) : "the file has become shorter");
}

enum cleave_status cv_cover_list(const struct cv_decoded_file *decoded, uint64_t in,
                                 size_t *next, struct cv_packed_block *blocks, size_t max,
                                 size_t *count, uint64_t *out_end_of,
                                 struct cleave_error *err)
{
    const struct cv_blocks *from = cv_decoded_file_blocks(decoded);
    const bool checks = cv_decoded_file_codec(decoded) == &cv_codec_bgzf;
    uint64_t before = 0;

    *count = 0;
    for (; *count < max && *next < from->count && from->items[*next].in < in; ++*next) {
        const struct cv_block *block = &from->items[*next];

        if (checks && *count > 0 && block->in - before < APART)
            continue;
        blocks[*count] = (struct cv_packed_block){ .in = block->in, .out = block->out };
        if (cv_decoded_file_codec(decoded) == &cv_codec_xz)
            CV_TRY(read_head(decoded, block->head, blocks[*count].head, err));
        before = block->in;
        ++*count;
    }
    *out_end_of = *next > 0 ? out_end(from, *next - 1) : 0;
    return CLEAVE_OK;
}
