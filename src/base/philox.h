/* philox.h -- 128 random bits as a function of a name. SPDX-License-Identifier: MIT
 *
 * Random123 behind a front that compiles cleanly under our warnings. */
#ifndef CV_PHILOX_H
#define CV_PHILOX_H
#include <stdint.h>

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#endif
#include <Random123/philox.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

enum { CV_PHILOX_ROUNDS = 7 };

struct cv_random_block {
    uint64_t word[2];
};

/* Block `block` of the stream (seed, run, i, j): Philox2x64 with CV_PHILOX_ROUNDS. */
static inline struct cv_random_block cv_philox(uint64_t seed, uint32_t run, uint32_t i,
                                               uint32_t j, uint32_t block)
{
    philox2x64_ctr_t counter = { { (uint64_t)i << 32 | j, (uint64_t)run << 32 | block } };
    philox2x64_key_t key = { { seed } };
    philox2x64_ctr_t bits = philox2x64_R(CV_PHILOX_ROUNDS, counter, key);

    return (struct cv_random_block){ { bits.v[0], bits.v[1] } };
}

#endif
