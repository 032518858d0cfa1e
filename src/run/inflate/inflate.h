/* inflate.h -- undo deflate (RFC 1951), a stretch at a time. SPDX-License-Identifier: MIT
 *
 * Of the libraries, libdeflate is the fastest by a factor of two, but it wants all of a
 * member and all of its output in memory at once, which a file of some gigabytes is not;
 * ISA-L can stop anywhere but where a block begins, at half the speed on arm64, and is not to be had as a static
 * library in Debian; so is zlib-ng not to be had at all. This one stops anywhere and is as fast as the first, give or take
 * a tenth, by the same means: words of 64 bits, tables of 11 bits, several literals for one refill, the next entry looked
 * up before it is known whether there are bits to use it; and two literals in one entry, where their codes are short. */
#ifndef CV_INFLATE_H
#define CV_INFLATE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CV_INFLATE_WINDOW = 32768, /* how far back a copy may reach      */
    CV_INFLATE_LITS = 2400,    /* entries of tables, with sub-tables */
    CV_INFLATE_DISTS = 700,
};

enum cv_inflate_state {
    CV_INFLATE_MORE,  /* all input is used: give more                   */
    CV_INFLATE_FULL,  /* there is no room                               */
    CV_INFLATE_END,   /* the last block is over                         */
    CV_INFLATE_BAD,   /* `why` says what is wrong                       */
    CV_INFLATE_PAUSE, /* a block begins here, and this was to be told   */
};

/* For one thread at a time. The fields are for the functions of this header and inflate*.c. */
struct cv_inflate {
    uint64_t bits; /* not used yet, the next in the lowest place */
    unsigned nbits;
    unsigned step;   /* what comes next: see inflate.c              */
    bool last;       /* the block is the last one                   */
    bool pauses;     /* to stop before each block but the first     */
    bool paused;     /* it has, here                                */
    bool loose;      /* to stop with a little room left, which takes long to fill  */
    uint64_t made;   /* bytes so far: a copy cannot reach further back */
    uint32_t stored; /* bytes left of a stored block                */
    unsigned length, distance; /* of a copy that found no room; 0: none */
    unsigned nlits, ndists, ncodes, filled;
    uint8_t lengths[320];
    uint32_t lits[CV_INFLATE_LITS];
    uint32_t dists[CV_INFLATE_DISTS];
    const char *why;
};

void cv_inflate_init(struct cv_inflate *inflate);
/* Bytes go behind the `at` that are in `base`, of which the last 32 KiB, or all since the
 * start, are those that were made last; `room` is how many there may be. What is used of
 * the input is taken off *in and *length. */
enum cv_inflate_state cv_inflate_run(struct cv_inflate *inflate, const uint8_t **in,
                                     size_t *length, uint8_t *base, size_t *at,
                                     size_t room);
/* Before the first run: leave out so many bits, less than 8, of the first byte. */
void cv_inflate_skip_bits(struct cv_inflate *inflate, const uint8_t **in, size_t *length,
                          unsigned bits);

/* --- tables (inflate_table.c) ------------------------------------------------------------ */

enum {
    CV_INFLATE_LIT_BITS = 11,
    CV_INFLATE_DIST_BITS = 8,
    CV_INFLATE_CODE_BITS = 7,
};

/* An entry: in the lowest byte, how many bits it takes, with its extra bits; then
 * how many of these are its code, in six bits; flags; above, a value: a length or distance to which
 * the extra bits are added, a place in the table, a literal. If what follows a literal is another one and its code is
 * among the bits that were looked up too, it is in the highest byte, and the lowest byte is for both. */
#define CV_INFLATE_LITERAL 0x4000u
#define CV_INFLATE_PAIR 0x2000u /* of literals                                          */
#define CV_INFLATE_SPECIAL 0x8000u /* one of the next three                             */
#define CV_INFLATE_SUB \
    0x2000u /* a table at `value`, of as many bits as bits 8 to 11 say */
#define CV_INFLATE_STOP 0x1000u /* the end of a block                                 */
                                /* neither: no code                                   */
enum { CV_INFLATE_PAIR_AT = 13 };

/* Make a table of `bits` bits of lengths of codes. What symbols mean is up to `kind`.
 * False: they are no code. */
enum cv_inflate_table { CV_INFLATE_OF_LITS, CV_INFLATE_OF_DISTS, CV_INFLATE_OF_CODES };
bool cv_inflate_tabulate(enum cv_inflate_table kind, const uint8_t *lengths,
                         unsigned count, uint32_t *table, size_t room);

#endif
