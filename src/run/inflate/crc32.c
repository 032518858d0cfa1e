/* crc32.c -- the check of gzip. SPDX-License-Identifier: MIT
 *
 * By an instruction where the processor has one for this polynomial (arm64), and else by
 * sixteen tables, for as many bytes at a time. */
#include "run/inflate/crc32.h"

#include <pthread.h>
#include <string.h>
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

enum { TABLES = 16 };

static const uint32_t POLYNOMIAL = 0xEDB88320u;

static uint32_t tables[TABLES][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    for (unsigned i = 0; i < 256; i++) {
        uint32_t value = i;

        for (int bit = 0; bit < 8; bit++)
            value = value >> 1 ^ ((value & 1) != 0 ? POLYNOMIAL : 0);
        tables[0][i] = value;
    }
    for (unsigned t = 1; t < TABLES; t++)
        for (unsigned i = 0; i < 256; i++)
            tables[t][i] = tables[t - 1][i] >> 8 ^ tables[0][tables[t - 1][i] & 0xFF];
}

static uint32_t by_tables(uint32_t crc, const unsigned char *at, size_t length)
{
    pthread_once(&once, make_tables);
    for (; length >= TABLES; at += TABLES, length -= TABLES) {
        uint32_t next = 0;

        for (unsigned i = 0; i < TABLES; i++) {
            const unsigned byte = at[i] ^ (i < 4 ? crc >> 8 * i & 0xFF : 0);

            next ^= tables[TABLES - 1 - i][byte];
        }
        crc = next;
    }
    for (; length > 0; at++, length--)
        crc = crc >> 8 ^ tables[0][(crc ^ *at) & 0xFF];
    return crc;
}

#if defined(__aarch64__)
/* The header with names for both has them only where all of the program may use them. */
#if defined(__clang__)
#define WITH_CRC __attribute__((target("crc")))
#define CRC_WORD __builtin_arm_crc32d
#define CRC_BYTE __builtin_arm_crc32b
#else
#define WITH_CRC __attribute__((target("+crc")))
#define CRC_WORD __builtin_aarch64_crc32x
#define CRC_BYTE __builtin_aarch64_crc32b
#endif

WITH_CRC static uint32_t by_instruction(uint32_t crc, const unsigned char *at,
                                        size_t length)
{
    for (; length >= 8; at += 8, length -= 8) {
        uint64_t word;

        memcpy(&word, at, sizeof word);
        crc = CRC_WORD(crc, word);
    }
    for (; length > 0; at++, length--)
        crc = CRC_BYTE(crc, *at);
    return crc;
}
#endif

uint32_t cv_crc32(uint32_t before, const void *bytes, size_t length)
{
#if defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if ((getauxval(AT_HWCAP) & HWCAP_CRC32) != 0)
        return ~by_instruction(~before, bytes, length);
#endif
    return ~by_tables(~before, bytes, length);
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
