/* random.c -- random numbers as a function of a key. SPDX-License-Identifier: MIT
 *
 * Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011, from Random123): the counter is
 * (a, b, c, block), the key is the seed. Normal: Box and Muller's polar-free form, one
 * block each. */
#include "base/random.h"

#include <math.h>
#include <stddef.h>
#include <sys/random.h>

#include "base/gamma_sampler.h"

void cv_random_at(struct cv_random *random, uint64_t seed, uint32_t a, uint32_t b,
                  uint32_t c)
{
    random->seed = seed;
    random->name[0] = a;
    random->name[1] = b;
    random->name[2] = c;
    random->block = 0;
    random->left = 0;
}

static void draw_block(struct cv_random *random)
{
    philox4x32_ctr_t counter = { { random->name[0], random->name[1], random->name[2],
                                   random->block++ } };
    philox4x32_key_t key = { { (uint32_t)random->seed, (uint32_t)(random->seed >> 32) } };
    philox4x32_ctr_t bits = philox4x32(counter, key);

    for (unsigned i = 0; i < 4; i++)
        random->bits[i] = bits.v[i];
    random->left = 4;
}

uint64_t cv_random_bits(struct cv_random *random)
{
    uint64_t high, low;

    if (random->left < 2)
        draw_block(random);
    high = random->bits[--random->left];
    low = random->bits[--random->left];
    return high << 32 | low;
}

double cv_random_uniform(struct cv_random *random)
{
    /* The middle of one of 2^52 equal cells: never 0, never 1. */
    return ((double)(cv_random_bits(random) >> 12) + 0.5) * 0x1p-52;
}

double cv_random_normal(struct cv_random *random)
{
    const double two_pi = 6.283185307179586476925;
    double radius = sqrt(-2 * log(cv_random_uniform(random)));

    return radius * cos(two_pi * cv_random_uniform(random));
}

static uint64_t next_bits(void *source)
{
    return cv_random_bits(source);
}

double cv_random_gamma(struct cv_random *random, double cv)
{
    const struct cv_word_source words = { next_bits, random };
    const double shape = 1 / (cv * cv);
    struct cv_gamma distribution;

    if (cv <= 1) {
        cv_gamma_init(&distribution, 1, cv);
        return cv_gamma_from(&distribution, &words);
    }
    /* Layers do not pay for one variate. A gamma of shape k is one of shape k + 1 times
     * u^(1/k), and -log u is exponential. */
    cv_gamma_init(&distribution, 1 + cv * cv, 1 / sqrt(shape + 1));
    return cv_gamma_from(&distribution, &words) * exp(-cv_exponential(&words) * cv * cv);
}

uint64_t cv_random_derive(uint64_t seed, uint64_t purpose)
{
    /* No simulated run has the number UINT32_MAX. */
    return cv_philox(seed, UINT32_MAX, (uint32_t)(purpose >> 32), (uint32_t)purpose, 0)
        .word[0];
}

uint64_t cv_random_key(void)
{
    uint64_t key = 0;

    return getrandom(&key, sizeof key, 0) == (ssize_t)sizeof key && key != 0 ? key : 1;
}
