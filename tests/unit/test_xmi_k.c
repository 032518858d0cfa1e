/* test_xmi_k.c -- the best number of workers and chunks. SPDX-License-Identifier: MIT */
#include "plan_check.h"

#include "model/load/plan.h"
#include "policy/static/umr.h"
#include "policy/static/xmi.h"

/* Every n and K, each by the vertex of its order. */
static double best_by_trying(const struct cleave_worker *workers, uint32_t nworkers,
                             double load, uint32_t max, struct cv_arena *arena)
{
    struct cv_vertex_workspace room;
    double best_s = INFINITY, units[64];
    uint32_t seq[64];

    assert_true(cv_vertex_room_init(&room, arena, max, nworkers));
    for (uint32_t n = 1; n <= nworkers; n++)
        for (uint32_t k = n; k <= max; k++) {
            bool feasible;
            double time_s;

            for (uint32_t i = 0; i < k; i++)
                seq[k - 1 - i] = n - 1 - i % n;
            time_s = cv_vertex_solve(workers, load, seq, k, &room, units, &feasible);
            if (feasible && time_s < best_s)
                best_s = time_s;
        }
    return best_s;
}

static void no_other_numbers_are_better(void **state)
{
    struct cv_arena arena;
    struct cleave_error err;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 300; number++) {
        struct cleave_worker workers[7];
        struct cv_random random;
        struct cv_xmi_k plan;
        uint32_t n;
        double load;

        cv_random_at(&random, 21, number, 0, 0);
        n = 1 + (uint32_t)random_between(&random, 0, 7);
        load = random_scale(&random, 1, 1000);
        workers[0] = random_worker(&random);
        for (uint32_t i = 1; i < n; i++)
            workers[i] = workers[0];
        MUST(cv_xmi_k_plan(workers, n, load, 50, &arena, &plan, &err));
        assert_true(plan.chunks <= 50);
        check_plan(workers, n, &plan.plan, load, plan.makespan_s);
        assert_near(plan.makespan_s, best_by_trying(workers, n, load, 50, &arena), 1e-9);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

/* The grid of table 2 of the paper, thinned out, and links slower than the workers. */
static void never_worse_than_umr_or_xmi(void **state)
{
    static const double ratios[] = { 0.4, 1, 1.3, 3 };
    static const double latencies[] = { 0, 0.5, 2, 9 };
    struct cv_arena arena;
    struct cleave_error err;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t n = 5; n <= 50; n += 15)
        for (size_t r = 0; r < 4; r++)
            for (size_t a = 0; a < 4; a++)
                for (size_t b = 0; b < 4; b++) {
                    struct cleave_worker workers[50];
                    struct cv_xmi_k plan;
                    struct cv_umr umr;

                    for (uint32_t i = 0; i < n; i++)
                        workers[i] =
                            worker_of(1, latencies[a], ratios[r] * n, latencies[b]);
                    MUST(cv_xmi_k_plan(workers, n, 2000, 2000, &arena, &plan, &err));
                    check_plan(workers, n, &plan.plan, 2000, plan.makespan_s);
                    MUST(cv_umr_plan(workers, n, 2000, 30, 0, &arena, &umr, &err));
                    assert_true(plan.makespan_s <= umr.makespan_s * (1 + 1e-9));
                    for (uint32_t rounds = 1; rounds <= 8; rounds++) {
                        struct cv_xmi xmi;

                        MUST(cv_xmi_plan(workers, n, 2000, rounds, &arena, &xmi, &err));
                        assert_true(!xmi.feasible ||
                                    plan.makespan_s <= xmi.makespan_s * (1 + 1e-9));
                    }
                    cv_arena_reset(&arena);
                }
    cv_arena_done(&arena);
}

/* More than 256 workers: a grid that narrows, against every n of a dense sample. */
static void the_grid_finds_the_number_of_workers(void **state)
{
    struct cv_arena arena;
    struct cleave_error err;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 12; number++) {
        struct cleave_worker worker;
        struct cv_random random;
        struct cv_xmi_k plan, fewer;
        double load;

        cv_random_at(&random, 22, number, 0, 0);
        load = random_scale(&random, 1e2, 1e6);
        worker =
            worker_of(1, random_scale(&random, 1e-2, 5), random_scale(&random, 50, 2000),
                      random_scale(&random, 1e-4, 0.1));
        MUST(cv_xmi_k_plan(&worker, 700, load, 20000, &arena, &plan, &err));
        for (uint32_t n = 100; n <= 700; n += 25) {
            MUST(cv_xmi_k_plan(&worker, n, load, 20000, &arena, &fewer, &err));
            assert_true(plan.makespan_s <= fewer.makespan_s * (1 + 1e-4));
        }
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

static void extremes_are_planned(void **state)
{
    static const double loads[] = { 1e-9, 1, 1e15 };
    const struct cleave_worker kinds[] = {
        worker_of(1, 0, 20, 0),   worker_of(1, 1e6, 20, 1e6), worker_of(1e-6, 1, 20, 0.5),
        worker_of(1, 1, 1e-6, 1), worker_of(1, 9, 30, 0),     worker_of(1, 0, 1e-6, 0)
    };
    struct cv_arena arena;
    struct cleave_error err;

    (void)state;
    cv_arena_init(&arena);
    for (size_t i = 0; i < 3; i++)
        for (size_t a = 0; a < 6; a++)
            for (uint32_t n = 1; n <= 60; n += 59) {
                struct cleave_worker workers[60];
                struct cv_xmi_k plan;

                for (uint32_t j = 0; j < n; j++)
                    workers[j] = kinds[a];
                MUST(cv_xmi_k_plan(workers, n, loads[i], 2000, &arena, &plan, &err));
                check_plan(workers, n, &plan.plan, loads[i], plan.makespan_s);
                cv_arena_reset(&arena);
            }
    cv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_other_numbers_are_better),
        cmocka_unit_test(never_worse_than_umr_or_xmi),
        cmocka_unit_test(the_grid_finds_the_number_of_workers),
        cmocka_unit_test(extremes_are_planned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
