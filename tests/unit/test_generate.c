/* test_generate.c -- random platforms. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "model/platform/generate.h"

static struct cleave_platform *generate(const struct cv_generate *wanted)
{
    struct cleave_platform *platform = NULL;
    struct cleave_error err;

    if (cv_generate_platform(wanted, &platform, &err) != CLEAVE_OK)
        fail_msg("%s: %s", err.field, err.text);
    return platform;
}

static void preset_is_ten_alike(void **state)
{
    static const struct cleave_worker mean = { 1, 1, 20, 1, 20, 1 };
    struct cleave_platform *platform;
    struct cv_generate wanted;

    (void)state;
    cv_generate_preset(&wanted);
    platform = generate(&wanted);
    assert_int_equal(cleave_platform_nworkers(platform), 10);
    assert_int_equal(cleave_platform_port(platform), CLEAVE_PORT_ONE);
    for (uint32_t i = 0; i < 10; i++)
        assert_memory_equal(&cleave_platform_workers(platform)[i], &mean, sizeof mean);
    cleave_platform_free(platform);
}

static void workers_do_not_depend_on_their_number(void **state)
{
    struct cleave_platform *few, *many, *other;
    struct cv_generate wanted;

    (void)state;
    cv_generate_preset(&wanted);
    wanted.heterogeneity = 10;
    wanted.seed = 5;
    wanted.port = CLEAVE_PORT_MULTI;
    few = generate(&wanted);
    wanted.workers = 1000;
    many = generate(&wanted);
    wanted.seed = 6;
    other = generate(&wanted);
    assert_memory_equal(cleave_platform_workers(few), cleave_platform_workers(many),
                        10 * sizeof(struct cleave_worker));
    assert_memory_not_equal(cleave_platform_workers(other), cleave_platform_workers(many),
                            10 * sizeof(struct cleave_worker));
    assert_int_equal(cleave_platform_port(few), CLEAVE_PORT_MULTI);
    assert_string_equal(cleave_platform_worker_name(many, 999), "w999");
    cleave_platform_free(few);
    cleave_platform_free(many);
    cleave_platform_free(other);
}

/* For one number of all workers: mean, smallest and largest, and its mean product with
 * the next number, each relative to the requested mean. */
static void check_spread(const struct cleave_platform *platform, size_t offset,
                         double mean, double h)
{
    uint32_t n = cleave_platform_nworkers(platform);
    double sum = 0, squares = 0, min = INFINITY, max = 0;

    for (uint32_t i = 0; i < n; i++) {
        double value;

        memcpy(&value, (const char *)&cleave_platform_workers(platform)[i] + offset,
               sizeof value);
        value /= mean;
        sum += value;
        squares += (value - 1) * (value - 1);
        min = fmin(min, value);
        max = fmax(max, value);
    }
    /* Uniform: mean 1, variance h^2 / 3; 6 standard errors. */
    assert_true(fabs(sum / n - 1) < 6 * h / sqrt(3.0 * n));
    assert_true(fabs(squares / n - h * h / 3) < 6 * h * h * 0.3 / sqrt(n));
    assert_true(min > 1 - h && min < 1 - h + 0.001);
    assert_true(max < 1 + h && max > 1 + h - 0.001);
}

static void numbers_are_uniform(void **state)
{
    struct cleave_platform *platform;
    struct cv_generate wanted = { .workers = 50000,
                                  .heterogeneity = 4,
                                  .seed = 11,
                                  .speed = 3,
                                  .compute_latency = 0.5,
                                  .bandwidth = 70,
                                  .latency = 0.01 };
    const double h = 3.0 / 5;
    double both = 0;

    (void)state;
    platform = generate(&wanted);
    check_spread(platform, offsetof(struct cleave_worker, speed_ups), 3, h);
    check_spread(platform, offsetof(struct cleave_worker, compute_latency_s), 0.5, h);
    check_spread(platform, offsetof(struct cleave_worker, bandwidth_ups), 70, h);
    check_spread(platform, offsetof(struct cleave_worker, latency_s), 0.01, h);
    for (uint32_t i = 0; i < wanted.workers; i++) {
        const struct cleave_worker *worker = &cleave_platform_workers(platform)[i];

        assert_true(worker->return_bandwidth_ups == worker->bandwidth_ups);
        assert_true(worker->return_latency_s == worker->latency_s);
        both += (worker->speed_ups / 3 - 1) * (worker->bandwidth_ups / 70 - 1);
    }
    /* Speed and bandwidth are independent. */
    assert_true(fabs(both / wanted.workers) < 6 * h * h / 3 / sqrt(wanted.workers));
    cleave_platform_free(platform);
}

static void extremes_stay_usable(void **state)
{
    struct cleave_platform *platform;
    struct cv_generate wanted;

    (void)state;
    cv_generate_preset(&wanted);
    wanted.workers = 10000;
    wanted.heterogeneity = 1e300;
    wanted.latency = wanted.compute_latency = 0;
    platform = generate(&wanted);
    for (uint32_t i = 0; i < wanted.workers; i++) {
        assert_true(cleave_platform_workers(platform)[i].speed_ups > 0);
        assert_true(cleave_platform_workers(platform)[i].latency_s == 0);
    }
    cleave_platform_free(platform);
}

static void bad_wishes_are_refused(void **state)
{
    static const struct {
        size_t offset;
        double value;
        const char *field, *text;
    } cases[] = {
#define AT(name) offsetof(struct cv_generate, name)
        { AT(heterogeneity), 0.5, "heterogeneity",
          "expected a number of at least 1, got '0.5'" },
        { AT(heterogeneity), NAN, "heterogeneity",
          "expected a number of at least 1, got 'nan'" },
        { AT(speed), 0, "speed", "expected a number above 0, got '0'" },
        { AT(bandwidth), -1, "bandwidth", "expected a number above 0, got '-1'" },
        { AT(latency), -0.1, "latency", "expected a number of at least 0, got '-0.1'" },
        { AT(compute_latency), INFINITY, "compute_latency",
          "expected a number of at least 0, got 'inf'" },
#undef AT
    };
    struct cleave_platform *platform = NULL;
    struct cv_generate wanted;
    struct cleave_error err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cv_generate_preset(&wanted);
        memcpy((char *)&wanted + cases[i].offset, &cases[i].value, sizeof(double));
        assert_int_equal(cv_generate_platform(&wanted, &platform, &err), CLEAVE_EINPUT);
        assert_string_equal(err.field, cases[i].field);
        assert_string_equal(err.text, cases[i].text);
    }
    cv_generate_preset(&wanted);
    wanted.workers = 0;
    assert_int_equal(cv_generate_platform(&wanted, &platform, &err), CLEAVE_EINPUT);
    assert_string_equal(err.text, "expected a whole number from 1 to 10000000, got '0'");
    wanted.workers = CLEAVE_MAX_WORKERS + 1;
    assert_int_equal(cv_generate_platform(&wanted, &platform, NULL), CLEAVE_EINPUT);
    assert_null(platform);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(preset_is_ten_alike),
        cmocka_unit_test(workers_do_not_depend_on_their_number),
        cmocka_unit_test(numbers_are_uniform),
        cmocka_unit_test(extremes_stay_usable),
        cmocka_unit_test(bad_wishes_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
