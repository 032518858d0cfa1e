/* inflate.h -- streaming decoder of deflate (RFC 1951). SPDX-License-Identifier: MIT
 *
 * libdeflate is twice as fast as the other libraries, but needs a whole member and its whole
 * output in memory. ISA-L has half the speed on arm64, and Debian has no static library of
 * it; Debian has no zlib-ng. This decoder stops anywhere and is within 10 % of libdeflate, by the same means: words of 64 bits, tables of 11 bits,
 * several literals per refill, the next entry looked up before its bits are counted. If the
 * codes are short, one entry has two literals. */
#ifndef CV_INFLATE_H
#define CV_INFLATE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CV_INFLATE_WINDOW = 32768, /* largest distance of a copy       */
    CV_INFLATE_LITS = 2400,    /* entries of a table and subtables */
    CV_INFLATE_DISTS = 700,
};

enum cv_inflate_state {
    CV_INFLATE_MORE, /* the input is used up                */
    CV_INFLATE_FULL, /* the output is full, or nearly so    */
    CV_INFLATE_END,  /* the last block has ended            */
    CV_INFLATE_BAD,  /* damaged: `why` has the reason       */
};

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

/* For one thread at a time. */
struct cv_inflate {
    uint64_t bits; /* input bits that are not used, the next one lowest      */
    unsigned nbits;
    unsigned step;   /* enum cv_inflate_step                                   */
    bool last;       /* this block is the last one                             */
    uint64_t made;   /* output bytes so far: limit of a distance               */
    uint32_t stored; /* bytes left of a stored block                           */
    unsigned length, distance; /* rest of a copy that did not fit; length 0: none */
    unsigned nlits, ndists, ncodes, filled;
    uint8_t lengths[320];
    uint32_t lits[CV_INFLATE_LITS];
    uint32_t dists[CV_INFLATE_DISTS];
    const char *why;
};

void cv_inflate_init(struct cv_inflate *inflate);
/* Append output to base[*at], at most up to base[room]. base[*at - 32768] up to base[*at], or
 * up to the start of the stream, must hold the output before. Moves *in and *length. */
enum cv_inflate_state cv_inflate_run(struct cv_inflate *inflate, const uint8_t **in,
                                     size_t *length, uint8_t *base, size_t *at,
                                     size_t room);

#endif
