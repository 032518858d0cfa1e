/* test_varied.c -- workers whose speed changes: bounds and plans on integrated speeds.
 * SPDX-License-Identifier: MIT */
#include "plan_check.h"

#include <stdio.h>
#include <string.h>

#include <cleave/policy.h>
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
                  double pending, double bound)
{
    struct cleave_platform *platform = parse(text);
    const struct cleave_job job = {
        .platform = platform, .load = load, .lifespan_s = lifespan_s, .policy = policy
    };
    struct cleave_schedule *schedule;
    struct cleave_error err;

    MUST(cleave_plan_load(&job, &schedule, &err));
    assert_near(lifespan_s > 0 ? schedule->load : schedule->makespan_s, pending, 1e-6);
    assert_near(schedule->bound.value_s, bound, 1e-6);
    assert_string_equal(schedule->bound.name, "available");
    cleave_schedule_free(schedule);
    cleave_platform_free(platform);
}

/* Two equal workers and 100 units; one is free from t = 50 on: 75 + 25. On links that take
 * no time to speak of all planners get there. */
static void a_later_worker_is_awaited_as_long_as_it_pays(void **state)
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

/* `from` and `until` are short for profiles. A worker that leaves for good gets nothing
 * that it could not end before; a policy that does not support that refuses it, and a
 * load that is too large, too. */
static void a_leaving_worker_gets_work_that_ends_before(void **state)
{
    static const char text[] = "workers:\n"
                               "  - { name: a, speed: 1, bandwidth: 1e9, until: 40 }\n"
                               "  - { name: b, speed: 1, bandwidth: 1e9, from: 10 }\n";
    static const char both[] =
        "workers:\n"
        "  - { name: a, speed: 1, bandwidth: 1e9, until: 40 }\n"
        "  - { name: b, speed: 1, bandwidth: 1e9, from: 10, until: 30 }\n";
    struct cleave_job job = { .load = 100, .policy = "self" };
    struct cleave_schedule *schedule = NULL;
    struct cleave_platform *platform;
    struct cleave_error err;

    (void)state;
    check(text, 100, 0, "auto", 70, 70);
    check(text, 70, 0, "one-round", 40, 40);
    check(both, 59, 0, "auto", 39, 39);
    job.platform = platform = parse(text);
    assert_int_equal(cleave_plan_load(&job, &schedule, &err), CLEAVE_EINPUT);
    assert_non_null(strstr(err.text, "worker 'a' is absent for good"));
    cleave_platform_free(platform);
    job = (struct cleave_job){ .load = 61 };
    job.platform = platform = parse(both);
    assert_int_equal(cleave_plan_load(&job, &schedule, &err), CLEAVE_EINPUT);
    assert_non_null(strstr(err.text, "no plan was found for 61 units"));
    cleave_platform_free(platform);
}

/* No policy sends a worker a chunk beyond its memory; a policy that cannot respect it is
 * refused. */
static void memory_limits_chunks(void **state)
{
    static const char text[] =
        "workers:\n"
        "  - { name: a, speed: 1, bandwidth: 10, latency: 0.1, memory: 7 }\n"
        "  - { name: b, speed: 2, bandwidth: 20, compute_latency: 0.2 }\n"
        "  - { name: c, speed: 2, bandwidth: 20, memory: 11, from: 3 }\n";
    struct cleave_platform *platform = parse(text);
    unsigned planned = 0, cut = 0;

    (void)state;
    for (size_t p = 0; p < cleave_policy_count(); p++) {
        const struct cleave_policy *policy = cleave_policy_at(p);
        const struct cleave_job job = { .platform = platform,
                                        .load = 100,
                                        .policy = policy->name };
        struct cleave_schedule *schedule;
        struct cleave_error err;

        if (policy->task != CLEAVE_TASK_LOAD)
            continue;
        if (cleave_plan_load(&job, &schedule, &err) != CLEAVE_OK) {
            assert_int_equal(err.status, CLEAVE_EINPUT);
            /* Plans that are made before are cut, and so they can be kept. */
            assert_true(strcmp(policy->name, "umr-plus") != 0 &&
                        strcmp(policy->name, "umr") != 0 &&
                        strcmp(policy->name, "one-round") != 0);
            continue;
        }
        planned++;
        for (size_t k = 0; k < schedule->nchunks; k++) {
            const struct cleave_chunk *chunk = &schedule->chunks[k];

            assert_true(chunk->units <=
                        cleave_platform_memory(platform, chunk->worker) * (1 + 1e-9));
            cut += chunk->units > 6.9 && chunk->worker == 0;
        }
        cleave_schedule_free(schedule);
    }
    assert_true(planned >= 8);
    assert_true(cut > 0);
    cleave_platform_free(platform);
}

static void profiles_give_the_return_of_a_worker(void **state)
{
    const struct cleave_step steps[] = { { 5, 0 }, { 7, 0 }, { 9, 0.5 }, { 20, 0 } };
    const struct cleave_step half[] = { { 0, 0.5 } };
    const struct cleave_profile profile = { steps, 4 }, none = { 0 },
                                always = { half, 1 };

    (void)state;
    assert_true(cv_profile_back(&profile, 4) == 4);
    assert_true(cv_profile_back(&profile, 5) == 9);
    assert_true(cv_profile_back(&profile, 8) == 9);
    assert_true(cv_profile_back(&profile, 10) == 10);
    assert_true(isinf(cv_profile_back(&profile, 20)));
    assert_true(cv_profile_back(&none, 3) == 3);
    assert_true(cv_profile_most(&profile) == 1);
    assert_true(cv_profile_most(&always) == 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_later_worker_is_awaited_as_long_as_it_pays),
        cmocka_unit_test(factors_are_integrated),
        cmocka_unit_test(a_leaving_worker_gets_work_that_ends_before),
        cmocka_unit_test(memory_limits_chunks),
        cmocka_unit_test(profiles_give_the_return_of_a_worker),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
