/* parallel_bzip2.c -- blocks of bzip2, each decoded by itself. SPDX-License-Identifier: MIT
 *
 * Blocks begin at any bit, with 48 bits that say so, and do not tell how long they are. The reader cuts
 * the stream wherever these bits stand, or those of the end of a stream, and makes of what is
 * between a stream of its own: a head, the block, an end with the check of this block alone. Such bits can also stand
 * inside a block, by chance or by malice: then what was cut off cannot be decoded, and who asks
 * for it puts the parts together again. What holds for a stream as a whole, its check above all, is seen to there too. Nothing
 * is given out of a block that does not fit its check. */
#include "run/decode/wide_bzip2.h"

#include <stdlib.h>
#include <string.h>

static void *open_blocks(uint64_t offset)
{
    static const uint64_t marks[] = { CV_BZIP2_BLOCK, CV_BZIP2_END };
    struct cv_bzip2_blocks *blocks = calloc(1, sizeof *blocks);

    if (blocks == NULL)
        return NULL;
    blocks->raw = malloc(CV_BZIP2_MOST);
    blocks->at = blocks->stream = offset;
    for (unsigned shift = 0; shift < 8; shift++)
        for (unsigned i = 0; i < 2; i++)
            blocks->shifts[marks[i] << shift >> 16 & 0xFF] |= (uint8_t)(1u << shift);
    if (blocks->raw != NULL)
        return blocks;
    free(blocks);
    return NULL;
}

static void close_blocks(void *state)
{
    struct cv_bzip2_blocks *blocks = state;

    free(blocks->raw);
    free(blocks);
}

/* What was read before bit `end` of the raw bytes is a part. */
static bool end_part(struct cv_bzip2_blocks *blocks, struct cv_parallel_decoder *parallel,
                     uint64_t end, bool followed, int error)
{
    struct cv_bzip2_part *part =
        (struct cv_bzip2_part *)cv_wide_begin(parallel, blocks->at);
    struct cv_bits bits = { .bytes = NULL };
    bool good;

    if (part == NULL)
        return false;
    part->begin = blocks->at * 8 + blocks->begin;
    part->stream = blocks->stream;
    part->level = blocks->level;
    part->ends = blocks->ends;
    part->followed = followed;
    good = cv_bits_copy(&bits, blocks->raw, blocks->begin, end - blocks->begin) &&
           cv_bzip2_fill(part, &bits, error);
    cv_bits_done(&bits);
    return cv_wide_give(parallel, &part->job) && good;
}

/* A mark begins at a bit of the raw bytes. If the head of a stream is right before it, behind an end, it is one. */
static bool begin_part(struct cv_bzip2_blocks *blocks,
                       struct cv_parallel_decoder *parallel, uint64_t bit, bool ends)
{
    const size_t gone = (size_t)(bit / 8);
    const uint64_t head = (blocks->begin + CV_BZIP2_MARK + CV_BZIP2_CHECK + 7) / 8;

    if (blocks->marked && !end_part(blocks, parallel, bit, true, 0))
        return false;
    if ((blocks->ends && bit == (head + CV_BZIP2_HEAD_SIZE) * 8 &&
         cv_bzip2_head(blocks->raw + head)) ||
        !blocks->marked) {
        blocks->stream = blocks->at + gone - CV_BZIP2_HEAD_SIZE;
        blocks->level = (char)blocks->raw[gone - 1];
    }
    memmove(blocks->raw, blocks->raw + gone, blocks->count - gone);
    blocks->count -= gone;
    blocks->at += gone;
    blocks->begin = bit % 8;
    blocks->ends = ends;
    blocks->marked = true;
    return true;
}

static bool look(struct cv_bzip2_blocks *blocks, struct cv_parallel_decoder *parallel)
{
    const uint64_t mask = (UINT64_C(1) << CV_BZIP2_MARK) - 1;
    bool good = true;

    /* From the earliest place on. */
    for (unsigned shift = 8; good && shift-- > 0;) {
        const uint64_t word = blocks->window >> shift & mask;
        const uint64_t end = (uint64_t)blocks->count * 8 - shift;

        if ((word == CV_BZIP2_BLOCK || word == CV_BZIP2_END) &&
            (blocks->marked || shift == 0) &&
            end > blocks->begin + (blocks->marked ? (uint64_t)CV_BZIP2_MARK : 0))
            good =
                begin_part(blocks, parallel, end - CV_BZIP2_MARK, word == CV_BZIP2_END);
    }
    return good;
}

/* It does not begin as bzip2: let the decoder say what is wrong. */
static bool pass_on(struct cv_bzip2_blocks *blocks, struct cv_parallel_decoder *parallel,
                    const uint8_t *bytes, size_t length)
{
    struct cv_bzip2_part *part = blocks->plain;

    if (part == NULL) {
        part = (struct cv_bzip2_part *)cv_wide_begin(parallel, blocks->at);
        if (part == NULL)
            return false;
        part->plain = true;
        if (!cv_wide_give(parallel, &part->job))
            return false;
        blocks->plain = part;
    }
    return length == 0 || cv_wide_put(&part->job, bytes, length);
}

static bool cut(void *state, struct cv_parallel_decoder *parallel, const uint8_t *bytes,
                size_t length)
{
    enum { FIRST = CV_BZIP2_HEAD_SIZE + CV_BZIP2_MARK / 8 };
    struct cv_bzip2_blocks *blocks = state;
    bool good = true;

    for (size_t i = 0; good && i < length; i++) {
        if (blocks->plain != NULL)
            return pass_on(blocks, parallel, bytes + i, length - i);
        if (blocks->count ==
            CV_BZIP2_MOST) { /* no block is that long: it ends with an error */
            end_part(blocks, parallel, (uint64_t)CV_BZIP2_MOST * 8, false, 0);
            return false;
        }
        blocks->raw[blocks->count++] = bytes[i];
        blocks->window = blocks->window << 8 | bytes[i];
        if (blocks->shifts[blocks->window >> 16 & 0xFF] != 0 &&
            (blocks->marked || (blocks->count == FIRST && cv_bzip2_head(blocks->raw))))
            good = look(blocks, parallel);
        if (!blocks->marked && blocks->count == FIRST)
            good = pass_on(blocks, parallel, blocks->raw, blocks->count);
    }
    return good;
}

static void end(void *state, struct cv_parallel_decoder *parallel, int error)
{
    struct cv_bzip2_blocks *blocks = state;

    if (!blocks->marked && blocks->plain == NULL && (blocks->count > 0 || error != 0))
        pass_on(blocks, parallel, blocks->raw, blocks->count);
    if (blocks->plain != NULL)
        cv_wide_complete(&blocks->plain->job, error);
    else if (blocks->marked)
        end_part(blocks, parallel, (uint64_t)blocks->count * 8, false, error);
}

const struct cv_parallel_decode_format cv_wide_bzip2 = {
    .codec = &cv_codec_bzip2,
    .job_size = sizeof(struct cv_bzip2_part),
    .max = SIZE_MAX,
    .always = true,
    .open = open_blocks,
    .close = close_blocks,
    .cut = cut,
    .end = end,
    .settle = cv_bzip2_settle,
};
