/* inflate_marks.c -- decoder of deflate that begins in the middle of a stream.
 * SPDX-License-Identifier: MIT */
#include "run/inflate/inflate_marks.h"

#define CELL uint16_t
#include "run/inflate/inflate_cells.h"

enum { GROUP = 8 }; /* cells that are resolved together */

void cv_marks_fill(uint16_t *base)
{
    for (unsigned i = 0; i < CV_INFLATE_WINDOW; i++)
        base[i] = (uint16_t)(CV_MARK | i);
}

void cv_inflate_marks_begin(struct cv_inflate *inflate)
{
    cv_inflate_init(inflate);
    inflate->made = CV_INFLATE_WINDOW;
}

enum cv_inflate_state cv_inflate_marks_run(struct cv_inflate *inflate, const uint8_t **in,
                                           size_t *length, uint16_t *base, size_t *at,
                                           size_t room)
{
    return run(inflate, in, length, base, at, room);
}

size_t cv_marks_clean(const uint16_t *cells, size_t count)
{
    size_t clean = 0;

    while (clean < count && cells[count - 1 - clean] < CV_MARK)
        clean++;
    return clean;
}

void cv_marks_narrow(const uint16_t *cells, size_t count, uint8_t *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (uint8_t)cells[i];
}

/* Looks up every cell, so that the speed does not depend on the data. Reads a whole group before
 * it writes, as `out` may be `cells`. */
void cv_marks_resolve(const uint16_t *cells, size_t count,
                      const uint8_t window[CV_INFLATE_WINDOW], uint8_t *out)
{
    uint8_t bytes[2 * CV_MARK];
    size_t at = 0;

    for (unsigned i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    memcpy(bytes + CV_MARK, window, CV_INFLATE_WINDOW);
    for (; at + GROUP <= count; at += GROUP) {
        const uint16_t *from = cells + at;
        const uint8_t a = bytes[from[0]], b = bytes[from[1]], c = bytes[from[2]];
        const uint8_t d = bytes[from[3]], e = bytes[from[4]], f = bytes[from[5]];
        const uint8_t g = bytes[from[6]], h = bytes[from[7]];
        uint8_t *to = out + at;

        to[0] = a, to[1] = b, to[2] = c, to[3] = d;
        to[4] = e, to[5] = f, to[6] = g, to[7] = h;
    }
    for (; at < count; at++)
        out[at] = bytes[cells[at]];
}

/* --- search for a block ------------------------------------------------------------------- */

/* A header is: 1 bit (last block?), 2 bits (type), 5 (number of literal codes), 5 (distance
 * codes), 4 (number of code length codes, of 3 bits each, that follow). One position in nine
 * passes a test of the first 13 bits, which is done for 48 positions at once; one in 300 of
 * these has code length codes that are complete. Only then the rest of the header is read. */

enum {
    AT_ONCE = 48, /* positions whose first 13 bits are in one word     */
    COUNTED = 13, /* header bits before the number of code lengths     */
    FIRST = 17,   /* header bits before the code lengths               */
    LENGTH_BITS = 3,
    LOOKED_UP = 3 * LENGTH_BITS, /* bits whose sum is looked up */
    FULL = 128,                  /* Kraft sum of a complete code, in 128ths */
    SLACK = 32,                  /* bytes that a test may read */
};

/* The Kraft sums of all groups of LOOKED_UP bits. */
static void fill_sums(uint16_t sums[1 << LOOKED_UP])
{
    for (unsigned bits = 0; bits < 1u << LOOKED_UP; bits++) {
        unsigned sum = 0;

        for (unsigned i = 0; i < LOOKED_UP; i += LENGTH_BITS) {
            const unsigned length = bits >> i & 7;

            sum += length > 0 ? (unsigned)FULL >> length : 0;
        }
        sums[bits] = (uint16_t)sum;
    }
}

/* The positions whose first 13 bits may begin a header: 0, 0, 1, and no count above 29. */
static uint64_t likely(uint64_t word)
{
    const uint64_t kind = ~word & ~(word >> 1) & word >> 2;
    const uint64_t four = word & word >> 1 & word >> 2 & word >> 3;

    return kind & ~(four >> 4) & ~(four >> 9) & ((1ull << AT_ONCE) - 1);
}

static bool has_complete_code(const uint8_t *in, uint64_t bit, const uint16_t *sums)
{
    const uint64_t count_at = bit + COUNTED, lengths_at = bit + FIRST;
    const unsigned ncodes =
        4 + (unsigned)(load_word(in + count_at / 8) >> count_at % 8 & 15);
    uint64_t lengths = load_word(in + lengths_at / 8) >> lengths_at % 8;
    unsigned sum = 0;

    lengths &= (1ull << LENGTH_BITS * ncodes) - 1;
    for (; lengths != 0; lengths >>= LOOKED_UP)
        sum += sums[lengths & ((1u << LOOKED_UP) - 1)];
    return sum == FULL;
}

static bool has_valid_header(const uint8_t *in, size_t length, uint64_t bit,
                             struct cv_inflate *scratch)
{
    const uint8_t *from = in + bit / 8;
    size_t left = length - (size_t)(bit / 8);
    enum cv_inflate_state state = CV_INFLATE_FULL;
    struct input input;

    cv_inflate_init(scratch);
    cv_inflate_skip_bits(scratch, &from, &left, bit % 8);
    input = (struct input){ from, from + left };
    while (state == CV_INFLATE_FULL && scratch->step != CV_INFLATE_AT_SYMBOLS) {
        fill_bits(scratch, &input);
        state = cv_inflate_head(scratch, &input);
    }
    return state == CV_INFLATE_FULL;
}

bool cv_inflate_find(const uint8_t *in, size_t length, uint64_t from, uint64_t to,
                     struct cv_inflate *scratch, uint64_t *out)
{
    const uint64_t end = length > SLACK ? 8 * (uint64_t)(length - SLACK) : 0;
    uint16_t sums[1 << LOOKED_UP];

    fill_sums(sums);
    to = to < end ? to : end;
    for (uint64_t at = from / 8 * 8; at < to; at += AT_ONCE) {
        uint64_t places = likely(load_word(in + at / 8));

        for (; places != 0; places &= places - 1) {
            const uint64_t bit = at + (unsigned)__builtin_ctzll(places);

            if (bit < from || bit >= to || !has_complete_code(in, bit, sums) ||
                !has_valid_header(in, length, bit, scratch))
                continue;
            *out = bit;
            return true;
        }
    }
    return false;
}
