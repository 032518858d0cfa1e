/* test_random.c -- random streams: repeatable, independent, with the right law.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/random.h"
#include "law_check.h"

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

static double gamma_cv1(struct cv_random *random)
{
    return cv_random_gamma(random, 1);
}

static double gamma_narrow(struct cv_random *random)
{
    return cv_random_gamma(random, 0.7);
}

static double gamma_wide(struct cv_random *random)
{
    return cv_random_gamma(random, 1.4);
}

static void samples_follow_their_law(void **state)
{
    static const struct {
        double (*draw)(struct cv_random *random);
        cdf_of *cdf;
        double parameter[2];
    } laws[] = {
        { cv_random_uniform, uniform_cdf, { 0, 1 } },
        { cv_random_normal, normal_cdf, { 0 } },
        { gamma_cv1, gamma_cdf, { 1, 1 } },
        { gamma_narrow, gamma_cdf, { 1, 0.7 } },
        { gamma_wide, gamma_cdf, { 1, 1.4 } },
    };
    double *sample = malloc(DRAWS * sizeof *sample);

    (void)state;
    assert_non_null(sample);
    for (size_t distribution = 0; distribution < sizeof laws / sizeof *laws;
         distribution++) {
        struct cv_random random;

        /* One draw per stream, as the simulator uses it. */
        for (uint32_t i = 0; i < DRAWS; i++) {
            cv_random_at(&random, 12345, i, 0, (uint32_t)distribution);
            sample[i] = laws[distribution].draw(&random);
        }
        assert_true(kolmogorov(sample, DRAWS, laws[distribution].cdf,
                               laws[distribution].parameter) < 1.95);
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

static void derived_seeds_all_differ(void **state)
{
    enum { SEEDS = 100, PURPOSES = 100 };
    static double seen[SEEDS * PURPOSES];
    const size_t all = sizeof seen / sizeof *seen;
    const double unit[] = { 0, 1 };

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        for (uint64_t purpose = 0; purpose < PURPOSES; purpose++) {
            uint64_t derived = cv_random_derive(seed, purpose);

            assert_true(derived == cv_random_derive(seed, purpose));
            assert_true(derived != cv_random_derive(seed, purpose + (UINT64_C(1) << 32)));
            seen[seed * PURPOSES + purpose] = (double)(derived >> 11) * 0x1p-53;
        }
    assert_true(kolmogorov(seen, all, uniform_cdf, unit) < 1.95);
    for (size_t i = 1; i < all; i++)
        assert_true(seen[i] > seen[i - 1]); /* kolmogorov has sorted them */
}

/* Platforms made from a seed and runs recorded with one must not change. */
static void streams_keep_their_values(void **state)
{
    struct cv_random random;

    (void)state;
    cv_random_at(&random, 1, 2, 3, 4);
    assert_true(cv_random_bits(&random) == UINT64_C(0xbb22042927cef87e));
    assert_true(cv_random_bits(&random) == UINT64_C(0xefd1c11de941da94));
    assert_true(cv_random_uniform(&random) == 0x1.7e0fff39b2a78p-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_functions_of_their_name),
        cmocka_unit_test(samples_follow_their_law),
        cmocka_unit_test(gamma_has_mean_one_and_its_cv),
        cmocka_unit_test(derived_seeds_all_differ),
        cmocka_unit_test(streams_keep_their_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
