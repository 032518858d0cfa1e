/* inflate_table.c -- tables that codes are looked up in. SPDX-License-Identifier: MIT */
#include "run/inflate/inflate.h"

#include <string.h>

enum { LONGEST = 15, SYMBOLS = 288, TABLE = 1 << CV_INFLATE_LIT_BITS };

/* What symbols mean, but for the length of their codes; in the lowest byte, how many extra bits
 * there are. Each is a row, as tables are made for every block, and blocks may be small. */
#define LITERAL(symbol) (CV_INFLATE_LITERAL | (uint32_t)(symbol) << 16)
#define VALUE(min, extra) ((uint32_t)(min) << 16 | (extra))
#define FOUR(row, at) row(at), row((at) + 1), row((at) + 2), row((at) + 3)
#define SIXTEEN(row, at) \
    FOUR(row, at), FOUR(row, (at) + 4), FOUR(row, (at) + 8), FOUR(row, (at) + 12)
#define SIXTY_FOUR(row, at)                                             \
    SIXTEEN(row, at), SIXTEEN(row, (at) + 16), SIXTEEN(row, (at) + 32), \
        SIXTEEN(row, (at) + 48)

static const uint32_t lits[] = {
    SIXTY_FOUR(LITERAL, 0),
    SIXTY_FOUR(LITERAL, 64),
    SIXTY_FOUR(LITERAL, 128),
    SIXTY_FOUR(LITERAL, 192),
    CV_INFLATE_SPECIAL | CV_INFLATE_STOP,
    VALUE(3, 0),
    VALUE(4, 0),
    VALUE(5, 0),
    VALUE(6, 0),
    VALUE(7, 0),
    VALUE(8, 0),
    VALUE(9, 0),
    VALUE(10, 0),
    VALUE(11, 1),
    VALUE(13, 1),
    VALUE(15, 1),
    VALUE(17, 1),
    VALUE(19, 2),
    VALUE(23, 2),
    VALUE(27, 2),
    VALUE(31, 2),
    VALUE(35, 3),
    VALUE(43, 3),
    VALUE(51, 3),
    VALUE(59, 3),
    VALUE(67, 4),
    VALUE(83, 4),
    VALUE(99, 4),
    VALUE(115, 4),
    VALUE(131, 5),
    VALUE(163, 5),
    VALUE(195, 5),
    VALUE(227, 5),
    VALUE(258, 0),
    CV_INFLATE_SPECIAL,
    CV_INFLATE_SPECIAL,
};

#define DISTANCES(extra) \
    VALUE((2 << (extra)) + 1, extra), VALUE((3 << (extra)) + 1, extra)

static const uint32_t dists[] = {
    VALUE(1, 0),   VALUE(2, 0),        DISTANCES(0),       DISTANCES(1),  DISTANCES(2),
    DISTANCES(3),  DISTANCES(4),       DISTANCES(5),       DISTANCES(6),  DISTANCES(7),
    DISTANCES(8),  DISTANCES(9),       DISTANCES(10),      DISTANCES(11), DISTANCES(12),
    DISTANCES(13), CV_INFLATE_SPECIAL, CV_INFLATE_SPECIAL,
};

#define CODE(symbol) VALUE(symbol, 0)

static const uint32_t codes[] = { SIXTEEN(CODE, 0), CODE(16), CODE(17), CODE(18) };

static const struct {
    const uint32_t *meanings;
    unsigned bits; /* of the main table */
} kinds[] = {
    [CV_INFLATE_OF_LITS] = { lits, CV_INFLATE_LIT_BITS },
    [CV_INFLATE_OF_DISTS] = { dists, CV_INFLATE_DIST_BITS },
    [CV_INFLATE_OF_CODES] = { codes, CV_INFLATE_CODE_BITS },
};

/* `taken` bits are its code. */
static uint32_t entry_of(uint32_t meaning, unsigned taken)
{
    return meaning + (taken << 8 | taken);
}

/* How many codes there are of each length, none of them counting as length 0. False if there are more than
 * fit, or fewer than to fill: only a single code, of one bit, may leave the other unused, or no code be there. */
static bool count_codes(enum cv_inflate_table kind, const uint8_t *lengths,
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
    return kind != CV_INFLATE_OF_CODES && (used == 0 || (used == 1 && counts[1] == 1));
}

/* Symbols that have a code, in the order of their codes. */
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

/* Codes are read from their first bit on, which is the lowest one of what is looked up: so they are counted up
 * with the highest bit last. `ones` is the last code of that length. */
static unsigned next_code(unsigned code, unsigned ones)
{
    const unsigned bit = 1u << (31 - __builtin_clz(code ^ ones));

    return (code & (bit - 1)) | bit;
}

struct filling {
    uint32_t *table;
    const uint32_t *meanings;
    const uint16_t *order; /* of symbols that have no place yet */
    const unsigned *counts;
    unsigned code; /* of the next one              */
    unsigned bits; /* of the main table            */
    size_t room;
};

/* Codes that fit the main table. It grows with the codes' length, by a copy of what it holds: bits
 * behind a code may be any. Where the last code ends it, false: there are no more. */
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

/* Bits of the table below an entry: as many as its longest code has more. */
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

/* The longer ones. */
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
            fill->table[prefix] = CV_INFLATE_SPECIAL | CV_INFLATE_SUB |
                                  (uint32_t)sub << 16 | more << 8 | fill->bits;
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

/* Of one code, of one bit, or of none. */
static void fill_few(struct filling *fill)
{
    for (size_t i = 0; i < (size_t)1 << fill->bits; i++)
        fill->table[i] = i % 2 == 0 && fill->counts[1] == 1
                             ? entry_of(fill->meanings[fill->order[0]], 1)
                             : CV_INFLATE_SPECIAL | 1;
}

/* How many entries of the main table are literals, which tells how likely they are. */
static unsigned count_literals(const uint8_t *lengths)
{
    unsigned entries = 0;

    for (unsigned i = 0; i < 256; i++)
        entries += lengths[i] > 0 ? (unsigned)TABLE >> lengths[i] : 0U;
    return entries;
}

/* Two literals with one look, where both codes fit. Entries further up are done before those that they
 * are made of. */
static void pair_up(uint32_t *table)
{
    for (unsigned at = 1u << CV_INFLATE_LIT_BITS; at-- > 0;) {
        const uint32_t first = table[at], second = table[at >> (first & 15)];
        const uint32_t taken = (first & 0xFF) + (second >> 8 & 15);

        if ((first & second & CV_INFLATE_LITERAL) != 0 && taken <= CV_INFLATE_LIT_BITS)
            table[at] =
                (first & 0xFFFF00) | CV_INFLATE_PAIR | taken | (second & 0xFF0000) << 8;
    }
}

bool cv_inflate_tabulate(enum cv_inflate_table kind, const uint8_t *lengths,
                         unsigned count, uint32_t *table, size_t room)
{
    unsigned counts[LONGEST + 1];
    uint16_t order[SYMBOLS];
    struct filling fill = { .table = table,
                            .meanings = kinds[kind].meanings,
                            .order = order,
                            .counts = counts,
                            .bits = kinds[kind].bits,
                            .room = room };

    if (!count_codes(kind, lengths, count, counts))
        return false;
    sort(lengths, count, counts, order);
    if (count - counts[0] < 2) {
        fill_few(&fill);
        return true;
    }
    if (fill_main(&fill) && !fill_subs(&fill))
        return false;
    if (kind == CV_INFLATE_OF_LITS && count_literals(lengths) >= TABLE / 8)
        pair_up(table);
    return true;
}
