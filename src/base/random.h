/* random.h -- random numbers as a function of a key. SPDX-License-Identifier: MIT
 *
 * A stream is named by (seed, a, b, c) and does not depend on other streams, so results
 * are the same on any number of threads. */
#ifndef CV_RANDOM_H
#define CV_RANDOM_H
#include <stdint.h>

struct cv_random {
    uint64_t seed;
    uint32_t name[3];
    uint32_t block; /* blocks drawn so far    */
    uint32_t bits[4];
    unsigned left; /* words of bits not used */
};

void cv_random_at(struct cv_random *random, uint64_t seed, uint32_t a, uint32_t b,
                  uint32_t c);
uint64_t cv_random_bits(struct cv_random *random);
/* Uniform in the open interval (0, 1), 53 bits. */
double cv_random_uniform(struct cv_random *random);
/* Mean 0, standard deviation 1. */
double cv_random_normal(struct cv_random *random);
/* Gamma with mean 1 and coefficient of variation `cv` >= 0. For many variates of one
 * distribution base/gamma_sampler.h is several times faster. */
double cv_random_gamma(struct cv_random *random, double cv);

/* A seed for purpose 0, 1, ...: streams of the same name under derived seeds are
 * independent, also if `seed` is a neighbouring number. */
uint64_t cv_random_derive(uint64_t seed, uint64_t purpose);

/* A number above 0 that no other process has: for names, not for secrets. */
uint64_t cv_random_key(void);

#endif
