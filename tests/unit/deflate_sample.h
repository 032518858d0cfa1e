/* deflate_sample.h -- bytes to compress, and what comes of it. SPDX-License-Identifier: MIT */
#ifndef DEFLATE_SAMPLE_H
#define DEFLATE_SAMPLE_H
#include <libdeflate.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "run/inflate/inflate.h"

enum sample_kind { SAMPLE_TEXT, SAMPLE_NUMBERS, SAMPLE_NOISE, SAMPLE_SAME, SAMPLE_KINDS };

/* `length` bytes, the same for the same kind. */
static inline void sample_fill(enum sample_kind kind, uint8_t *out, size_t length)
{
    struct cv_random random;
    char line[64];
    size_t at = 0;

    cv_random_at(&random, 7, (uint32_t)kind, 0, 0);
    for (unsigned i = 0; kind <= SAMPLE_NUMBERS && at + sizeof line < length; i++)
        at += (size_t)snprintf((char *)out + at, sizeof line,
                               kind == SAMPLE_TEXT ? "%u %u GET /index.html\n" : "%u%u\n",
                               i, (unsigned)(cv_random_bits(&random) % 1000000));
    for (; at < length; at++)
        out[at] = kind == SAMPLE_NOISE ? (uint8_t)cv_random_bits(&random) : 'a';
}

/* Raw deflate, owned by the caller. */
static inline uint8_t *sample_deflate(const uint8_t *bytes, size_t length, int level,
                                      size_t *out)
{
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(level);
    const size_t max = libdeflate_deflate_compress_bound(compressor, length);
    uint8_t *packed = malloc(max);

    *out = libdeflate_deflate_compress(compressor, bytes, length, packed, max);
    libdeflate_free_compressor(compressor);
    return packed;
}

/* Where a block begins: its first bit, and how much was decoded before it. */
struct sample_block {
    uint64_t bit;
    size_t made;
};

/* All blocks but the first. `out` has room for more than all that is decoded. */
static inline size_t sample_blocks(const uint8_t *packed, size_t length, uint8_t *out,
                                   size_t room, struct sample_block *blocks, size_t max)
{
    struct cv_inflate *inflate = malloc(sizeof *inflate);
    const uint8_t *in = packed;
    size_t left = length, at = 0, count = 0;
    enum cv_inflate_state state;

    cv_inflate_init(inflate);
    inflate->pauses = true;
    while ((state = cv_inflate_run(inflate, &in, &left, out, &at, room)) ==
               CV_INFLATE_PAUSE &&
           count < max)
        blocks[count++] =
            (struct sample_block){ (uint64_t)(in - packed) * 8 - inflate->nbits, at };
    free(inflate);
    return state == CV_INFLATE_END ? count : 0;
}

#endif
