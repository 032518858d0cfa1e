/* units.c -- the account of a shared job names missing units. SPDX-License-Identifier:
 * MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "mpi/map/map_units.h"

static void add(struct cv_range_set *units, uint64_t begin, uint64_t end)
{
    struct cleave_error err;

    assert_int_equal(cv_map_units_add(units, begin, end, &err), CLEAVE_OK);
}

static void assert_text(enum cleave_status status, const struct cleave_error *err,
                        const char *text)
{
    assert_int_equal(status, CLEAVE_EACCOUNT);
    assert_string_equal(err->text, text);
}

static void assert_one(const struct cv_range_set *units, uint64_t begin, uint64_t end)
{
    struct cv_range range;

    assert_true(cv_range_set_find(units, 0, &range));
    assert_int_equal(range.begin, begin);
    assert_int_equal(range.end, end);
}

static void in_any_order_they_become_one(void **state)
{
    /* Every order of five chunks. */
    static const uint64_t ends[] = { 0, 3, 4, 10, 17, 20 };

    (void)state;
    for (unsigned order = 0; order < 5 * 5 * 5 * 5 * 5; order++) {
        struct cv_range_set units = { 0 };
        struct cleave_error err;
        unsigned seen = 0, left = order;

        for (int i = 0; i < 5; i++, left /= 5)
            seen |= 1u << left % 5;
        if (seen != 31)
            continue;
        left = order;
        for (int i = 0; i < 5; i++, left /= 5) {
            assert_int_equal(cv_map_units_check(&units, 20, &err), CLEAVE_EACCOUNT);
            add(&units, ends[left % 5], ends[left % 5 + 1]);
        }
        assert_one(&units, 0, 20);
        assert_int_equal(cv_map_units_check(&units, 20, &err), CLEAVE_OK);
        cv_range_set_done(&units);
    }
}

static void missing_units_are_named(void **state)
{
    struct cv_range_set units = { 0 };
    struct cleave_error err;

    (void)state;
    assert_int_equal(cv_map_units_check(&units, 0, &err), CLEAVE_OK);
    assert_text(cv_map_units_check(&units, 9, &err), &err,
                "units 0 to 9 of 9 were not computed: a defect of cleave");
    add(&units, 5, 9);
    assert_text(cv_map_units_check(&units, 9, &err), &err,
                "units 0 to 5 of 9 were not computed: a defect of cleave");
    add(&units, 0, 2);
    assert_text(cv_map_units_check(&units, 9, &err), &err,
                "units 2 to 5 of 9 were not computed: a defect of cleave");
    add(&units, 2, 5);
    assert_text(cv_map_units_check(&units, 12, &err), &err,
                "units 9 to 12 of 12 were not computed: a defect of cleave");
    assert_text(cv_map_units_check(&units, 8, &err), &err,
                "units 8 to 9 were computed, and there are only 8: a defect of cleave");
    cv_range_set_done(&units);
}

static void duplicate_units_are_named(void **state)
{
    struct cv_range_set units = { 0 };
    struct cleave_error err;

    (void)state;
    add(&units, 10, 20);
    assert_text(cv_map_units_add(&units, 10, 20, &err), &err,
                "units 10 to 20 were computed twice: a defect of cleave");
    assert_text(cv_map_units_add(&units, 5, 11, &err), &err,
                "units 10 to 11 were computed twice: a defect of cleave");
    assert_text(cv_map_units_add(&units, 19, 30, &err), &err,
                "units 19 to 20 were computed twice: a defect of cleave");
    add(&units, 20, 21);
    add(&units, 9, 10);
    assert_one(&units, 9, 21);
    cv_range_set_done(&units);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_any_order_they_become_one),
        cmocka_unit_test(missing_units_are_named),
        cmocka_unit_test(duplicate_units_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
