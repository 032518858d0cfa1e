/* test_head_tail.c -- rumr and rx: workers and chunks of the second phase.
 * SPDX-License-Identifier: MIT */
#include "plan_check.h"

#include <stdbool.h>

#include <cleave/run.h>

#include "policy/compound/head_tail.h"
#include "policy/compound/registry.h"

/* A worker with a slow start, one with a narrow link, and two with neither. */
static const struct cleave_worker WORKERS[] = {
    { 1, 20, 30, 0.01, 30, 0.01 },
    { 10, 1, 20, 0.01, 20, 0.01 },
    { 2, 0.5, 25, 0.01, 25, 0.01 },
    { 5, 0.1, 4, 0.01, 4, 0.01 },
};
enum { N = sizeof WORKERS / sizeof *WORKERS };

struct phases {
    struct cv_arena arena;
    double block[64];
    const struct cv_head_tail *two;
};

static void plan(struct phases *phases, const struct cleave_policy *policy, double error,
                 const char *alike)
{
    const struct cleave_view view = { .workers = WORKERS,
                                      .nworkers = N,
                                      .units_total = 200,
                                      .units_left = 200,
                                      .error = error };
    const struct cleave_setting setting = { "alike", alike };
    struct cleave_setup setup = { .arena = &phases->arena };
    struct cleave_error err;

    *phases = (struct phases){ .two = NULL };
    cv_arena_init(&phases->arena);
    assert_true(sizeof phases->block >= policy->state_size);
    MUST(cv_params_store(policy, &setting, 1, phases->block, &err));
    MUST(policy->plan(phases->block, &view, &setup, &err));
    phases->two = (const void *)phases->block;
}

static void least_chunks_are_each_workers_own(void **state)
{
    struct phases phases;

    (void)state;
    plan(&phases, &cleave_policy_rumr, 0.5, "0");
    assert_non_null(phases.two->pull.least_each);
    for (uint32_t w = 0; w < N; w++)
        if (phases.two->pull.member[w])
            assert_near(phases.two->pull.least_each[w],
                        WORKERS[w].speed_ups * (WORKERS[w].compute_latency_s + 0.02),
                        1e-9);
    cv_arena_done(&phases.arena);
    plan(&phases, &cleave_policy_rumr, 0.5, "1");
    assert_null(phases.two->pull.least_each);
    cv_arena_done(&phases.arena);
}

/* Also where all of the load is left to it. */
static void left_out_of_the_plan_means_no_tail(void **state)
{
    static const double errors[] = { 0.1, 0.5, 1, 2 };
    struct phases phases;

    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        plan(&phases, &cleave_policy_rumr, errors[i], "0");
        assert_near(phases.two->tail, 200 * fmin(1, errors[i]), 1e-12);
        assert_false(phases.two->pull.member[3]); /* its link would fill the port */
        assert_true(phases.two->pull.member[1] && phases.two->pull.member[2]);
        cv_arena_done(&phases.arena);
    }
}

/* The last 20 units take two workers less than two seconds. */
static void a_late_starter_gets_no_tail(void **state)
{
    const struct cleave_policy *const policies[] = { &cleave_policy_rumr,
                                                     &cleave_policy_rx };
    struct phases phases;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        plan(&phases, policies[i], 0.1, "0");
        assert_false(phases.two->pull.member[0]);
        assert_true(phases.two->pull.member[1]);
        cv_arena_done(&phases.arena);
    }
    plan(&phases, &cleave_policy_rx, 2, "0");
    assert_false(phases.two->pull.member[0]); /* 200 units: 17 s without it */
    cv_arena_done(&phases.arena);
}

/* It had a chunk of the head, and gets no more after that. */
static void a_late_worker_takes_its_part_of_the_head_only(void **state)
{
    const struct cleave_setting settings[] = { { "alike", "0" } };
    struct cleave_job job = {
        .load = 200, .error = 0.1, .policy = "rx", .settings = settings, .nsettings = 1
    };
    struct cleave_platform *platform;
    struct cleave_schedule *schedule;
    struct cleave_error err;
    unsigned chunks = 0;

    (void)state;
    MUST(cleave_platform_new(CLEAVE_PORT_ONE, WORKERS, 2, &platform, &err));
    job.platform = platform;
    MUST(cleave_plan_load(&job, &schedule, &err));
    for (size_t k = 0; k < schedule->nchunks; k++)
        if (schedule->chunks[k].worker == 0) {
            chunks++;
            assert_true(schedule->chunks[k].send_start_s < 1);
        }
    assert_int_equal(chunks, 1);
    assert_true(schedule->makespan_s < 28);
    cleave_schedule_free(schedule);
    cleave_platform_free(platform);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_chunks_are_each_workers_own),
        cmocka_unit_test(left_out_of_the_plan_means_no_tail),
        cmocka_unit_test(a_late_starter_gets_no_tail),
        cmocka_unit_test(a_late_worker_takes_its_part_of_the_head_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
