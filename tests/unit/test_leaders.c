/* test_leaders.c -- workers led by others. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cleave/run.h>

#include "base/random.h"
#include "model/platform/platform_internal.h"

/* The platform that a text describes. */
static struct cleave_platform *parse(const char *text)
{
    struct cleave_platform *platform = NULL;
    struct cleave_error err;

    if (cleave_platform_parse("p.yaml", text, strlen(text), &platform, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    return platform;
}

static void assert_costs(const struct cleave_platform *platform, uint32_t worker,
                         const char *name, double speed, double compute_latency)
{
    const struct cleave_worker *at = &cleave_platform_workers(platform)[worker];

    assert_string_equal(cleave_platform_worker_name(platform, worker), name);
    assert_true(fabs(at->speed_ups - speed) <= 1e-12 * speed);
    assert_true(fabs(at->compute_latency_s - compute_latency) <= 1e-12);
}

/* Four workers of speed 2 take 4 * 2 / 20 of the port. */
static void a_leader_is_as_fast_as_its_group(void **state)
{
    struct cleave_platform *platform = parse(
        "workers:\n"
        "  - {name: a, speed: 5, bandwidth: 7}\n"
        "  - {name: w, via: l, count: 4, speed: 2, bandwidth: 20, latency: 0.1,"
        "     compute_latency: 0.5}\n"
        "  - {name: l, count: 3, speed: 1, bandwidth: 100, compute_latency: 0.2}\n");

    (void)state;
    assert_int_equal(cleave_platform_nworkers(platform), 4);
    assert_costs(platform, 0, "a", 5, 0);
    assert_costs(platform, 1, "l.0", 9, 0.2);
    assert_costs(platform, 3, "l.2", 9, 0.2);
    assert_true(cleave_platform_workers(platform)[1].bandwidth_ups == 100);
    assert_true(cv_platform_led(platform) == 12);
    cleave_platform_free(platform);
}

/* The widest links first: 2 * 2 / 20 of the port, and of the rest, 0.8, three workers at
 * 0.3 each: a part of the third. The last gets nothing. The first unit is computed by a,
 * after a latency of 1 s and a start of 3 s. */
static void a_port_has_limited_time(void **state)
{
    static const char text[] =
        "port: %s\n"
        "workers:\n"
        "  - {name: l, speed: 1, bandwidth: 100, compute_latency: 5}\n"
        "  - {name: c, via: l, speed: 1, bandwidth: 1, latency: 9}\n"
        "  - {name: b, via: l, count: 5, speed: 3, bandwidth: 10,"
        "     latency: 0.5, compute_latency: 4}\n"
        "  - {name: a, via: l, count: 2, speed: 2, bandwidth: 20,"
        "     latency: 1, compute_latency: 3}\n";
    char whole[512];
    struct cleave_platform *platform;

    (void)state;
    snprintf(whole, sizeof whole, text, "one");
    platform = parse(whole);
    assert_costs(platform, 0, "l", 1 + 2 * 2 + 0.8 * 10, 4);
    cleave_platform_free(platform);
    snprintf(whole, sizeof whole, text, "multi");
    platform = parse(whole);
    assert_costs(platform, 0, "l", 1 + 2 * 2 + 5 * 3 + 1, 4);
    cleave_platform_free(platform);
}

static void trees_are_collapsed_from_their_leaves(void **state)
{
    struct cleave_platform *platform = parse(
        "workers:\n"
        "  - {name: top, count: 100, speed: 1, bandwidth: 1e6, cost: 1}\n"
        "  - {name: leaf, via: middle, count: 100, speed: 1, bandwidth: 1e4, cost: 2}\n"
        "  - {name: middle, via: top, count: 100, speed: 1, bandwidth: 1e5}\n");

    (void)state;
    assert_int_equal(cleave_platform_nworkers(platform), 100);
    assert_costs(platform, 99, "top.99", 1 + 100 * (1 + 100 * 1), 0);
    assert_true(cv_platform_led(platform) == 100 * 100 * 101);
    assert_true(platform->groups[0].cost == 1 + 100 * 100 * 2);
    cleave_platform_free(platform);
}

/* No plan for its workers exceeds the long-run speed of a leader, and a good one comes
 * near it. */
static void no_plan_beats_the_speed(void **state)
{
    struct cv_random random;

    (void)state;
    cv_random_at(&random, 3, 0, 0, 0);
    for (int turn = 0; turn < 40; turn++) {
        struct cleave_job job = { .load = 1e5, .policy = "auto", .seed = 1 };
        char star[512], led[512], *at = star, *end = led;
        struct cleave_platform *alone, *leader;
        struct cleave_schedule *schedule = NULL;
        double speed;

        at += sprintf(at, "workers:\n");
        end += sprintf(end, "workers:\n  - {name: l, speed: 1, bandwidth: 1}\n");
        for (int w = 0; w < 3; w++) {
            const double s = 1 + 9 * cv_random_uniform(&random);
            const double b = 2 + 30 * cv_random_uniform(&random);

            at +=
                sprintf(at, "  - {name: w%d, speed: %.17g, bandwidth: %.17g}\n", w, s, b);
            end +=
                sprintf(end, "  - {name: w%d, via: l, speed: %.17g, bandwidth: %.17g}\n",
                        w, s, b);
        }
        alone = parse(star);
        leader = parse(led);
        speed = cleave_platform_workers(leader)[0].speed_ups - 1;
        job.platform = alone;
        assert_int_equal(cleave_plan_load(&job, &schedule, NULL), CLEAVE_OK);
        if (schedule->makespan_s < job.load / speed * (1 - 1e-9) ||
            schedule->makespan_s > job.load / speed * 1.02)
            fail_msg("turn %d: %g s, at speed %g it would be %g s\n%s", turn,
                     schedule->makespan_s, speed, job.load / speed, star);
        cleave_schedule_free(schedule);
        cleave_platform_free(alone);
        cleave_platform_free(leader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leader_is_as_fast_as_its_group),
        cmocka_unit_test(a_port_has_limited_time),
        cmocka_unit_test(trees_are_collapsed_from_their_leaves),
        cmocka_unit_test(no_plan_beats_the_speed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
