/* parallel_bzip2.c -- blocks of bzip2, each decoded by itself. SPDX-License-Identifier: MIT
 *
 * Blocks begin at any bit, with 48 bits that say so, and do not tell how long they are. The reader cuts
 * the stream wherever these bits stand, or those of the end of a stream, and makes of what is
 * between a stream of its own: a head, the block, an end with the check of this block alone. Such bits can also stand
 * inside a block, by chance or by malice: then what was cut off cannot be decoded, and who asks
 * for it puts the parts together again. What holds for a stream as a whole, its check above all, is seen to there too. Nothing
 * is given out of a block that does not fit its check. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/fail.h"
#include "run/decode/parallel_decode.h"

/* The first bit of a byte is its highest one, as in bzip2. Zero: none. */
struct bits {
    uint8_t *bytes; /* owned                   */
    uint64_t count;
    size_t room; /* of `bytes`                 */
};

#define CV_BZIP2_BLOCK UINT64_C(0x314159265359)
#define CV_BZIP2_END UINT64_C(0x177245385090)

enum {
    CV_BZIP2_MARK = 48,     /* bits of a mark                                         */
    CV_BZIP2_CHECK = 32,    /* ... of a check, which stands behind it                 */
    CV_BZIP2_HEAD_SIZE = 4, /* bytes of the head of a stream                          */
    CV_BZIP2_MOST =
        3 << 20, /* bytes of a block: 900,000 symbols of 20 bits, and tables */
};

/* Bits from one mark to the next, or to the end of the input. */
struct cv_bzip2_part {
    /* First; its bytes are a head, these bits, and an end if they are a block. */
    struct cv_parallel_decode_job job;
    uint64_t begin; /* in the file, in bits                                  */
    uint64_t count;
    uint64_t stream; /* in the file: where the stream begins                  */
    char level;      /* of the stream                                         */
    bool plain;      /* it is no bzip2: all of the input, as it is            */
    bool ends;       /* it begins with the mark of an end                     */
    bool followed;   /* by another one                                        */
};

struct cv_bzip2_blocks {
    /* The reader's: what was read since the last mark. */
    uint8_t *raw; /* owned                                                           */
    size_t count;
    uint64_t at;     /* of raw[0] in the file                                        */
    unsigned begin;  /* bits of it before the mark                                   */
    uint64_t window; /* the last 64 bits                                             */
    uint64_t stream;
    char level;
    bool marked; /* there was a mark                                       */
    bool ends;   /* ... of an end                                          */
    struct cv_bzip2_part *plain; /* borrowed: all goes there; NULL                 */
    uint8_t shifts[256]; /* if that is byte 2 of the window: where a mark may stand */
    /* Of who asks. */
    char level_now; /* of the stream that it is in; 0: in none yet                   */
    uint32_t check; /* over its blocks                                               */
};

/* --- bits that do not begin at a byte ---------------------------------------------- */


static void bits_done(struct bits *bits)
{
    free(bits->bytes);
    *bits = (struct bits){ .bytes = NULL };
}

/* Room for more, with a byte to spare. */
static bool grow(struct bits *bits, uint64_t count)
{
    const size_t need = (size_t)((bits->count + count) / 8 + 2);
    uint8_t *larger = bits->bytes;

    if (need > bits->room)
        larger = cv_grow(bits->bytes, &bits->room, need, 1);
    if (larger == NULL)
        return false;
    bits->bytes = larger;
    return true;
}

/* There is room. `number` has no bits above. */
static void put(struct bits *bits, unsigned number, unsigned count)
{
    uint8_t *to = bits->bytes + bits->count / 8;
    const unsigned used = bits->count % 8, shifted = number << (16 - count) >> used;

    to[0] = (uint8_t)((used > 0 ? to[0] : 0) | (shifted >> 8 & 0xFF));
    to[1] = (uint8_t)shifted;
    bits->count += count;
}

/* Behind the others: the lowest `count` ones of a number; some of bytes, from bit `at` on. False: no memory. */
static bool bits_put(struct bits *bits, uint64_t number, unsigned count)
{
    if (!grow(bits, count))
        return false;
    for (; count >= 8; count -= 8)
        put(bits, (unsigned)(number >> (count - 8) & 0xFF), 8);
    if (count > 0)
        put(bits, (unsigned)(number & ((1u << count) - 1)), count);
    return true;
}

/* So many bits, at most 57, from bit `at` on. */
static uint64_t bits_get(const uint8_t *bytes, uint64_t at, unsigned count)
{
    const uint64_t first = at / 8, last = (at + count + 7) / 8;
    uint64_t value = 0;

    for (uint64_t i = first; i < last; i++)
        value = value << 8 | bytes[i];
    value >>= last * 8 - at - count;
    return value & ((UINT64_C(1) << count) - 1);
}

/* Whole bytes to whole bytes, of which there may be many. */
static void copy_bytes(struct bits *bits, const uint8_t *bytes, uint64_t *at,
                       uint64_t *count)
{
    const uint8_t *from = bytes + *at / 8;
    uint8_t *to = bits->bytes + bits->count / 8;
    const size_t length = (size_t)(*count / 8);
    const unsigned shift = *at % 8;

    for (size_t i = 0; shift > 0 && i < length; i++)
        to[i] = (uint8_t)(from[i] << shift | from[i + 1] >> (8 - shift));
    if (shift == 0 && length > 0)
        memcpy(to, from, length);
    bits->count += (uint64_t)length * 8;
    *at += (uint64_t)length * 8;
    *count -= (uint64_t)length * 8;
}

static bool bits_copy(struct bits *bits, const uint8_t *bytes, uint64_t at,
                      uint64_t count)
{
    if (!grow(bits, count))
        return false;
    if (bits->count % 8 == 0)
        copy_bytes(bits, bytes, &at, &count);
    for (; count >= 8; count -= 8, at += 8)
        put(bits, (unsigned)bits_get(bytes, at, 8), 8);
    if (count > 0)
        put(bits, (unsigned)bits_get(bytes, at, (unsigned)count), (unsigned)count);
    return true;
}

/* --- blocks of bzip2, put together again ------------------------------------------- */

/* Parts come in order. As all before one was decoded, it begins with a mark that is one; whether it ends with
 * one too is known when it has been decoded. */

/* Whether a stream begins with these bytes. */
static bool bzip2_head(const uint8_t *bytes)
{
    return cv_codec_bzip2.begins(bytes, CV_BZIP2_HEAD_SIZE);
}

/* Give the bits of a part as a stream, or, of an end, as they are. */
static bool bzip2_fill(struct cv_bzip2_part *part, const struct bits *bits, int error)
{
    struct bits all = { .bytes = NULL };
    bool good = bits_put(&all, 0x425A68, 24) &&
                bits_put(&all, (uint8_t)part->level, 8) &&
                bits_copy(&all, bits->bytes, 0, bits->count);

    part->count = bits->count;
    part->job.offset = part->begin / 8 - CV_BZIP2_HEAD_SIZE;
    part->job.before = part->job.offset - part->stream;
    part->job.idle = part->ends;
    if (good && part->followed && !part->ends &&
        bits->count >= CV_BZIP2_MARK + CV_BZIP2_CHECK)
        good = bits_put(&all, CV_BZIP2_END, CV_BZIP2_MARK) &&
               bits_put(&all, bits_get(bits->bytes, CV_BZIP2_MARK, CV_BZIP2_CHECK),
                           CV_BZIP2_CHECK);
    good = good && cv_wide_put(&part->job, all.bytes, (size_t)((all.count + 7) / 8));
    bits_done(&all);
    cv_wide_complete(&part->job, good ? error : ENOMEM);
    return good;
}

/* The bits of a part, as the reader has given them. */
static const uint8_t *bytes_of(const struct cv_bzip2_part *part)
{
    const struct cv_parallel_decode_job *job = &part->job;

    return (job->spent != NULL ? job->spent : job->first)->bytes + CV_BZIP2_HEAD_SIZE;
}

/* Put the next part behind some bits; *followed: whether there is one behind that. False: there is none. */
static bool join_next(struct cv_parallel_decoder *parallel, struct bits *bits,
                      bool *followed)
{
    struct cv_bzip2_part *next;
    void *job;
    bool more, good;

    if (!*followed ||
        cv_ordered_jobs_wait(parallel->pool, &job, &more, NULL) != CLEAVE_OK ||
        job == NULL)
        return false;
    next = job;
    good = bits_copy(bits, bytes_of(next), 0, next->count);
    *followed = next->followed;
    cv_wide_forget(&next->job);
    cv_wide_drop(next);
    return good;
}

/* Decode other bytes in the place of a part's own. */
static enum cleave_status decode_instead(struct cv_bzip2_part *part,
                                         struct cv_bzip2_part *other,
                                         struct cleave_error *err)
{
    struct cv_parallel_decode_job *job = &part->job;
    const struct cv_parallel_decode_job was = *job;
    enum cleave_status status;
    bool more = false;

    status = cv_wide_decode(&other->job, &more, err);
    job->decoder = other->job.decoder;
    job->chunks = other->job.chunks;
    job->made = other->job.made;
    other->job.decoder = was.decoder;
    other->job.chunks = was.chunks;
    cv_wide_forget(&other->job);
    cv_wide_drop(other);
    return status;
}

/* The block of a part, with other bits than it was cut to. */
static enum cleave_status try_again(const struct cv_bzip2_blocks *blocks,
                                    struct cv_bzip2_part *part,
                                    const struct bits *bits, bool followed,
                                    struct cleave_error *err)
{
    struct cv_bzip2_part *other =
        (struct cv_bzip2_part *)cv_wide_begin(part->job.parallel, 0);

    if (other == NULL)
        return cv_fail_memory(err, "a decoder");
    other->begin = part->begin;
    other->stream = part->stream;
    other->level = blocks->level_now;
    other->followed = followed;
    if (!bzip2_fill(other, bits, 0)) {
        cv_wide_forget(&other->job);
        cv_wide_drop(other);
        return cv_fail_memory(err, "a decoder");
    }
    return decode_instead(part, other, err);
}

/* If it was cut at what only looked like a mark, more bits make it whole. */
static enum cleave_status mend_block(const struct cv_bzip2_blocks *blocks,
                                     struct cv_parallel_decoder *parallel,
                                     struct cv_bzip2_part *part, struct cleave_error *err)
{
    struct bits bits = { .bytes = NULL };
    bool followed = part->followed;
    enum cleave_status status = bits_copy(&bits, bytes_of(part), 0, part->count)
                                    ? try_again(blocks, part, &bits, followed, err)
                                    : cv_fail_memory(err, "a decoder");

    while (status == CLEAVE_EINPUT && bits.count < (uint64_t)CV_BZIP2_MOST * 8 &&
           join_next(parallel, &bits, &followed))
        status = try_again(blocks, part, &bits, followed, err);
    bits_done(&bits);
    return status;
}

static enum cleave_status settle_block(struct cv_bzip2_blocks *blocks,
                                       struct cv_parallel_decoder *parallel,
                                       struct cv_bzip2_part *part,
                                       struct cleave_error *err)
{
    struct cv_parallel_decode_job *job = &part->job;
    enum cleave_status status = job->status;

    if (status != CLEAVE_OK)
        *err = job->err;
    if (status == CLEAVE_OK ? part->level != blocks->level_now
                            : status == CLEAVE_EINPUT && part->followed)
        status = mend_block(blocks, parallel, part, err);
    if (status == CLEAVE_OK)
        blocks->check = (blocks->check << 1 | blocks->check >> 31) ^
                        (uint32_t)bits_get(bytes_of(part), CV_BZIP2_MARK, CV_BZIP2_CHECK);
    else if (job->decoder == NULL || !cv_decoder_short(job->decoder)) {
        cv_wide_drop_chunks(job->chunks); /* they are not proven */
        job->chunks = NULL;
        job->made = 0;
    }
    return status;
}

/* What is wrong with the end of a stream, or behind it, is said by a decoder that gets the end of a stream without
 * blocks, whose check is 0, and then what is behind. */
static enum cleave_status refuse_end(const struct cv_bzip2_blocks *blocks,
                                     struct cv_parallel_decoder *parallel,
                                     struct cv_bzip2_part *part, struct cleave_error *err)
{
    const uint64_t head = (part->begin + CV_BZIP2_MARK + CV_BZIP2_CHECK + 7) / 8,
                   begin = head * 8;
    const bool whole = part->count >= CV_BZIP2_MARK + CV_BZIP2_CHECK;
    const uint64_t gone = begin - part->begin;
    struct bits bits = { .bytes = NULL };
    struct cv_bzip2_part *other = (struct cv_bzip2_part *)cv_wide_begin(parallel, 0);
    bool followed = part->followed;
    bool good = other != NULL &&
                bits_copy(&bits, bytes_of(part), 0, whole ? CV_BZIP2_MARK : part->count);

    if (good && whole)
        good = bits_put(&bits,
                           bits_get(bytes_of(part), CV_BZIP2_MARK, CV_BZIP2_CHECK) ^
                               blocks->check,
                           CV_BZIP2_CHECK);
    if (good && part->count > gone)
        good = bits_copy(&bits, bytes_of(part), gone, part->count - gone);
    while (good && bits.count < UINT64_C(8) * (CV_BZIP2_MARK + CV_BZIP2_CHECK) &&
           join_next(parallel, &bits, &followed))
        continue;
    if (good) {
        other->begin = part->begin;
        other->stream = part->stream;
        other->level = blocks->level_now;
        good = bzip2_fill(other, &bits, part->job.error);
    }
    bits_done(&bits);
    if (!good) {
        cv_wide_drop(other);
        return cv_fail_memory(err, "a decoder");
    }
    if (whole)
        other->job.offset =
            head - (CV_BZIP2_MARK + CV_BZIP2_CHECK) / 8 - CV_BZIP2_HEAD_SIZE;
    other->job.before = other->job.offset - part->stream;
    return decode_instead(part, other, err);
}

/* The next stream has to begin where this one ends, or the input ends there. */
static enum cleave_status settle_end(struct cv_bzip2_blocks *blocks,
                                     struct cv_parallel_decoder *parallel,
                                     struct cv_bzip2_part *part, struct cleave_error *err)
{
    const uint64_t gone =
        (part->begin + CV_BZIP2_MARK + CV_BZIP2_CHECK + 7) / 8 * 8 - part->begin;
    const uint64_t head_bits = UINT64_C(8) * CV_BZIP2_HEAD_SIZE;
    const uint8_t *bytes = bytes_of(part);
    uint8_t head[CV_BZIP2_HEAD_SIZE];

    if (part->count >= gone && part->job.error == 0 &&
        bits_get(bytes, CV_BZIP2_MARK, CV_BZIP2_CHECK) == blocks->check) {
        if (part->count == gone && !part->followed)
            return CLEAVE_OK;
        for (uint64_t i = 0; part->count == gone + head_bits && i < CV_BZIP2_HEAD_SIZE;
             i++)
            head[i] = (uint8_t)bits_get(bytes, gone + i * 8, 8);
        if (part->followed && part->count == gone + head_bits && bzip2_head(head)) {
            blocks->check = 0;
            blocks->level_now = (char)head[CV_BZIP2_HEAD_SIZE - 1];
            return CLEAVE_OK;
        }
    }
    return refuse_end(blocks, parallel, part, err);
}

/* See to a part that was decoded. */
static enum cleave_status bzip2_settle(void *state, struct cv_parallel_decoder *parallel,
                                       struct cv_parallel_decode_job *job,
                                       struct cleave_error *err)
{
    struct cv_bzip2_blocks *blocks = state;
    struct cv_bzip2_part *part = (struct cv_bzip2_part *)job;

    if (job->first == NULL && job->spent == NULL && job->status == CLEAVE_OK &&
        job->error != 0)
        return cv_fail_memory(err, "a decoder");
    if (part->plain || (job->first == NULL && job->spent == NULL)) {
        if (job->status != CLEAVE_OK)
            *err = job->err;
        return job->status;
    }
    if (blocks->level_now == 0)
        blocks->level_now = part->level;
    return part->ends ? settle_end(blocks, parallel, part, err)
                      : settle_block(blocks, parallel, part, err);
}

/* --- blocks of bzip2, each decoded by itself --------------------------------------- */

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
    struct bits bits = { .bytes = NULL };
    bool good;

    if (part == NULL)
        return false;
    part->begin = blocks->at * 8 + blocks->begin;
    part->stream = blocks->stream;
    part->level = blocks->level;
    part->ends = blocks->ends;
    part->followed = followed;
    good = bits_copy(&bits, blocks->raw, blocks->begin, end - blocks->begin) &&
           bzip2_fill(part, &bits, error);
    bits_done(&bits);
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
         bzip2_head(blocks->raw + head)) ||
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
            (blocks->marked || (blocks->count == FIRST && bzip2_head(blocks->raw))))
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
    .settle = bzip2_settle,
};
