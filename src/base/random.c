/* random.c -- random numbers as a function of a key. SPDX-License-Identifier: MIT
 *
 * Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011, from Random123): the counter is
 * (a, b, c, block), the key is the seed. Gamma: the squeeze method of Marsaglia and
 * Tsang, ACM TOMS 26(3), 2000. Normal: Box and Muller's polar-free form, one block each. */
#include "base/random.h"

#include <math.h>

/* Random123 does not compile cleanly under our warnings. */
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

void cv_random_at(struct cv_random *random, uint64_t seed, uint32_t a, uint32_t b, uint32_t c)
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

/* Gamma of the given shape >= 1 and scale 1. */
static double gamma_from_one(struct cv_random *random, double shape)
{
    const double d = shape - 1.0 / 3;
    const double c = 1 / sqrt(9 * d);

    for (;;) {
        double x = cv_random_normal(random);
        double v = 1 + c * x;

        if (v <= 0)
            continue;
        v = v * v * v;
        if (log(cv_random_uniform(random)) < 0.5 * x * x + d * (1 - v + log(v)))
            return d * v;
    }
}

double cv_random_gamma(struct cv_random *random, double cv)
{
    double shape = 1 / (cv * cv);

    if (shape >= 1)
        return gamma_from_one(random, shape) / shape;
    /* A gamma of shape k is one of shape k + 1 times u^(1/k). */
    return gamma_from_one(random, shape + 1) *
           exp(log(cv_random_uniform(random)) / shape) / shape;
}
