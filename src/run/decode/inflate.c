/* inflate.c -- streaming decoder of deflate (RFC 1951). SPDX-License-Identifier: MIT */
#include "run/decode/inflate.h"

#include <string.h>

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

/* --- decoding tables -------------------------------------------------------------------- */

enum { LONGEST = 15, SYMBOLS = 288, TABLE = 1 << LIT_BITS };

/* Entries of all symbols, without the bits of their codes. They are constants because tables
 * are built for every block, and blocks may be small. */
#define LITERAL(symbol) (FLAG_LITERAL | (uint32_t)(symbol) << 16)
#define VALUE(min, extra) ((uint32_t)(min) << 16 | (extra))
#define FOUR(row, at) row(at), row((at) + 1), row((at) + 2), row((at) + 3)
#define SIXTEEN(row, at) \
    FOUR(row, at), FOUR(row, (at) + 4), FOUR(row, (at) + 8), FOUR(row, (at) + 12)
#define SIXTY_FOUR(row, at)                                             \
    SIXTEEN(row, at), SIXTEEN(row, (at) + 16), SIXTEEN(row, (at) + 32), \
        SIXTEEN(row, (at) + 48)

/* clang-format off */
static const uint32_t lit_meanings[] = {
    SIXTY_FOUR(LITERAL, 0), SIXTY_FOUR(LITERAL, 64), SIXTY_FOUR(LITERAL, 128), SIXTY_FOUR(LITERAL, 192),
    FLAG_SPECIAL | FLAG_END,
    VALUE(3, 0), VALUE(4, 0), VALUE(5, 0), VALUE(6, 0), VALUE(7, 0), VALUE(8, 0), VALUE(9, 0), VALUE(10, 0),
    VALUE(11, 1), VALUE(13, 1), VALUE(15, 1), VALUE(17, 1), VALUE(19, 2), VALUE(23, 2), VALUE(27, 2),
    VALUE(31, 2), VALUE(35, 3), VALUE(43, 3), VALUE(51, 3), VALUE(59, 3), VALUE(67, 4), VALUE(83, 4),
    VALUE(99, 4), VALUE(115, 4), VALUE(131, 5), VALUE(163, 5), VALUE(195, 5), VALUE(227, 5), VALUE(258, 0),
    FLAG_SPECIAL, FLAG_SPECIAL,
};

#define DISTANCES(extra) VALUE((2 << (extra)) + 1, extra), VALUE((3 << (extra)) + 1, extra)
static const uint32_t dist_meanings[] = {
    VALUE(1, 0), VALUE(2, 0), DISTANCES(0), DISTANCES(1), DISTANCES(2), DISTANCES(3), DISTANCES(4),
    DISTANCES(5), DISTANCES(6), DISTANCES(7), DISTANCES(8), DISTANCES(9), DISTANCES(10), DISTANCES(11),
    DISTANCES(12), DISTANCES(13), FLAG_SPECIAL, FLAG_SPECIAL,
};

#define CODE(symbol) VALUE(symbol, 0)
static const uint32_t code_meanings[] = { SIXTEEN(CODE, 0), CODE(16), CODE(17), CODE(18) };
/* clang-format on */

struct alphabet {
    const uint32_t *meanings;
    unsigned bits; /* that index the main table          */
    size_t room;   /* entries of the table and subtables */
};

static const struct alphabet literals = { lit_meanings, LIT_BITS, CV_INFLATE_LITS };
static const struct alphabet distances = { dist_meanings, DIST_BITS, CV_INFLATE_DISTS };
static const struct alphabet code_lengths = { code_meanings, CODE_BITS,
                                              CV_INFLATE_DISTS };

static uint32_t entry_of(uint32_t meaning, unsigned code_bits)
{
    return meaning + (code_bits << 8 | code_bits);
}

/* counts[n] becomes the number of codes of length n. False: the code is oversubscribed or
 * incomplete. Literals and distances may have no code, or a single code of one bit. */
static bool count_codes(const struct alphabet *alphabet, const uint8_t *lengths,
                        unsigned count, unsigned counts[LONGEST + 1])
{
    unsigned left = 1, used;

    memset(counts, 0, (LONGEST + 1) * sizeof *counts);
    for (unsigned i = 0; i < count; i++)
        counts[lengths[i]]++;
    used = count - counts[0];
    for (unsigned length = 1; length <= LONGEST; length++) {
        left <<= 1;
        if (counts[length] > left)
            return false;
        left -= counts[length];
    }
    if (left == 0)
        return true;
    return alphabet != &code_lengths && (used == 0 || (used == 1 && counts[1] == 1));
}

/* The symbols that have a code, in the order of their codes. */
static void sort(const uint8_t *lengths, unsigned count, const unsigned *counts,
                 uint16_t order[SYMBOLS])
{
    unsigned next[LONGEST + 1];

    next[0] = 0;
    next[1] = 0;
    for (unsigned i = 1; i < LONGEST; i++)
        next[i + 1] = next[i] + counts[i];
    for (unsigned i = 0; i < count; i++)
        if (lengths[i] > 0)
            order[next[lengths[i]]++] = (uint16_t)i;
}

/* The next code of the same length. Tables are indexed by codes with their first bit lowest, so
 * this counts from the highest bit down. `ones` is the last code of the length. */
static unsigned next_code(unsigned code, unsigned ones)
{
    const unsigned bit = 1u << (31 - __builtin_clz(code ^ ones));

    return (code & (bit - 1)) | bit;
}

struct filling {
    uint32_t *table;
    const uint32_t *meanings;
    const uint16_t *order; /* symbols that are not in the table yet */
    const unsigned *counts;
    unsigned code; /* code of order[0] */
    unsigned bits; /* that index the main table */
    size_t room;
};

/* Add the codes that fit the main table. For each further bit the table is doubled by a copy of
 * itself, because the bits after a code may have any value. False: no longer codes are left. */
static bool fill_main(struct filling *fill)
{
    size_t end = 1;

    for (unsigned length = 1; length <= fill->bits; length++) {
        memcpy(fill->table + end, fill->table, end * sizeof *fill->table);
        end *= 2;
        for (unsigned left = fill->counts[length]; left > 0; left--) {
            const unsigned code = fill->code;

            fill->table[code] = entry_of(fill->meanings[*fill->order++], length);
            if (code != end - 1) {
                fill->code = next_code(code, (unsigned)end - 1);
                continue;
            }
            for (; length < fill->bits; length++, end *= 2)
                memcpy(fill->table + end, fill->table, end * sizeof *fill->table);
            return false;
        }
    }
    return true;
}

/* Index bits of the next subtable: the bits of its longest code that the main table lacks. */
static unsigned sub_bits(const struct filling *fill, unsigned length, unsigned left)
{
    unsigned more = length - fill->bits;
    unsigned used = left;

    while (used < 1u << more) {
        more++;
        used = 2 * used + fill->counts[fill->bits + more];
    }
    return more;
}

/* Add the codes that are longer than the main table allows. */
static bool fill_subs(struct filling *fill)
{
    const unsigned mask = (1u << fill->bits) - 1;
    unsigned length = fill->bits + 1, left = fill->counts[length];
    unsigned prefix = UINT32_MAX;
    size_t sub = 0, end = (size_t)1 << fill->bits;

    for (;;) {
        while (left == 0)
            left = fill->counts[++length];
        if ((fill->code & mask) != prefix) {
            const unsigned more = sub_bits(fill, length, left);

            prefix = fill->code & mask;
            sub = end;
            end += (size_t)1 << more;
            if (end > fill->room)
                return false;
            fill->table[prefix] = FLAG_SPECIAL | FLAG_SUBTABLE | (uint32_t)sub << 16 |
                                  more << 8 | fill->bits;
        }
        for (size_t at = sub + (fill->code >> fill->bits); at < end;
             at += (size_t)1 << (length - fill->bits))
            fill->table[at] = entry_of(fill->meanings[*fill->order], length - fill->bits);
        fill->order++;
        left--;
        if (fill->code == (1u << length) - 1)
            return true;
        fill->code = next_code(fill->code, (1u << length) - 1);
    }
}

/* The table of an alphabet with one code of one bit, or without codes. */
static void fill_few(struct filling *fill)
{
    for (size_t i = 0; i < (size_t)1 << fill->bits; i++)
        fill->table[i] = i % 2 == 0 && fill->counts[1] == 1
                             ? entry_of(fill->meanings[fill->order[0]], 1)
                             : FLAG_SPECIAL | 1;
}

/* Entries of the main table that are literals: a measure of their probability. */
static unsigned count_literals(const uint8_t *lengths)
{
    unsigned entries = 0;

    for (unsigned i = 0; i < 256; i++)
        entries += lengths[i] > 0 ? (unsigned)TABLE >> lengths[i] : 0U;
    return entries;
}

/* Combine entries of two literals whose codes fit the main table together. Runs downwards: an
 * entry is made of entries with smaller indices, which must still be single. */
static void pair_up(uint32_t *table)
{
    for (unsigned at = 1u << LIT_BITS; at-- > 0;) {
        const uint32_t first = table[at], second = table[at >> (first & 15)];
        const uint32_t taken = (first & 0xFF) + (second >> 8 & 15);

        if ((first & second & FLAG_LITERAL) != 0 && taken <= LIT_BITS)
            table[at] = (first & 0xFFFF00) | FLAG_PAIR | taken | (second & 0xFF0000) << 8;
    }
}

/* False: `lengths` are not a valid code. */
static bool build_table(const struct alphabet *alphabet, const uint8_t *lengths,
                        unsigned count, uint32_t *table)
{
    unsigned counts[LONGEST + 1];
    uint16_t order[SYMBOLS];
    struct filling fill = { .table = table,
                            .meanings = alphabet->meanings,
                            .order = order,
                            .counts = counts,
                            .bits = alphabet->bits,
                            .room = alphabet->room };

    if (!count_codes(alphabet, lengths, count, counts))
        return false;
    sort(lengths, count, counts, order);
    if (count - counts[0] < 2) {
        fill_few(&fill);
        return true;
    }
    if (fill_main(&fill) && !fill_subs(&fill))
        return false;
    if (alphabet == &literals && count_literals(lengths) >= TABLE / 8)
        pair_up(table);
    return true;
}

/* --- block headers ------------------------------------------------------------------------ */

static void build_fixed_tables(struct cv_inflate *inflate)
{
    memset(inflate->lengths, 8, 144);
    memset(inflate->lengths + 144, 9, 112);
    memset(inflate->lengths + 256, 7, 24);
    memset(inflate->lengths + 280, 8, 8);
    memset(inflate->lengths + 288, 5, 32);
    build_table(&literals, inflate->lengths, 288, inflate->lits);
    build_table(&distances, inflate->lengths + 288, 32, inflate->dists);
}

static enum cv_inflate_state read_head(struct cv_inflate *inflate)
{
    unsigned kind;

    if (inflate->last) {
        inflate->step = CV_INFLATE_AT_OVER;
        return CV_INFLATE_END;
    }
    if (inflate->nbits < 3)
        return CV_INFLATE_MORE;
    inflate->last = take_bits(inflate, 1) != 0;
    kind = take_bits(inflate, 2);
    if (kind == 3)
        return fail(inflate, "a block of unknown type");
    if (kind == 0) {
        take_bits(inflate, inflate->nbits % 8);
        inflate->step = CV_INFLATE_AT_STORED;
    } else if (kind == 1) {
        build_fixed_tables(inflate);
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
    length = take_bits(inflate, 16);
    check = take_bits(inflate, 16);
    if (length != (~check & 0xFFFF))
        return fail(inflate, "a stored block with contradictory lengths");
    inflate->stored = length;
    inflate->step = CV_INFLATE_AT_STORING;
    return CV_INFLATE_FULL;
}

static enum cv_inflate_state read_counts(struct cv_inflate *inflate)
{
    if (inflate->nbits < 14)
        return CV_INFLATE_MORE;
    inflate->nlits = take_bits(inflate, 5) + 257;
    inflate->ndists = take_bits(inflate, 5) + 1;
    inflate->ncodes = take_bits(inflate, 4) + 4;
    if (inflate->nlits > 286 || inflate->ndists > 30)
        return fail(inflate, "too many codes");
    inflate->filled = 0;
    memset(inflate->lengths, 0, 19);
    inflate->step = CV_INFLATE_AT_CODES;
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
        inflate->lengths[order[inflate->filled]] = (uint8_t)take_bits(inflate, 3);
    }
    if (!build_table(&code_lengths, inflate->lengths, 19, inflate->dists))
        return fail(inflate, "code lengths that are not a code");
    inflate->filled = 0;
    inflate->step = CV_INFLATE_AT_LENGTHS;
    return CV_INFLATE_FULL;
}

/* A code length and how often it is repeated. False: too few bits. */
static bool read_length(struct cv_inflate *inflate, unsigned *value, unsigned *times)
{
    static const uint8_t min[] = { 3, 3, 11 }, extra[] = { 2, 3, 7 };
    const uint32_t entry = inflate->dists[inflate->bits & 0x7F];
    const unsigned taken = entry & 0xFF, symbol = entry >> 16;

    *times = 1;
    *value = symbol;
    if (inflate->nbits < taken + (symbol >= 16 ? extra[symbol - 16] : 0))
        return false;
    take_bits(inflate, taken);
    if (symbol < 16)
        return true;
    *times = min[symbol - 16] + take_bits(inflate, extra[symbol - 16]);
    *value =
        symbol == 16 && inflate->filled > 0 ? inflate->lengths[inflate->filled - 1] : 0;
    if (symbol == 16 && inflate->filled == 0)
        *times = sizeof inflate->lengths; /* too many: an error */
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
            return fail(inflate, "more lengths than codes");
        memset(inflate->lengths + inflate->filled, (int)value, times);
        inflate->filled += times;
    }
    if (inflate->lengths[256] == 0)
        return fail(inflate, "a block without an end");
    if (!build_table(&literals, inflate->lengths, inflate->nlits, inflate->lits) ||
        !build_table(&distances, inflate->lengths + inflate->nlits, inflate->ndists,
                     inflate->dists))
        return fail(inflate, "code lengths that are not a code");
    inflate->step = CV_INFLATE_AT_SYMBOLS;
    return CV_INFLATE_FULL;
}

/* --- symbols ------------------------------------------------------------------------------ */

enum {
    SAFE_IN = 16,       /* bytes that one turn of the fast loop may read          */
    SAFE_OUT = 4 + 288, /* bytes that it may write: two pairs of literals, a copy */
};

static enum cv_inflate_state copy_stored(struct cv_inflate *inflate, struct input *in,
                                         uint8_t *base, size_t *at, size_t room)
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

/* Decode one symbol near the end of the input or output. */
static enum cv_inflate_state one_symbol(struct cv_inflate *inflate, uint8_t *base,
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
static inline void copy_match(uint8_t *to, unsigned distance, unsigned length)
{
    static const uint8_t steps[] = { 8, 8, 8, 6, 8, 5, 6, 7 };
    uint8_t *const end = to + length;
    const uint8_t *from = to - distance;

    if (distance >= 8) {
        copy_32(to, from);
        for (to += 32, from += 32; to < end; to += 32, from += 32)
            copy_32(to, from);
    } else {
        const uint64_t word = repeated(from, distance);

        for (; to < end; to += steps[distance])
            store_word(to, word);
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
 * input or SAFE_OUT bytes of output. Of the 64 bits after a refill, three lookups of literals use
 * at most 33 and two with a length 42: enough are left to look up the next entry before the next
 * refill. Only a distance and a further lookup may need more. */
static inline __attribute__((always_inline)) void turns(struct cv_inflate *inflate,
                                                        struct input *in, uint8_t *base,
                                                        size_t *at, size_t room)
{
    enum {
        UNCOUNTED = 1, /* valid bits above nbits, at least */
        SHORT = DIST_BITS + 13 + LIT_BITS - UNCOUNTED, /* a distance and a lookup */
        LONG = 15 + 13 + LIT_BITS - UNCOUNTED,
    };
    const uint32_t lit_mask = (1u << LIT_BITS) - 1, dist_mask = (1u << DIST_BITS) - 1;
    const uint32_t *const lits = inflate->lits, *const dists = inflate->dists;
    const uint8_t *from = in->at, *const last_in = in->end - SAFE_IN;
    uint8_t *to = base + *at, *const last_out = base + room - SAFE_OUT;
    uint8_t *const start = to;
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
        uint8_t *copy;

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
                                                              uint8_t *base, size_t *at,
                                                              size_t room)
{
    turns(inflate, in, base, at, room);
}
#endif

static void fast_loop(struct cv_inflate *inflate, struct input *in, uint8_t *base,
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

/* Returns as soon as the fast loop has stopped for lack of room: the caller has more. */
static enum cv_inflate_state symbols(struct cv_inflate *inflate, struct input *in,
                                     uint8_t *base, size_t *at, size_t room)
{
    const size_t before = *at;

    while (inflate->step == CV_INFLATE_AT_SYMBOLS) {
        enum cv_inflate_state state;

        if (!copy_on(inflate, base, at, room))
            return CV_INFLATE_FULL;
        if (in->end - in->at > SAFE_IN && room - *at > SAFE_OUT)
            fast_loop(inflate, in, base, at, room);
        if (room - *at <= SAFE_OUT && *at > before)
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

void cv_inflate_init(struct cv_inflate *inflate)
{
    inflate->bits = 0;
    inflate->nbits = 0;
    inflate->step = CV_INFLATE_AT_HEAD;
    inflate->last = false;
    inflate->made = 0;
    inflate->length = 0;
    inflate->why = NULL;
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
        case CV_INFLATE_AT_STORING:
            state = copy_stored(inflate, &input, base, at, room);
            blocked = inflate->step == CV_INFLATE_AT_STORING;
            break;
        case CV_INFLATE_AT_SYMBOLS:
            state = symbols(inflate, &input, base, at, room);
            blocked = inflate->step == CV_INFLATE_AT_SYMBOLS;
            break;
        case CV_INFLATE_AT_HEAD:
            state = read_head(inflate);
            break;
        case CV_INFLATE_AT_STORED:
            state = read_stored(inflate);
            break;
        case CV_INFLATE_AT_COUNTS:
            state = read_counts(inflate);
            break;
        case CV_INFLATE_AT_CODES:
            state = read_codes(inflate, &input);
            break;
        case CV_INFLATE_AT_LENGTHS:
            state = read_lengths(inflate, &input);
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
