/* test_umr_plus.c -- the search for an order. SPDX-License-Identifier: MIT */
#include "plan_check.h"

#include <string.h>

#include "model/load/plan.h"
#include "policy/static/one_round.h"
#include "policy/static/umr.h"
#include "policy/static/umr_plus.h"

static uint32_t random_platform(struct cv_random *random, struct cleave_worker *workers,
                                uint32_t max)
{
    const uint32_t n = 1 + (uint32_t)random_between(random, 0, max);

    for (uint32_t i = 0; i < n; i++) {
        workers[i] = random_worker(random);
        if (cv_random_uniform(random) < 0.2)
            workers[i].bandwidth_ups /= 20;
    }
    return n;
}

static void never_worse_than_umr_or_one_round(void **state)
{
    struct cv_arena arena;
    struct cleave_error err;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 200; number++) {
        struct cleave_worker workers[12];
        struct cv_random random;
        struct cv_umr_plus plan;
        struct cv_one_round one_round;
        struct cv_umr umr;
        uint32_t n;
        double load;

        cv_random_at(&random, 31, number, 0, 0);
        n = random_platform(&random, workers, 12);
        load = random_scale(&random, 0.1, 1e5);
        MUST(cv_umr_plus_plan(workers, n, load, 400, 20000, &arena, &plan, &err));
        check_plan(workers, n, &plan.plan, load, plan.makespan_s);
        MUST(cv_umr_plan(workers, n, load, 60, 0, &arena, &umr, &err));
        MUST(cv_one_round_plan(workers, n, load, &arena, &one_round, &err));
        assert_near(plan.umr_s, umr.makespan_s, 1e-12);
        assert_true(plan.makespan_s <= umr.makespan_s * (1 + 1e-12));
        assert_true(plan.makespan_s <= one_round.makespan_s * (1 + 1e-9));
        assert_true(plan.makespan_s <= plan.periodic_s * (1 + 1e-9));
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

static void the_same_again_and_no_worse_with_more_effort(void **state)
{
    struct cleave_worker workers[8];
    struct cv_umr_plus once, again;
    struct cv_random random;
    struct cv_arena arena;
    struct cleave_error err;
    double before_s = INFINITY;

    (void)state;
    cv_arena_init(&arena);
    cv_random_at(&random, 32, 0, 0, 0);
    for (uint32_t i = 0; i < 8; i++)
        workers[i] = random_worker(&random);
    for (uint64_t effort = 1000; effort <= 1000000; effort *= 10) {
        MUST(cv_umr_plus_plan(workers, 8, 500, 400, effort, &arena, &once, &err));
        MUST(cv_umr_plus_plan(workers, 8, 500, 400, effort, &arena, &again, &err));
        assert_int_equal(once.plan.nchunks, again.plan.nchunks);
        assert_int_equal(once.steps, again.steps);
        assert_memory_equal(once.plan.worker, again.plan.worker,
                            once.plan.nchunks * sizeof *once.plan.worker);
        assert_memory_equal(once.plan.units, again.plan.units,
                            once.plan.nchunks * sizeof *once.plan.units);
        assert_true(once.makespan_s <= before_s);
        before_s = once.makespan_s;
    }
    cv_arena_done(&arena);
}

/* All orders of up to seven chunks. */
static double best_by_trying(const struct cleave_worker *workers, uint32_t nworkers,
                             double load, uint32_t max, struct cv_arena *arena)
{
    struct cv_vertex_workspace room;
    double best_s = INFINITY, units[8];
    uint32_t seq[8];

    assert_true(cv_vertex_room_init(&room, arena, max, nworkers));
    for (uint32_t n = 1, orders = nworkers; n <= max; n++, orders *= nworkers)
        for (uint32_t number = 0; number < orders; number++) {
            uint32_t rest = number;
            bool feasible;
            double time_s;

            for (uint32_t i = 0; i < n; i++, rest /= nworkers)
                seq[i] = rest % nworkers;
            time_s = cv_vertex_solve(workers, load, seq, n, &room, units, &feasible);
            if (feasible && time_s < best_s)
                best_s = time_s;
        }
    return best_s;
}

static void few_chunks_are_ordered_best(void **state)
{
    enum { TRIALS = 60 };
    struct cv_arena arena;
    struct cleave_error err;
    unsigned optimal = 0;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < TRIALS; number++) {
        struct cleave_worker workers[3];
        struct cv_random random;
        struct cv_umr_plus plan;
        const uint32_t n = 2 + number % 2;
        double load, best_s;

        cv_random_at(&random, 33, number, 0, 0);
        load = random_scale(&random, 1, 60);
        for (uint32_t i = 0; i < n; i++)
            workers[i] = random_worker(&random);
        MUST(cv_umr_plus_plan(workers, n, load, 7, 100000, &arena, &plan, &err));
        best_s = best_by_trying(workers, n, load, 7, &arena);
        /* umr's plan may have more chunks than all orders tried here. */
        assert_true(plan.makespan_s <= best_s * (1 + 0.005));
        optimal += plan.makespan_s <= best_s * (1 + 1e-9);
        cv_arena_reset(&arena);
    }
    assert_true(optimal >= TRIALS - 2);
    cv_arena_done(&arena);
}

static void extremes_are_planned(void **state)
{
    static const double loads[] = { 1e-9, 1, 1e15 };
    const struct cleave_worker kinds[] = {
        worker_of(1, 0, 20, 0), worker_of(1, 1e6, 20, 1e6), worker_of(1e-6, 1, 20, 0.5),
        worker_of(1, 1, 1e-6, 1), worker_of(1e6, 0, 1, 0)
    };
    struct cleave_worker workers[3];
    struct cv_arena arena;
    struct cleave_error err;
    struct cv_umr_plus plan;

    (void)state;
    cv_arena_init(&arena);
    for (size_t i = 0; i < 3; i++)
        for (size_t a = 0; a < 5; a++)
            for (size_t b = 0; b < 5; b++)
                for (uint32_t n = 1; n <= 3; n++) {
                    workers[0] = kinds[a];
                    workers[1] = workers[2] = kinds[b];
                    MUST(cv_umr_plus_plan(workers, n, loads[i], 2000, 20000, &arena,
                                          &plan, &err));
                    check_plan(workers, n, &plan.plan, loads[i], plan.makespan_s);
                    cv_arena_reset(&arena);
                }
    cv_arena_done(&arena);
}

static void large_platforms_get_a_plan(void **state)
{
    enum { N = 3000 };
    struct cleave_worker *workers = calloc(N, sizeof *workers);
    struct cv_random random;
    struct cv_arena arena;
    struct cleave_error err;
    struct cv_umr_plus plan;

    (void)state;
    assert_non_null(workers);
    cv_arena_init(&arena);
    cv_random_at(&random, 34, 0, 0, 0);
    for (uint32_t i = 0; i < N; i++) {
        workers[i] = random_worker(&random);
        workers[i].bandwidth_ups *= N / 10.0;
        workers[i].latency_s /= 100;
    }
    MUST(cv_umr_plus_plan(workers, N, 1e6, cv_chunk_cap(N), cv_umr_plus_effort(N), &arena,
                          &plan, &err));
    check_plan(workers, N, &plan.plan, 1e6, plan.makespan_s);
    assert_true(plan.makespan_s <= plan.umr_s);
    cv_arena_done(&arena);
    free(workers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_worse_than_umr_or_one_round),
        cmocka_unit_test(the_same_again_and_no_worse_with_more_effort),
        cmocka_unit_test(few_chunks_are_ordered_best),
        cmocka_unit_test(extremes_are_planned),
        cmocka_unit_test(large_platforms_get_a_plan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
