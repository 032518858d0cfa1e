/* parallel_bzip2.c -- jobs of bzip2 for parallel_decode.h. SPDX-License-Identifier: MIT
 *
 * A block begins at any bit, with a mark of 48 bits, and does not tell its length. The reader cuts
 * a stream at every mark of a block or of the end of the stream. It turns the bits between two
 * marks into a separate stream: header, block, and an end with the checksum of this block.
 * The bits of a mark can also occur inside a block, by chance or on purpose. Then a part cannot be
 * decoded, and the consumer joins it with the next one. The consumer also verifies what concerns
 * a whole stream, such as its checksum. A damaged block gives no output. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/decode/parallel_decode.h"

#define BLOCK_MARK UINT64_C(0x314159265359)
#define END_MARK UINT64_C(0x177245385090)

enum {
    MARK = 48,  /* bits */
    CHECK = 32, /* bits of a checksum, which follows a mark */
    BEGIN = MARK + CHECK,
    HEAD = 4,          /* bytes of a stream header */
    MAX_RAW = 3 << 20, /* bytes of a block: 900,000 symbols of 20 bits, and tables */
};

/* The bits from one mark to the next, or to the end of the input. */
struct part {
    struct cv_decode_job job; /* first; input: header, these bits, end if it is a block */
    uint64_t begin;           /* in the file, in bits               */
    uint64_t count;           /* bits                               */
    uint64_t stream;          /* offset of the stream in the file   */
    char level;               /* in the header of the stream        */
    bool plain;               /* not bzip2: the input unchanged     */
    bool ends;                /* the first mark is END_MARK         */
    bool followed;            /* another part follows               */
};

struct cutter {
    /* For the reader: input since the last mark. */
    uint8_t *raw; /* owned */
    size_t count;
    uint64_t at;     /* offset of raw[0] in the file    */
    unsigned begin;  /* bits of raw[0] before the mark  */
    uint64_t window; /* the last 64 bits                */
    uint64_t stream;
    char level;
    bool marked;         /* there was a mark                                   */
    bool ends;           /* the last mark was END_MARK                         */
    struct part *plain;  /* borrowed: gets all input; NULL                     */
    uint8_t shifts[256]; /* bit positions of a mark whose bits 16 to 23 are the index */
    /* For the consumer. */
    char level_now; /* level of the stream; 0: none yet   */
    uint32_t check; /* over its blocks                    */
};

/* --- bits; the first one of a byte is the highest ------------------------------------------- */

struct bits {
    uint8_t *bytes; /* owned */
    uint64_t count;
    size_t room; /* bytes */
};

static bool grow(struct bits *bits, uint64_t count)
{
    /* One byte to spare, for put. */
    return CV_ROOM(bits->bytes, &bits->room, (size_t)((bits->count + count) / 8 + 2));
}

/* Append up to 8 bits; there is room. */
static void put(struct bits *bits, unsigned number, unsigned count)
{
    uint8_t *to = bits->bytes + bits->count / 8;
    const unsigned used = bits->count % 8, shifted = number << (16 - count) >> used;

    to[0] = (uint8_t)((used > 0 ? to[0] : 0) | (shifted >> 8 & 0xFF));
    to[1] = (uint8_t)shifted;
    bits->count += count;
}

/* Append the lowest `count` bits of a number. False: no memory. */
static bool put_number(struct bits *bits, uint64_t number, unsigned count)
{
    if (!grow(bits, count))
        return false;
    for (; count >= 8; count -= 8)
        put(bits, (unsigned)(number >> (count - 8) & 0xFF), 8);
    if (count > 0)
        put(bits, (unsigned)(number & ((1u << count) - 1)), count);
    return true;
}

/* At most 57 bits, from bit `at`. */
static uint64_t get(const uint8_t *bytes, uint64_t at, unsigned count)
{
    const uint64_t first = at / 8, last = (at + count + 7) / 8;
    uint64_t value = 0;

    for (uint64_t i = first; i < last; i++)
        value = value << 8 | bytes[i];
    value >>= last * 8 - at - count;
    return value & ((UINT64_C(1) << count) - 1);
}

/* Append whole bytes at a byte boundary. */
static void put_bytes(struct bits *bits, const uint8_t *bytes, uint64_t *at,
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

/* Append `count` bits of `bytes`, from bit `at`. False: no memory. */
static bool put_bits(struct bits *bits, const uint8_t *bytes, uint64_t at, uint64_t count)
{
    if (!grow(bits, count))
        return false;
    if (bits->count % 8 == 0)
        put_bytes(bits, bytes, &at, &count);
    for (; count >= 8; count -= 8, at += 8)
        put(bits, (unsigned)get(bytes, at, 8), 8);
    if (count > 0)
        put(bits, (unsigned)get(bytes, at, (unsigned)count), (unsigned)count);
    return true;
}

/* --- parts ---------------------------------------------------------------------------------- */

static bool is_stream_header(const uint8_t *bytes)
{
    return cv_codec_bzip2.begins(bytes, HEAD);
}

/* Make a stream of `count` bits of `bytes`, from bit `at`, and complete the job with it. */
static bool fill_part(struct part *part, const uint8_t *bytes, uint64_t at,
                      uint64_t count, int error)
{
    struct bits all = { .bytes = NULL };
    bool good = put_number(&all, 0x425A68, 24) &&
                put_number(&all, (uint8_t)part->level, 8) &&
                put_bits(&all, bytes, at, count);

    part->count = count;
    part->job.offset = part->begin / 8 - HEAD;
    part->job.before = part->job.offset - part->stream;
    part->job.idle = part->ends;
    if (good && part->followed && !part->ends && count >= BEGIN)
        good = put_number(&all, END_MARK, MARK) &&
               put_number(&all, get(bytes, at + MARK, CHECK), CHECK);
    good =
        good && cv_decode_job_add(&part->job, all.bytes, (size_t)((all.count + 7) / 8));
    free(all.bytes);
    cv_decode_job_complete(&part->job, good ? error : ENOMEM);
    return good;
}

/* The bits of a part, as the reader has cut them. */
static const uint8_t *bits_of(const struct part *part)
{
    return cv_decode_job_input(&part->job) + HEAD;
}

/* --- the consumer --------------------------------------------------------------------------- */

/* Append the next part; *followed: another one follows. False: there is none, or no memory. */
static bool join_next(struct cv_parallel_decoder *parallel, struct bits *bits,
                      bool *followed)
{
    struct part *next = *followed ? cv_parallel_take(parallel) : NULL;
    bool good;

    if (next == NULL)
        return false;
    good = put_bits(bits, bits_of(next), 0, next->count);
    *followed = next->followed;
    cv_decode_job_free(next);
    return good;
}

/* Replace the output of a part by the output of another part, which is freed. */
static enum cleave_status decode_instead(struct part *part, struct part *other,
                                         struct cleave_error *err)
{
    struct cv_decode_job *job = &part->job;
    const struct cv_decode_job was = *job;
    enum cleave_status status;
    bool more = false;

    status = cv_decode_job_run(&other->job, &more, err);
    job->decoder = other->job.decoder;
    job->chunks = other->job.chunks;
    job->made = other->job.made;
    other->job.decoder = was.decoder;
    other->job.chunks = was.chunks;
    cv_decode_job_free(other);
    return status;
}

static struct part *new_part(const struct cutter *cutter, const struct part *like)
{
    struct part *part = (struct part *)cv_decode_job_new(like->job.parallel, 0);

    if (part != NULL) {
        part->begin = like->begin;
        part->stream = like->stream;
        part->level = cutter->level_now;
    }
    return part;
}

/* Decode the block of a part from other bits. */
static enum cleave_status try_again(const struct cutter *cutter, struct part *part,
                                    const struct bits *bits, bool followed,
                                    struct cleave_error *err)
{
    struct part *other = new_part(cutter, part);

    if (other != NULL)
        other->followed = followed;
    if (other == NULL || !fill_part(other, bits->bytes, 0, bits->count, 0)) {
        cv_decode_job_free(other);
        return cv_fail_memory(err, "a decoder");
    }
    return decode_instead(part, other, err);
}

/* If the part was cut at bits that only look like a mark, further parts complete the block. */
static enum cleave_status extend_block(const struct cutter *cutter,
                                       struct cv_parallel_decoder *parallel,
                                       struct part *part, struct cleave_error *err)
{
    struct bits bits = { .bytes = NULL };
    bool followed = part->followed;
    enum cleave_status status = put_bits(&bits, bits_of(part), 0, part->count)
                                    ? try_again(cutter, part, &bits, followed, err)
                                    : cv_fail_memory(err, "a decoder");

    while (status == CLEAVE_EINPUT && bits.count < (uint64_t)MAX_RAW * 8 &&
           join_next(parallel, &bits, &followed))
        status = try_again(cutter, part, &bits, followed, err);
    free(bits.bytes);
    return status;
}

static enum cleave_status settle_block(struct cutter *cutter,
                                       struct cv_parallel_decoder *parallel,
                                       struct part *part, struct cleave_error *err)
{
    struct cv_decode_job *job = &part->job;
    enum cleave_status status = job->status;

    if (status != CLEAVE_OK)
        *err = job->err;
    if (status == CLEAVE_OK ? part->level != cutter->level_now
                            : status == CLEAVE_EINPUT && part->followed)
        status = extend_block(cutter, parallel, part, err);
    if (status == CLEAVE_OK)
        cutter->check = (cutter->check << 1 | cutter->check >> 31) ^
                        (uint32_t)get(bits_of(part), MARK, CHECK);
    else if (job->decoder == NULL || !cv_decoder_short(job->decoder)) {
        cv_decode_chunks_free(job->chunks); /* not verified */
        job->chunks = NULL;
        job->made = 0;
    }
    return status;
}

/* Bits of a part with END_MARK up to the next byte boundary of the file. */
static uint64_t end_bits(const struct part *part)
{
    return (part->begin + BEGIN + 7) / 8 * 8 - part->begin;
}

/* Let a decoder report the damage at the end of a stream or after it. It gets the end of a stream
 * without blocks, whose checksum is 0, and the bytes that follow. */
static enum cleave_status refuse_end(const struct cutter *cutter,
                                     struct cv_parallel_decoder *parallel,
                                     struct part *part, struct cleave_error *err)
{
    const bool whole = part->count >= BEGIN;
    const uint64_t end = end_bits(part);
    struct bits bits = { .bytes = NULL };
    struct part *other = new_part(cutter, part);
    bool followed = part->followed;
    bool good =
        other != NULL && put_bits(&bits, bits_of(part), 0, whole ? MARK : part->count);

    if (good && whole)
        good = put_number(&bits, get(bits_of(part), MARK, CHECK) ^ cutter->check, CHECK);
    if (good && part->count > end)
        good = put_bits(&bits, bits_of(part), end, part->count - end);
    while (good && bits.count < UINT64_C(8) * BEGIN &&
           join_next(parallel, &bits, &followed))
        continue;
    good = good && fill_part(other, bits.bytes, 0, bits.count, part->job.error);
    free(bits.bytes);
    if (!good) {
        cv_decode_job_free(other);
        return cv_fail_memory(err, "a decoder");
    }
    if (whole)
        other->job.offset = (part->begin + end) / 8 - BEGIN / 8 - HEAD;
    other->job.before = other->job.offset - part->stream;
    return decode_instead(part, other, err);
}

/* After the end of a stream, the input must end or another stream begin. */
static enum cleave_status settle_end(struct cutter *cutter,
                                     struct cv_parallel_decoder *parallel,
                                     struct part *part, struct cleave_error *err)
{
    const uint64_t end = end_bits(part);
    const uint8_t *bytes = bits_of(part);
    uint8_t head[HEAD];

    if (part->count >= end && part->job.error == 0 &&
        get(bytes, MARK, CHECK) == cutter->check) {
        if (part->count == end && !part->followed)
            return CLEAVE_OK;
        for (uint64_t i = 0; part->count == end + 8 * (uint64_t)HEAD && i < HEAD; i++)
            head[i] = (uint8_t)get(bytes, end + i * 8, 8);
        if (part->followed && part->count == end + 8 * (uint64_t)HEAD &&
            is_stream_header(head)) {
            cutter->check = 0;
            cutter->level_now = (char)head[HEAD - 1];
            return CLEAVE_OK;
        }
    }
    return refuse_end(cutter, parallel, part, err);
}

/* Parts come in order. All parts before were decoded, so this one begins with a real mark; whether
 * it ends before one is known once it was decoded. */
static enum cleave_status settle(void *state, struct cv_parallel_decoder *parallel,
                                 struct cv_decode_job *job, struct cleave_error *err)
{
    struct cutter *cutter = state;
    struct part *part = (struct part *)job;
    const bool empty = cv_decode_job_input(job) == NULL;

    if (empty && job->status == CLEAVE_OK && job->error != 0)
        return cv_fail_memory(err, "a decoder");
    if (part->plain || empty) {
        if (job->status != CLEAVE_OK)
            *err = job->err;
        return job->status;
    }
    if (cutter->level_now == 0)
        cutter->level_now = part->level;
    return part->ends ? settle_end(cutter, parallel, part, err)
                      : settle_block(cutter, parallel, part, err);
}

/* --- the reader ----------------------------------------------------------------------------- */

static void *open_cutter(const struct cv_codec *codec, size_t batch, uint64_t offset)
{
    static const uint64_t marks[] = { BLOCK_MARK, END_MARK };
    struct cutter *cutter = calloc(1, sizeof *cutter);

    (void)codec, (void)batch;
    if (cutter == NULL)
        return NULL;
    cutter->raw = malloc(MAX_RAW);
    cutter->at = cutter->stream = offset;
    for (unsigned shift = 0; shift < 8; shift++)
        for (unsigned i = 0; i < 2; i++)
            cutter->shifts[marks[i] << shift >> 16 & 0xFF] |= (uint8_t)(1u << shift);
    if (cutter->raw != NULL)
        return cutter;
    free(cutter);
    return NULL;
}

static void close_cutter(void *state)
{
    free(((struct cutter *)state)->raw);
    free(state);
}

/* The raw bytes up to bit `end` are a part. */
static bool end_part(struct cutter *cutter, struct cv_parallel_decoder *parallel,
                     uint64_t end, bool followed, int error)
{
    struct part *part = (struct part *)cv_decode_job_new(parallel, cutter->at);
    bool good;

    if (part == NULL)
        return false;
    part->begin = cutter->at * 8 + cutter->begin;
    part->stream = cutter->stream;
    part->level = cutter->level;
    part->ends = cutter->ends;
    part->followed = followed;
    good = fill_part(part, cutter->raw, cutter->begin, end - cutter->begin, error);
    return cv_decode_job_submit(parallel, &part->job) && good;
}

/* A mark begins at a bit of the raw bytes. A stream header between an end and the mark begins a
 * stream. */
static bool begin_part(struct cutter *cutter, struct cv_parallel_decoder *parallel,
                       uint64_t bit, bool ends)
{
    const size_t done = (size_t)(bit / 8);
    const uint64_t head = (cutter->begin + BEGIN + 7) / 8;

    if (cutter->marked && !end_part(cutter, parallel, bit, true, 0))
        return false;
    if ((cutter->ends && bit == (head + HEAD) * 8 &&
         is_stream_header(cutter->raw + head)) ||
        !cutter->marked) {
        cutter->stream = cutter->at + done - HEAD;
        cutter->level = (char)cutter->raw[done - 1];
    }
    memmove(cutter->raw, cutter->raw + done, cutter->count - done);
    cutter->count -= done;
    cutter->at += done;
    cutter->begin = bit % 8;
    cutter->ends = ends;
    cutter->marked = true;
    return true;
}

/* Cut at the marks that end in the last byte, the first one first. */
static bool find_marks(struct cutter *cutter, struct cv_parallel_decoder *parallel)
{
    const uint64_t mask = (UINT64_C(1) << MARK) - 1;
    bool good = true;

    for (unsigned shift = 8; good && shift-- > 0;) {
        const uint64_t word = cutter->window >> shift & mask;
        const uint64_t end = (uint64_t)cutter->count * 8 - shift;

        if ((word == BLOCK_MARK || word == END_MARK) && (cutter->marked || shift == 0) &&
            end > cutter->begin + (cutter->marked ? (uint64_t)MARK : 0))
            good = begin_part(cutter, parallel, end - MARK, word == END_MARK);
    }
    return good;
}

/* The input is not bzip2: the decoder of one job gets all of it and reports the error. */
static bool pass_on(struct cutter *cutter, struct cv_parallel_decoder *parallel,
                    const uint8_t *bytes, size_t length)
{
    struct part *part = cutter->plain;

    if (part == NULL) {
        part = (struct part *)cv_decode_job_new(parallel, cutter->at);
        if (part == NULL)
            return false;
        part->plain = true;
        if (!cv_decode_job_submit(parallel, &part->job))
            return false;
        cutter->plain = part;
    }
    return length == 0 || cv_decode_job_add(&part->job, bytes, length);
}

static bool cut(void *state, struct cv_parallel_decoder *parallel, const uint8_t *bytes,
                size_t length)
{
    enum { FIRST = HEAD + MARK / 8 };
    struct cutter *cutter = state;
    bool good = true;

    for (size_t i = 0; good && i < length; i++) {
        if (cutter->plain != NULL)
            return pass_on(cutter, parallel, bytes + i, length - i);
        if (cutter->count == MAX_RAW) { /* no block is that long: an error */
            end_part(cutter, parallel, (uint64_t)MAX_RAW * 8, false, 0);
            return false;
        }
        cutter->raw[cutter->count++] = bytes[i];
        cutter->window = cutter->window << 8 | bytes[i];
        if (cutter->shifts[cutter->window >> 16 & 0xFF] != 0 &&
            (cutter->marked || (cutter->count == FIRST && is_stream_header(cutter->raw))))
            good = find_marks(cutter, parallel);
        if (!cutter->marked && cutter->count == FIRST)
            good = pass_on(cutter, parallel, cutter->raw, cutter->count);
    }
    return good;
}

static void end(void *state, struct cv_parallel_decoder *parallel, int error)
{
    struct cutter *cutter = state;

    if (!cutter->marked && cutter->plain == NULL && (cutter->count > 0 || error != 0))
        pass_on(cutter, parallel, cutter->raw, cutter->count);
    if (cutter->plain != NULL)
        cv_decode_job_complete(&cutter->plain->job, error);
    else if (cutter->marked)
        end_part(cutter, parallel, (uint64_t)cutter->count * 8, false, error);
}

const struct cv_parallel_format cv_parallel_bzip2 = {
    .job_size = sizeof(struct part),
    .max = SIZE_MAX,
    .open = open_cutter,
    .close = close_cutter,
    .cut = cut,
    .end = end,
    .settle = settle,
};
