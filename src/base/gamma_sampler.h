/* gamma_sampler.h -- gamma variates as a function of (seed, run, i, j), fast.
 * SPDX-License-Identifier: MIT
 *
 * One block of 128 random bits most often is enough for one variate. With k = 1/CV^2 the
 * shape:
 *   CV = 1          an exponential by the ziggurat;
 *   CV < 1, k > 1   Marsaglia and Tsang: a normal by the ziggurat, its cube, a uniform
 *                   that a polynomial or a bound for all normals accepts;
 *   CV > 1, k < 1   a ziggurat over the logarithm of the variate, whose density is
 *                   log-concave for every k, and one exp.
 * The other 1.5 to 10% of the variates are left to cv_gamma_from, which reads the same
 * bits again and continues with further blocks of the same stream. The result is the same
 * either way.
 *
 * The generator is Philox2x64 of Random123 with 7 rounds, one more than its authors found
 * needed to pass all of BigCrush (Salmon, Moraes, Dror, Shaw, SC 2011). The counter is
 * (run, i, j, block) and the key is the seed. */
#ifndef CV_GAMMA_SAMPLER_H
#define CV_GAMMA_SAMPLER_H
#include <math.h>
#include <stdint.h>
#include "base/ziggurat.h"

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

enum cv_gamma_method {
    CV_GAMMA_CONSTANT,    /* CV = 0 or mean = 0 */
    CV_GAMMA_EXPONENTIAL, /* CV = 1             */
    CV_GAMMA_CUBE,        /* CV < 1, shape > 1  */
    CV_GAMMA_LOGARITHM,   /* CV > 1, shape < 1  */
};

/* A layer below the density of t = log(variate/mean). */
struct cv_gamma_layer {
    double left, width;         /* the first layer has its tails in it       */
    double sure_low, sure_high; /* t from here to there needs no other test  */
};

/* A distribution and tables of its sampler: some 10 kB, read-only after cv_gamma_init. */
struct cv_gamma {
    enum cv_gamma_method method;
    double mean, cv;
    /* CUBE */
    double d, c;     /* shape - 1/3, 1/sqrt(9 d)                                        */
    double squeeze;  /* a uniform below 1 - squeeze x^4 is accepted for the normal x    */
    double scale;    /* variate over (1 + c x)^3                                        */
    uint64_t always; /* a second word below this accepts any x that one word decides    */
    /* LOGARITHM */
    double shape, tail_low, tail_high; /* widths of the exponentials above the tails    */
    double height[CV_LAYERS + 1];      /* lower side of each layer, upper of the last   */
    struct cv_gamma_layer layer[CV_LAYERS];
};

/* `mean` and `cv` are finite and not negative; a `cv` below 1e-12 counts as 0. With a
 * large `cv` many variates underflow to 0. Takes a few tenths of a millisecond if cv >
 * 1. */
void cv_gamma_init(struct cv_gamma *dist, double mean, double cv);

double cv_gamma_from(const struct cv_gamma *dist, const struct cv_word_source *words);

#if defined(__GNUC__)
#define CV_COLD __attribute__((cold))
#else
#define CV_COLD
#endif

/* The part of cv_gamma_at that is rarely needed. */
CV_COLD double cv_gamma_at_slow(const struct cv_gamma *dist, uint64_t seed, uint32_t run,
                                uint32_t i, uint32_t j);

/* The normal of mean 0 and standard deviation 1 named (seed, run, i, j). */
double cv_normal_at(uint64_t seed, uint32_t run, uint32_t i, uint32_t j);

/* mean exp(t), by exp(t/2): exp is slow near its limits, and with a CV of 30 half of all
 * variates underflow. */
static inline double cv_gamma_of_logarithm(const struct cv_gamma *dist, double t)
{
    double root = exp(fmax(0.5 * t, -700));

    return dist->mean * root * root;
}

/* The variate named (seed, run, i, j). */
static inline double cv_gamma_at(const struct cv_gamma *dist, uint64_t seed, uint32_t run,
                                 uint32_t i, uint32_t j)
{
    struct cv_random_block block;
    unsigned layer;
    double x;

    if (dist->method == CV_GAMMA_CONSTANT)
        return dist->mean;
    block = cv_philox(seed, run, i, j, 0);
    layer = block.word[0] & (CV_LAYERS - 1);
    if (dist->method == CV_GAMMA_EXPONENTIAL) {
        if (cv_exponential_sure(layer, cv_unit(block.word[0]), &x))
            return dist->mean * x;
    } else if (dist->method == CV_GAMMA_CUBE) {
        if (cv_normal_sure(block.word[0], &x)) {
            double v = 1 + dist->c * x, square = x * x;

            if (block.word[1] < dist->always ||
                (v > 0 && cv_unit(block.word[1]) < 1 - dist->squeeze * (square * square)))
                return dist->scale * (v * v * v);
        }
    } else {
        const struct cv_gamma_layer *part = &dist->layer[layer];

        x = part->left + cv_unit(block.word[0]) * part->width;
        /* & has one branch to predict, && two. */
        if ((x >= part->sure_low) & (x <= part->sure_high))
            return cv_gamma_of_logarithm(dist, x);
    }
    return cv_gamma_at_slow(dist, seed, run, i, j);
}

/* Logarithm of the density of t = log(variate/mean), 0 at its peak t = 0. */
static inline double cv_gamma_log_density(const struct cv_gamma *dist, double t)
{
    return dist->shape * (t - expm1(t));
}

#endif
