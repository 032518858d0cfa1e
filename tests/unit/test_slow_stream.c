/* test_slow_stream.c -- a command waits a little for more of a stream. SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/common/start_limiter.h"

enum { LITTLE = 1000, MUCH = 16 << 20 };

static struct cv_poller *poller;
static struct cv_slow_stream slow;

static bool look(struct cv_incoming input)
{
    return cv_slow_stream_look(&slow, poller, &input);
}

static bool may_begin(uint64_t ready, uint64_t wanted, uint32_t workers)
{
    return look(
        (struct cv_incoming){ .ready = ready, .wanted = wanted, .workers = workers });
}

static void requested_or_large_input_begins_at_once(void **state)
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
    assert_true(slow.since_s <= 0);
}

/* A command that starts for a second and does 10 bytes in it: less work than the start
 * waits, even if no worker runs; other work only while a worker runs. */
static void less_than_a_start_waits(void **state)
{
    struct cv_incoming input = { .ready = 11,
                                 .wanted = LITTLE,
                                 .start_s = 1,
                                 .speed_ups = 10,
                                 .workers = 2,
                                 .idle = true };

    (void)state;
    assert_true(look(input));
    input.ready = 9;
    assert_false(look(input));
    while (!look(input))
        assert_int_equal(cv_poller_wait(poller, -1, NULL), CLEAVE_OK);
    input.ready = 11;
    input.idle = false;
    assert_false(look(input));
    slow.since_s = 0;
}

static void no_worker_has_more_than_its_part(void **state)
{
    struct cv_incoming input = { .ready = LITTLE, .wanted = LITTLE, .workers = 4 };

    (void)state;
    assert_int_equal(cv_slow_stream_part(&input), LITTLE / 4);
    /* Work that only pays for a start is not divided, nor work of 20 ms. */
    input.start_s = 1;
    input.speed_ups = 500;
    assert_int_equal(cv_slow_stream_part(&input), LITTLE / 2);
    input.start_s = 0;
    input.speed_ups = 100 * LITTLE;
    assert_int_equal(cv_slow_stream_part(&input), LITTLE);
    input = (struct cv_incoming){ .ready = 3, .workers = 16 };
    assert_int_equal(cv_slow_stream_part(&input), 1);
}

/* --- what commands have in hand ------------------------------------------------------------- */

/* 20 bytes that it was given at 2 were read at 6: it had worked on the 10 before since 1. */
static void a_late_reader_counts_as_busy(void **state)
{
    struct cv_slow_stream seen = { 0 };
    struct cv_unread_input hand = { 0 };

    (void)state;
    cv_unread_input_give(&hand, 10, 0.5);
    cv_unread_input_read(&hand, &seen, 1);
    assert_true(cv_unread_input_rest(&hand, &seen, 1) <= 0); /* unknown */
    cv_unread_input_give(&hand, 20, 2);
    cv_unread_input_read(&hand, &seen, 6);
    assert_true(fabs(seen.bytes / seen.work_s - 2) < 1e-9);
    assert_true(fabs(cv_unread_input_rest(&hand, &seen, 6) - 10) < 1e-9);
    assert_true(fabs(cv_unread_input_rest(&hand, &seen, 9) - 7) < 1e-9);
    assert_true(cv_unread_input_rest(&hand, &seen, 17) <= 0);
    /* It waited for this: that shows nothing. */
    cv_unread_input_give(&hand, 5, 20);
    cv_unread_input_read(&hand, &seen, 20.001);
    assert_true(fabs(seen.bytes / seen.work_s - 2) < 1e-9);
    assert_true(fabs(cv_unread_input_rest(&hand, &seen, 20.001) - 2.5) < 1e-9);
}

/* Its unread part at the end of its input is the work until it ended; if that was at
 * once, it had done it before. */
static void a_late_finisher_counts_as_busy(void **state)
{
    struct cv_slow_stream seen = { 0 };
    struct cv_unread_input hand = { 0 };

    (void)state;
    cv_unread_input_give(&hand, 10, 1);
    cv_unread_input_read(&hand, &seen, 1);
    cv_unread_input_end(&hand, &seen, 4, 4.001);
    assert_true(seen.work_s <= 0);
    cv_unread_input_end(&hand, &seen, 4, 6);
    assert_true(fabs(seen.bytes / seen.work_s - 2) < 1e-9);
    seen = (struct cv_slow_stream){ 0 };
    hand = (struct cv_unread_input){ 0 };
    cv_unread_input_give(&hand, 30, 1); /* closed before it had read anything */
    cv_unread_input_end(&hand, &seen, 2, 12);
    assert_true(fabs(seen.bytes / seen.work_s - 3) < 1e-9);
    cv_unread_input_end(&hand, &seen, 0, 100); /* it never read its end */
    assert_true(fabs(seen.bytes / seen.work_s - 3) < 1e-9);
}

/* Much is read bit by bit, and all but the last of it is done by then. */
static void only_the_last_of_much_is_in_hand(void **state)
{
    struct cv_slow_stream seen = { 0 };
    struct cv_unread_input hand = { 0 };

    (void)state;
    cv_unread_input_give(&hand, 1, 0.5);
    cv_unread_input_read(&hand, &seen, 1);
    cv_unread_input_give(&hand, 4096ULL * 11, 1);
    cv_unread_input_read(&hand, &seen, 11);
    assert_true(fabs(seen.bytes / seen.work_s - 4096) < 1e-9);
    assert_true(fabs(cv_unread_input_rest(&hand, &seen, 11) - 1) < 1e-9);
}

static int open_poller(void **state)
{
    (void)state;
    return cv_poller_new(&poller, NULL) == CLEAVE_OK ? 0 : -1;
}

static int close_poller(void **state)
{
    (void)state;
    cv_poller_cancel(poller, &slow.timer);
    cv_poller_free(poller);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_not_waited_for),
        cmocka_unit_test(requested_or_large_input_begins_at_once),
        cmocka_unit_test(little_begins_after_a_while),
        cmocka_unit_test(less_than_a_start_waits),
        cmocka_unit_test(no_worker_has_more_than_its_part),
        cmocka_unit_test(a_late_reader_counts_as_busy),
        cmocka_unit_test(a_late_finisher_counts_as_busy),
        cmocka_unit_test(only_the_last_of_much_is_in_hand),
    };

    return cmocka_run_group_tests(tests, open_poller, close_poller);
}
