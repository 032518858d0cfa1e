/* test_lp_oracle.c -- closed forms against linear programming.
 * SPDX-License-Identifier: MIT
 *
 * Needs CLP; skipped (77) without it. */
#include "plan_check.h"

#include <stdio.h>

#include "model/load/plan.h"
#include "policy/static/umr_plus.h"
#include "policy/static/xmi.h"

/* The program that check-vectors uses; the library does not know CLP. */
#include "../../tools/check_vectors/lp_order.c" /* NOLINT(bugprone-suspicious-include) */

static uint32_t equal_platform(struct cv_random *random, struct cleave_worker *workers,
                               uint32_t max)
{
    const uint32_t n = 1 + (uint32_t)random_between(random, 0, max);

    workers[0] = random_worker(random);
    for (uint32_t i = 1; i < n; i++)
        workers[i] = workers[0];
    return n;
}

static void xmi_is_the_optimum_of_its_order(void **state)
{
    struct cv_arena arena;
    struct cleave_error err;
    unsigned compared = 0;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 100; number++) {
        struct cleave_worker workers[8];
        struct cv_random random;
        struct cv_xmi plan;
        uint32_t n, rounds;
        double load;

        cv_random_at(&random, 41, number, 0, 0);
        n = equal_platform(&random, workers, 8);
        rounds = 1 + (uint32_t)random_between(&random, 0, 4);
        load = random_scale(&random, 5, 2000);
        MUST(cv_xmi_plan(workers, n, load, rounds, &arena, &plan, &err));
        if (plan.feasible) {
            assert_near(plan.makespan_s,
                        lp_order_optimum(workers, load, plan.plan.worker,
                                         plan.plan.nchunks, NULL),
                        1e-7);
            compared++;
        }
        cv_arena_reset(&arena);
    }
    assert_true(compared > 50);
    cv_arena_done(&arena);
}

static void xmi_k_is_the_optimum_of_its_order(void **state)
{
    struct cv_arena arena;
    struct cleave_error err;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 60; number++) {
        struct cleave_worker workers[8];
        struct cv_random random;
        struct cv_xmi_k plan;
        uint32_t n;
        double load;

        cv_random_at(&random, 42, number, 0, 0);
        n = equal_platform(&random, workers, 8);
        load = random_scale(&random, 5, 2000);
        MUST(cv_xmi_k_plan(workers, n, load, 60, &arena, &plan, &err));
        assert_near(plan.makespan_s,
                    lp_order_optimum(workers, load, plan.plan.worker, plan.plan.nchunks,
                                     NULL),
                    1e-7);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

/* Never below the optimum of the order; equal when sizes and multipliers prove it. */
static void a_vertex_is_optimal_if_reported(void **state)
{
    struct cv_arena arena;
    unsigned optimal = 0, other = 0;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 1500; number++) {
        struct cleave_worker workers[4];
        double units[12], multipliers[12], load, time_s, optimum_s;
        struct cv_vertex_workspace room;
        struct cv_random random;
        uint32_t nworkers, n, seq[12];
        bool feasible, nonnegative;

        cv_random_at(&random, 43, number, 0, 0);
        nworkers = 2 + (uint32_t)random_between(&random, 0, 3);
        n = 2 + (uint32_t)random_between(&random, 0, 9);
        load = random_scale(&random, 20, 500);
        for (uint32_t i = 0; i < nworkers; i++) {
            workers[i] = random_worker(&random);
            if (cv_random_uniform(&random) < 0.3)
                workers[i].bandwidth_ups /= 20;
        }
        for (uint32_t k = 0; k < n; k++)
            seq[k] = (uint32_t)random_between(&random, 0, nworkers);
        assert_true(cv_vertex_room_init(&room, &arena, n, nworkers));
        time_s = cv_vertex_solve(workers, load, seq, n, &room, units, &feasible);
        nonnegative = cv_vertex_multipliers(workers, seq, n, &room, multipliers);
        cv_arena_reset(&arena);
        if (!feasible)
            continue;
        optimum_s = lp_order_optimum(workers, load, seq, n, NULL);
        assert_true(optimum_s <= time_s * (1 + 1e-7));
        if (nonnegative) {
            assert_near(time_s, optimum_s, 1e-7);
            optimal++;
        } else if (optimum_s < time_s * (1 - 1e-7)) {
            other++;
        }
    }
    assert_true(optimal > 50);
    assert_true(other > 5); /* the multipliers do tell something */
    cv_arena_done(&arena);
}

/* The sizes the program returns take as long as it says. */
static void the_program_means_what_plans_mean(void **state)
{
    const struct cleave_worker workers[] = { worker_of(1.0181, 0.6388, 9.0513, 0.2818),
                                             worker_of(1.1995, 1.1803, 10.2329, 0.2571),
                                             worker_of(0.4857, 0.3262, 7.9103, 0.2367) };
    uint32_t seq[] = { 0, 1, 2, 2, 1, 0, 1 };
    double units[7], ready[3];
    const struct cv_plan plan = { 7, seq, units };
    const double optimum_s = lp_order_optimum(workers, 20, seq, 7, units);

    (void)state;
    assert_near(optimum_s, 10.292673502104403, 1e-6);
    assert_near(cv_plan_makespan(workers, 3, &plan, ready), optimum_s, 1e-7);
}

/* Sizes by linear programming for every order of few chunks: umr-plus finds an order as
 * good, but for rare exceptions. */
static void umr_plus_against_every_order(void **state)
{
    enum { TRIALS = 16, CHUNKS = 6 };
    struct cv_arena arena;
    struct cleave_error err;
    unsigned optimal = 0;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < TRIALS; number++) {
        struct cleave_worker workers[2];
        struct cv_random random;
        struct cv_umr_plus plan;
        double load, best_s = INFINITY;

        cv_random_at(&random, 44, number, 0, 0);
        load = random_scale(&random, 1, 40);
        for (uint32_t i = 0; i < 2; i++)
            workers[i] = random_worker(&random);
        for (uint32_t n = 1; n <= CHUNKS; n++)
            for (uint32_t bits = 0; bits < 1u << n; bits++) {
                uint32_t seq[CHUNKS];

                for (uint32_t k = 0; k < n; k++)
                    seq[k] = bits >> k & 1;
                best_s = fmin(best_s, lp_order_optimum(workers, load, seq, n, NULL));
            }
        MUST(cv_umr_plus_plan(workers, 2, load, CHUNKS, 100000, &arena, &plan, &err));
        assert_true(plan.makespan_s <= best_s * (1 + 0.01));
        optimal += plan.makespan_s <= best_s * (1 + 1e-7);
        cv_arena_reset(&arena);
    }
    assert_true(optimal >= TRIALS - 2);
    cv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xmi_is_the_optimum_of_its_order),
        cmocka_unit_test(xmi_k_is_the_optimum_of_its_order),
        cmocka_unit_test(a_vertex_is_optimal_if_reported),
        cmocka_unit_test(the_program_means_what_plans_mean),
        cmocka_unit_test(umr_plus_against_every_order),
    };

    if (!lp_order_available()) {
        fprintf(stderr, "skipped: built without CLP\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
