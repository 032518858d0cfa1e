/* test_rate.c -- how much starts in any window. SPDX-License-Identifier: MIT */
#include "engine/rate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/random.h"
#include "model/bounds/rate_bound.h"

static void starts_wait_for_the_window(void **state)
{
    struct cv_rate rate = { .amount = 2, .period_s = 10 };

    (void)state;
    assert_true(cv_rate_next_s(&rate, 1, 1, 0) == 1);
    assert_int_equal(cv_rate_start(&rate, 1, 1, NULL), CLEAVE_OK);
    assert_true(cv_rate_next_s(&rate, 4, 1, 0) == 4);
    assert_int_equal(cv_rate_start(&rate, 4, 1, NULL), CLEAVE_OK);
    assert_true(cv_rate_next_s(&rate, 5, 1, 0) == 11);
    assert_true(cv_rate_next_s(&rate, 5, 2, 0) == 14);
    /* Behind another one that waits; behind more than a window holds. */
    assert_true(cv_rate_next_s(&rate, 5, 1, 1) == 14);
    assert_true(cv_rate_next_s(&rate, 5, 1, 2) == 24);
    assert_true(cv_rate_next_s(&rate, 10.99, 1, 0) == 11);
    assert_true(cv_rate_next_s(&rate, 11, 1, 0) == 11);
    assert_true(cv_rate_left(&rate, 11) >= 1 && cv_rate_left(&rate, 11) < 1.1);
    cv_rate_done(&rate);
}

static void a_request_for_later_lowers_the_limit(void **state)
{
    struct cv_rate rate = { .amount = 10, .period_s = 10 };

    (void)state;
    for (int i = 0; i < 5; i++)
        cv_rate_lower(&rate, 1 + i, 1);
    assert_true(fabs(cv_rate_left(&rate, 6) - 5) < 1e-6);
    assert_true(fabs(cv_rate_left(&rate, 11) - 6) < 1e-6);
    cv_rate_lower(&rate, 12, 1);
    assert_true(fabs(cv_rate_left(&rate, 12) - 5) < 1e-6);
    assert_true(fabs(cv_rate_left(&rate, 21) - 6) < 1e-6);
    assert_true(fabs(cv_rate_left(&rate, 1000) - 10) < 1e-6);
    /* Below one record, one starts in an empty window. */
    rate = (struct cv_rate){ .amount = 1, .period_s = 10 };
    cv_rate_lower(&rate, 1, 1);
    assert_true(cv_rate_next_s(&rate, 1, 1, 0) == 1);
    assert_int_equal(cv_rate_start(&rate, 1, 1, NULL), CLEAVE_OK);
    assert_true(cv_rate_next_s(&rate, 1, 1, 0) == 11);
    assert_true(cv_rate_next_s(&rate, 1, 1, 1) == 31);
    cv_rate_done(&rate);
}

/* Workers of a simulated clock that start as soon as the rate lets them. */
static void no_window_has_more_than_the_amount(void **state)
{
    enum { ROUNDS = 300, STARTS = 400, MOST = 8 };
    static double at_s[STARTS], weight[STARTS];
    struct cv_random random;

    (void)state;
    cv_random_at(&random, 7, 0, 0, 0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        const bool weighted = round % 2 == 1;
        struct cv_rate rate = { .amount = 1 + floor(20 * cv_random_uniform(&random)),
                                .period_s = 0.1 + 60 * cv_random_uniform(&random) };
        const unsigned workers = 1 + (unsigned)(MOST * cv_random_uniform(&random));
        const double mean_s = rate.period_s * 2 * cv_random_uniform(&random);
        double free_s[MOST + 1] = { 0 };
        double now_s = 0;

        for (unsigned i = 0; i < STARTS; i++) {
            unsigned next = 0;

            for (unsigned w = 1; w < workers; w++)
                next = free_s[w] < free_s[next] ? w : next;
            now_s = fmax(now_s, free_s[next]);
            weight[i] = weighted ? rate.amount * cv_random_uniform(&random) : 1;
            if (cv_random_uniform(&random) < 0.05)
                cv_rate_lower(&rate, now_s, weight[i]);
            for (double then_s;
                 (then_s = cv_rate_next_s(&rate, now_s, weight[i], 0)) > now_s;)
                now_s = then_s;
            assert_int_equal(cv_rate_start(&rate, now_s, weight[i], NULL), CLEAVE_OK);
            at_s[i] = now_s;
            free_s[next] = now_s + mean_s * cv_random_uniform(&random);
        }
        for (unsigned last = 0; last < STARTS; last++) {
            double sum = 0;

            for (unsigned i = last + 1; i-- > 0 && at_s[i] + rate.period_s > at_s[last];)
                sum += weight[i];
            assert_true(sum <= rate.amount * (1 + 1e-6));
        }
        cv_rate_done(&rate);
    }
}

static void a_bound_counts_windows_and_speeds(void **state)
{
    const struct cv_rated_workers groups[] = { { 1000, 2, 5, 1 },
                                               { 2, 1, 0, 0 },
                                               { 0, 1, 5, 1 } };

    (void)state;
    /* 20 items at 5 in a second on two workers: the last five start from 3 s on. */
    assert_true(fabs(cv_rate_bound_s(groups, 1, 20) - 3.003) < 1e-6);
    assert_true(fabs(cv_rate_bound_s(groups, 1, 22) - 4) < 1e-6);
    assert_true(fabs(cv_rate_bound_s(&groups[1], 1, 20) - 10) < 1e-6);
    /* 5 (floor(t) + 1) + 2 t >= 20 from t = 2.5 on: 15 + 5. */
    assert_true(fabs(cv_rate_bound_s(groups, 2, 20) - 2.5) < 1e-6);
    assert_true(isinf(cv_rate_bound_s(&groups[2], 1, 1)));
    assert_true(cv_rate_bound_s(groups, 2, 0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_wait_for_the_window),
        cmocka_unit_test(a_request_for_later_lowers_the_limit),
        cmocka_unit_test(a_bound_counts_windows_and_speeds),
        cmocka_unit_test(no_window_has_more_than_the_amount),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
