/* test_limit.c -- auto keeps to its limit, which is counted and not taken from a clock.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cleave/run.h>

#include "model/platform/generate.h"
#include "model/returns/returns_search.h"
#include "sim/load/forecast.h"

enum { WORKERS = 20 };

/* Long latencies on one port: searches for orders of results take seconds. */
static struct cleave_platform *build(void)
{
    struct cleave_platform *platform = NULL;
    struct cv_generate wanted;
    struct cleave_error err;

    cv_generate_preset(&wanted);
    wanted.workers = WORKERS;
    wanted.bandwidth = 2 * WORKERS;
    wanted.heterogeneity = 10;
    wanted.seed = 3;
    wanted.compute_latency = wanted.latency = 10;
    assert_int_equal(cv_generate_platform(&wanted, &platform, &err), CLEAVE_OK);
    return platform;
}

/* Which part of a contest is left out says the reason. */
static double plan(const struct cleave_platform *platform, const char *policy,
                   double error, const char *limit, char *why, size_t room)
{
    const struct cleave_setting setting = { "limit", limit };
    struct cleave_job job = { .platform = platform,
                              .load = 200 * WORKERS,
                              .result_ratio = 0.5,
                              .error = error,
                              .policy = policy,
                              .settings = &setting,
                              .nsettings = 1 };
    struct cleave_schedule *schedule;
    struct cleave_error err;
    double makespan_s;

    if (cleave_plan_load(&job, &schedule, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    makespan_s = schedule->makespan_s;
    strncpy(why, schedule->why, room - 1);
    why[room - 1] = '\0';
    cleave_schedule_free(schedule);
    return makespan_s;
}

static void a_short_limit_leaves_policies_out(void **state)
{
    struct cleave_platform *platform = build();
    char little[400], more[400], again[400];
    double short_s, long_s;

    (void)state;
    short_s = plan(platform, "auto", 0, "0.005", little, sizeof little);
    long_s = plan(platform, "auto", 0, "0.2", more, sizeof more);
    assert_non_null(strstr(little, "; limit=0.005 s cut "));
    assert_non_null(strstr(more, "; limit=0.2 s cut "));
    assert_true(long_s < short_s);
    assert_true(long_s == plan(platform, "auto", 0, "0.2", again, sizeof again));
    assert_string_equal(more, again);
    cleave_platform_free(platform);
}

static void a_limit_holds_with_errors(void **state)
{
    struct cleave_platform *platform = build();
    char why[400];

    (void)state;
    plan(platform, "auto", 0.2, "0.02", why, sizeof why);
    assert_non_null(strstr(why, "; limit=0.02 s cut "));
    cleave_platform_free(platform);
}

static enum cleave_status solve_fifo(void *context, const struct cv_returns *returns,
                                     double lifespan_s, struct cv_arena *arena,
                                     struct cv_round_trip *out, struct cleave_error *err)
{
    (void)context;
    return cv_returns_fifo(returns, lifespan_s, arena, out, err);
}

static enum cleave_status solve_orders(void *context, const struct cv_returns *returns,
                                       double lifespan_s, struct cv_arena *arena,
                                       struct cv_round_trip *out,
                                       struct cleave_error *err)
{
    (void)context;
    return cv_returns_search(returns, lifespan_s, NULL, arena, out, err);
}

/* Each passes its limit by its current step, not by another turn. */
static void searches_stop_when_they_should(void **state)
{
    static const struct cv_returns_solver solvers[] = { { solve_fifo, NULL, false },
                                                        { solve_orders, NULL, true } };
    static const double limits[] = { 1e6, 6e6, 3.6e7 };
    struct cleave_platform *platform = build();
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
            struct cv_step_budget budget = { 0, limits[k] };
            const struct cv_returns returns = {
                cv_trips(cleave_platform_workers(platform), WORKERS, 0.5, 0, &arena),
                WORKERS, true, &budget
            };
            struct cv_round_trip trip;
            struct cleave_error err;

            assert_int_equal(cv_returns_for_work(&returns, &solvers[i], 4000, &arena,
                                                 &trip, &err),
                             CLEAVE_OK);
            assert_true(fabs(trip.work - 4000) < 1e-6);
            assert_true(budget.spent >= limits[k]);
            assert_true(budget.spent < limits[k] + 3e6);
        }
    cv_arena_done(&arena);
    cleave_platform_free(platform);
}

/* Nothing is said to be proved when the search was cut short. */
static void truncated_search_is_not_proved(void **state)
{
    static const struct cv_trip trips[] = {
        { .send_s = 0.11, .compute_s = 1, .back_s = 0.09, .send_fixed_s = 0.5 },
        { .send_s = 0.13, .compute_s = 0.7, .back_s = 0.11, .send_fixed_s = 0.9 },
        { .send_s = 0.07, .compute_s = 1.3, .back_s = 0.17, .send_fixed_s = 1.5 },
        { .send_s = 0.19, .compute_s = 0.5, .back_s = 0.05, .send_fixed_s = 0.2 },
        { .send_s = 0.17, .compute_s = 0.9, .back_s = 0.13, .send_fixed_s = 0.7 },
    };
    struct cv_step_budget little = { 0, 1 }, much = { 0, 1e12 };
    struct cv_returns returns = { trips, 5, true, &much };
    struct cv_round_trip trip;
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    assert_int_equal(cv_returns_exact(&returns, 30, &arena, &trip, NULL), CLEAVE_OK);
    assert_true(trip.optimal);
    returns.budget = &little;
    assert_int_equal(cv_returns_exact(&returns, 30, &arena, &trip, NULL), CLEAVE_OK);
    assert_false(trip.optimal);
    cv_arena_done(&arena);
}

/* Workers, some of them absent for a while: plans of umr-plus, and so of rx, take
 * longest. */
static struct cleave_platform *build_away(void)
{
    struct cleave_platform *platform = NULL;
    struct cleave_error err;
    char text[2000];
    size_t at = (size_t)snprintf(text, sizeof text, "port: duplex\nworkers:\n");

    for (int w = 0; w < 8; w++)
        at += (size_t)snprintf(text + at, sizeof text - at,
                               "  - { name: w%d, speed: %d, compute_latency: 0.03, "
                               "bandwidth: 90, latency: 0.01%s }\n",
                               w, 1 + w % 3,
                               w % 2 == 0 ? ", profile: [[9, 0], [20, 1.1]]" : "");
    assert_int_equal(cleave_platform_parse("away", text, at, &platform, &err), CLEAVE_OK);
    return platform;
}

/* Steps of a plan, counted by a meter without a limit. */
static double count_steps(struct cleave_job job, double limit, double *out_units)
{
    struct cv_step_budget budget = { 0, limit };
    struct cv_load_case load_case;
    struct cv_planned planned;
    struct cleave_error err;
    enum cleave_status status = cv_load_case_open(&load_case, &job, &err);

    assert_int_equal(status, CLEAVE_OK);
    load_case.budget = &budget;
    if (cv_load_case_plan(&load_case, &job, &planned, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    *out_units = planned.view.units_total;
    cv_planned_done(&planned);
    cv_load_case_close(&load_case);
    return budget.spent;
}

/* As much as ends within a lifespan is found with one limit for all of it, half of which is
 * for contests; and it is as much as the policy that is picked does alone. */
static void a_lifespan_has_one_limit(void **state)
{
    static const char *const limits[] = { "0.1", "1" };
    static const double steps[] = { 5e7, 5e8 };
    struct cleave_platform *platform = build_away();
    struct cleave_setting setting = { "limit", NULL };
    struct cleave_job job = { .platform = platform,
                              .lifespan_s = 60,
                              .result_ratio = 0.3,
                              .policy = "auto",
                              .settings = &setting,
                              .nsettings = 1 };
    double units, plus, spent;

    (void)state;
    for (int i = 0; i < 2; i++) {
        setting.value = limits[i];
        spent = count_steps(job, INFINITY, &units);
        print_message("limit %s: %.3g steps, %.6g units\n", limits[i], spent, units);
        assert_true(spent < 2 * steps[i]);
    }
    job.policy = "umr-plus";
    job.nsettings = 0;
    count_steps(job, INFINITY, &plus);
    assert_true(units >= plus * (1 - 1e-9));
    cleave_platform_free(platform);
}

/* Steps of umr-plus with changing speeds are counted, and it stops at the limit. */
static void changing_speeds_are_counted(void **state)
{
    struct cleave_platform *platform = build_away();
    const struct cleave_job job = { .platform = platform,
                                    .load = 500,
                                    .policy = "umr-plus" };
    double units, all, some;

    (void)state;
    all = count_steps(job, INFINITY, &units);
    some = count_steps(job, all / 4, &units);
    print_message("%.3g steps, cut short %.3g\n", all, some);
    assert_true(all > 4e6);
    assert_true(some >= all / 4 && some < all / 2);
    cleave_platform_free(platform);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_limit_leaves_policies_out),
        cmocka_unit_test(a_limit_holds_with_errors),
        cmocka_unit_test(searches_stop_when_they_should),
        cmocka_unit_test(truncated_search_is_not_proved),
        cmocka_unit_test(a_lifespan_has_one_limit),
        cmocka_unit_test(changing_speeds_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
