/* test_lifespan.c -- as much as ends within a lifespan, by those who know it and those who do
 * not. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>
#include <cleave/run.h>

enum { SEEDS = 6 };
static const double LIFESPAN_S = 21.668050517712629;

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
static double work_of(const struct cleave_platform *platform, const char *policy,
                      double ratio, uint64_t seed)
{
    const struct cleave_job job = { .platform = platform,
                                    .lifespan_s = LIFESPAN_S,
                                    .result_ratio = ratio,
                                    .policy = policy,
                                    .seed = seed };
    struct cleave_schedule *schedule = NULL;
    struct cleave_error err;
    double work;

    if (cleave_plan_load(&job, &schedule, &err) != CLEAVE_OK)
        fail_msg("%s: %s", policy, err.text);
    assert_true(schedule->makespan_s <= LIFESPAN_S * (1 + 1e-9));
    work = schedule->load;
    cleave_schedule_free(schedule);
    return work;
}

static void plans_end_in_time(void **state)
{
    struct cleave_platform *platform = read(uneven);

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        assert_true(work_of(platform, "rounds", 0.21272836858400007, seed) > 176);
    cleave_platform_free(platform);
}

/* Who knows what it does in a lifespan is asked for just that. */
static void auto_does_what_rounds_does(void **state)
{
    struct cleave_platform *platform = read(uneven);

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        assert_true(work_of(platform, "auto", 0.21272836858400007, seed) >=
                    work_of(platform, "rounds", 0.21272836858400007, seed) * (1 - 1e-9));
    cleave_platform_free(platform);
}

/* Without results umr-plus does more here than rounds, which knows what it does. */
static void auto_does_what_others_do(void **state)
{
    struct cleave_platform *platform = read(uneven);
    const double plus = work_of(platform, "umr-plus", 0, 1);

    (void)state;
    assert_true(plus > work_of(platform, "rounds", 0, 1));
    assert_true(work_of(platform, "auto", 0, 1) >= plus * (1 - 1e-9));
    cleave_platform_free(platform);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_end_in_time),
        cmocka_unit_test(auto_does_what_rounds_does),
        cmocka_unit_test(auto_does_what_others_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
