/* test_varied.c -- workers whose speed changes: bounds and plans on integrated speeds.
 * SPDX-License-Identifier: MIT */
#include "plan_check.h"

#include <stdio.h>
#include <string.h>

#include <cleave/run.h>
#include "model/platform/profile.h"

static struct cleave_platform *parse(const char *text)
{
    struct cleave_platform *platform;
    struct cleave_error err;

    MUST(cleave_platform_parse("test", text, strlen(text), &platform, &err));
    return platform;
}

static void check(const char *text, double load, double lifespan_s, const char *policy,
                  double want, double bound)
{
    struct cleave_platform *platform = parse(text);
    const struct cleave_job job = {
        .platform = platform, .load = load, .lifespan_s = lifespan_s, .policy = policy
    };
    struct cleave_schedule *schedule;
    struct cleave_error err;

    MUST(cleave_plan_load(&job, &schedule, &err));
    assert_near(lifespan_s > 0 ? schedule->load : schedule->makespan_s, want, 1e-6);
    assert_near(schedule->bound.value_s, bound, 1e-6);
    assert_string_equal(schedule->bound.name, "available");
    cleave_schedule_free(schedule);
    cleave_platform_free(platform);
}

/* Two equal workers and 100 units; one is free from t = 50 on: 75 + 25. On links that take
 * no time to speak of all planners get there. */
static void who_comes_later_is_waited_for_as_long_as_it_pays(void **state)
{
    static const char *const ports[] = { "one", "duplex", "multi" };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char text[300];

        snprintf(
            text, sizeof text,
            "port: %s\nworkers:\n"
            "  - { name: a, speed: 1, bandwidth: 1e9 }\n"
            "  - { name: b, speed: 1, bandwidth: 1e9, profile: [[0, 0], [50, 1]] }\n",
            ports[i]);
        check(text, 100, 0, "auto", 75, 75);
        check(text, 100, 0, "one-round", 75, 75);
        check(text, 100, 0, i == 2 ? "links" : "umr-plus", 75, 75);
        check(text, 0, 75, "auto", 100, 100);
    }
}

/* Half as fast from 10 to 30, then twice: with 2 units/s that is 20 + 20 + 4 (T - 30) for one,
 * 2 T for the other; and a pause of both. */
static void factors_are_integrated(void **state)
{
    (void)state;
    check("port: multi\nworkers:\n"
          "  - { name: a, speed: 2, bandwidth: 1e9, profile: [[10, 0.5], [30, 2]] }\n"
          "  - { name: b, speed: 2, bandwidth: 1e9 }\n",
          160, 0, "auto", 40, 40);
    check("port: one\nworkers:\n"
          "  - { name: a, speed: 2, bandwidth: 1e9, profile: [[5, 0], [25, 1]] }\n"
          "  - { name: b, speed: 2, bandwidth: 1e9, profile: [[5, 0], [25, 1]] }\n",
          40, 0, "auto", 30, 30);
}

static void profiles_tell_when_someone_is_back(void **state)
{
    const struct cleave_step steps[] = { { 5, 0 }, { 7, 0 }, { 9, 0.5 }, { 20, 0 } };

    (void)state;
    assert_true(cv_profile_back(steps, 4, 4) == 4);
    assert_true(cv_profile_back(steps, 4, 5) == 9);
    assert_true(cv_profile_back(steps, 4, 8) == 9);
    assert_true(cv_profile_back(steps, 4, 10) == 10);
    assert_true(isinf(cv_profile_back(steps, 4, 20)));
    assert_true(cv_profile_back(NULL, 0, 3) == 3);
    assert_true(cv_profile_most(steps, 4) == 1);
    assert_true(cv_profile_most((const struct cleave_step[]){ { 0, 0.5 } }, 1) == 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_comes_later_is_waited_for_as_long_as_it_pays),
        cmocka_unit_test(factors_are_integrated),
        cmocka_unit_test(profiles_tell_when_someone_is_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
