/* gamma_sampler.h -- gamma variates as a function of (seed, run, i, j), fast.
 * SPDX-License-Identifier: MIT
 *
 * One block of 128 random bits most often is enough for one variate:
 *   CV = 1           an exponential by the ziggurat (64 bits);
 *   CV < 1, k > 1    Marsaglia and Tsang: a normal by the ziggurat (64 bits), its cube,
 *                    and a uniform (64 bits) that a polynomial accepts;
 *   CV > 1, k < 1    the same for shape k + 1, times u^(1/k) = exp(-E/k) with E an
 *                    exponential by the ziggurat, so that exp is the only function called.
 * Where the polynomial or a ziggurat does not decide, the same bits are read again by
 * cv_gamma_from, which goes on with further blocks of the same stream: the short way
 * is only short, never another value. k = 1/CV^2 is the shape.
 *
 * The generator is Philox2x64 of Random123 with 7 rounds, one more than its authors found
 * needed to pass all of BigCrush (Salmon, Moraes, Dror, Shaw, SC 2011). The counter is
 * (run, i, j, block) and the key is the seed. */
#ifndef CV_GAMMA_SAMPLER_H
#define CV_GAMMA_SAMPLER_H
#include <stdint.h>
#include "base/philox.h"
#include "base/ziggurat.h"

enum cv_gamma_method {
    CV_GAMMA_CONSTANT,    /* CV = 0 or mean = 0 */
    CV_GAMMA_EXPONENTIAL, /* CV = 1             */
    CV_GAMMA_LARGE,       /* CV < 1, shape > 1  */
    CV_GAMMA_SMALL,       /* CV > 1, shape < 1  */
};

/* A law and what its sampler needs, computed once. Read-only after cv_gamma_init. */
struct cv_gamma {
    enum cv_gamma_method method;
    double mean, cv;
    double d, c;    /* shape - 1/3 (shape + 2/3 if SMALL), 1/sqrt(9 d)              */
    double squeeze; /* a uniform below 1 - squeeze x^4 is accepted for the normal x */
    double scale;   /* of v^3 or of the exponential                                 */
    double inverse; /* 1/shape                                                      */
};

/* Both `mean` and `cv` must be finite and not negative. A `cv` below 1e-12 counts as 0.
 * With a large one many variates are too small for a double and come out as 0. */
void cv_gamma_init(struct cv_gamma *law, double mean, double cv);

/* The variate in full, out of any words. */
double cv_gamma_from(const struct cv_gamma *law, const struct cv_words *words);

/* cv_gamma_at in full, for what the short way leaves undecided. */
double cv_gamma_at_slow(const struct cv_gamma *law, uint64_t seed, uint32_t run, uint32_t i,
                        uint32_t j);

/* A SMALL variate takes three numbers from one block: the second word is cut into 44 bits
 * for the abscissa of an exponential, 12 bits for the head of the uniform, whose other
 * bits are drawn only if these do not decide, and 8 bits for the layer. */
static inline double cv_gamma_small_u(uint64_t word)
{
    return ((double)(word >> 20) + 0.5) * 0x1p-44;
}

static inline double cv_gamma_small_head(uint64_t word)
{
    return (double)(word >> 8 & 0xfff);
}

/* The variate of `law` named (seed, run, i, j). */
static inline double cv_gamma_at(const struct cv_gamma *law, uint64_t seed, uint32_t run,
                                 uint32_t i, uint32_t j)
{
    struct cv_block block;
    double x, v, power, e;

    if (law->method == CV_GAMMA_CONSTANT)
        return law->mean;
    block = cv_philox(seed, run, i, j, 0);
    if (law->method == CV_GAMMA_EXPONENTIAL) {
        if (cv_exponential_sure(block.word[0] & (CV_LAYERS - 1), cv_unit(block.word[0]), &e))
            return law->scale * e;
        return cv_gamma_at_slow(law, seed, run, i, j);
    }
    if (!cv_normal_sure(block.word[0], &x))
        return cv_gamma_at_slow(law, seed, run, i, j);
    v = 1 + law->c * x;
    power = x * x;
    power *= power;
    if (law->method == CV_GAMMA_LARGE) {
        if (v > 0 && cv_unit(block.word[1]) < 1 - law->squeeze * power)
            return law->scale * (v * v * v);
    } else if (v > 0 &&
               cv_gamma_small_head(block.word[1]) + 1 < 4096 * (1 - law->squeeze * power) &&
               cv_exponential_sure(block.word[1] & (CV_LAYERS - 1),
                                   cv_gamma_small_u(block.word[1]), &e)) {
        return law->scale * (v * v * v) * exp(-e * law->inverse);
    }
    return cv_gamma_at_slow(law, seed, run, i, j);
}

#endif
