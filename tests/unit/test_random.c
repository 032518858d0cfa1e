/* test_random.c -- random streams: repeatable, independent, of the right law.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "base/random.h"

enum { DRAWS = 200000 };

static void streams_are_functions_of_their_name(void **state)
{
    struct cv_random a, b, other;

    (void)state;
    cv_random_at(&a, 1, 2, 3, 4);
    cv_random_at(&b, 1, 2, 3, 4);
    for (int i = 0; i < 100; i++)
        assert_true(cv_random_bits(&a) == cv_random_bits(&b));
    for (uint32_t which = 0; which < 4; which++) {
        cv_random_at(&a, 1, 2, 3, 4);
        cv_random_at(&other, which == 0 ? 9 : 1, which == 1 ? 9 : 2, which == 2 ? 9 : 3,
                     which == 3 ? 9 : 4);
        assert_true(cv_random_bits(&a) != cv_random_bits(&other));
    }
}

static int ascending(const void *left, const void *right)
{
    const double *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/* Largest distance between the empirical and the given distribution, times sqrt(n):
 * above 1.95 happens once in a thousand samples of the right law; seeds are fixed. */
static double kolmogorov(double *sample, size_t n, double (*cdf)(double))
{
    double worst = 0;

    qsort(sample, n, sizeof *sample, ascending);
    for (size_t i = 0; i < n; i++) {
        double f = cdf(sample[i]);

        worst = fmax(worst, fmax(f - (double)i / (double)n, (double)(i + 1) / (double)n - f));
    }
    return worst * sqrt((double)n);
}

static double uniform_cdf(double x)
{
    return x;
}

static double normal_cdf(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

/* Gamma with mean 1 and CV 1 is exponential; with CV 1/sqrt(2), Erlang of shape 2. */
static double exponential_cdf(double x)
{
    return 1 - exp(-x);
}

static double erlang2_cdf(double x)
{
    return 1 - exp(-2 * x) * (1 + 2 * x);
}

/* Shape 1/2 (CV sqrt 2): the square of a normal. */
static double half_shape_cdf(double x)
{
    return erf(sqrt(x / 2));
}

static double gamma_cv1(struct cv_random *random)
{
    return cv_random_gamma(random, 1);
}

static double gamma_erlang2(struct cv_random *random)
{
    return cv_random_gamma(random, sqrt(0.5));
}

static double gamma_half(struct cv_random *random)
{
    return cv_random_gamma(random, sqrt(2));
}

static void samples_follow_their_law(void **state)
{
    static const struct {
        double (*draw)(struct cv_random *random);
        double (*cdf)(double x);
    } laws[] = {
        { cv_random_uniform, uniform_cdf }, { cv_random_normal, normal_cdf },
        { gamma_cv1, exponential_cdf },     { gamma_erlang2, erlang2_cdf },
        { gamma_half, half_shape_cdf },
    };
    double *sample = malloc(DRAWS * sizeof *sample);

    (void)state;
    assert_non_null(sample);
    for (size_t law = 0; law < sizeof laws / sizeof *laws; law++) {
        struct cv_random random;

        /* One draw per stream, as the simulator uses it. */
        for (uint32_t i = 0; i < DRAWS; i++) {
            cv_random_at(&random, 12345, i, 0, (uint32_t)law);
            sample[i] = laws[law].draw(&random);
        }
        assert_true(kolmogorov(sample, DRAWS, laws[law].cdf) < 1.95);
    }
    free(sample);
}

static void gamma_has_mean_one_and_its_cv(void **state)
{
    static const double cvs[] = { 0.001, 0.1, 0.5, 1, 2, 3 };

    (void)state;
    for (size_t k = 0; k < sizeof cvs / sizeof *cvs; k++) {
        double sum = 0, squares = 0, mean, cv;
        struct cv_random random;

        cv_random_at(&random, 99, (uint32_t)k, 0, 0);
        for (int i = 0; i < DRAWS; i++) {
            double x = cv_random_gamma(&random, cvs[k]);

            assert_true(x >= 0 && isfinite(x));
            sum += x;
            squares += x * x;
        }
        mean = sum / DRAWS;
        cv = sqrt(squares / DRAWS - mean * mean) / mean;
        /* Five standard errors of the mean; the CV of heavy tails converges slowly. */
        assert_true(fabs(mean - 1) < 5 * cvs[k] / sqrt(DRAWS));
        assert_true(fabs(cv / cvs[k] - 1) < 0.05);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_functions_of_their_name),
        cmocka_unit_test(samples_follow_their_law),
        cmocka_unit_test(gamma_has_mean_one_and_its_cv),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
