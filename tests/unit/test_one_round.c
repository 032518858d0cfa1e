/* test_one_round.c -- one chunk per worker. SPDX-License-Identifier: MIT */
#include "plan_check.h"

#include "policy/static/one_round.h"

static void all_end_together_fastest_link_first(void **state)
{
    struct cv_arena arena;
    struct cleave_error err;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 500; number++) {
        struct cleave_worker workers[12];
        struct cv_one_round plan;
        struct cv_random random;
        double load, port = 0;

        cv_random_at(&random, 5, number, 0, 0);
        load = random_scale(&random, 0.5, 1000);
        for (uint32_t i = 0; i < 12; i++)
            workers[i] = random_worker(&random);
        MUST(cv_one_round_plan(workers, 12, load, &arena, &plan, &err));
        check_plan(workers, 12, &plan.plan, load, plan.makespan_s);
        for (size_t k = 0; k < plan.plan.nchunks; k++) {
            const struct cleave_worker *worker = &workers[plan.plan.worker[k]];
            const double units = plan.plan.units[k];

            port += worker->latency_s + units / worker->bandwidth_ups;
            assert_near(port + worker->compute_latency_s + units / worker->speed_ups,
                        plan.makespan_s, 1e-9);
            if (k > 0)
                assert_true(workers[plan.plan.worker[k - 1]].bandwidth_ups >=
                            worker->bandwidth_ups);
        }
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

/* A worker that was left out could not even have started and ended in time. */
static void excluded_workers_could_not_help(void **state)
{
    struct cleave_worker workers[] = { worker_of(1.1632, 0.2145, 17.7729, 0.0987),
                                       worker_of(1.215, 0.6028, 14.4527, 0.5167),
                                       worker_of(1.2669, 1.0208, 0.15, 90),
                                       worker_of(0.5469, 0.7246, 16.0687, 0.336) };
    struct cv_one_round plan;
    struct cv_arena arena;
    struct cleave_error err;

    (void)state;
    cv_arena_init(&arena);
    MUST(cv_one_round_plan(workers, 4, 60, &arena, &plan, &err));
    assert_int_equal(plan.plan.nchunks, 3);
    for (size_t k = 0; k < 3; k++)
        assert_int_not_equal(plan.plan.worker[k], 2);
    assert_true(workers[2].latency_s + workers[2].compute_latency_s > plan.makespan_s);
    cv_arena_done(&arena);
}

static void large_platforms_lose_many_at_a_time(void **state)
{
    enum { N = 20000 };
    struct cleave_worker *workers = calloc(N, sizeof *workers);
    struct cv_one_round plan;
    struct cv_random random;
    struct cv_arena arena;
    struct cleave_error err;

    (void)state;
    assert_non_null(workers);
    cv_arena_init(&arena);
    cv_random_at(&random, 6, 0, 0, 0);
    for (uint32_t i = 0; i < N; i++)
        workers[i] = random_worker(&random);
    MUST(cv_one_round_plan(workers, N, 50, &arena, &plan, &err));
    check_plan(workers, N, &plan.plan, 50, plan.makespan_s);
    assert_in_range(plan.plan.nchunks, 2, 1000);
    cv_arena_done(&arena);
    free(workers);
}

static void extremes_are_planned(void **state)
{
    static const double loads[] = { 1e-9, 1, 1e15 };
    struct cleave_worker workers[] = { worker_of(1, 5, 10, 3),
                                       worker_of(1e-6, 0, 1e-6, 0),
                                       worker_of(1e6, 100, 1e-3, 100) };
    struct cv_one_round plan;
    struct cv_arena arena;
    struct cleave_error err;

    (void)state;
    cv_arena_init(&arena);
    for (size_t i = 0; i < 3; i++)
        for (uint32_t n = 1; n <= 3; n++) {
            MUST(cv_one_round_plan(workers, n, loads[i], &arena, &plan, &err));
            check_plan(workers, n, &plan.plan, loads[i], plan.makespan_s);
        }
    cv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_end_together_fastest_link_first),
        cmocka_unit_test(excluded_workers_could_not_help),
        cmocka_unit_test(large_platforms_lose_many_at_a_time),
        cmocka_unit_test(extremes_are_planned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
