/* test_eta.c -- the time that is said to be left, and the bar. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <math.h>
#include <cmocka.h>

#include "report/terminal/terminal_progress.h"

static const double LOOK_S = 0.2;

/* A steady rate is known at once, and counts down with the clock. */
static void test_steady(void **state)
{
    struct cv_eta pace;

    (void)state;
    cv_eta_init(&pace, 100);
    for (int i = 1; i < 500; i++) {
        const double left_s = cv_eta_left(&pace, 100 + i * LOOK_S, 1e6 * i * LOOK_S, 1e8);

        if (i * LOOK_S >= 5)
            assert_true(fabs(left_s - (100 - i * LOOK_S)) < 1e-6);
        else
            assert_true(isnan(left_s));
    }
}

/* Commands that take their time to start do not make the rest seem long. */
static void test_late_start(void **state)
{
    struct cv_eta pace;

    (void)state;
    cv_eta_init(&pace, 0);
    for (int i = 1; i <= 50; i++)
        assert_true(isnan(cv_eta_left(&pace, i * LOOK_S, 0, 100)));
    assert_true(isnan(cv_eta_left(&pace, 10 + LOOK_S, 1, 100)));
    for (int i = 2; i < 5; i++)
        assert_true(isnan(cv_eta_left(&pace, 10 + i * LOOK_S, i, 100)));
    assert_true(fabs(cv_eta_left(&pace, 11, 5, 100) - 19) < 1e-6);
    /* Much time has to do where there is less. */
    cv_eta_init(&pace, 0);
    assert_true(isnan(cv_eta_left(&pace, 9, 1, 100)));
    assert_true(fabs(cv_eta_left(&pace, 10, 1, 100) - 990) < 400);
    /* A twentieth of all is enough, however soon. */
    cv_eta_init(&pace, 0);
    assert_true(fabs(cv_eta_left(&pace, 0.5, 50, 100) - 0.5) < 1e-9);
}

/* Bursts, or a drifting rate, move it gradually. */
static void test_no_leaps(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        struct cv_eta pace;
        double before_s = NAN, done = 0;

        cv_eta_init(&pace, 0);
        for (int i = 1; i < 1000 && done < 1000; i++) {
            double left_s;

            done += kind == 0   ? (i % 25 == 0 ? 25 : 0)
                    : kind == 1 ? (i < 300 ? 1 : 0.1)
                    : kind == 2 ? (i < 300 ? 0.1 : 1)
                                : (i < 20 ? 5 : 0);
            left_s = cv_eta_left(&pace, i * LOOK_S, done, 1000);
            if (!isnan(before_s)) {
                assert_true(left_s <= 1.05 * fmax(0.5, before_s));
                assert_true(left_s >= fmax(0, before_s - LOOK_S) / 1.1);
            }
            before_s = left_s;
        }
        assert_true(before_s >= 0);
    }
}

/* Also between looks that are far apart. */
static void test_leap(void **state)
{
    struct cv_eta pace;
    double left_s;

    (void)state;
    cv_eta_init(&pace, 0);
    left_s = cv_eta_left(&pace, 10, 500, 1000);
    assert_true(left_s == 10);
    left_s = cv_eta_left(&pace, 110, 501, 1000);
    assert_true(left_s == 20);
    left_s = cv_eta_left(&pace, 120, 999, 1000);
    assert_true(left_s >= 5 && left_s < 10);
}

/* It reaches the true value after a change of the rate. */
static void test_follows(void **state)
{
    struct cv_eta pace;
    double done = 0, left_s = NAN;

    (void)state;
    cv_eta_init(&pace, 0);
    for (int i = 1; i <= 1000; i++) {
        done += i <= 100 ? 10 : 1;
        left_s = cv_eta_left(&pace, i * LOOK_S, done, 3000);
    }
    assert_true(fabs(left_s - 1100 * LOOK_S) < 0.2 * 1100 * LOOK_S);
}

/* A chunk that failed is read again: it is not counted twice, nor taken back. */
static void test_never_back(void **state)
{
    struct cv_eta pace;
    double left_s;

    (void)state;
    cv_eta_init(&pace, 0);
    cv_eta_left(&pace, 1, 100, 1000);
    left_s = cv_eta_left(&pace, 1.2, 50, 1000);
    assert_true(pace.done == 100);
    assert_true(left_s > 0 && isfinite(left_s));
    assert_true(cv_eta_left(&pace, 1.2, 60, 1000) == left_s);
}

static void is_bar(double part, unsigned columns, bool utf8, const char *expected)
{
    struct cv_text text = { NULL, 0, 0, false };

    cv_bar_add(&text, part, columns, utf8);
    assert_string_equal(text.bytes, expected);
    cv_text_done(&text);
}

static void test_bar(void **state)
{
    (void)state;
    is_bar(0, 4, false, "....");
    is_bar(0.5, 4, false, "##..");
    is_bar(0.99, 4, false, "###.");
    is_bar(1, 4, false, "####");
    is_bar(7, 2, false, "##");
    is_bar(-1, 2, false, "..");
    is_bar(0.5, 4, true, "██░░");
    is_bar(0.53125, 4, true, "██▏░");
    is_bar(0.96875, 4, true, "███▉");
    is_bar(1, 2, true, "██");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steady),   cmocka_unit_test(test_late_start),
        cmocka_unit_test(test_no_leaps), cmocka_unit_test(test_leap),
        cmocka_unit_test(test_follows),  cmocka_unit_test(test_never_back),
        cmocka_unit_test(test_bar),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
