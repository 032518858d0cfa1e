/* test_monte_carlo.c -- simulation: same result on any number of threads, right moments.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include <cleave/cleave.h>

static struct cleave_platform *unequal(void)
{
    static const struct cleave_worker workers[] = { { 1, 0.5, 20, 0.2, 20, 0.2 },
                                                    { 3, 0.1, 40, 0.1, 40, 0.1 },
                                                    { 2, 0.3, 10, 0.4, 10, 0.4 } };
    struct cleave_platform *platform = NULL;

    assert_int_equal(cleave_platform_new(CLEAVE_PORT_ONE, workers, 3, &platform, NULL),
                     CLEAVE_OK);
    return platform;
}

static struct cleave_stats simulate(const struct cleave_job *job, uint64_t runs,
                                    unsigned threads, const char *noise)
{
    struct cleave_trial trial = { .runs = runs, .threads = threads };
    struct cleave_stats stats;
    struct cleave_error err;

    assert_int_equal(cleave_noise_parse(noise, &trial.noise, NULL), CLEAVE_OK);
    if (cleave_simulate_load(job, &trial, &stats, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    return stats;
}

static void threads_change_nothing(void **state)
{
    static const char *const policies[] = { "umr", "factoring", "rx", "auto" };
    struct cleave_platform *platform = unequal();

    (void)state;
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        struct cleave_job job = { .platform = platform,
                                  .load = 500,
                                  .policy = policies[i],
                                  .error = 0.2,
                                  .seed = 4 };
        struct cleave_stats one = simulate(&job, 333, 1, "gamma:0.3");

        for (unsigned threads = 2; threads <= 7; threads += 5) {
            struct cleave_stats many = simulate(&job, 333, threads, "gamma:0.3");

            assert_true(one.mean_s == many.mean_s && one.stddev_s == many.stddev_s);
            assert_true(one.q10_s == many.q10_s && one.median_s == many.median_s);
            assert_true(one.q90_s == many.q90_s && one.utilisation == many.utilisation);
        }
    }
    cleave_platform_free(platform);
}

static void without_noise_every_run_is_the_plan(void **state)
{
    struct cleave_platform *platform = unequal();
    struct cleave_job job = { .platform = platform, .load = 500, .policy = "umr" };
    struct cleave_schedule *schedule = NULL;
    struct cleave_stats stats = simulate(&job, 50, 2, "none");

    (void)state;
    assert_int_equal(cleave_plan_load(&job, &schedule, NULL), CLEAVE_OK);
    assert_true(stats.least_s == schedule->makespan_s &&
                stats.most_s == schedule->makespan_s);
    assert_true(stats.mean_s == schedule->makespan_s && stats.stddev_s == 0);
    assert_true(stats.utilisation == schedule->utilisation);
    cleave_schedule_free(schedule);
    cleave_platform_free(platform);
}

/* One worker, one chunk: the makespan is one transfer plus one computation, each times a
 * factor of mean 1 and CV 0.5. */
static void moments_agree_with_the_noise(void **state)
{
    static const struct cleave_worker worker = { 1, 2, 10, 1, 10, 1 };
    static const struct cleave_setting all_at_once[] = { { "chunk", "10" } };
    struct cleave_platform *platform = NULL;
    struct cleave_job job = {
        .load = 10, .policy = "self", .settings = all_at_once, .nsettings = 1
    };
    struct cleave_stats stats;
    double spread = 0.5 * sqrt(2 * 2 + 12 * 12);

    (void)state;
    assert_int_equal(cleave_platform_new(CLEAVE_PORT_ONE, &worker, 1, &platform, NULL),
                     CLEAVE_OK);
    job.platform = platform;
    stats = simulate(&job, 40000, 0, "gamma:0.5");
    assert_true(fabs(stats.mean_s - 14) < 5 * spread / 200);
    assert_true(fabs(stats.stddev_s / spread - 1) < 0.05);
    assert_true(fabs(stats.stderr_s - stats.stddev_s / 200) < 1e-12);
    assert_true(stats.least_s < stats.q10_s && stats.q10_s < stats.median_s &&
                stats.median_s < stats.q90_s && stats.q90_s < stats.most_s);
    cleave_platform_free(platform);
}

static void bad_trials_are_refused(void **state)
{
    struct cleave_platform *platform = unequal();
    struct cleave_job job = { .platform = platform, .load = 500, .policy = "umr" };
    struct cleave_trial none = { .runs = 0 };
    struct cleave_stats stats = { .mean_s = 17 };
    struct cleave_error err;

    (void)state;
    assert_int_equal(cleave_simulate_load(&job, &none, &stats, &err), CLEAVE_EINPUT);
    assert_string_equal(err.text, "expected 1 to 4000000000 runs, got 0");
    assert_true(stats.mean_s == 17);
    job.policy = "umrr";
    none.runs = 1;
    assert_int_equal(cleave_simulate_load(&job, &none, &stats, &err), CLEAVE_EINPUT);
    assert_non_null(strstr(err.text, "unknown policy 'umrr'"));
    assert_non_null(strstr(err.text, "'umr'"));
    job.policy = "umr";
    job.load = NAN;
    assert_int_equal(cleave_simulate_load(&job, &none, &stats, &err), CLEAVE_EINPUT);
    assert_int_equal(cleave_noise_parse("gamma", &none.noise, &err), CLEAVE_EINPUT);
    assert_int_equal(cleave_noise_parse("gamma:-1", &none.noise, &err), CLEAVE_EINPUT);
    assert_int_equal(cleave_noise_parse("gamma:nan", &none.noise, &err), CLEAVE_EINPUT);
    cleave_platform_free(platform);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(without_noise_every_run_is_the_plan),
        cmocka_unit_test(moments_agree_with_the_noise),
        cmocka_unit_test(bad_trials_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
