/* inflate_cells.h -- decoder of the symbols in a deflate block, a template.
 * SPDX-License-Identifier: MIT
 *
 * The including file defines CELL, the type of one output byte. */
#include <string.h>

#include "run/inflate/inflate.h"

enum {
    LIT_BITS = 11,
    DIST_BITS = 8,
    CODE_BITS = 7,
};

/* A table entry. Bits 0 to 7: bits of the code and its extra bits. Bits 8 to 11: bits of the
 * code. Bits 12 to 15: flags. Bits 16 and above: a literal, the base of a length or distance,
 * or the index of a subtable. An entry with FLAG_PAIR has a second literal in bits 24 to 31,
 * and bits 0 to 7 count both codes. */
#define FLAG_LITERAL 0x4000u
#define FLAG_PAIR 0x2000u
#define FLAG_SPECIAL 0x8000u  /* one of the next two, or an invalid code */
#define FLAG_SUBTABLE 0x2000u /* of 2 ^ (bits 8 to 11) entries           */
#define FLAG_END 0x1000u      /* end of block                            */
enum { PAIR_BIT = 13 };

struct input {
    const uint8_t *at, *end;
};

/* Leaves 56 to 63 bits, or all that the input has. */
static inline void fill_bits(struct cv_inflate *inflate, struct input *in)
{
    while (inflate->nbits < 56 && in->at < in->end) {
        inflate->bits |= (uint64_t)*in->at++ << inflate->nbits;
        inflate->nbits += 8;
    }
}

static inline unsigned take_bits(struct cv_inflate *inflate, unsigned count)
{
    const unsigned value = (unsigned)(inflate->bits & ((1u << count) - 1));

    inflate->bits >>= count;
    inflate->nbits -= count;
    return value;
}

static inline enum cv_inflate_state fail(struct cv_inflate *inflate, const char *why)
{
    inflate->why = why;
    return CV_INFLATE_BAD;
}

/* False: too few bits for a whole code. */
static inline bool look_up(struct cv_inflate *inflate, const uint32_t *table,
                           unsigned bits, uint32_t *out)
{
    uint32_t entry = table[inflate->bits & ((1u << bits) - 1)];

    if ((entry & FLAG_SPECIAL) != 0 && (entry & FLAG_SUBTABLE) != 0) {
        if (inflate->nbits < bits)
            return false;
        take_bits(inflate, bits);
        entry = table[(entry >> 16) + (inflate->bits & ((1u << (entry >> 8 & 15)) - 1))];
    }
    *out = entry;
    return inflate->nbits >=
           ((entry & FLAG_LITERAL) != 0 ? entry >> 8 & 15 : entry & 0xFF);
}

/* The base of the entry plus its extra bits. */
static inline unsigned take_value(struct cv_inflate *inflate, uint32_t entry)
{
    const unsigned code = entry >> 8 & 15, extra = (entry & 0xFF) - code;

    take_bits(inflate, code);
    return (entry >> 16) + take_bits(inflate, extra);
}

static inline bool is_special(uint32_t entry)
{
    return (entry & FLAG_SPECIAL) != 0;
}

static inline uint64_t load_word(const uint8_t *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline void store_word(uint8_t *at, uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    memcpy(at, &word, sizeof word);
}

/* One step of a block header (inflate.c). CV_INFLATE_FULL: take the next step. */
enum cv_inflate_state cv_inflate_head(struct cv_inflate *inflate, struct input *in);

enum {
    SAFE_IN = 16,       /* bytes that one turn of the fast loop may read          */
    SAFE_OUT = 4 + 288, /* cells that it may write: two pairs of literals, a copy */
};

static enum cv_inflate_state copy_stored(struct cv_inflate *inflate, struct input *in,
                                         CELL *base, size_t *at, size_t room)
{
    while (inflate->stored > 0) {
        size_t some = inflate->stored;

        if (*at == room)
            return CV_INFLATE_FULL;
        if (inflate->nbits >= 8) { /* a multiple of 8: the header ends at a byte */
            base[(*at)++] = (uint8_t)take_bits(inflate, 8);
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
        inflate->bits = 0; /* the fast loop may leave bits above nbits */
        for (size_t i = 0; i < some; i++)
            base[*at + i] = in->at[i];
        in->at += some;
        *at += some;
        inflate->stored -= (uint32_t)some;
        inflate->made += some;
    }
    inflate->step = CV_INFLATE_AT_HEAD;
    return CV_INFLATE_FULL;
}

/* Continue a copy that did not fit. False: it still does not. */
static bool copy_on(struct cv_inflate *inflate, CELL *base, size_t *at, size_t room)
{
    while (inflate->length > 0 && *at < room) {
        base[*at] = base[*at - inflate->distance];
        (*at)++;
        inflate->length--;
        inflate->made++;
    }
    return inflate->length == 0;
}

/* Decode one symbol near the end of the input or output. */
static enum cv_inflate_state one_symbol(struct cv_inflate *inflate, CELL *base,
                                        size_t *at)
{
    const uint64_t bits = inflate->bits;
    const unsigned nbits = inflate->nbits;
    uint32_t entry;
    bool enough = look_up(inflate, inflate->lits, LIT_BITS, &entry);

    if (enough && (entry & FLAG_LITERAL) != 0) {
        take_bits(inflate, entry >> 8 & 15);
        base[(*at)++] = (uint8_t)(entry >> 16);
        inflate->made++;
        return CV_INFLATE_FULL;
    }
    if (enough && is_special(entry)) {
        if ((entry & FLAG_END) == 0)
            return fail(inflate, "an invalid code");
        take_bits(inflate, entry & 0xFF);
        inflate->step = CV_INFLATE_AT_HEAD;
        return CV_INFLATE_FULL;
    }
    if (enough) {
        inflate->length = take_value(inflate, entry);
        enough = look_up(inflate, inflate->dists, DIST_BITS, &entry);
    }
    if (!enough) {
        inflate->bits = bits;
        inflate->nbits = nbits;
        inflate->length = 0;
        return CV_INFLATE_MORE;
    }
    if (is_special(entry))
        return fail(inflate, "an invalid distance");
    inflate->distance = take_value(inflate, entry);
    return inflate->distance > inflate->made
               ? fail(inflate, "a copy from before the start")
               : CV_INFLATE_FULL;
}

/* The `back` bytes at `from`, less than 8, repeated to 8 bytes. */
static inline uint64_t repeated(const uint8_t *from, size_t back)
{
    static const uint64_t times[] = {
        0,
        0x0101010101010101u,
        0x0001000100010001u,
        0x0001000001000001u,
        0x0000000100000001u,
        0x0000010000000001u,
        0x0001000000000001u,
        0x0100000000000001u,
    };

    return (load_word(from) & ((1ull << 8 * back) - 1)) * times[back];
}

/* Copy words of 8 bytes: a wider load of bytes that were just stored as words would wait. */
static inline void copy_32(uint8_t *to, const uint8_t *from)
{
    memcpy(to, from, 8);
    memcpy(to + 8, from + 8, 8);
    memcpy(to + 16, from + 16, 8);
    memcpy(to + 24, from + 24, 8);
}

/* Writes up to 32 bytes too many: most copies are short, and then no branch is mispredicted.
 * A pattern of less than 8 bytes stays in a register: reading it back would wait for stores. */
static inline void copy_match(CELL *to, unsigned distance, unsigned length)
{
    static const uint8_t steps[] = { 8, 8, 8, 6, 8, 5, 6, 7 };
    const size_t back = distance * sizeof(CELL);
    uint8_t *at = (uint8_t *)to;
    uint8_t *const end = (uint8_t *)(to + length);
    const uint8_t *from = at - back;

    if (back >= 8) {
        copy_32(at, from);
        for (at += 32, from += 32; at < end; at += 32, from += 32)
            copy_32(at, from);
    } else {
        const uint64_t word = repeated(from, back);

        for (; at < end; at += steps[back])
            store_word(at, word);
    }
}

/* The fast loop subtracts whole entries from nbits, so only its lowest byte is a count. A refill
 * makes all 64 bits valid, though it counts only 56 to 63. */
#define REFILL()                                                                 \
    (bits |= load_word(from) << (nbits & 63), from += 7, from -= nbits >> 3 & 7, \
     nbits |= 56)
#define NBITS() (nbits & 0xFF)
/* `saved` keeps the extra bits of the entry. */
#define TAKE() (saved = bits, bits >>= entry & 63, nbits -= entry)
#define GO_BACK() (from = from_first, bits = first, nbits = nfirst)

#define VALUE_OF()   \
    ((entry >> 16) + \
     (unsigned)((saved & ((1ull << (entry & 63)) - 1)) >> (entry >> 8 & 63)))
#define SUB_OF(table) (table)[(entry >> 16) + (bits & ((1u << (entry >> 8 & 15)) - 1))]
/* Writes two literals; the second one counts if the entry has FLAG_PAIR. */
#define WRITE(entry)                                                     \
    (to[0] = (uint8_t)((entry) >> 16), to[1] = (uint8_t)((entry) >> 24), \
     to += 1 + ((entry) >> PAIR_BIT & 1))
/* Looks up the next entry, which takes longest, before it writes. */
#define NEXT_LITERAL()                 \
    do {                               \
        literal = entry;               \
        entry = lits[bits & lit_mask]; \
        TAKE();                        \
        WRITE(literal);                \
    } while (0)

/* The fast loop. It stops before an end of block, an invalid code, or the last SAFE_IN bytes of
 * input or SAFE_OUT cells of output. Of the 64 bits after a refill, three lookups of literals use
 * at most 33 and two with a length 42: enough are left to look up the next entry before the next
 * refill. Only a distance and a further lookup may need more. */
static inline __attribute__((always_inline)) void
turns(struct cv_inflate *inflate, struct input *in, CELL *base, size_t *at, size_t room)
{
    enum {
        UNCOUNTED = 1, /* valid bits above nbits, at least */
        SHORT = DIST_BITS + 13 + LIT_BITS - UNCOUNTED, /* a distance and a lookup */
        LONG = 15 + 13 + LIT_BITS - UNCOUNTED,
    };
    const uint32_t lit_mask = (1u << LIT_BITS) - 1, dist_mask = (1u << DIST_BITS) - 1;
    const uint32_t *const lits = inflate->lits, *const dists = inflate->dists;
    const uint8_t *from = in->at, *const last_in = in->end - SAFE_IN;
    CELL *to = base + *at, *const last_out = base + room - SAFE_OUT;
    CELL *const start = to;
    uint64_t bits = inflate->bits;
    const uint64_t made = inflate->made;
    unsigned nbits = inflate->nbits;
    uint32_t entry, literal;

    REFILL();
    entry = lits[bits & lit_mask];
    while (from < last_in && to < last_out) {
        const uint8_t *from_first;
        uint64_t saved, first;
        unsigned length, distance, nfirst;
        CELL *copy;

        TAKE();
        if ((entry & FLAG_LITERAL) != 0) {
            NEXT_LITERAL();
            if ((entry & FLAG_LITERAL) != 0) {
                NEXT_LITERAL();
                if ((entry & FLAG_LITERAL) != 0) {
                    literal = entry;
                    entry = lits[bits & lit_mask];
                    REFILL();
                    WRITE(literal);
                    continue;
                }
            }
        }
        from_first = from;
        first = saved;
        nfirst = nbits + entry;
        if ((entry & FLAG_SPECIAL) != 0) {
            if ((entry & FLAG_SUBTABLE) == 0) {
                GO_BACK();
                break;
            }
            entry = SUB_OF(lits);
            TAKE();
            if ((entry & FLAG_LITERAL) != 0) {
                literal = entry;
                entry = lits[bits & lit_mask];
                REFILL();
                WRITE(literal);
                continue;
            }
            if ((entry & FLAG_SPECIAL) != 0) {
                GO_BACK();
                break;
            }
        }
        length = VALUE_OF();
        entry = dists[bits & dist_mask];
        if ((entry & FLAG_SPECIAL) != 0 && (entry & FLAG_SUBTABLE) != 0) {
            if (NBITS() < LONG)
                REFILL();
            TAKE();
            entry = SUB_OF(dists);
        } else if (NBITS() < SHORT) {
            REFILL();
        }
        TAKE();
        distance = VALUE_OF();
        if ((entry & FLAG_SPECIAL) != 0 || distance > made + (uint64_t)(to - start)) {
            GO_BACK();
            break;
        }
        entry = lits[bits & lit_mask];
        REFILL();
        copy = to;
        to += length;
        copy_match(copy, distance, length);
    }
    /* Bits above nbits will be read again. */
    nbits = NBITS();
    inflate->bits = nbits < 64 ? bits & ((1ull << nbits) - 1) : bits;
    inflate->nbits = nbits;
    inflate->made += (uint64_t)(to - start);
    in->at = from;
    *at = (size_t)(to - base);
}

#ifdef __x86_64__
/* BMI2 (processors since 2013) shifts by any register and leaves the flags alone. */
__attribute__((target("bmi,bmi2"))) static void turns_by_bmi2(struct cv_inflate *inflate,
                                                              struct input *in,
                                                              CELL *base, size_t *at,
                                                              size_t room)
{
    turns(inflate, in, base, at, room);
}
#endif

static void fast_loop(struct cv_inflate *inflate, struct input *in, CELL *base,
                      size_t *at, size_t room)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")) {
        turns_by_bmi2(inflate, in, base, at, room);
        return;
    }
#endif
    turns(inflate, in, base, at, room);
}

static enum cv_inflate_state symbols(struct cv_inflate *inflate, struct input *in,
                                     CELL *base, size_t *at, size_t room)
{
    const size_t before = *at;

    while (inflate->step == CV_INFLATE_AT_SYMBOLS) {
        enum cv_inflate_state state;

        if (!copy_on(inflate, base, at, room))
            return CV_INFLATE_FULL;
        if (in->end - in->at > SAFE_IN && room - *at > SAFE_OUT)
            fast_loop(inflate, in, base, at, room);
        if (inflate->loose && room - *at <= SAFE_OUT && *at > before)
            return CV_INFLATE_FULL;
        fill_bits(inflate, in);
        if (*at == room)
            return CV_INFLATE_FULL;
        state = one_symbol(inflate, base, at);
        if (state != CV_INFLATE_FULL)
            return state;
    }
    return CV_INFLATE_FULL;
}

static enum cv_inflate_state run(struct cv_inflate *inflate, const uint8_t **in,
                                 size_t *length, CELL *base, size_t *at, size_t room)
{
    struct input input = { *in, *in + *length };
    enum cv_inflate_state state = CV_INFLATE_FULL;
    bool blocked = false;

    while (state == CV_INFLATE_FULL && !blocked) {
        fill_bits(inflate, &input);
        switch (inflate->step) {
        case CV_INFLATE_AT_STORING:
            state = copy_stored(inflate, &input, base, at, room);
            blocked = inflate->step == CV_INFLATE_AT_STORING;
            break;
        case CV_INFLATE_AT_SYMBOLS:
            state = symbols(inflate, &input, base, at, room);
            blocked = inflate->step == CV_INFLATE_AT_SYMBOLS;
            break;
        default:
            state = cv_inflate_head(inflate, &input);
            break;
        }
    }
    *in = input.at;
    *length = (size_t)(input.end - input.at);
    return state;
}
