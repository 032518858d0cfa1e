/* inflate.c -- undo deflate, a stretch at a time. SPDX-License-Identifier: MIT */
#include "run/decode/inflate.h"

#include <string.h>

enum step { HEAD, STORED, STORING, COUNTS, CODES, LENGTHS, SYMBOLS, OVER };

enum {
    SAFE_IN = 16,        /* bytes of input that a turn of the fast loop may look at */
    SAFE_OUT = 258 + 32, /* bytes that it may write                                 */
};

void cv_inflate_init(struct cv_inflate *inflate)
{
    inflate->bits = 0;
    inflate->nbits = 0;
    inflate->step = HEAD;
    inflate->last = false;
    inflate->made = 0;
    inflate->length = 0;
    inflate->why = NULL;
}

unsigned cv_inflate_surplus(const struct cv_inflate *inflate)
{
    return inflate->nbits / 8;
}

/* --- bits --------------------------------------------------------------------------------- */

struct input {
    const uint8_t *at, *end;
};

/* As many as there are, up to 63. */
static void fill_bits(struct cv_inflate *inflate, struct input *in)
{
    while (inflate->nbits < 56 && in->at < in->end) {
        inflate->bits |= (uint64_t)*in->at++ << inflate->nbits;
        inflate->nbits += 8;
    }
}

static unsigned take(struct cv_inflate *inflate, unsigned count)
{
    const unsigned value = (unsigned)(inflate->bits & ((1u << count) - 1));

    inflate->bits >>= count;
    inflate->nbits -= count;
    return value;
}

static enum cv_inflate_state bad(struct cv_inflate *inflate, const char *why)
{
    inflate->why = why;
    return CV_INFLATE_BAD;
}

/* --- heads of blocks ------------------------------------------------------------------------ */

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
        inflate->step = OVER;
        return CV_INFLATE_END;
    }
    if (inflate->nbits < 3)
        return CV_INFLATE_MORE;
    inflate->last = take(inflate, 1) != 0;
    kind = take(inflate, 2);
    if (kind == 3)
        return bad(inflate, "a block of no known kind");
    if (kind == 0) {
        take(inflate, inflate->nbits % 8);
        inflate->step = STORED;
    } else if (kind == 1) {
        fixed_tables(inflate);
        inflate->step = SYMBOLS;
    } else {
        inflate->step = COUNTS;
    }
    return CV_INFLATE_FULL;
}

static enum cv_inflate_state read_stored(struct cv_inflate *inflate)
{
    unsigned length, check;

    if (inflate->nbits < 32)
        return CV_INFLATE_MORE;
    length = take(inflate, 16);
    check = take(inflate, 16);
    if (length != (~check & 0xFFFF))
        return bad(inflate, "a stored block whose length is not sure");
    inflate->stored = length;
    inflate->step = STORING;
    return CV_INFLATE_FULL;
}

static enum cv_inflate_state read_counts(struct cv_inflate *inflate)
{
    if (inflate->nbits < 14)
        return CV_INFLATE_MORE;
    inflate->nlits = take(inflate, 5) + 257;
    inflate->ndists = take(inflate, 5) + 1;
    inflate->ncodes = take(inflate, 4) + 4;
    if (inflate->nlits > 286 || inflate->ndists > 30)
        return bad(inflate, "too many codes");
    inflate->filled = 0;
    memset(inflate->lengths, 0, 19);
    inflate->step = CODES;
    return CV_INFLATE_FULL;
}

static enum cv_inflate_state read_codes(struct cv_inflate *inflate, struct input *in)
{
    static const uint8_t order[19] = { 16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                       11, 4,  12, 3, 13, 2, 14, 1, 15 };

    for (; inflate->filled < inflate->ncodes; inflate->filled++) {
        fill_bits(inflate, in);
        if (inflate->nbits < 3)
            return CV_INFLATE_MORE;
        inflate->lengths[order[inflate->filled]] = (uint8_t)take(inflate, 3);
    }
    if (!cv_inflate_tabulate(CV_INFLATE_OF_CODES, inflate->lengths, 19, inflate->dists,
                             CV_INFLATE_DISTS))
        return bad(inflate, "lengths that are no code");
    inflate->filled = 0;
    inflate->step = LENGTHS;
    return CV_INFLATE_FULL;
}

/* One length, or several of the same; false: more bits are needed. */
static bool read_length(struct cv_inflate *inflate, unsigned *value, unsigned *times)
{
    static const uint8_t least[] = { 3, 3, 11 }, extra[] = { 2, 3, 7 };
    const uint32_t entry = inflate->dists[inflate->bits & 0x7F];
    const unsigned taken = entry & 0xFF, symbol = entry >> 16;

    *times = 1;
    *value = symbol;
    if (inflate->nbits < taken + (symbol >= 16 ? extra[symbol - 16] : 0))
        return false;
    take(inflate, taken);
    if (symbol < 16)
        return true;
    *times = least[symbol - 16] + take(inflate, extra[symbol - 16]);
    *value =
        symbol == 16 && inflate->filled > 0 ? inflate->lengths[inflate->filled - 1] : 0;
    if (symbol == 16 && inflate->filled == 0)
        *times = sizeof inflate->lengths; /* too many, in any case */
    return true;
}

static enum cv_inflate_state read_lengths(struct cv_inflate *inflate, struct input *in)
{
    const unsigned all = inflate->nlits + inflate->ndists;

    while (inflate->filled < all) {
        unsigned value, times;

        fill_bits(inflate, in);
        if (!read_length(inflate, &value, &times))
            return CV_INFLATE_MORE;
        if (times > all - inflate->filled)
            return bad(inflate, "more lengths than codes");
        memset(inflate->lengths + inflate->filled, (int)value, times);
        inflate->filled += times;
    }
    if (inflate->lengths[256] == 0)
        return bad(inflate, "a block without an end");
    if (!cv_inflate_tabulate(CV_INFLATE_OF_LITS, inflate->lengths, inflate->nlits,
                             inflate->lits, CV_INFLATE_LITS) ||
        !cv_inflate_tabulate(CV_INFLATE_OF_DISTS, inflate->lengths + inflate->nlits,
                             inflate->ndists, inflate->dists, CV_INFLATE_DISTS))
        return bad(inflate, "lengths that are no code");
    inflate->step = SYMBOLS;
    return CV_INFLATE_FULL;
}

/* --- their bytes ---------------------------------------------------------------------------- */

static enum cv_inflate_state copy_stored(struct cv_inflate *inflate, struct input *in,
                                         uint8_t *base, size_t *at, size_t room)
{
    while (inflate->stored > 0) {
        size_t some = inflate->stored;

        if (*at == room)
            return CV_INFLATE_FULL;
        if (inflate->nbits >= 8) { /* whole bytes, as the head ends at one */
            base[(*at)++] = (uint8_t)take(inflate, 8);
            inflate->stored--;
            inflate->made++;
            continue;
        }
        if (some > room - *at)
            some = room - *at;
        if (some > (size_t)(in->end - in->at))
            some = (size_t)(in->end - in->at);
        if (some == 0)
            return CV_INFLATE_MORE;
        inflate->bits = 0; /* the fast loop leaves there what it has not counted */
        memcpy(base + *at, in->at, some);
        in->at += some;
        *at += some;
        inflate->stored -= (uint32_t)some;
        inflate->made += some;
    }
    inflate->step = HEAD;
    return CV_INFLATE_FULL;
}

/* What is left of a copy, as far as there is room; false: there was not enough. */
static bool copy_on(struct cv_inflate *inflate, uint8_t *base, size_t *at, size_t room)
{
    while (inflate->length > 0 && *at < room) {
        base[*at] = base[*at - inflate->distance];
        (*at)++;
        inflate->length--;
        inflate->made++;
    }
    return inflate->length == 0;
}

/* The entry at the next bits; false: they are too few to tell. */
static bool look_up(struct cv_inflate *inflate, const uint32_t *table, unsigned bits,
                    uint32_t *out)
{
    uint32_t entry = table[inflate->bits & ((1u << bits) - 1)];

    if ((entry & CV_INFLATE_LITERAL) == 0 && (entry & CV_INFLATE_SPECIAL) != 0 &&
        (entry & CV_INFLATE_SUB) != 0) {
        if (inflate->nbits < bits)
            return false;
        take(inflate, bits);
        entry = table[(entry >> 16) + (inflate->bits & ((1u << (entry >> 8 & 15)) - 1))];
    }
    *out = entry;
    return inflate->nbits >= (entry & 0xFF);
}

/* A value and its extra bits. */
static unsigned take_value(struct cv_inflate *inflate, uint32_t entry)
{
    const unsigned code = entry >> 8 & 0x7F, extra = (entry & 0xFF) - code;

    take(inflate, code);
    return (entry >> 16) + take(inflate, extra);
}

static bool is_special(uint32_t entry)
{
    return (entry & CV_INFLATE_LITERAL) == 0 && (entry & CV_INFLATE_SPECIAL) != 0;
}

/* One symbol, with as much care as it takes at the ends of input and room. */
static enum cv_inflate_state one_symbol(struct cv_inflate *inflate, uint8_t *base,
                                        size_t *at)
{
    const uint64_t bits = inflate->bits;
    const unsigned nbits = inflate->nbits;
    uint32_t entry;
    bool enough = look_up(inflate, inflate->lits, CV_INFLATE_LIT_BITS, &entry);

    if (enough && (entry & CV_INFLATE_LITERAL) != 0) {
        take(inflate, entry & 0x7F);
        base[(*at)++] = (uint8_t)(entry >> 16);
        inflate->made++;
        return CV_INFLATE_FULL;
    }
    if (enough && is_special(entry)) {
        if ((entry & CV_INFLATE_STOP) == 0)
            return bad(inflate, "a code that is none");
        take(inflate, entry & 0xFF);
        inflate->step = HEAD;
        return CV_INFLATE_FULL;
    }
    if (enough) {
        inflate->length = take_value(inflate, entry);
        enough = look_up(inflate, inflate->dists, CV_INFLATE_DIST_BITS, &entry);
    }
    if (!enough) {
        inflate->bits = bits;
        inflate->nbits = nbits;
        inflate->length = 0;
        return CV_INFLATE_MORE;
    }
    if (is_special(entry))
        return bad(inflate, "a distance that is none");
    inflate->distance = take_value(inflate, entry);
    return inflate->distance > inflate->made
               ? bad(inflate, "a copy from before the start")
               : CV_INFLATE_FULL;
}

static uint64_t load(const uint8_t *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Up to 16 bytes too many are written behind. */
static void copy_match(uint8_t *to, unsigned distance, unsigned length)
{
    const uint8_t *from = to - distance;
    const uint8_t *end = to + length;

    if (distance >= 16) {
        do {
            memcpy(to, from, 16);
            to += 16;
            from += 16;
        } while (to < end);
    } else if (distance >= 8) {
        do {
            memcpy(to, from, 8);
            to += 8;
            from += 8;
        } while (to < end);
    } else if (distance == 1) {
        memset(to, *from, length);
    } else {
        do
            *to++ = *from++;
        while (to < end);
    }
}

#define REFILL() (bits |= load(from) << nbits, from += (63 - nbits) >> 3, nbits |= 56)
#define DROP(count) (bits >>= (count), nbits -= (count))

/* As long as there is much of both input and room. It stops before a symbol that takes more
 * care: an end, a mistake. */
static void fast_loop(struct cv_inflate *inflate, struct input *in, uint8_t *base,
                      size_t *at, size_t room)
{
    const uint32_t lit_mask = (1u << CV_INFLATE_LIT_BITS) - 1;
    const uint32_t dist_mask = (1u << CV_INFLATE_DIST_BITS) - 1;
    const uint32_t *lits = inflate->lits, *dists = inflate->dists;
    const uint8_t *from = in->at, *const last_in = in->end - SAFE_IN;
    uint8_t *to = base + *at, *const last_out = base + room - SAFE_OUT;
    uint8_t *const start = to;
    uint64_t bits = inflate->bits, made = inflate->made;
    unsigned nbits = inflate->nbits;

    while (from < last_in && to < last_out) {
        uint32_t entry;
        uint64_t saved;
        unsigned length, distance, nsaved;

        REFILL();
        entry = lits[bits & lit_mask];
        if ((entry & CV_INFLATE_LITERAL) != 0) {
            DROP(entry & 0x7F);
            *to++ = (uint8_t)(entry >> 16);
            entry = lits[bits & lit_mask];
            if ((entry & CV_INFLATE_LITERAL) != 0) {
                DROP(entry & 0x7F);
                *to++ = (uint8_t)(entry >> 16);
                entry = lits[bits & lit_mask];
                if ((entry & CV_INFLATE_LITERAL) != 0) {
                    DROP(entry & 0x7F);
                    *to++ = (uint8_t)(entry >> 16);
                    continue;
                }
            }
            REFILL();
        }
        saved = bits;
        nsaved = nbits;
        if ((entry & CV_INFLATE_SPECIAL) != 0) {
            if ((entry & CV_INFLATE_SUB) == 0)
                break;
            DROP(CV_INFLATE_LIT_BITS);
            entry = lits[(entry >> 16) + (bits & ((1u << (entry >> 8 & 15)) - 1))];
            if ((entry & CV_INFLATE_LITERAL) != 0) {
                DROP(entry & 0x7F);
                *to++ = (uint8_t)(entry >> 16);
                continue;
            }
            if ((entry & CV_INFLATE_SPECIAL) != 0) {
                bits = saved;
                nbits = nsaved;
                break;
            }
        }
        length = (entry >> 16) + (unsigned)((bits & ((1ull << (entry & 0xFF)) - 1)) >>
                                            (entry >> 8 & 0x7F));
        DROP(entry & 0xFF);
        entry = dists[bits & dist_mask];
        if ((entry & CV_INFLATE_SPECIAL) != 0 && (entry & CV_INFLATE_SUB) != 0) {
            DROP(CV_INFLATE_DIST_BITS);
            entry = dists[(entry >> 16) + (bits & ((1u << (entry >> 8 & 15)) - 1))];
        }
        distance = (entry >> 16) + (unsigned)((bits & ((1ull << (entry & 0xFF)) - 1)) >>
                                              (entry >> 8 & 0x7F));
        if ((entry & CV_INFLATE_SPECIAL) != 0 ||
            distance > made + (uint64_t)(to - start)) {
            bits = saved;
            nbits = nsaved;
            break;
        }
        DROP(entry & 0xFF);
        copy_match(to, distance, length);
        to += length;
    }
    /* Bits above those that count were read ahead and will be read again. */
    inflate->bits = nbits < 64 ? bits & ((1ull << nbits) - 1) : bits;
    inflate->nbits = nbits;
    inflate->made += (uint64_t)(to - start);
    in->at = from;
    *at = (size_t)(to - base);
}

static enum cv_inflate_state symbols(struct cv_inflate *inflate, struct input *in,
                                     uint8_t *base, size_t *at, size_t room)
{
    while (inflate->step == SYMBOLS) {
        enum cv_inflate_state state;

        if (!copy_on(inflate, base, at, room))
            return CV_INFLATE_FULL;
        if (in->end - in->at > SAFE_IN && room - *at > SAFE_OUT)
            fast_loop(inflate, in, base, at, room);
        fill_bits(inflate, in);
        if (*at == room)
            return CV_INFLATE_FULL;
        state = one_symbol(inflate, base, at);
        if (state != CV_INFLATE_FULL)
            return state;
    }
    return CV_INFLATE_FULL;
}

enum cv_inflate_state cv_inflate_run(struct cv_inflate *inflate, const uint8_t **in,
                                     size_t *length, uint8_t *base, size_t *at,
                                     size_t room)
{
    struct input input = { *in, *in + *length };
    enum cv_inflate_state state = CV_INFLATE_FULL;
    bool blocked = false;

    while (state == CV_INFLATE_FULL && !blocked) {
        fill_bits(inflate, &input);
        switch (inflate->step) {
        case HEAD:
            state = read_head(inflate);
            break;
        case STORED:
            state = read_stored(inflate);
            break;
        case COUNTS:
            state = read_counts(inflate);
            break;
        case CODES:
            state = read_codes(inflate, &input);
            break;
        case LENGTHS:
            state = read_lengths(inflate, &input);
            break;
        case STORING:
            state = copy_stored(inflate, &input, base, at, room);
            blocked = inflate->step == STORING;
            break;
        case SYMBOLS:
            state = symbols(inflate, &input, base, at, room);
            blocked = inflate->step == SYMBOLS;
            break;
        default:
            state = CV_INFLATE_END;
            break;
        }
    }
    *in = input.at;
    *length = (size_t)(input.end - input.at);
    return state;
}
