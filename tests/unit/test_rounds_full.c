/* test_rounds_full.c -- rounds with results where a duplex port cannot keep all workers busy.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/random.h"
#include "model/rounds/rounds.h"

enum { MOST = 8, CASES = 200 };

/* Links each way from four times as fast as all workers together to a quarter of that. */
static struct cv_returns draw(uint32_t number, struct cv_trip *trips)
{
    const uint32_t n = 2 + number % (MOST - 1);
    struct cv_random random;

    cv_random_at(&random, 17, number, 0, 0);
    for (uint32_t w = 0; w < n; w++)
        trips[w] = (struct cv_trip){
            .compute_s = 0.5 + cv_random_uniform(&random),
            .send_s = pow(4, 2 * cv_random_uniform(&random) - 1) / n,
            .back_s =
                number % 7 == 0 ? 0 : pow(4, 2 * cv_random_uniform(&random) - 1) / n,
            .send_fixed_s = 0.1 * cv_random_uniform(&random),
            .compute_fixed_s = 0.1 * cv_random_uniform(&random),
            .back_fixed_s = 0.1 * cv_random_uniform(&random),
        };
    return (struct cv_returns){ trips, n, false, NULL };
}

/* Messages of a second, out and back. */
static void time_of(const struct cv_trip *trips, uint32_t n, double *send_s,
                    double *back_s)
{
    *send_s = *back_s = 0;
    for (uint32_t w = 0; w < n; w++) {
        *send_s += trips[w].send_s / trips[w].compute_s;
        *back_s += trips[w].back_s / trips[w].compute_s;
    }
}

static void speeds_fit_into_the_port(void **state)
{
    unsigned full_ones = 0;

    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        struct cv_trip trips[MOST];
        const struct cv_returns returns = draw(i, trips);
        struct cv_full_port full;
        struct cv_arena arena;
        double send_s, back_s;

        cv_arena_init(&arena);
        assert_true(cv_full_port(&returns, &arena, &full));
        time_of(trips, returns.n, &send_s, &back_s);
        if (fmax(send_s, back_s) <= 1) {
            assert_int_equal(full.n, 0); /* all workers are kept busy */
        } else if (full.n > 0) {
            full_ones++;
            for (uint32_t k = 0; k < full.n; k++) {
                assert_true(full.trips[k].compute_s >= trips[full.worker[k]].compute_s);
                assert_true(full.trips[k].send_s == trips[full.worker[k]].send_s);
            }
            time_of(full.trips, full.n, &send_s, &back_s);
            assert_true(send_s <= 1 + 1e-9 && back_s <= 1 + 1e-9);
        }
        cv_arena_done(&arena);
    }
    assert_true(full_ones > CASES / 4);
}

/* All that one way can carry goes to the widest links first: 2 workers of speed 1 and links of 4
 * and 1 units/s leave three quarters of the port's time for the second. */
static void widest_links_first(void **state)
{
    const struct cv_trip trips[] = { { 1, 1, 0.1, 0, 0, 0 }, { 0.25, 1, 0.1, 0, 0, 0 } };
    const struct cv_returns returns = { trips, 2, false, NULL };
    const struct cv_returns single = { trips, 2, true, NULL };
    struct cv_full_port full;
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    assert_true(cv_full_port(&returns, &arena, &full));
    assert_int_equal(full.n, 2);
    assert_true(fabs(1 / full.trips[0].compute_s - 0.75) < 1e-12);
    assert_true(fabs(1 / full.trips[1].compute_s - 1) < 1e-12);
    assert_true(cv_full_port(&single, &arena, &full));
    assert_int_equal(full.n, 0);
    cv_arena_done(&arena);
}

/* A narrow link to a fast worker takes three quarters of the port. Without looking at slower workers
 * the fast plan ends at 89.9 s; the port alone needs 69.9 s for all. */
static void plans_do_not_wait_for_an_idle_worker(void **state)
{
    static const double speed[] = { 2.754, 0.6384 }, width[] = { 0.6601, 2.774 };
    static const double out_s[] = { 0.02607, 0.1253 }, start_s[] = { 0.02341, 0.07533 };
    struct cv_trip trips[2];
    const struct cv_rounds rounds = { { trips, 2, false, NULL }, 80, NULL };

    (void)state;
    for (uint32_t w = 0; w < 2; w++)
        trips[w] = (struct cv_trip){ 1 / width[w], 1 / speed[w], 0.7 / width[w],
                                     out_s[w],     start_s[w],   out_s[w] };
    for (int effort = CV_ROUNDS_FAST; effort <= CV_ROUNDS_THOROUGH; effort++) {
        struct cv_rounds_plan plan, again;
        struct cleave_error err;
        struct cv_arena arena;
        double sum = 0;

        cv_arena_init(&arena);
        assert_int_equal(cv_rounds_best(&rounds, (enum cv_rounds_effort)effort, 1, &arena,
                                        &plan, &err),
                         CLEAVE_OK);
        for (uint32_t k = 0; k < plan.nchunks; k++)
            sum += plan.units[k];
        assert_true(fabs(sum / rounds.load - 1) < 1e-9);
        again = plan;
        assert_true(cv_rounds_measure(&rounds, &again, &arena));
        assert_true(fabs(again.makespan_s / plan.makespan_s - 1) < 1e-9);
        assert_true(plan.makespan_s < 77 && plan.makespan_s > 69.8);
        cv_arena_done(&arena);
    }
}

/* Two workers and up to 3 chunks: the best of all orders of sends and returns, with sizes by
 * linear programs, is not below the bound. Programs and the bound have no code in common. */
static double best_of_all_orders(const struct cv_rounds *rounds, struct cv_arena *arena)
{
    static const uint32_t orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                           { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
    double best_s = INFINITY;

    for (uint32_t word = 0; word < 8; word++)
        for (uint32_t o = 0; o < 6; o++) {
            uint32_t worker[3], back[3];
            double units[3];
            struct cv_rounds_plan plan = { 3, worker, units, back, INFINITY };

            for (uint32_t k = 0; k < 3; k++) {
                worker[k] = word >> k & 1;
                back[k] = orders[o][k];
            }
            assert_int_equal(cv_rounds_lp(rounds, &plan, arena, NULL), CLEAVE_OK);
            best_s = fmin(best_s, plan.makespan_s);
        }
    return best_s;
}

/* Links that carry about half of what the workers compute: the bound holds, and is near. */
static void bound_is_near_where_the_port_is_full(void **state)
{
    double over = 0;
    unsigned count = 0;

    (void)state;
    for (uint32_t i = 0; i < 24; i++) {
        struct cv_trip trips[MOST];
        const struct cv_returns returns = draw(i, trips);
        const uint32_t n = i % 4 == 0 ? 2 : 2 + i % 4;
        const struct cv_rounds rounds = { { trips, n, i % 5 == 0, NULL },
                                          1 + i % 9,
                                          NULL };
        struct cv_rounds_plan plan;
        struct cv_arena arena;
        double bound_s, units;

        for (uint32_t w = 0; w < n && w < returns.n; w++) {
            trips[w].send_s *= 2.0 * returns.n / n;
            trips[w].back_s *= 2.0 * returns.n / n;
        }
        if (n > returns.n)
            continue;
        cv_arena_init(&arena);
        bound_s = cv_rounds_bound(&rounds, &arena);
        if (n == 2)
            assert_true(bound_s <= best_of_all_orders(&rounds, &arena));
        assert_int_equal(cv_rounds_best(&rounds, CV_ROUNDS_FAST, 1, &arena, &plan, NULL),
                         CLEAVE_OK);
        assert_true(bound_s > 0 && bound_s <= plan.makespan_s);
        if (i % 4 == 0) {
            units = cv_rounds_bound_work(&rounds.returns, plan.makespan_s, &arena);
            assert_true(units >= rounds.load * (1 - 1e-9));
        }
        over += plan.makespan_s / bound_s - 1;
        count++;
        cv_arena_done(&arena);
    }
    assert_true(count > 10);
    print_message("plans %.2f %% over bounds\n", 100 * over / count);
    assert_true(over / count < 0.04);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speeds_fit_into_the_port),
        cmocka_unit_test(widest_links_first),
        cmocka_unit_test(bound_is_near_where_the_port_is_full),
        cmocka_unit_test(plans_do_not_wait_for_an_idle_worker),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
