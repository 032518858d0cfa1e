/* inflate_head.c -- heads of blocks of deflate. SPDX-License-Identifier: MIT */
#include "run/inflate/inflate_internal.h"

static bool fixed_tables(struct cv_inflate *inflate)
{
    memset(inflate->lengths, 8, 144);
    memset(inflate->lengths + 144, 9, 112);
    memset(inflate->lengths + 256, 7, 24);
    memset(inflate->lengths + 280, 8, 8);
    memset(inflate->lengths + 288, 5, 32);
    return cv_inflate_tabulate(CV_INFLATE_OF_LITS, inflate->lengths, 288, inflate->lits,
                               CV_INFLATE_LITS) &&
           cv_inflate_tabulate(CV_INFLATE_OF_DISTS, inflate->lengths + 288, 32,
                               inflate->dists, CV_INFLATE_DISTS);
}

static enum cv_inflate_state read_head(struct cv_inflate *inflate)
{
    unsigned kind;

    if (inflate->last) {
        inflate->step = CV_INFLATE_AT_OVER;
        return CV_INFLATE_END;
    }
    if (inflate->pauses && !inflate->paused) {
        inflate->paused = true;
        return CV_INFLATE_PAUSE;
    }
    if (inflate->nbits < 3)
        return CV_INFLATE_MORE;
    inflate->paused = false;
    inflate->last = cv_inflate_take(inflate, 1) != 0;
    kind = cv_inflate_take(inflate, 2);
    if (kind == 3)
        return cv_inflate_fail(inflate, "a block of no known kind");
    if (kind == 0) {
        cv_inflate_take(inflate, inflate->nbits % 8);
        inflate->step = CV_INFLATE_AT_STORED;
    } else if (kind == 1) {
        fixed_tables(inflate);
        inflate->step = CV_INFLATE_AT_SYMBOLS;
    } else {
        inflate->step = CV_INFLATE_AT_COUNTS;
    }
    return CV_INFLATE_FULL;
}

static enum cv_inflate_state read_stored(struct cv_inflate *inflate)
{
    unsigned length, check;

    if (inflate->nbits < 32)
        return CV_INFLATE_MORE;
    length = cv_inflate_take(inflate, 16);
    check = cv_inflate_take(inflate, 16);
    if (length != (~check & 0xFFFF))
        return cv_inflate_fail(inflate, "a stored block whose length is not sure");
    inflate->stored = length;
    inflate->step = CV_INFLATE_AT_STORING;
    return CV_INFLATE_FULL;
}

static enum cv_inflate_state read_counts(struct cv_inflate *inflate)
{
    if (inflate->nbits < 14)
        return CV_INFLATE_MORE;
    inflate->nlits = cv_inflate_take(inflate, 5) + 257;
    inflate->ndists = cv_inflate_take(inflate, 5) + 1;
    inflate->ncodes = cv_inflate_take(inflate, 4) + 4;
    if (inflate->nlits > 286 || inflate->ndists > 30)
        return cv_inflate_fail(inflate, "too many codes");
    inflate->filled = 0;
    memset(inflate->lengths, 0, 19);
    inflate->step = CV_INFLATE_AT_CODES;
    return CV_INFLATE_FULL;
}

static enum cv_inflate_state read_codes(struct cv_inflate *inflate,
                                        struct cv_inflate_input *in)
{
    static const uint8_t order[19] = { 16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                       11, 4,  12, 3, 13, 2, 14, 1, 15 };

    for (; inflate->filled < inflate->ncodes; inflate->filled++) {
        cv_inflate_fill(inflate, in);
        if (inflate->nbits < 3)
            return CV_INFLATE_MORE;
        inflate->lengths[order[inflate->filled]] = (uint8_t)cv_inflate_take(inflate, 3);
    }
    if (!cv_inflate_tabulate(CV_INFLATE_OF_CODES, inflate->lengths, 19, inflate->dists,
                             CV_INFLATE_DISTS))
        return cv_inflate_fail(inflate, "lengths that are no code");
    inflate->filled = 0;
    inflate->step = CV_INFLATE_AT_LENGTHS;
    return CV_INFLATE_FULL;
}

/* One length, or several of the same; false: more bits are needed. */
static bool read_length(struct cv_inflate *inflate, unsigned *value, unsigned *times)
{
    static const uint8_t min[] = { 3, 3, 11 }, extra[] = { 2, 3, 7 };
    const uint32_t entry = inflate->dists[inflate->bits & 0x7F];
    const unsigned taken = entry & 0xFF, symbol = entry >> 16;

    *times = 1;
    *value = symbol;
    if (inflate->nbits < taken + (symbol >= 16 ? extra[symbol - 16] : 0))
        return false;
    cv_inflate_take(inflate, taken);
    if (symbol < 16)
        return true;
    *times = min[symbol - 16] + cv_inflate_take(inflate, extra[symbol - 16]);
    *value =
        symbol == 16 && inflate->filled > 0 ? inflate->lengths[inflate->filled - 1] : 0;
    if (symbol == 16 && inflate->filled == 0)
        *times = sizeof inflate->lengths; /* too many, in any case */
    return true;
}

static enum cv_inflate_state read_lengths(struct cv_inflate *inflate,
                                          struct cv_inflate_input *in)
{
    const unsigned all = inflate->nlits + inflate->ndists;

    while (inflate->filled < all) {
        unsigned value, times;

        cv_inflate_fill(inflate, in);
        if (!read_length(inflate, &value, &times))
            return CV_INFLATE_MORE;
        if (times > all - inflate->filled)
            return cv_inflate_fail(inflate, "more lengths than codes");
        memset(inflate->lengths + inflate->filled, (int)value, times);
        inflate->filled += times;
    }
    if (inflate->lengths[256] == 0)
        return cv_inflate_fail(inflate, "a block without an end");
    if (!cv_inflate_tabulate(CV_INFLATE_OF_LITS, inflate->lengths, inflate->nlits,
                             inflate->lits, CV_INFLATE_LITS) ||
        !cv_inflate_tabulate(CV_INFLATE_OF_DISTS, inflate->lengths + inflate->nlits,
                             inflate->ndists, inflate->dists, CV_INFLATE_DISTS))
        return cv_inflate_fail(inflate, "lengths that are no code");
    inflate->step = CV_INFLATE_AT_SYMBOLS;
    return CV_INFLATE_FULL;
}

enum cv_inflate_state cv_inflate_head(struct cv_inflate *inflate,
                                      struct cv_inflate_input *in)
{
    switch (inflate->step) {
    case CV_INFLATE_AT_HEAD:
        return read_head(inflate);
    case CV_INFLATE_AT_STORED:
        return read_stored(inflate);
    case CV_INFLATE_AT_COUNTS:
        return read_counts(inflate);
    case CV_INFLATE_AT_CODES:
        return read_codes(inflate, in);
    case CV_INFLATE_AT_LENGTHS:
        return read_lengths(inflate, in);
    default:
        return CV_INFLATE_END;
    }
}
