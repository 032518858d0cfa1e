/* test_assigned_units.c -- given units, not ordered units, are handed out.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/random.h"
#include "engine/driver_loop.h"

static void note(struct cv_assigned_units *handed, enum cleave_event_kind kind,
                 uint64_t chunk, double units)
{
    cv_assigned_units_note(handed, &(struct cleave_event){
                                       .kind = kind, .chunk = chunk, .units = units });
}

static void arrived_units_count(void **state)
{
    struct cv_assigned_units handed = { .units = 0 };

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_true(cv_assigned_units_ask(&handed, 100));
    assert_true(handed.units == 400);
    note(&handed, CLEAVE_SENT, 1, 10);
    assert_true(handed.units == 310);
    /* Units lost before their arrival were never given, for any order. */
    note(&handed, CLEAVE_LOST, 0, 7);
    assert_true(handed.units == 210);
    note(&handed, CLEAVE_LOST, 1, 10);
    assert_true(handed.units == 200);
    /* Taken back in part on its way, then as a whole. */
    note(&handed, CLEAVE_RECALLED, 2, 30);
    note(&handed, CLEAVE_SENT, 2, 60);
    assert_true(handed.units == 160);
    note(&handed, CLEAVE_RECALLED, 3, 90);
    note(&handed, CLEAVE_SENT, 3, 0);
    assert_true(handed.units == 60);
    /* This one was not ordered. */
    note(&handed, CLEAVE_SENT, 99, 5);
    assert_true(handed.units == 60);
    cv_assigned_units_clear(&handed);
    assert_true(handed.units == 0 && cv_assigned_units_ask(&handed, 3));
    note(&handed, CLEAVE_SENT, 0, 2);
    assert_true(handed.units == 2);
    cv_assigned_units_done(&handed);
}

/* Only chunks in flight are remembered, for any order of arrival. */
static void memory_is_bounded(void **state)
{
    struct cv_assigned_units handed = { .units = 0 };
    struct cv_random random;
    uint64_t open[16], next = 0;
    double sum = 0;

    (void)state;
    cv_random_at(&random, 3, 0, 0, 0);
    for (; next < 16; next++) {
        open[next] = next;
        assert_true(cv_assigned_units_ask(&handed, 1000));
    }
    for (int i = 0; i < 100000; i++) {
        const int at = i % 64 == 0 ? 0 : (int)(16 * cv_random_uniform(&random));
        const double came = floor(1000 * cv_random_uniform(&random));

        note(&handed, CLEAVE_SENT, open[at], came);
        sum += came;
        for (int k = at; k < 15; k++)
            open[k] = open[k + 1];
        open[15] = next++;
        assert_true(cv_assigned_units_ask(&handed, 1000));
        assert_true(handed.units == sum + 16 * 1000.0);
    }
    assert_true(handed.room < 5000);
    cv_assigned_units_done(&handed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrived_units_count),
        cmocka_unit_test(memory_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
