/* inflate_table.c -- tables that codes are looked up in. SPDX-License-Identifier: MIT */
#include "run/inflate/inflate.h"

#include <string.h>

enum { LONGEST = 15, SYMBOLS = 288 };

/* What a symbol means, but for the length of its code. */
static uint32_t meaning(enum cv_inflate_table kind, unsigned symbol, unsigned *extra)
{
    static const uint16_t lengths[] = { 3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                        15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                        67, 83, 99, 115, 131, 163, 195, 227, 258 };
    static const uint8_t length_bits[] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                           2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0 };

    *extra = 0;
    if (kind == CV_INFLATE_OF_CODES)
        return symbol << 16;
    if (kind == CV_INFLATE_OF_DISTS) {
        if (symbol >= 30)
            return CV_INFLATE_SPECIAL;
        *extra = symbol < 4 ? 0 : symbol / 2 - 1;
        return (uint32_t)(symbol < 4 ? symbol + 1 : ((2 + symbol % 2) << *extra) + 1)
               << 16;
    }
    if (symbol < 256)
        return CV_INFLATE_LITERAL | symbol << 16;
    if (symbol == 256)
        return CV_INFLATE_SPECIAL | CV_INFLATE_STOP;
    if (symbol >= 257 + sizeof lengths / sizeof *lengths)
        return CV_INFLATE_SPECIAL;
    *extra = length_bits[symbol - 257];
    return (uint32_t)lengths[symbol - 257] << 16;
}

static unsigned reversed(unsigned code, unsigned bits)
{
    unsigned out = 0;

    for (unsigned i = 0; i < bits; i++, code >>= 1)
        out = out << 1 | (code & 1);
    return out;
}

static uint32_t entry_of(enum cv_inflate_table kind, unsigned symbol, unsigned taken)
{
    unsigned extra;
    const uint32_t entry = meaning(kind, symbol, &extra);

    if ((entry & CV_INFLATE_SPECIAL) != 0 && (entry & CV_INFLATE_LITERAL) == 0)
        return entry | taken;
    return entry | taken << 8 | (taken + extra);
}

/* How many codes there are of each length; false if there are more than fit, or fewer than
 * to fill: only a single code, of one bit, may leave the other unused, or no code be there. */
static bool count_codes(enum cv_inflate_table kind, const uint8_t *lengths,
                        unsigned count, unsigned counts[LONGEST + 1])
{
    unsigned left = 1, codes = 0;

    memset(counts, 0, (LONGEST + 1) * sizeof *counts);
    for (unsigned i = 0; i < count; i++)
        counts[lengths[i]]++;
    codes = count - counts[0];
    counts[0] = 0;
    for (unsigned length = 1; length <= LONGEST; length++) {
        left <<= 1;
        if (counts[length] > left)
            return false;
        left -= counts[length];
    }
    if (left == 0)
        return true;
    return kind != CV_INFLATE_OF_CODES && (codes == 0 || (codes == 1 && counts[1] == 1));
}

/* The table below an entry: as many bits as its longest code has more than `bits`. */
static unsigned sub_bits(unsigned length, unsigned bits, const unsigned *counts)
{
    unsigned more = length - bits;
    unsigned room = 1u << more;

    while (bits + more < LONGEST && counts[bits + more] < room) {
        room = (room - counts[bits + more]) << 1;
        more++;
    }
    return more;
}

struct filling {
    uint32_t *table;
    size_t used, room;
    unsigned bits;              /* of the main table      */
    unsigned prefix;            /* of the sub-table in use */
    size_t sub;                 /* where it is; 0: none   */
    unsigned more;              /* its bits               */
    unsigned left[LONGEST + 1]; /* codes that have no place yet */
};

static bool place(struct filling *fill, unsigned code, unsigned length, uint32_t entry)
{
    const unsigned back = reversed(code, length);
    unsigned prefix, step;

    if (length <= fill->bits) {
        for (unsigned at = back; at < 1u << fill->bits; at += 1u << length)
            fill->table[at] = entry;
        return true;
    }
    prefix = back & ((1u << fill->bits) - 1);
    if (fill->sub == 0 || prefix != fill->prefix) {
        fill->more = sub_bits(length, fill->bits, fill->left);
        if (fill->used + ((size_t)1 << fill->more) > fill->room)
            return false;
        fill->sub = fill->used;
        fill->used += (size_t)1 << fill->more;
        fill->prefix = prefix;
        fill->table[prefix] = CV_INFLATE_SPECIAL | CV_INFLATE_SUB |
                              (uint32_t)fill->sub << 16 | fill->more << 8 | fill->bits;
    }
    step = 1u << (length - fill->bits);
    for (unsigned at = back >> fill->bits; at < 1u << fill->more; at += step)
        fill->table[fill->sub + at] = entry;
    return true;
}

bool cv_inflate_tabulate(enum cv_inflate_table kind, const uint8_t *lengths,
                         unsigned count, uint32_t *table, size_t room)
{
    static const unsigned table_bits[] = { CV_INFLATE_LIT_BITS, CV_INFLATE_DIST_BITS,
                                           CV_INFLATE_CODE_BITS };
    struct filling fill = { .table = table,
                            .room = room,
                            .bits = table_bits[kind],
                            .used = (size_t)1 << table_bits[kind] };
    unsigned next[LONGEST + 2] = { 0 };
    uint16_t order[SYMBOLS + 32];
    unsigned code = 0, length = 0;

    if (!count_codes(kind, lengths, count, fill.left))
        return false;
    for (unsigned i = 1; i <= LONGEST; i++)
        next[i + 1] = next[i] + fill.left[i];
    for (unsigned i = 0; i < count; i++)
        if (lengths[i] > 0)
            order[next[lengths[i]]++] = (uint16_t)i;
    for (size_t i = 0; i < fill.used; i++)
        table[i] = CV_INFLATE_SPECIAL | 1;
    for (unsigned i = 0; i < next[LONGEST]; i++) {
        const unsigned symbol = order[i];
        const unsigned more = lengths[symbol] - length;

        code <<= more;
        length = lengths[symbol];
        if (!place(&fill, code, length,
                   entry_of(kind, symbol,
                            length > fill.bits ? length - fill.bits : length)))
            return false;
        code++;
        fill.left[length]--;
    }
    return true;
}
