/* test_time_fit.c -- latency and rate from what things took. SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "run/common/time_fit.h"

static void a_line_is_found(void **state)
{
    struct cv_time_fit fit = { 0, 0, 0, 0, 0 };
    double latency_s, rate_ups;

    (void)state;
    for (int i = 1; i < 10; i++)
        cv_time_fit_add(&fit, 1000 * i * i, 0.25 + 1000 * i * i / 4e4);
    cv_time_fit_line(&fit, &latency_s, &rate_ups);
    assert_true(fabs(latency_s - 0.25) < 1e-9);
    assert_true(fabs(rate_ups - 4e4) < 1e-3);
}

static void one_size_has_no_latency(void **state)
{
    struct cv_time_fit fit = { 0, 0, 0, 0, 0 };
    double latency_s = -1, rate_ups = -1;

    (void)state;
    cv_time_fit_line(&fit, &latency_s, &rate_ups);
    assert_true(latency_s == 0 && rate_ups == 0);
    for (int i = 0; i < 5; i++)
        cv_time_fit_add(&fit, 1000, 2);
    cv_time_fit_line(&fit, &latency_s, &rate_ups);
    assert_true(fabs(latency_s - 0) < 1e-12);
    assert_true(fabs(rate_ups - 500) < 1e-9);
}

/* Noise may say that large ones take no longer: neither number leaves reason. */
static void noise_does_not_turn_the_line_over(void **state)
{
    struct cv_time_fit fit = { 0, 0, 0, 0, 0 };
    double latency_s, rate_ups;

    (void)state;
    cv_time_fit_add(&fit, 10, 5);
    cv_time_fit_add(&fit, 1000, 1);
    cv_time_fit_line(&fit, &latency_s, &rate_ups);
    assert_true(rate_ups > 0 && latency_s >= 0 && latency_s <= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_found),
        cmocka_unit_test(one_size_has_no_latency),
        cmocka_unit_test(noise_does_not_turn_the_line_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
