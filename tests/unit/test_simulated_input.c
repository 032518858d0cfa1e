/* test_simulated_input.c -- where new chunks of a simulated load are placed.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>

#include "engine/simulated_command.h"

static struct cv_simulated_input input;

/* 900 units for 3 workers: an equal share is 300. */
static void begin(void)
{
    cv_simulated_input_begin(&input, 900, 0, 3, 0);
    assert_true(cv_free_ranges_reserve(&input.free));
    (void)cv_simulated_input_arrive(&input);
}

static void expect_at(double units, bool extends, double place)
{
    double at = -1;

    assert_true(cv_free_ranges_reserve(&input.free));
    assert_true(fabs(cv_simulated_input_place(&input, units, extends, &at) - units) <
                1e-9);
    assert_true(fabs(at - place) < 1e-9);
}

static void tests_have_room_until_a_command_has_read(void **state)
{
    (void)state;
    begin();
    expect_at(10, false, 0);
    expect_at(10, true, 600);
    expect_at(10, true, 300);
    assert_true(fabs(cv_simulated_input_left(&input) - 870) < 1e-9);
    /* 10 to 300 is the first of three ranges of the same size, and smaller than a share. */
    expect_at(10, true, 290);
    cv_simulated_input_done(&input);
}

static void later_chunks_are_next_to_the_end(void **state)
{
    (void)state;
    begin();
    expect_at(10, false, 0);
    input.begun = true;
    expect_at(10, true, 890);
    expect_at(10, false, 10);
    expect_at(870, true, 20);
    assert_true(cv_simulated_input_left(&input) == 0);
    cv_simulated_input_done(&input);
}

static void the_largest_range_is_used_first(void **state)
{
    (void)state;
    begin();
    input.begun = true;
    assert_true(cv_free_ranges_reserve(&input.free));
    assert_true(cv_free_ranges_take_at(&input.free, 100, 200) == 100);
    assert_true(cv_free_ranges_largest(&input.free) == 300);
    expect_at(500, false, 300);
    assert_true(cv_free_ranges_largest(&input.free) == 0);
    expect_at(200, true, 0);
    expect_at(100, false, 800);
    assert_true(cv_free_ranges_largest(&input.free) == INFINITY);
    cv_simulated_input_done(&input);
}

static void chunks_of_a_stream_are_in_order(void **state)
{
    (void)state;
    cv_simulated_input_begin(&input, 900, 900, 3, 0);
    assert_true(cv_free_ranges_reserve(&input.free));
    (void)cv_simulated_input_arrive(&input);
    expect_at(10, false, 0);
    expect_at(10, true, 10);
    cv_simulated_input_done(&input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tests_have_room_until_a_command_has_read),
        cmocka_unit_test(later_chunks_are_next_to_the_end),
        cmocka_unit_test(the_largest_range_is_used_first),
        cmocka_unit_test(chunks_of_a_stream_are_in_order),
    };

    return cmocka_run_group_tests_name("simulated_input", tests, NULL, NULL);
}
