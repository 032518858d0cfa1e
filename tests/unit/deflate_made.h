/* deflate_made.h -- streams of deflate made symbol by symbol, with their expected output.
 * SPDX-License-Identifier: MIT
 *
 * Codes are drawn at random, not made for the symbols: so all lengths of codes occur, and blocks of any kind. */
#ifndef DEFLATE_MADE_H
#define DEFLATE_MADE_H
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

enum { MADE_ROOM = 1 << 20, MADE_LITS = 286, MADE_DISTS = 30, MADE_LONGEST = 15 };

struct made_code {
    uint8_t lengths[288];
    uint16_t codes[288]; /* the first bit in the lowest place */
};

struct made_stream {
    uint8_t packed[MADE_ROOM], bytes[MADE_ROOM];
    size_t npacked, nbytes;
    unsigned nbits; /* bits of the last byte */
    struct cv_random rng;
};

static inline unsigned made_below(struct made_stream *stream, unsigned max)
{
    return (unsigned)(cv_random_bits(&stream->rng) % max);
}

static inline void made_put(struct made_stream *stream, unsigned value, unsigned count)
{
    for (; count > 0; count--, value >>= 1) {
        if (stream->nbits == 0)
            stream->packed[stream->npacked++] = 0;
        stream->packed[stream->npacked - 1] |= (uint8_t)((value & 1) << stream->nbits);
        stream->nbits = (stream->nbits + 1) % 8;
    }
}

/* As RFC 1951 numbers them. */
static inline void made_number(struct made_code *code, unsigned count)
{
    unsigned next = 0;

    for (unsigned length = 1; length <= MADE_LONGEST; length++, next <<= 1)
        for (unsigned i = 0; i < count; i++) {
            if (code->lengths[i] != length)
                continue;
            code->codes[i] = 0;
            for (unsigned bit = 0; bit < length; bit++)
                code->codes[i] |= (uint16_t)((next >> bit & 1) << (length - 1 - bit));
            next++;
        }
}

/* A code of `used` symbols, two at least, `needed` among them: a leaf of the tree is split again and again. With `deep`
 * the last one, so that codes have all lengths. */
static inline void made_draw_code(struct made_stream *stream, struct made_code *code,
                                  unsigned count, unsigned used, unsigned needed,
                                  bool deep)
{
    uint8_t leaves[288] = { 0 };
    unsigned n = 1;

    memset(code, 0, sizeof *code);
    while (n < used) {
        unsigned at = deep && n < MADE_LONGEST ? n - 1 : made_below(stream, n);

        while (leaves[at] == MADE_LONGEST)
            at = (at + 1) % n;
        leaves[n++] = ++leaves[at];
    }
    code->lengths[needed] = leaves[0];
    for (unsigned i = 1; i < n; i++) {
        unsigned symbol = made_below(stream, count);

        while (code->lengths[symbol] != 0)
            symbol = (symbol + 1) % count;
        code->lengths[symbol] = leaves[i];
    }
    made_number(code, count);
}

static inline void made_symbol(struct made_stream *stream, const struct made_code *code,
                               unsigned symbol)
{
    made_put(stream, code->codes[symbol], code->lengths[symbol]);
}

static inline void made_literal(struct made_stream *stream, const struct made_code *lits,
                                unsigned byte)
{
    made_symbol(stream, lits, byte);
    stream->bytes[stream->nbytes++] = (uint8_t)byte;
}

/* Meaning of a symbol of a length or of a distance. */
static inline unsigned made_length(unsigned symbol, unsigned *extra)
{
    *extra = symbol < 265 || symbol == 285 ? 0 : (symbol - 261) / 4;
    return symbol == 285  ? 258
           : symbol < 265 ? symbol - 254
                          : ((4 + (symbol - 265) % 4) << *extra) + 3;
}

static inline unsigned made_distance(unsigned symbol, unsigned *extra)
{
    *extra = symbol < 4 ? 0 : symbol / 2 - 1;
    return symbol < 4 ? symbol + 1 : ((2 + symbol % 2) << *extra) + 1;
}

/* A copy, if it does not reach too far back and there are codes for it. */
static inline void made_copy(struct made_stream *stream, const struct made_code *lits,
                             const struct made_code *dists, unsigned length,
                             unsigned distance)
{
    unsigned length_symbol = 285, dist_symbol = 29, length_bits, dist_bits;

    while (made_length(length_symbol, &length_bits) > length)
        length_symbol--;
    while (made_distance(dist_symbol, &dist_bits) > distance)
        dist_symbol--;
    if (distance > stream->nbytes || stream->nbytes + length > MADE_ROOM ||
        lits->lengths[length_symbol] == 0 || dists->lengths[dist_symbol] == 0)
        return;
    made_symbol(stream, lits, length_symbol);
    made_put(stream, length - made_length(length_symbol, &length_bits), length_bits);
    made_symbol(stream, dists, dist_symbol);
    made_put(stream, distance - made_distance(dist_symbol, &dist_bits), dist_bits);
    for (; length > 0; length--, stream->nbytes++)
        stream->bytes[stream->nbytes] = stream->bytes[stream->nbytes - distance];
}

/* The length or distance that a symbol stands for, with extra bits that are drawn, or all ones. */
static inline unsigned made_draw_value(struct made_stream *stream, unsigned min,
                                       unsigned extra)
{
    return min + (made_below(stream, 4) == 0 ? (1u << extra) - 1
                                             : made_below(stream, 1u << extra));
}

/* This many symbols of the codes, and the end of the block. `literals` of 8 are
 * literals. */
static inline void made_symbols(struct made_stream *stream, const struct made_code *lits,
                                const struct made_code *dists, unsigned count,
                                unsigned literals)
{
    for (unsigned i = 0; i < count && stream->nbytes < MADE_ROOM / 2; i++) {
        const bool literal = made_below(stream, 8) < literals;
        const unsigned symbol =
            literal ? made_below(stream, 256) : 257 + made_below(stream, 29);
        const unsigned dist = made_below(stream, MADE_DISTS);

        if (literal && lits->lengths[symbol] > 0) {
            made_literal(stream, lits, symbol);
        } else if (!literal) {
            unsigned length_bits, dist_bits;
            const unsigned length = made_length(symbol, &length_bits);
            const unsigned distance = made_distance(dist, &dist_bits);

            made_copy(stream, lits, dists, made_draw_value(stream, length, length_bits),
                      made_draw_value(stream, distance, dist_bits));
        }
    }
    made_symbol(stream, lits, 256);
}

static inline void made_fixed_codes(struct made_code *lits, struct made_code *dists)
{
    memset(lits, 0, sizeof *lits);
    memset(dists, 0, sizeof *dists);
    memset(lits->lengths, 8, 144);
    memset(lits->lengths + 144, 9, 112);
    memset(lits->lengths + 256, 7, 24);
    memset(lits->lengths + 280, 8, 8);
    memset(dists->lengths, 5, 32);
    made_number(lits, 288);
    made_number(dists, 32);
}

static inline void made_fixed(struct made_stream *stream, bool last, unsigned count)
{
    struct made_code lits, dists;

    made_fixed_codes(&lits, &dists);
    made_put(stream, last, 1);
    made_put(stream, 1, 2);
    made_symbols(stream, &lits, &dists, count, 4);
}

static inline void made_stored(struct made_stream *stream, bool last, unsigned count)
{
    made_put(stream, last, 1);
    made_put(stream, 0, 2);
    stream->nbits = 0;
    made_put(stream, count, 16);
    made_put(stream, ~count & 0xFFFF, 16);
    for (; count > 0; count--) {
        const unsigned byte = made_below(stream, 256);

        made_put(stream, byte, 8);
        stream->bytes[stream->nbytes++] = (uint8_t)byte;
    }
}

/* Lengths are written in sixteen codes of four bits each. */
static inline void made_head(struct made_stream *stream, bool last,
                             const struct made_code *lits, const struct made_code *dists)
{
    struct made_code four = { .lengths = { 0 } };

    memset(four.lengths, 4, 16);
    made_number(&four, 19);
    made_put(stream, last, 1);
    made_put(stream, 2, 2);
    made_put(stream, MADE_LITS - 257, 5);
    made_put(stream, MADE_DISTS - 1, 5);
    made_put(stream, 15, 4);
    for (unsigned i = 0; i < 19; i++) /* 16, 17 and 18 come first: no runs */
        made_put(stream, i < 3 ? 0 : 4, 3);
    for (unsigned i = 0; i < MADE_LITS; i++)
        made_symbol(stream, &four, lits->lengths[i]);
    for (unsigned i = 0; i < MADE_DISTS; i++)
        made_symbol(stream, &four, dists->lengths[i]);
}

/* With dynamic codes. A few literals have short codes: these are looked up in pairs. */
static inline void made_drawn(struct made_stream *stream, bool last, unsigned count,
                              unsigned literals)
{
    struct made_code lits, dists;
    const bool deep = made_below(stream, 3) == 0;

    made_draw_code(stream, &lits, MADE_LITS,
                   made_below(stream, 2) == 0 ? 2 + made_below(stream, 14)
                                              : 16 + made_below(stream, 270),
                   256, deep);
    made_draw_code(stream, &dists, MADE_DISTS, 2 + made_below(stream, 28), 29, deep);
    made_head(stream, last, &lits, &dists);
    made_symbols(stream, &lits, &dists, count, literals);
}

static inline void made_begin(struct made_stream *stream, unsigned number)
{
    stream->npacked = stream->nbytes = 0;
    stream->nbits = 0;
    cv_random_at(&stream->rng, 71, number, 0, 0);
}

/* A stream of several blocks, by its number. */
static inline void made_draw(struct made_stream *stream, unsigned number)
{
    made_begin(stream, number);
    for (unsigned i = 2 + made_below(stream, 6); i > 0; i--) {
        const unsigned count = made_below(stream, number % 2 == 0 ? 3000 : 40);

        switch (made_below(stream, 8)) {
        case 0:
            made_stored(stream, i == 1, count);
            break;
        case 1:
            made_fixed(stream, i == 1, count);
            break;
        default:
            made_drawn(stream, i == 1, count, made_below(stream, 9));
            break;
        }
    }
}

#endif
