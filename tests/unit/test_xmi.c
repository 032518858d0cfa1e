/* test_xmi.c -- multi-installment against its closed form.
 * SPDX-License-Identifier: MIT */
#include <complex.h>

#include "plan_check.h"

#include "policy/static/xmi.h"

enum { MOST_N = 8, ROUNDS = 3 };

/* Roots of a polynomial c[0] + c[1] x + .. + c[degree] x^degree, all at once: each guess
 * is corrected by the value there divided by the product of distances to the other
 * guesses (Durand and Kerner). */
static void find_roots(const double *c, int degree, double complex *root)
{
    for (int j = 0; j < degree; j++)
        root[j] = cpow(0.4 + 0.9 * I, j);
    for (int turn = 0; turn < 2000; turn++)
        for (int j = 0; j < degree; j++) {
            double complex value = c[degree], distance = c[degree];

            for (int k = degree; k-- > 0;)
                value = value * root[j] + c[k];
            for (int k = 0; k < degree; k++)
                distance *= k == j ? 1 : root[j] - root[k];
            root[j] -= value / distance;
        }
}

/* Coefficient i of P(x) / Q(x) by partial fractions, Q having simple roots:
 * sum over roots r of -P(r) / Q'(r) r^-(i+1). */
static double coefficient(const double *p, const double *q, int degree,
                          const double complex *root, int i)
{
    double complex sum = 0;

    for (int j = 0; j < degree; j++) {
        double complex numerator = 0, derivative = 0;

        for (int k = degree; k-- > 0;)
            numerator = numerator * root[j] + p[k];
        for (int k = degree; k > 0; k--)
            derivative = derivative * root[j] + k * q[k];
        sum -= numerator / derivative * cpow(root[j], -(i + 1));
    }
    return creal(sum);
}

/* The generating function of the computing times has the denominator
 * (1 - x) - x (1 - x^N) / R and the numerator g_0 (1 - x^N) - alpha x^N +
 * beta (x + .. + x^N); see section 4.2 of the paper. */
static void the_recursion_matches_the_closed_form(void **state)
{
    struct cv_arena arena;
    struct cleave_error err;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t n = 1; n <= MOST_N; n++) {
        const double r = 1.7 * n + 0.3, alpha = 0.3, beta = 0.25;
        const struct cleave_worker worker = worker_of(2, alpha, 2 * r, beta);
        double q[MOST_N + 2] = { 0 }, of_g0[MOST_N + 1] = { 0 },
                          alone[MOST_N + 1] = { 0 };
        double complex root[MOST_N + 1];
        double slope = 0, offset = 0, g0;
        const int degree = (int)n + 1, chunks = (int)n * ROUNDS;
        struct cv_xmi plan;

        q[0] = 1;
        q[1] = -1 - 1 / r;
        q[n + 1] += 1 / r;
        of_g0[0] = 1;
        of_g0[n] -= 1;
        for (uint32_t k = 1; k <= n; k++)
            alone[k] = beta;
        alone[n] -= alpha;
        find_roots(q, degree, root);
        for (int i = 0; i < chunks; i++) {
            slope += coefficient(of_g0, q, degree, root, i);
            offset += coefficient(alone, q, degree, root, i);
        }
        g0 = (400 / 2.0 - offset) / slope;
        MUST(cv_xmi_fixed(&worker, n, 400, ROUNDS, &arena, &plan, &err));
        assert_near(plan.last_s, g0, 1e-8);
        for (int i = 0; i < chunks; i++)
            assert_near(plan.plan.units[chunks - 1 - i],
                        2 * (g0 * coefficient(of_g0, q, degree, root, i) +
                             coefficient(alone, q, degree, root, i)),
                        1e-7);
    }
    cv_arena_done(&arena);
}

/* xmi is the vertex of round robin: two independent ways to the same numbers. */
static void xmi_is_the_vertex_of_round_robin(void **state)
{
    struct cv_arena arena;
    struct cleave_error err;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 300; number++) {
        struct cleave_worker workers[12];
        struct cv_random random;
        struct cv_vertex_workspace room;
        struct cv_xmi plan;
        uint32_t n, rounds;
        size_t chunks;
        double load, units[12 * 6], makespan;
        bool feasible;

        cv_random_at(&random, 8, number, 0, 0);
        n = 1 + (uint32_t)random_between(&random, 0, 12);
        rounds = 1 + (uint32_t)random_between(&random, 0, 6);
        chunks = (size_t)n * rounds;
        load = random_scale(&random, 10, 3000);
        workers[0] = random_worker(&random);
        for (uint32_t i = 1; i < n; i++)
            workers[i] = workers[0];
        MUST(cv_xmi_fixed(workers, n, load, rounds, &arena, &plan, &err));
        assert_true(cv_vertex_room_init(&room, &arena, chunks, n));
        makespan = cv_vertex_solve(workers, load, plan.plan.worker, chunks, &room, units,
                                   &feasible);
        assert_int_equal(plan.feasible, feasible);
        for (size_t k = 0; k < chunks; k++)
            assert_true(fabs(plan.plan.units[k] - units[k]) <= 1e-9 * load);
        if (feasible)
            assert_near(check_plan(workers, n, &plan.plan, load, plan.makespan_s),
                        makespan, 1e-9);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

static uint32_t most_by_trying(const struct cleave_worker *worker, uint32_t n,
                               double load, uint32_t rounds, struct cv_arena *arena)
{
    for (; n > 0; n--) {
        struct cleave_error err;
        struct cv_xmi plan;

        MUST(cv_xmi_fixed(worker, n, load, rounds, arena, &plan, &err));
        if (plan.feasible)
            break;
    }
    return n;
}

/* Above 256 workers the largest number is found by bisection. */
static void bisection_finds_the_most_workers(void **state)
{
    struct cv_arena arena;
    struct cleave_error err;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 60; number++) {
        struct cleave_worker worker;
        struct cv_random random;
        struct cv_xmi plan;
        uint32_t rounds;
        double load;

        cv_random_at(&random, 9, number, 0, 0);
        rounds = 1 + (uint32_t)random_between(&random, 0, 4);
        load = random_scale(&random, 1, 1e5);
        worker =
            worker_of(1, random_scale(&random, 1e-2, 20), random_scale(&random, 1, 500),
                      number % 3 == 0 ? 0 : random_scale(&random, 1e-3, 0.5));
        MUST(cv_xmi_plan(&worker, 320, load, rounds, &arena, &plan, &err));
        assert_int_equal(plan.workers,
                         most_by_trying(&worker, 320, load, rounds, &arena));
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

/* With B = 0.427 S the times of 24 chunks are a difference of numbers 10^6 times as large:
 * three workers, and 655.39 s by exact arithmetic; with the digits of a double it seemed
 * that there is a negative chunk. */
static void narrow_links_are_planned_with_enough_digits(void **state)
{
    const struct cleave_worker known = worker_of(1, 44.177, 0.427, 0.243);
    struct cv_arena arena;
    struct cleave_error err;
    struct cv_xmi plan, fixed;

    (void)state;
    cv_arena_init(&arena);
    MUST(cv_xmi_plan(&known, 3, 257.99, 8, &arena, &plan, &err));
    assert_int_equal(plan.workers, 3);
    assert_near(plan.makespan_s, 655.3884230390063, 1e-13); /* by fractions */
    check_plan((struct cleave_worker[]){ known, known, known }, 3, &plan.plan, 257.99,
               plan.makespan_s);
    MUST(cv_xmi_fixed(&known, 3, 257.99, 8, &arena, &fixed, &err));
    assert_true(fixed.feasible);
    assert_near(fixed.makespan_s, plan.makespan_s, 1e-15);
    for (uint32_t rounds = 2; rounds < 14; rounds++) { /* no worker is dropped early */
        struct cv_xmi fewer;

        MUST(cv_xmi_plan(&known, 3, 257.99, rounds, &arena, &plan, &err));
        for (uint32_t n = plan.workers + 1; n <= 3; n++) {
            MUST(cv_xmi_fixed(&known, n, 257.99, rounds, &arena, &fewer, &err));
            assert_false(fewer.feasible);
        }
        if (plan.workers > 0)
            check_plan((struct cleave_worker[]){ known, known, known }, 3, &plan.plan,
                       257.99, plan.makespan_s);
    }
    cv_arena_done(&arena);
}

static void no_number_of_workers_may_work(void **state)
{
    const struct cleave_worker worker = worker_of(1, 9, 60, 0);
    struct cv_arena arena;
    struct cleave_error err;
    struct cv_xmi plan;

    (void)state;
    cv_arena_init(&arena);
    MUST(cv_xmi_plan(&worker, 6, 300, 4, &arena, &plan, &err));
    assert_int_equal(plan.workers, 0);
    assert_false(plan.feasible);
    assert_int_equal(plan.plan.nchunks, 0);
    assert_int_equal(cv_xmi_plan(&worker, 100000, 1e9, 100000, &arena, &plan, &err),
                     CLEAVE_EINPUT);
    cv_arena_done(&arena);
}

static void mi_copes_with_slow_links(void **state)
{
    struct cleave_worker workers[100];
    struct cv_arena arena;
    struct cleave_error err;
    struct cv_xmi plan;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t i = 0; i < 100; i++)
        workers[i] = worker_of(1e6, 2, 1, 1);
    MUST(cv_mi_plan(workers, 100, 1000, 4, &arena, &plan, &err));
    check_plan(workers, 100, &plan.plan, 1000, NAN);
    for (uint32_t i = 0; i < 100; i++)
        workers[i] = worker_of(1, 0.5, 150, 0.1);
    MUST(cv_mi_plan(workers, 100, 1e4, 3, &arena, &plan, &err));
    assert_int_equal(plan.plan.nchunks, 300);
    check_plan(workers, 100, &plan.plan, 1e4, plan.makespan_s);
    cv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_recursion_matches_the_closed_form),
        cmocka_unit_test(xmi_is_the_vertex_of_round_robin),
        cmocka_unit_test(bisection_finds_the_most_workers),
        cmocka_unit_test(narrow_links_are_planned_with_enough_digits),
        cmocka_unit_test(no_number_of_workers_may_work),
        cmocka_unit_test(mi_copes_with_slow_links),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
