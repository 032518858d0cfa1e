/* split_mask.h -- comparison of 64 bytes at once. SPDX-License-Identifier: MIT */
#ifndef CV_SPLIT_MASK_H
#define CV_SPLIT_MASK_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__ARM_NEON) && defined(__aarch64__) && !defined(__ARM_BIG_ENDIAN)
#include <arm_neon.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Bit i: bytes[i] == byte. */
static inline uint64_t cv_mask64_plain(const char *bytes, char byte)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    const uint64_t pattern = UINT64_C(0x0101010101010101) * (uint8_t)byte;
    uint64_t mask = 0;

    for (size_t i = 0; i < 8; i++) {
        uint64_t word, zero;

        memcpy(&word, bytes + 8 * i, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        word ^= pattern;
        /* The highest bit of each zero byte; no carry between bytes. */
        zero = ~(((word & low) + low) | word | low);
        /* The product collects these eight bits in its highest byte. */
        mask |= ((zero >> 7) * UINT64_C(0x0102040810204080) >> 56) << (8 * i);
    }
    return mask;
}

/* With the vector instructions that every processor of the architecture has. */
static inline uint64_t cv_mask64(const char *bytes, char byte)
{
#if defined(__ARM_NEON) && defined(__aarch64__) && !defined(__ARM_BIG_ENDIAN)
    static const uint8_t weights[16] = { 1, 2, 4, 8, 16, 32, 64, 128,
                                         1, 2, 4, 8, 16, 32, 64, 128 };
    const uint8x16_t weight = vld1q_u8(weights), same = vdupq_n_u8((uint8_t)byte);
    const uint8_t *at = (const uint8_t *)bytes;
    uint8x16_t a = vandq_u8(vceqq_u8(vld1q_u8(at), same), weight);
    uint8x16_t b = vandq_u8(vceqq_u8(vld1q_u8(at + 16), same), weight);
    uint8x16_t c = vandq_u8(vceqq_u8(vld1q_u8(at + 32), same), weight);
    uint8x16_t d = vandq_u8(vceqq_u8(vld1q_u8(at + 48), same), weight);
    uint8x16_t sum = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));

    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(sum, sum)), 0);
#elif defined(__SSE2__)
    const __m128i same = _mm_set1_epi8(byte);
    uint64_t mask = 0;

    for (size_t i = 0; i < 4; i++) {
        __m128i part = _mm_loadu_si128((const __m128i *)(const void *)(bytes + 16 * i));

        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(part, same))
                << (16 * i);
    }
    return mask;
#else
    return cv_mask64_plain(bytes, byte);
#endif
}

/* Bit i of the result is the parity of bits 0 to i. */
static inline uint64_t cv_running_parity(uint64_t bits)
{
    for (unsigned shift = 1; shift < 64; shift *= 2)
        bits ^= bits << shift;
    return bits;
}

#endif
