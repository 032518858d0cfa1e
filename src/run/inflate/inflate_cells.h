/* inflate_cells.h -- the bytes of blocks of deflate. SPDX-License-Identifier: MIT
 *
 * Included by what defines CELL, the type that a byte is kept in. */
#include "run/inflate/inflate_inner.h"

enum {
    SAFE_IN = 16,        /* bytes of input that a turn of the fast loop may look at */
    SAFE_OUT = 258 + 32, /* cells that it may write                                 */
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
        cv_inflate_take(inflate, entry & 0x7F);
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

/* Up to 32 bytes too many are written behind: most copies are short, and of these no branch
 * has to be guessed. */
static inline void copy_match(CELL *to, unsigned distance, unsigned length)
{
    enum { WIDE = 16 / sizeof(CELL), HALF = WIDE / 2, TWICE = 2 * WIDE };
    const CELL *from = to - distance;
    const CELL *end = to + length;

    if (distance >= WIDE) {
        memcpy(to, from, 16);
        memcpy(to + WIDE, from + WIDE, 16);
        for (to += TWICE, from += TWICE; to < end; to += WIDE, from += WIDE)
            memcpy(to, from, 16);
    } else if (distance >= HALF) {
        for (; to < end; to += HALF, from += HALF)
            memcpy(to, from, 8);
    } else if (distance == 1) {
        const CELL same = *from;

        do
            *to++ = same;
        while (to < end);
    } else {
        do
            *to++ = *from++;
        while (to < end);
    }
}

#define REFILL() \
    (bits |= cv_inflate_load(from) << nbits, from += (63 - nbits) >> 3, nbits |= 56)
#define DROP(count) (bits >>= (count)&63, nbits -= (count)&0xFF)
/* The extra bits of an entry, behind its code. */
#define EXTRA(entry) \
    ((unsigned)((bits & ((1ull << ((entry)&63)) - 1)) >> ((entry) >> 8 & 63)))
/* What it stands for is written after the next entry was looked up, which takes longest. */
#define LITERAL()                         \
    do {                                  \
        const uint32_t literal = entry;   \
                                          \
        DROP(literal);                    \
        entry = lits[bits & lit_mask];    \
        *to++ = (uint8_t)(literal >> 16); \
    } while (0)

/* As long as there is much of both input and room. It stops before a symbol that takes more
 * care: an end, a mistake. */
static inline __attribute__((always_inline)) void turns(struct cv_inflate *inflate,
                                                        struct cv_inflate_input *in,
                                                        CELL *base, size_t *at,
                                                        size_t room)
{
    const uint32_t lit_mask = (1u << CV_INFLATE_LIT_BITS) - 1;
    const uint32_t dist_mask = (1u << CV_INFLATE_DIST_BITS) - 1;
    const uint32_t *const lits = inflate->lits, *const dists = inflate->dists;
    const uint8_t *from = in->at, *const last_in = in->end - SAFE_IN;
    CELL *to = base + *at, *const last_out = base + room - SAFE_OUT;
    CELL *const start = to;
    uint64_t bits = inflate->bits;
    const uint64_t made = inflate->made;
    unsigned nbits = inflate->nbits;
    uint32_t entry;

    REFILL();
    entry = lits[bits & lit_mask];
    while (from < last_in && to < last_out) {
        uint64_t saved;
        unsigned length, distance, nsaved;
        CELL *copy;

        if ((entry & CV_INFLATE_LITERAL) != 0) {
            LITERAL();
            if ((entry & CV_INFLATE_LITERAL) != 0) {
                LITERAL();
                if ((entry & CV_INFLATE_LITERAL) != 0) {
                    LITERAL();
                    REFILL();
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
                LITERAL();
                REFILL();
                continue;
            }
            if ((entry & CV_INFLATE_SPECIAL) != 0) {
                bits = saved;
                nbits = nsaved;
                break;
            }
        }
        length = (entry >> 16) + EXTRA(entry);
        DROP(entry);
        entry = dists[bits & dist_mask];
        if ((entry & CV_INFLATE_SPECIAL) != 0 && (entry & CV_INFLATE_SUB) != 0) {
            DROP(CV_INFLATE_DIST_BITS);
            entry = dists[(entry >> 16) + (bits & ((1u << (entry >> 8 & 15)) - 1))];
        }
        distance = (entry >> 16) + EXTRA(entry);
        if ((entry & CV_INFLATE_SPECIAL) != 0 ||
            distance > made + (uint64_t)(to - start)) {
            bits = saved;
            nbits = nsaved;
            break;
        }
        DROP(entry);
        REFILL();
        entry = lits[bits & lit_mask];
        copy = to;
        to += length;
        copy_match(copy, distance, length);
    }
    /* Bits above those that count were read ahead and will be read again. */
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
    while (inflate->step == CV_INFLATE_AT_SYMBOLS) {
        enum cv_inflate_state state;

        if (!copy_on(inflate, base, at, room))
            return CV_INFLATE_FULL;
        if (in->end - in->at > SAFE_IN && room - *at > SAFE_OUT)
            fast_loop(inflate, in, base, at, room);
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
