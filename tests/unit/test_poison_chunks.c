/* test_poison_chunks.c -- which chunks are to blame for hosts that were lost.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/random.h"
#include "run/failures/retry_queue.h"

static const char hosts[8] = { 0 }; /* their addresses are their names */

/* Number of hosts lost with it, if it is now a poison chunk. */
static uint32_t lose(struct cv_poison_tracker *tracker, uint64_t begin, uint64_t end,
                     int host, uint32_t machines)
{
    uint32_t guilty = 99;

    assert_int_equal(cv_poison_tracker_lost(tracker, begin, end, &hosts[host], machines,
                                            &guilty, NULL),
                     CLEAVE_OK);
    return guilty;
}

static void clear(struct cv_poison_tracker *tracker, uint64_t begin, uint64_t end)
{
    assert_int_equal(cv_poison_tracker_clear(tracker, begin, end, NULL), CLEAVE_OK);
}

static void three_lost_hosts_make_a_poison_chunk(void **state)
{
    struct cv_poison_tracker tracker = { .count = 0 };

    (void)state;
    assert_int_equal(lose(&tracker, 10, 20, 0, 5), 0);
    assert_int_equal(lose(&tracker, 10, 20, 1, 5), 0);
    assert_int_equal(lose(&tracker, 10, 20, 2, 5), 3);
    cv_poison_tracker_done(&tracker);
}

/* However often it is lost with that one. */
static void a_bad_host_makes_no_poison_chunk(void **state)
{
    struct cv_poison_tracker tracker = { .count = 0 };

    (void)state;
    for (int i = 0; i < 50; i++)
        assert_int_equal(lose(&tracker, 10, 20, i % 2, 3), 0);
    for (int i = 0; i < 50; i++)
        assert_int_equal(lose(&tracker, 30, 40, 0, 2), 0);
    cv_poison_tracker_done(&tracker);
}

/* No other host could do it. */
static void fewer_hosts_are_enough(void **state)
{
    struct cv_poison_tracker tracker = { .count = 0 };

    (void)state;
    assert_int_equal(lose(&tracker, 0, 5, 0, 1), 0);
    assert_int_equal(lose(&tracker, 0, 5, 0, 1), 0);
    assert_int_equal(lose(&tracker, 0, 5, 0, 1), 1);
    assert_int_equal(lose(&tracker, 5, 9, 0, 2), 0);
    assert_int_equal(lose(&tracker, 5, 9, 1, 2), 0);
    assert_int_equal(lose(&tracker, 5, 9, 1, 2), 2);
    cv_poison_tracker_done(&tracker);
}

/* Chunks are not cut alike each time: only what was in all of them is suspected. */
static void only_what_was_there_each_time(void **state)
{
    struct cv_poison_tracker tracker = { .count = 0 };

    (void)state;
    assert_int_equal(lose(&tracker, 0, 100, 0, 3), 0);
    assert_int_equal(lose(&tracker, 50, 150, 1, 3), 0);
    /* A range of the first chunk alone is not lost for the third time here. */
    assert_int_equal(lose(&tracker, 0, 50, 2, 3), 0);
    assert_int_equal(lose(&tracker, 90, 95, 2, 3), 3);
    cv_poison_tracker_done(&tracker);
}

static void a_done_chunk_is_cleared(void **state)
{
    struct cv_poison_tracker tracker = { .count = 0 };

    (void)state;
    lose(&tracker, 0, 100, 0, 3);
    lose(&tracker, 0, 100, 1, 3);
    clear(&tracker, 40, 60);
    assert_int_equal(lose(&tracker, 40, 60, 2, 3), 0);
    assert_int_equal(lose(&tracker, 0, 40, 2, 3), 3);
    assert_int_equal(lose(&tracker, 60, 100, 2, 3), 3);
    clear(&tracker, 0, 200);
    assert_int_equal(tracker.count, 0);
    assert_int_equal(lose(&tracker, 0, 100, 2, 3), 0);
    cv_poison_tracker_done(&tracker);
}

/* One poisonous byte among chunks of all sizes is found out, and no other chunk fails as
 * long as hosts do one chunk at a time. */
static void the_poison_is_found(void **state)
{
    enum { BYTES = 200, HOSTS = 5 };

    (void)state;
    for (uint32_t trial = 0; trial < 200; trial++) {
        struct cv_poison_tracker tracker = { .count = 0 };
        bool settled[BYTES] = { false };
        struct cv_random random;
        uint64_t poison, left = BYTES;
        int failed = 0, losses = 0;

        cv_random_at(&random, 5, trial, 0, 0);
        poison = cv_random_bits(&random) % BYTES;
        while (left > 0) {
            uint64_t begin = 0, end;

            while (settled[begin])
                begin++;
            for (end = begin + 1;
                 end < BYTES && !settled[end] && cv_random_bits(&random) % 16 != 0;)
                end++;
            if (begin <= poison && poison < end) {
                const int host = (int)(cv_random_bits(&random) % HOSTS);

                losses++;
                if (lose(&tracker, begin, end, host, HOSTS) == 0)
                    continue;
                failed++;
            }
            clear(&tracker, begin, end);
            for (uint64_t at = begin; at < end; at++, left--)
                settled[at] = true;
        }
        assert_int_equal(failed, 1);
        assert_true(losses >= 3 && losses < 60);
        assert_int_equal(tracker.count, 0);
        cv_poison_tracker_done(&tracker);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_lost_hosts_make_a_poison_chunk),
        cmocka_unit_test(a_bad_host_makes_no_poison_chunk),
        cmocka_unit_test(fewer_hosts_are_enough),
        cmocka_unit_test(only_what_was_there_each_time),
        cmocka_unit_test(a_done_chunk_is_cleared),
        cmocka_unit_test(the_poison_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
