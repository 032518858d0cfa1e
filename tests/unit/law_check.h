/* law_check.h -- distances between a sample and the law it should follow.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_LAW_CHECK_H
#define TESTS_LAW_CHECK_H
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* The distribution of a law with up to three parameters. */
typedef double cdf_of(double x, const double *parameter);

/* Regularised lower incomplete gamma P(shape, x): the series below shape + 1, one less
 * the continued fraction of Legendre above. */
static inline double incomplete_gamma(double shape, double x)
{
    double front, sum = 1, term = 1;

    if (x <= 0)
        return 0;
    front = exp(shape * log(x) - x - lgamma(shape + 1));
    if (x < shape + 1) {
        for (double n = shape + 1; term > 1e-16 * sum; n++)
            sum += term *= x / n;
        return front * sum;
    }
    /* Lentz: 1/(x + 1 - s - 1(1 - s)/(x + 3 - s - 2(2 - s)/(x + 5 - s - ...))). */
    {
        double b = x + 1 - shape, c = 1 / DBL_MIN, d = 1 / b, value = d, step = 0;

        for (double n = 1; fabs(step - 1) > 1e-16 && n < 1e6; n++) {
            double a = -n * (n - shape);

            b += 2;
            d = a * d + b;
            d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
            c = b + a / c;
            if (fabs(c) < DBL_MIN)
                c = DBL_MIN;
            step = c * d;
            value *= step;
            if (step == 1)
                break;
        }
        return 1 - front * shape * value;
    }
}

static inline double gamma_cdf(double x, const double *mean_cv)
{
    double shape = 1 / (mean_cv[1] * mean_cv[1]);

    return incomplete_gamma(shape, x / mean_cv[0] * shape);
}

static inline double normal_cdf(double x, const double *parameter)
{
    (void)parameter;
    return 0.5 * erfc(-x / sqrt(2));
}

static inline double uniform_cdf(double x, const double *low_high)
{
    return (x - low_high[0]) / (low_high[1] - low_high[0]);
}

static inline int ascending(const void *left, const void *right)
{
    const double *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/* Largest distance between the empirical and the given distribution, times sqrt(n):
 * above 1.95 happens once in a thousand samples of the right law; seeds are fixed.
 * Positive values below the least normal double are counted but not looked at. */
static inline double kolmogorov(double *sample, size_t n, cdf_of *cdf,
                                const double *parameter)
{
    double worst = 0;

    qsort(sample, n, sizeof *sample, ascending);
    for (size_t i = 0; i < n; i++) {
        double f;

        if (sample[i] >= 0 && sample[i] < DBL_MIN)
            continue;
        f = cdf(sample[i], parameter);
        worst =
            fmax(worst, fmax(f - (double)i / (double)n, (double)(i + 1) / (double)n - f));
    }
    return worst * sqrt((double)n);
}

#endif
