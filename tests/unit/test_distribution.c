/* test_distribution.c -- laws as users write them: read, refused, drawn.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "model/reduce/reduce_costs.h"
#include "law_check.h"

enum { DRAWS = 100000 };

static double sample[DRAWS];

static struct cv_distribution law_of(const char *text)
{
    struct cleave_error err = { 0 };
    struct cv_distribution distribution;

    if (cv_distribution_parse(text, &distribution, &err) != CLEAVE_OK)
        fail_msg("%s: %s", text, err.text);
    return distribution;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-14 * fabs(b);
}

static void laws_know_mean_and_cv(void **state)
{
    static const struct {
        const char *text;
        double mean, cv;
    } cases[] = {
        { "5", 5, 0 },
        { "500ms", 0.5, 0 },
        { "2 min", 120, 0 },
        { "0", 0, 0 },
        { "-0", 0, 0 },
        { "const:3us", 3e-6, 0 },
        { "exp:10ms", 0.01, 1 },
        { "exp:0", 0, 0 },
        { "gamma:2,0.5", 2, 0.5 },
        { "gamma:2 s,30", 2, 30 },
        { "gamma:7,0", 7, 0 },
        { "gamma:0,3", 0, 0 },
        { "gamma:1e100,100", 1e100, 100 },
        { "lognormal:3,2", 3, 2 },
        { "lognormal:3,0", 3, 0 },
        { "lognormal:0,1", 0, 0 },
        { "uniform:0,6", 3, 0.57735026918962576 },
        { "uniform:4,4", 4, 0 },
        { "uniform:0,0", 0, 0 },
        { "bernoulli:1,3,0.5", 2, 0.5 },
        { "bernoulli:0,8s,0.25", 2, 1.7320508075688772 },
        { "bernoulli:1,9,0", 1, 0 },
        { "bernoulli:1,9,1", 9, 0 },
        { "bernoulli:0,0,0.5", 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cv_distribution distribution = law_of(cases[i].text);

        assert_true(near(cv_distribution_mean(&distribution), cases[i].mean));
        assert_true(near(cv_distribution_cv(&distribution), cases[i].cv));
        for (uint32_t j = 0; j < 100; j++) {
            double x = cv_distribution_draw(&distribution, 1, 2, 3, j);

            assert_true(x >= 0 && isfinite(x) && !signbit(x));
            if (cases[i].cv == 0)
                assert_true(x == cases[i].mean);
        }
    }
}

/* A text and the whole message. */
static const char *const refused[][2] = {
    { "", "expected a time such as 5ms or a law, got ''; known: gamma, exp, const, "
          "bernoulli, uniform, lognormal" },
    { "gama:1,2",
      "expected a time such as 5ms or a law, got 'gama'; did you mean 'gamma'?" },
    { "weibull:1,2", "expected a time such as 5ms or a law, got 'weibull'; known: gamma, "
                     "exp, const, bernoulli, uniform, lognormal" },
    { "nan", "expected a time such as 5ms or a law, got 'nan'; known: gamma, exp, const, "
             "bernoulli, uniform, lognormal" },
    { ":1", "expected a time such as 5ms or a law, got ''; known: gamma, exp, const, "
            "bernoulli, uniform, lognormal" },
    { "Gamma:1,2",
      "expected a time such as 5ms or a law, got 'Gamma'; did you mean 'gamma'?" },
    { "-1", "expected a time from 0 to 1e100, got '-1'" },
    { "1e101", "expected a time from 0 to 1e100, got '1e101'" },
    { "1e999", "expected a number below 1.8e308, got '1e999'" },
    { "5 metre", "expected a time such as 0.5, 500ms or 2min, got '5 metre'" },
    { "5,6", "expected a time such as 0.5, 500ms or 2min, got '5,6'" },
    { "gamma", "expected gamma:MEAN,CV, got 'gamma'" },
    { "gamma:", "expected gamma:MEAN,CV, got 'gamma:'" },
    { "gamma:1", "expected gamma:MEAN,CV, got 'gamma:1'" },
    { "gamma:1,2,3", "expected gamma:MEAN,CV, got 'gamma:1,2,3'" },
    { "gamma:1,", "CV of gamma:MEAN,CV: expected a number, got ''" },
    { "gamma:,1", "MEAN of gamma:MEAN,CV: expected a time such as 0.5, 500ms or 2min, "
                  "got ''" },
    { "gamma:1, 2", "CV of gamma:MEAN,CV: expected a number, got ' 2'" },
    { "gamma:1,2s", "CV of gamma:MEAN,CV: expected a number, got '2s'" },
    { "gamma:1,-0.5",
      "CV of gamma:MEAN,CV: expected a number from 0 to 100, got '-0.5'" },
    { "gamma:1,101", "CV of gamma:MEAN,CV: expected a number from 0 to 100, got '101'" },
    { "gamma:1,nan", "CV of gamma:MEAN,CV: expected a number, got 'nan'" },
    { "gamma:inf,1", "MEAN of gamma:MEAN,CV: expected a time such as 0.5, 500ms or 2min, "
                     "got 'inf'" },
    { "gamma:-1,1", "MEAN of gamma:MEAN,CV: expected a time from 0 to 1e100, got '-1'" },
    { "exp:1,2", "expected exp:MEAN, got 'exp:1,2'" },
    { "exp:x", "MEAN of exp:MEAN: expected a time such as 0.5, 500ms or 2min, got 'x'" },
    { "const:", "X of const:X: expected a time such as 0.5, 500ms or 2min, got ''" },
    { "const:-1ms", "X of const:X: expected a time from 0 to 1e100, got '-1ms'" },
    { "uniform:1", "expected uniform:LOW,HIGH, got 'uniform:1'" },
    { "uniform:2,1", "uniform:LOW,HIGH: expected LOW at most HIGH, got 'uniform:2,1'" },
    { "uniform:-2,1", "LOW of uniform:LOW,HIGH: expected a time from 0 to 1e100, "
                      "got '-2'" },
    { "bernoulli:0,1", "expected bernoulli:LOW,HIGH,P, got 'bernoulli:0,1'" },
    { "bernoulli:0,1,1.5", "P of bernoulli:LOW,HIGH,P: expected a number from 0 to 1, "
                           "got '1.5'" },
    { "bernoulli:0,-1,0.5", "HIGH of bernoulli:LOW,HIGH,P: expected a time from 0 to "
                            "1e100, got '-1'" },
    { "bernoulli:3,1,0.5",
      "bernoulli:LOW,HIGH,P: expected LOW at most HIGH, got 'bernoulli:3,1,0.5'" },
    { "lognormal:1", "expected lognormal:MEAN,CV, got 'lognormal:1'" },
    { "lognormal:1,1e3",
      "CV of lognormal:MEAN,CV: expected a number from 0 to 100, got '1e3'" },
    { "exp:\n", "MEAN of exp:MEAN: expected a time such as 0.5, 500ms or 2min, "
                "got '\\x0a'" },
};

static void bad_laws_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct cv_distribution distribution, before;
        struct cleave_error err = { 0 };

        memset(&distribution, 0x5a, sizeof distribution);
        memcpy(&before, &distribution, sizeof distribution);
        assert_int_equal(cv_distribution_parse(refused[i][0], &distribution, &err),
                         CLEAVE_EINPUT);
        assert_int_equal(err.status, CLEAVE_EINPUT);
        assert_string_equal(err.text, refused[i][1]);
        assert_memory_equal(&distribution, &before, sizeof distribution);
        assert_int_equal(cv_distribution_parse(refused[i][0], &distribution, NULL),
                         CLEAVE_EINPUT);
    }
}

/* A text of any length is shown in part, not copied past a buffer. */
static void long_texts_are_cut(void **state)
{
    struct cleave_error err = { 0 };
    struct cv_distribution distribution;
    char text[5000];

    (void)state;
    memset(text, '1', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_int_equal(cv_distribution_parse(text, &distribution, &err), CLEAVE_EINPUT);
    assert_non_null(strstr(err.text, "expected a time from 0 to 1e100, got '111"));
    assert_non_null(strstr(err.text, "...'"));
    memset(text, 'g', sizeof text - 1);
    assert_int_equal(cv_distribution_parse(text, &distribution, &err), CLEAVE_EINPUT);
    assert_non_null(strstr(err.text, "ggg...'; known: gamma"));
    memcpy(text, "gamma:1,", 8);
    assert_int_equal(cv_distribution_parse(text, &distribution, &err), CLEAVE_EINPUT);
    assert_non_null(strstr(err.text, "ggg...'"));
}

static double lognormal_cdf(double x, const double *mean_cv)
{
    double variance = log1p(mean_cv[1] * mean_cv[1]);

    return normal_cdf((log(x / mean_cv[0]) + variance / 2) / sqrt(variance), NULL);
}

static void draws_follow_their_law(void **state)
{
    static const struct {
        const char *text;
        cdf_of *cdf;
        double parameter[2];
    } cases[] = {
        { "gamma:2,0.2", gamma_cdf, { 2, 0.2 } },
        { "gamma:5ms,4", gamma_cdf, { 0.005, 4 } },
        { "exp:3", gamma_cdf, { 3, 1 } },
        { "uniform:1,4", uniform_cdf, { 1, 4 } },
        { "lognormal:2,0.1", lognormal_cdf, { 2, 0.1 } },
        { "lognormal:2,7", lognormal_cdf, { 2, 7 } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cv_distribution distribution = law_of(cases[i].text);

        for (uint32_t n = 0; n < DRAWS; n++)
            sample[n] = cv_distribution_draw(&distribution, 77, n % 10, n / 10, 5);
        assert_true(kolmogorov(sample, DRAWS, cases[i].cdf, cases[i].parameter) < 1.95);
    }
}

static void bernoulli_takes_its_two_values(void **state)
{
    static const char *const texts[] = { "bernoulli:1,5,0.001", "bernoulli:1,5,0.3",
                                         "bernoulli:1,5,0.999" };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct cv_distribution distribution = law_of(texts[i]);
        double high = 0, p = (distribution.mean - 1) / 4;

        for (uint32_t n = 0; n < DRAWS; n++) {
            double x = cv_distribution_draw(&distribution, 3, 1, 9, n);

            assert_true(x == 1 || x == 5);
            high += x == 5;
        }
        assert_true(fabs(high - p * DRAWS) < 4 * sqrt(p * (1 - p) * DRAWS));
    }
}

static void draws_are_functions_of_their_name(void **state)
{
    static const char *const texts[] = { "gamma:2,0.2", "gamma:2,5", "exp:3",
                                         "uniform:1,4", "lognormal:2,1" };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct cv_distribution distribution = law_of(texts[i]), copy = distribution;

        for (uint32_t n = 0; n < 1000; n++) {
            double x = cv_distribution_draw(&distribution, 1, 2, n, 4);

            assert_true(x == cv_distribution_draw(&copy, 1, 2, n, 4));
            assert_true(x != cv_distribution_draw(&distribution, 2, 2, n, 4));
            assert_true(x != cv_distribution_draw(&distribution, 1, 3, n, 4));
            assert_true(x != cv_distribution_draw(&distribution, 1, 2, n + 1, 4));
            assert_true(x != cv_distribution_draw(&distribution, 1, 2, n, 5));
        }
    }
}

static void a_constant_needs_no_text(void **state)
{
    struct cv_distribution distribution = cv_distribution_constant(2.5), zero = { 0 };

    (void)state;
    assert_true(cv_distribution_mean(&distribution) == 2.5 &&
                cv_distribution_cv(&distribution) == 0);
    assert_true(cv_distribution_draw(&distribution, 1, 2, 3, 4) == 2.5);
    assert_true(cv_distribution_draw(&zero, 1, 2, 3, 4) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws_know_mean_and_cv),
        cmocka_unit_test(bad_laws_are_refused),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(draws_follow_their_law),
        cmocka_unit_test(bernoulli_takes_its_two_values),
        cmocka_unit_test(draws_are_functions_of_their_name),
        cmocka_unit_test(a_constant_needs_no_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
