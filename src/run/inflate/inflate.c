/* inflate.c -- streaming decoder of deflate: tables and block headers. SPDX-License-Identifier: MIT */
#include "run/inflate/inflate.h"

#define CELL uint8_t
#include "run/inflate/inflate_cells.h"

void cv_inflate_init(struct cv_inflate *inflate)
{
    inflate->bits = 0;
    inflate->nbits = 0;
    inflate->step = CV_INFLATE_AT_HEAD;
    inflate->last = false;
    inflate->pauses = false;
    inflate->paused = true;
    inflate->loose = false;
    inflate->made = 0;
    inflate->length = 0;
    inflate->why = NULL;
}

void cv_inflate_skip_bits(struct cv_inflate *inflate, const uint8_t **in, size_t *length,
                          unsigned bits)
{
    if (bits == 0 || *length == 0)
        return;
    inflate->bits = (uint64_t)(*in)[0] >> bits;
    (*in)++;
    inflate->nbits = 8 - bits;
    (*length)--;
}

enum cv_inflate_state cv_inflate_run(struct cv_inflate *inflate, const uint8_t **in,
                                     size_t *length, uint8_t *base, size_t *at,
                                     size_t room)
{
    return run(inflate, in, length, base, at, room);
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
    if (inflate->pauses && !inflate->paused) {
        inflate->paused = true;
        return CV_INFLATE_PAUSE;
    }
    if (inflate->nbits < 3)
        return CV_INFLATE_MORE;
    inflate->paused = false;
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

enum cv_inflate_state cv_inflate_head(struct cv_inflate *inflate, struct input *in)
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
