/* inflate_find.c -- where a block of deflate may begin. SPDX-License-Identifier: MIT
 *
 * A head is: a bit (the last block?), two bits (the kind), five (how many codes of literals
 * and lengths), five (of distances), four (how many lengths of three bits follow, of the code
 * that all other lengths are written in). One bit in nine could begin a head by its
 * first 13 bits, which 48 places are asked for at once; of these, one in three hundred has lengths
 * that fill their code, as they must. Only then the rest is read. */
#include "run/inflate/inflate_find.h"

#include "run/inflate/inflate_internal.h"

enum {
    AT_ONCE = 48, /* places whose first 13 bits are in one word                       */
    COUNTED = 13, /* bits of a head before the number of lengths                      */
    FIRST = 17,   /* bits before the lengths                                          */
    LENGTH_BITS = 3,
    LOOKED_UP =
        3 * LENGTH_BITS, /* bits of lengths that are summed up together           */
    FULL = 128, /* a code is full if the shares of its lengths, in 128ths, are that */
    SLACK = 32, /* bytes behind a place that are looked at                          */
};

/* Shares of all lengths that are in so many bits. */
static void sum_up(uint16_t sums[1 << LOOKED_UP])
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

/* Of 48 places, those whose first 13 bits may begin a head: 0, 0, 1, and no count above 29. */
static uint64_t likely(uint64_t word)
{
    const uint64_t kind = ~word & ~(word >> 1) & word >> 2;
    const uint64_t four = word & word >> 1 & word >> 2 & word >> 3;

    return kind & ~(four >> 4) & ~(four >> 9) & ((1ull << AT_ONCE) - 1);
}

static bool fills_code(const uint8_t *in, uint64_t bit, const uint16_t *sums)
{
    const uint64_t count_at = bit + COUNTED, lengths_at = bit + FIRST;
    const unsigned ncodes =
        4 + (unsigned)(cv_inflate_load(in + count_at / 8) >> count_at % 8 & 15);
    uint64_t lengths = cv_inflate_load(in + lengths_at / 8) >> lengths_at % 8;
    unsigned sum = 0;

    lengths &= (1ull << LENGTH_BITS * ncodes) - 1;
    for (; lengths != 0; lengths >>= LOOKED_UP)
        sum += sums[lengths & ((1u << LOOKED_UP) - 1)];
    return sum == FULL;
}

/* Whether the whole head can be read. */
static bool reads(const uint8_t *in, size_t length, uint64_t bit,
                  struct cv_inflate *scratch)
{
    const uint8_t *from = in + bit / 8;
    size_t left = length - (size_t)(bit / 8);
    enum cv_inflate_state state = CV_INFLATE_FULL;
    struct cv_inflate_input input;

    cv_inflate_init(scratch);
    cv_inflate_skip_bits(scratch, &from, &left, bit % 8);
    input = (struct cv_inflate_input){ from, from + left };
    while (state == CV_INFLATE_FULL && scratch->step != CV_INFLATE_AT_SYMBOLS) {
        cv_inflate_fill(scratch, &input);
        state = cv_inflate_head(scratch, &input);
    }
    return state == CV_INFLATE_FULL;
}

bool cv_inflate_find(const uint8_t *in, size_t length, uint64_t from, uint64_t to,
                     struct cv_inflate *scratch, uint64_t *out)
{
    const uint64_t end = length > SLACK ? 8 * (uint64_t)(length - SLACK) : 0;
    uint16_t sums[1 << LOOKED_UP];

    sum_up(sums);
    to = to < end ? to : end;
    for (uint64_t at = from / 8 * 8; at < to; at += AT_ONCE) {
        uint64_t places = likely(cv_inflate_load(in + at / 8));

        for (; places != 0; places &= places - 1) {
            const uint64_t bit = at + (unsigned)__builtin_ctzll(places);

            if (bit < from || bit >= to || !fills_code(in, bit, sums) ||
                !reads(in, length, bit, scratch))
                continue;
            *out = bit;
            return true;
        }
    }
    return false;
}
