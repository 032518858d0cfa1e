/* crc32.c -- the check of gzip. SPDX-License-Identifier: MIT */
#include "run/inflate/crc32.h"

#include <libdeflate.h>

static const uint32_t POLYNOMIAL = 0xEDB88320u;

uint32_t cv_crc32(uint32_t before, const void *bytes, size_t length)
{
    return libdeflate_crc32(before, bytes, length);
}

/* Polynomials modulo that of the check, the highest power in the lowest bit. */
static uint32_t times(uint32_t a, uint32_t b)
{
    uint32_t product = 0;

    for (; a != 0; a <<= 1) {
        product ^= (a & 0x80000000u) != 0 ? b : 0;
        b = b >> 1 ^ ((b & 1) != 0 ? POLYNOMIAL : 0);
    }
    return product;
}

/* Each byte behind multiplies what is before by x^8. */
uint32_t cv_crc32_join(uint32_t before, uint32_t behind, uint64_t length)
{
    uint32_t power = 0x00800000u;

    for (; length > 0; length >>= 1) {
        if ((length & 1) != 0)
            before = times(before, power);
        power = times(power, power);
    }
    return before ^ behind;
}
