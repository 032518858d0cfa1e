/* distribution.h -- how long operations take: laws as users write them.
 * SPDX-License-Identifier: MIT
 *
 *   const:X, or X alone    always X
 *   exp:MEAN               exponential
 *   gamma:MEAN,CV          gamma; CV = standard deviation over mean, 0 to 100
 *   lognormal:MEAN,CV      the exponential of a normal
 *   uniform:LOW,HIGH       every value between them alike
 *   bernoulli:LOW,HIGH,P   HIGH with probability P, else LOW
 *
 * X, MEAN, LOW and HIGH are times from 0 to 1e100 s, with a unit if wanted (5ms). */
#ifndef CV_DISTRIBUTION_H
#define CV_DISTRIBUTION_H
#include <stdint.h>
#include <cleave/error.h>
#include "base/gamma_sampler.h"

enum cv_distribution_kind {
    CV_LAW_GAMMA, /* const and exp as well: they are gamma with CV 0 and 1 */
    CV_LAW_LOGNORMAL,
    CV_LAW_UNIFORM,
    CV_LAW_BERNOULLI,
};

/* Plain data: it may be copied. A zeroed law is the constant 0. */
struct cv_distribution {
    enum cv_distribution_kind kind;
    double mean, cv;
    struct cv_gamma gamma;
    double low, high, p; /* UNIFORM, BERNOULLI: p is the probability of high    */
    double mu, sigma;    /* LOGNORMAL: mean and standard deviation of its log   */
};

/* On failure *out is untouched and err->text says what was expected and what was got. */
enum cleave_status cv_distribution_parse(const char *text, struct cv_distribution *out,
                                         struct cleave_error *err);

/* Always `x`, which must be finite and not negative. */
struct cv_distribution cv_distribution_constant(double x);

static inline double cv_distribution_mean(const struct cv_distribution *distribution)
{
    return distribution->mean;
}

/* Standard deviation over mean; 0 for a law that only gives 0. */
static inline double cv_distribution_cv(const struct cv_distribution *distribution)
{
    return distribution->cv;
}

double cv_distribution_draw_other(const struct cv_distribution *distribution,
                                  uint64_t seed, uint32_t run, uint32_t i, uint32_t j);

/* The value named (seed, run, i, j), never negative. Two laws drawn under one name give
 * values made of the same bits; for independent ones each needs a seed of its own
 * (cv_random_derive). */
static inline double cv_distribution_draw(const struct cv_distribution *distribution,
                                          uint64_t seed, uint32_t run, uint32_t i,
                                          uint32_t j)
{
    if (distribution->kind == CV_LAW_GAMMA)
        return cv_gamma_at(&distribution->gamma, seed, run, i, j);
    return cv_distribution_draw_other(distribution, seed, run, i, j);
}

#endif
