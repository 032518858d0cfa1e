/* test_trickle.c -- a command waits a little for more of a stream. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/kit/trickle.h"

enum { LITTLE = 1000, MUCH = 16 << 20 };

static struct cv_poller *poller;
static struct cv_trickle trickle;

static bool may_begin(uint64_t ready, uint64_t wanted, uint32_t workers)
{
    bool out;

    assert_int_equal(cv_trickle_look(&trickle, poller, ready, wanted, workers, &out,
                                     NULL),
                     CLEAVE_OK);
    return out;
}

static void what_is_wanted_or_much_begins_at_once(void **state)
{
    (void)state;
    assert_true(may_begin(LITTLE, LITTLE, 2));
    assert_false(may_begin(LITTLE - 1, LITTLE, 2));
    assert_true(may_begin(LITTLE, LITTLE, 2));
    assert_false(may_begin(MUCH / 2 - 1, UINT64_MAX, 2));
    assert_true(may_begin(MUCH / 2, UINT64_MAX, 2));
    assert_true(may_begin(MUCH / 4, UINT64_MAX, 4)); /* they all have to begin */
}

static void little_begins_after_a_while(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        assert_false(may_begin(LITTLE, UINT64_MAX, 2));
        while (!may_begin(LITTLE, UINT64_MAX, 2)) /* the poller wakes up by itself */
            assert_int_equal(cv_poller_wait(poller, -1, NULL), CLEAVE_OK);
    }
}

/* The time begins when there is something. */
static void nothing_is_not_waited_for(void **state)
{
    (void)state;
    assert_false(may_begin(0, UINT64_MAX, 2));
    assert_true(trickle.until_s <= 0);
}

static int open_poller(void **state)
{
    (void)state;
    return cv_poller_new(&poller, NULL) == CLEAVE_OK ? 0 : -1;
}

static int close_poller(void **state)
{
    (void)state;
    cv_poller_cancel(poller, &trickle.timer);
    cv_poller_free(poller);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_not_waited_for),
        cmocka_unit_test(what_is_wanted_or_much_begins_at_once),
        cmocka_unit_test(little_begins_after_a_while),
    };

    return cmocka_run_group_tests(tests, open_poller, close_poller);
}
