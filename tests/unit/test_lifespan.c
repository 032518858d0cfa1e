/* test_lifespan.c -- the most units within a lifespan, by policies that know it and
 * policies that do not. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>
#include <cleave/run.h>

enum { SEEDS = 6 };
static const double LIFESPAN_S = 21.668050517712629, SHORT_S = 13.07;
static const double RATIO = 0.21272836858400007;

/* Results go out over links that are narrow in turn: the search of rounds finds plans for one
 * load that are some percent better than for the next, so that none is near the lifespan. */
static const char uneven[] =
    "port: duplex\n"
    "workers:\n"
    "  - {name: w0, speed: 9.186363, compute_latency: 0.639876, bandwidth: 3.012521, "
    "latency: 0.067167, return_bandwidth: 2.801684, return_latency: 0.036126}\n"
    "  - {name: w1, speed: 5.630491, compute_latency: 1.587235, bandwidth: 22.332726, "
    "latency: 0.023311, return_bandwidth: 0.943229, return_latency: 0.019734}\n"
    "  - {name: w2, speed: 9.779947, compute_latency: 0.633811, bandwidth: 6.778469, "
    "latency: 0.026156, return_bandwidth: 25.68324, return_latency: 0.018871}\n"
    "  - {name: w3, speed: 3.936769, compute_latency: 0.164974, bandwidth: 3.403763, "
    "latency: 0.056829, return_bandwidth: 6.410329, return_latency: 0.01508}\n";

/* Two of these are away at first. umr-plus takes 13.6 s for 40 units and 12.4 s for 45:
 * no load identifies the best policy for a lifespan. */
static const char away[] =
    "workers:\n"
    "  - {name: w0, speed: 1.15725, compute_latency: 0.853761, bandwidth: 5.190681, "
    "latency: 0.048887, profile: [[0.117572, 0], [2.535365, 0.74904], [10.325781, "
    "1.104703]]}\n"
    "  - {name: w1, speed: 1.332451, compute_latency: 0.428763, bandwidth: 4.527187, "
    "latency: 0.072216, profile: [[0, 0], [3.914154, 1]]}\n"
    "  - {name: w2, speed: 1.778167, compute_latency: 0.486896, bandwidth: 4.850117, "
    "latency: 0.136007}\n"
    "  - {name: w3, speed: 1.729532, compute_latency: 0.475676, bandwidth: 4.483519, "
    "latency: 0.138729}\n"
    "  - {name: w4, speed: 1.007721, compute_latency: 0.565979, bandwidth: 4.21573, "
    "latency: 0.144821}\n"
    "  - {name: w5, speed: 2.224268, compute_latency: 0.983255, bandwidth: 6.933575, "
    "latency: 0.167131, profile: [[0, 0], [0.070148, 1]]}\n";

/* Starts take most of the lifespan: one policy finishes work in it that another does not
 * begin. */
static const char dear[] =
    "port: duplex\n"
    "workers:\n"
    "  - {name: w0, speed: 9.08661, compute_latency: 3.02045, bandwidth: 452.643, "
    "latency: "
    "0.341467, return_bandwidth: 1427.97, return_latency: 0.467628}\n"
    "  - {name: w1, speed: 6.05068, compute_latency: 5.40665, bandwidth: 948.394, "
    "latency: "
    "0.359526, return_bandwidth: 268.267, return_latency: 0.30715}\n"
    "  - {name: w2, speed: 1.39413, compute_latency: 5.15059, bandwidth: 440.785, "
    "latency: "
    "0.161261, return_bandwidth: 140.084, return_latency: 0.648283}\n"
    "  - {name: w3, speed: 9.11899, compute_latency: 4.1255, bandwidth: 224.9, latency: "
    "0.368171, return_bandwidth: 834.507, return_latency: 0.0825954}\n"
    "  - {name: w4, speed: 8.8863, compute_latency: 2.11387, bandwidth: 993.657, "
    "latency: "
    "0.138909, return_bandwidth: 181.937, return_latency: 0.405317}\n"
    "  - {name: w5, speed: 1.63386, compute_latency: 1.07528, bandwidth: 248.676, "
    "latency: "
    "0.272816, return_bandwidth: 40.5756, return_latency: 0.422959}\n";
/* Little memory: the policy picked for a load that takes twice as long ends nothing in
 * time. */
static const char little[] = "port: duplex\n"
                             "workers:\n"
                             "  - {name: w0, speed: 8.741, compute_latency: 7.069, "
                             "bandwidth: 280.4, latency: 0.6625, memory: 3.584}\n";

static struct cleave_platform *read(const char *text)
{
    struct cleave_platform *platform = NULL;
    struct cleave_error err;

    if (cleave_platform_parse("workers", text, strlen(text), &platform, &err) !=
        CLEAVE_OK)
        fail_msg("%s", err.text);
    return platform;
}

/* Units that end in time; that they do is checked. */
static double work_in(const struct cleave_platform *platform, const char *policy,
                      double lifespan_s, double ratio, double error, uint64_t seed)
{
    const struct cleave_job job = { .platform = platform,
                                    .lifespan_s = lifespan_s,
                                    .result_ratio = ratio,
                                    .error = error,
                                    .policy = policy,
                                    .seed = seed };
    struct cleave_schedule *schedule = NULL;
    struct cleave_error err;
    double work;

    if (cleave_plan_load(&job, &schedule, &err) != CLEAVE_OK)
        fail_msg("%s: %s", policy, err.text);
    assert_true(schedule->makespan_s <= lifespan_s * (1 + 1e-9));
    work = schedule->load;
    cleave_schedule_free(schedule);
    return work;
}

static double work_of(const struct cleave_platform *platform, const char *policy,
                      double ratio, uint64_t seed)
{
    return work_in(platform, policy, LIFESPAN_S, ratio, 0, seed);
}

static void plans_end_in_time(void **state)
{
    struct cleave_platform *platform = read(uneven);

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        assert_true(work_of(platform, "rounds", RATIO, seed) > 176);
    cleave_platform_free(platform);
}

/* A policy that knows its units within a lifespan is asked for just that. */
static void auto_does_what_rounds_does(void **state)
{
    struct cleave_platform *platform = read(uneven);

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        assert_true(work_of(platform, "auto", RATIO, seed) >=
                    work_of(platform, "rounds", RATIO, seed) * (1 - 1e-9));
    cleave_platform_free(platform);
}

/* Without results umr-plus does more here than rounds, which knows what it does. */
static void auto_agrees_with_the_chosen_policy(void **state)
{
    struct cleave_platform *platform = read(uneven);
    const double plus = work_of(platform, "umr-plus", 0, 1);

    (void)state;
    assert_true(plus > work_of(platform, "rounds", 0, 1));
    assert_true(work_of(platform, "auto", 0, 1) >= plus * (1 - 1e-9));
    cleave_platform_free(platform);
}

/* Results over wide links, and half of the workers away from 9 to 20 s: learn does more than all
 * who plan. */
static void auto_does_what_learn_does(void **state)
{
    static const char text[] = "port: duplex\n"
                               "workers:\n"
                               "  - {name: a, count: 3, speed: 2, compute_latency: 0.03, "
                               "bandwidth: 90, latency: "
                               "0.01}\n"
                               "  - {name: b, count: 3, speed: 1, compute_latency: 0.03, "
                               "bandwidth: 90, latency: "
                               "0.01, profile: [[9, 0], [20, 1.1]]}\n";
    struct cleave_platform *platform = read(text);
    const double learn = work_in(platform, "learn", 60, 0.3, 0, 1);

    (void)state;
    assert_true(learn > work_in(platform, "umr-plus", 60, 0.3, 0, 1));
    assert_true(learn > work_in(platform, "rounds", 60, 0.3, 0, 1));
    assert_true(work_in(platform, "auto", 60, 0.3, 0, 1) >= learn * (1 - 1e-9));
    cleave_platform_free(platform);
}

/* Chunks of a plan are as large as memory allows; all of them may be smaller, but not more. */
static void little_memory_is_kept_to(void **state)
{
    static const char text[] = "workers:\n"
                               "  - {name: w0, speed: 1.694238, compute_latency: "
                               "0.832993, bandwidth: 205.405608, "
                               "latency: 0.073982, memory: 3.953464}\n"
                               "  - {name: w1, speed: 1.371006, compute_latency: "
                               "1.391585, bandwidth: 93.122216, "
                               "latency: 0.118037, memory: 4.370819}\n"
                               "  - {name: w2, speed: 4.12016, compute_latency: "
                               "1.409756, bandwidth: 267.349165, "
                               "latency: 0.086172, memory: 4.507446}\n"
                               "  - {name: w3, speed: 4.055094, compute_latency: "
                               "0.610451, bandwidth: 959.11711, "
                               "latency: 0.11505, memory: 9.221969}\n";
    struct cleave_platform *platform = read(text);

    (void)state;
    assert_true(work_in(platform, "rounds", 12.136, 1.3587, 0, 1) > 60);
    assert_true(work_in(platform, "auto", 12.136, 1.3587, 0, 1) > 60);
    cleave_platform_free(platform);
}

/* Nor is a load asked for that none of them ends in time. */
static void without_load_the_best_worker_is_named(void **state)
{
    struct cleave_platform *platform = read(away);
    const double plus = work_in(platform, "umr-plus", SHORT_S, 0, 0, 1);

    (void)state;
    assert_true(plus > work_in(platform, "umr", SHORT_S, 0, 0, 1) * 1.1);
    assert_true(work_in(platform, "auto", SHORT_S, 0, 0, 1) >= plus * (1 - 1e-9));
    cleave_platform_free(platform);
}

/* If an error is expected, means decide the choice. */
static void errors_are_expected(void **state)
{
    struct cleave_platform *platform = read(away);

    (void)state;
    assert_true(work_in(platform, "auto", SHORT_S, 0, 0.2, 1) > 30);
    cleave_platform_free(platform);
}

/* A policy that picks keeps some of its limit for the plan, so that the found policy
 * makes it; and if nothing was found for a large load it tries smaller ones. */
static void a_short_limit_is_no_refusal(void **state)
{
    static const struct {
        const char *text;
        double lifespan_s, ratio, min;
    } scenes[] = { { dear, 6.72233, 0.295135, 72 }, { little, 26.099, 1, 10 } };
    const struct cleave_setting limit = { "limit", "0.04" };

    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        struct cleave_platform *platform = read(scenes[i].text);
        const struct cleave_job job = { .platform = platform,
                                        .lifespan_s = scenes[i].lifespan_s,
                                        .result_ratio = scenes[i].ratio,
                                        .policy = "auto",
                                        .error = 0.2,
                                        .settings = &limit,
                                        .nsettings = 1 };
        struct cleave_schedule *schedule = NULL;
        struct cleave_error err;

        if (cleave_plan_load(&job, &schedule, &err) != CLEAVE_OK)
            fail_msg("scene %zu: %s", i, err.text);
        assert_true(schedule->makespan_s <= scenes[i].lifespan_s * (1 + 1e-9));
        assert_true(schedule->load > scenes[i].min);
        cleave_schedule_free(schedule);
        cleave_platform_free(platform);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_end_in_time),
        cmocka_unit_test(auto_does_what_rounds_does),
        cmocka_unit_test(auto_agrees_with_the_chosen_policy),
        cmocka_unit_test(auto_does_what_learn_does),
        cmocka_unit_test(little_memory_is_kept_to),
        cmocka_unit_test(without_load_the_best_worker_is_named),
        cmocka_unit_test(errors_are_expected),
        cmocka_unit_test(a_short_limit_is_no_refusal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
