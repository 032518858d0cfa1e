/* inflate_cells.h -- the bytes of blocks of deflate. SPDX-License-Identifier: MIT
 *
 * Included by what defines CELL, the type that a byte is kept in. */
#include "run/inflate/inflate_internal.h"

enum {
    SAFE_IN = 16,       /* bytes of input that a turn of the fast loop may look at */
    SAFE_OUT = 4 + 288, /* cells that it may write: two pairs, a copy              */
};

static enum cv_inflate_state copy_stored(struct cv_inflate *inflate,
                                         struct cv_inflate_input *in, CELL *base,
                                         size_t *at, size_t room)
{
    while (inflate->stored > 0) {
        size_t some = inflate->stored;

        if (*at == room)
            return CV_INFLATE_FULL;
        if (inflate->nbits >= 8) { /* whole bytes, as the head ends at one */
            base[(*at)++] = (uint8_t)cv_inflate_take(inflate, 8);
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

/* What is left of a copy, as far as there is room; false: there was not enough. */
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

/* One symbol, with as much care as it takes at the ends of input and room. */
static enum cv_inflate_state one_symbol(struct cv_inflate *inflate, CELL *base,
                                        size_t *at)
{
    const uint64_t bits = inflate->bits;
    const unsigned nbits = inflate->nbits;
    uint32_t entry;
    bool enough = cv_inflate_look_up(inflate, inflate->lits, CV_INFLATE_LIT_BITS, &entry);

    if (enough && (entry & CV_INFLATE_LITERAL) != 0) {
        cv_inflate_take(inflate, entry >> 8 & 15);
        base[(*at)++] = (uint8_t)(entry >> 16);
        inflate->made++;
        return CV_INFLATE_FULL;
    }
    if (enough && cv_inflate_is_special(entry)) {
        if ((entry & CV_INFLATE_STOP) == 0)
            return cv_inflate_fail(inflate, "a code that is none");
        cv_inflate_take(inflate, entry & 0xFF);
        inflate->step = CV_INFLATE_AT_HEAD;
        return CV_INFLATE_FULL;
    }
    if (enough) {
        inflate->length = cv_inflate_take_value(inflate, entry);
        enough =
            cv_inflate_look_up(inflate, inflate->dists, CV_INFLATE_DIST_BITS, &entry);
    }
    if (!enough) {
        inflate->bits = bits;
        inflate->nbits = nbits;
        inflate->length = 0;
        return CV_INFLATE_MORE;
    }
    if (cv_inflate_is_special(entry))
        return cv_inflate_fail(inflate, "a distance that is none");
    inflate->distance = cv_inflate_take_value(inflate, entry);
    return inflate->distance > inflate->made
               ? cv_inflate_fail(inflate, "a copy from before the start")
               : CV_INFLATE_FULL;
}

/* The first eight bytes of what repeats the `back` bytes, less than eight, at `from`. */
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

    return (cv_inflate_load(from) & ((1ull << 8 * back) - 1)) * times[back];
}

/* By eight, as the bytes may have been written just now, and by as many at a time. */
static inline void copy_32(uint8_t *to, const uint8_t *from)
{
    memcpy(to, from, 8);
    memcpy(to + 8, from + 8, 8);
    memcpy(to + 16, from + 16, 8);
    memcpy(to + 24, from + 24, 8);
}

/* Up to 32 bytes too many are written behind: most copies are short, and of these no branch
 * has to be guessed. What repeats less than eight bytes is not read again and again, as that would wait for them to be
 * written. */
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
            cv_inflate_store(at, word);
    }
}

/* The fast loop counts bits in the lowest byte of `nbits`: what is above it may be anything, as
 * entries are taken off as they are. A refill makes all 64 bits right, though only 56 or some more count. */
#define REFILL()                                                                       \
    (bits |= cv_inflate_load(from) << (nbits & 63), from += 7, from -= nbits >> 3 & 7, \
     nbits |= 56)
#define NBITS() (nbits & 0xFF)
/* Take an entry off, and keep what was before: its extra bits are there. */
#define TAKE() (saved = bits, bits >>= entry & 63, nbits -= entry)
#define GO_BACK() (from = from_first, bits = first, nbits = nfirst)
/* An entry's value, with its extra bits, which are behind its code. */
#define VALUE_OF()   \
    ((entry >> 16) + \
     (unsigned)((saved & ((1ull << (entry & 63)) - 1)) >> (entry >> 8 & 63)))
#define SUB_OF(table) (table)[(entry >> 16) + (bits & ((1u << (entry >> 8 & 15)) - 1))]
/* One literal or two: both places are written in any case. */
#define WRITE(entry)                                                     \
    (to[0] = (uint8_t)((entry) >> 16), to[1] = (uint8_t)((entry) >> 24), \
     to += 1 + ((entry) >> CV_INFLATE_PAIR_AT & 1))
/* They are written after the next entry was looked up, which takes longest. */
#define LITERAL()                      \
    do {                               \
        literal = entry;               \
        entry = lits[bits & lit_mask]; \
        TAKE();                        \
        WRITE(literal);                \
    } while (0)

/* As long as there is much of both input and room. It stops before a symbol that takes more
 * care: an end, a mistake. Of the 64 bits after a refill three looks at literals take 33 at most, two and a length 42: the
 * next entry can be looked up in any case, which does not have to wait for the refill then; but for what a distance takes
 * and another look there may be too few. */
static inline __attribute__((always_inline)) void turns(struct cv_inflate *inflate,
                                                        struct cv_inflate_input *in,
                                                        CELL *base, size_t *at,
                                                        size_t room)
{
    enum {
        LIT_BITS = CV_INFLATE_LIT_BITS,
        DIST_BITS = CV_INFLATE_DIST_BITS,
        BEYOND = 1, /* bits at least that are there and do not count */
        SHORT = DIST_BITS + 13 + LIT_BITS - BEYOND, /* for a distance and a look   */
        LONG = 15 + 13 + LIT_BITS - BEYOND,
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
        if ((entry & CV_INFLATE_LITERAL) != 0) {
            LITERAL();
            if ((entry & CV_INFLATE_LITERAL) != 0) {
                LITERAL();
                if ((entry & CV_INFLATE_LITERAL) != 0) {
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
        if ((entry & CV_INFLATE_SPECIAL) != 0) {
            if ((entry & CV_INFLATE_SUB) == 0) {
                GO_BACK();
                break;
            }
            entry = SUB_OF(lits);
            TAKE();
            if ((entry & CV_INFLATE_LITERAL) != 0) {
                literal = entry;
                entry = lits[bits & lit_mask];
                REFILL();
                WRITE(literal);
                continue;
            }
            if ((entry & CV_INFLATE_SPECIAL) != 0) {
                GO_BACK();
                break;
            }
        }
        length = VALUE_OF();
        entry = dists[bits & dist_mask];
        if ((entry & CV_INFLATE_SPECIAL) != 0 && (entry & CV_INFLATE_SUB) != 0) {
            if (NBITS() < LONG)
                REFILL();
            TAKE();
            entry = SUB_OF(dists);
        } else if (NBITS() < SHORT) {
            REFILL();
        }
        TAKE();
        distance = VALUE_OF();
        if ((entry & CV_INFLATE_SPECIAL) != 0 ||
            distance > made + (uint64_t)(to - start)) {
            GO_BACK();
            break;
        }
        entry = lits[bits & lit_mask];
        REFILL();
        copy = to;
        to += length;
        copy_match(copy, distance, length);
    }
    /* Bits above those that count were read ahead and will be read again. */
    nbits = NBITS();
    inflate->bits = nbits < 64 ? bits & ((1ull << nbits) - 1) : bits;
    inflate->nbits = nbits;
    inflate->made += (uint64_t)(to - start);
    in->at = from;
    *at = (size_t)(to - base);
}

#ifdef __x86_64__
/* Most of it are shifts by a number of bits that is only known when it is done. Processors since 2013 have
 * instructions for that which need no certain register for the number, and leave flags alone. */
__attribute__((target("bmi,bmi2"))) static void turns_by_bmi2(struct cv_inflate *inflate,
                                                              struct cv_inflate_input *in,
                                                              CELL *base, size_t *at,
                                                              size_t room)
{
    turns(inflate, in, base, at, room);
}
#endif

static void fast_loop(struct cv_inflate *inflate, struct cv_inflate_input *in, CELL *base,
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

static enum cv_inflate_state symbols(struct cv_inflate *inflate,
                                     struct cv_inflate_input *in, CELL *base, size_t *at,
                                     size_t room)
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
        cv_inflate_fill(inflate, in);
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
    struct cv_inflate_input input = { *in, *in + *length };
    enum cv_inflate_state state = CV_INFLATE_FULL;
    bool blocked = false;

    while (state == CV_INFLATE_FULL && !blocked) {
        cv_inflate_fill(inflate, &input);
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
