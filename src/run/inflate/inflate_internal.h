/* inflate_internal.h -- what the parts of inflate share. SPDX-License-Identifier: MIT */
#ifndef CV_INFLATE_INTERNAL_H
#define CV_INFLATE_INTERNAL_H
#include <string.h>
#include "run/inflate/inflate.h"

/* What comes next. */
enum cv_inflate_step {
    CV_INFLATE_AT_HEAD,
    CV_INFLATE_AT_STORED,
    CV_INFLATE_AT_STORING,
    CV_INFLATE_AT_COUNTS,
    CV_INFLATE_AT_CODES,
    CV_INFLATE_AT_LENGTHS,
    CV_INFLATE_AT_SYMBOLS,
    CV_INFLATE_AT_OVER,
};

struct cv_inflate_input {
    const uint8_t *at, *end;
};

/* As many as there are, up to 63. */
static inline void cv_inflate_fill(struct cv_inflate *inflate,
                                   struct cv_inflate_input *in)
{
    while (inflate->nbits < 56 && in->at < in->end) {
        inflate->bits |= (uint64_t)*in->at++ << inflate->nbits;
        inflate->nbits += 8;
    }
}

static inline unsigned cv_inflate_take(struct cv_inflate *inflate, unsigned count)
{
    const unsigned value = (unsigned)(inflate->bits & ((1u << count) - 1));

    inflate->bits >>= count;
    inflate->nbits -= count;
    return value;
}

static inline enum cv_inflate_state cv_inflate_fail(struct cv_inflate *inflate,
                                                    const char *why)
{
    inflate->why = why;
    return CV_INFLATE_BAD;
}

/* The entry at the next bits; false: they are too few to tell. */
static inline bool cv_inflate_look_up(struct cv_inflate *inflate, const uint32_t *table,
                                      unsigned bits, uint32_t *out)
{
    uint32_t entry = table[inflate->bits & ((1u << bits) - 1)];

    if ((entry & CV_INFLATE_SPECIAL) != 0 && (entry & CV_INFLATE_SUB) != 0) {
        if (inflate->nbits < bits)
            return false;
        cv_inflate_take(inflate, bits);
        entry = table[(entry >> 16) + (inflate->bits & ((1u << (entry >> 8 & 15)) - 1))];
    }
    *out = entry;
    return inflate->nbits >=
           ((entry & CV_INFLATE_LITERAL) != 0 ? entry >> 8 & 15 : entry & 0xFF);
}

/* A value and its extra bits. */
static inline unsigned cv_inflate_take_value(struct cv_inflate *inflate, uint32_t entry)
{
    const unsigned code = entry >> 8 & 15, extra = (entry & 0xFF) - code;

    cv_inflate_take(inflate, code);
    return (entry >> 16) + cv_inflate_take(inflate, extra);
}

static inline bool cv_inflate_is_special(uint32_t entry)
{
    return (entry & CV_INFLATE_SPECIAL) != 0;
}

static inline uint64_t cv_inflate_load(const uint8_t *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline void cv_inflate_store(uint8_t *at, uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    memcpy(at, &word, sizeof word);
}

/* A step up to the bytes of a block (inflate_head.c). CV_INFLATE_FULL: on to the next. */
enum cv_inflate_state cv_inflate_head(struct cv_inflate *inflate,
                                      struct cv_inflate_input *in);

#endif
