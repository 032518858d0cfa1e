/* bits.c -- bits that do not begin at a byte. SPDX-License-Identifier: MIT */
#include "run/decode/bits.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void cv_bits_done(struct cv_bits *bits)
{
    free(bits->bytes);
    *bits = (struct cv_bits){ .bytes = NULL };
}

/* Room for more, with a byte to spare. */
static bool grow(struct cv_bits *bits, uint64_t count)
{
    const size_t need = (size_t)((bits->count + count) / 8 + 2);
    uint8_t *larger = bits->bytes;

    if (need > bits->room)
        larger = cv_grow(bits->bytes, &bits->room, need, 1);
    if (larger == NULL)
        return false;
    bits->bytes = larger;
    return true;
}

/* There is room. `number` has no bits above. */
static void put(struct cv_bits *bits, unsigned number, unsigned count)
{
    uint8_t *to = bits->bytes + bits->count / 8;
    const unsigned used = bits->count % 8, shifted = number << (16 - count) >> used;

    to[0] = (uint8_t)((used > 0 ? to[0] : 0) | (shifted >> 8 & 0xFF));
    to[1] = (uint8_t)shifted;
    bits->count += count;
}

bool cv_bits_put(struct cv_bits *bits, uint64_t number, unsigned count)
{
    if (!grow(bits, count))
        return false;
    for (; count >= 8; count -= 8)
        put(bits, (unsigned)(number >> (count - 8) & 0xFF), 8);
    if (count > 0)
        put(bits, (unsigned)(number & ((1u << count) - 1)), count);
    return true;
}

uint64_t cv_bits_get(const uint8_t *bytes, uint64_t at, unsigned count)
{
    const uint64_t first = at / 8, last = (at + count + 7) / 8;
    uint64_t value = 0;

    for (uint64_t i = first; i < last; i++)
        value = value << 8 | bytes[i];
    value >>= last * 8 - at - count;
    return value & ((UINT64_C(1) << count) - 1);
}

/* Whole bytes to whole bytes, of which there may be many. */
static void copy_bytes(struct cv_bits *bits, const uint8_t *bytes, uint64_t *at,
                       uint64_t *count)
{
    const uint8_t *from = bytes + *at / 8;
    uint8_t *to = bits->bytes + bits->count / 8;
    const size_t length = (size_t)(*count / 8);
    const unsigned shift = *at % 8;

    for (size_t i = 0; shift > 0 && i < length; i++)
        to[i] = (uint8_t)(from[i] << shift | from[i + 1] >> (8 - shift));
    if (shift == 0 && length > 0)
        memcpy(to, from, length);
    bits->count += (uint64_t)length * 8;
    *at += (uint64_t)length * 8;
    *count -= (uint64_t)length * 8;
}

bool cv_bits_copy(struct cv_bits *bits, const uint8_t *bytes, uint64_t at, uint64_t count)
{
    if (!grow(bits, count))
        return false;
    if (bits->count % 8 == 0)
        copy_bytes(bits, bytes, &at, &count);
    for (; count >= 8; count -= 8, at += 8)
        put(bits, (unsigned)cv_bits_get(bytes, at, 8), 8);
    if (count > 0)
        put(bits, (unsigned)cv_bits_get(bytes, at, (unsigned)count), (unsigned)count);
    return true;
}
