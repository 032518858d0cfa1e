/* test_elastic_costs.c -- what is known of workers whose chunks stay open.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "policy/pull/elastic_costs.h"

/* It read 100 KB in 10 ms and worked for a second: its pace times what others did while they
 * read is a guess, and not needed any more. */
static void a_chunk_that_was_done_says_more_than_a_pace(void **state)
{
    struct cv_hand hands[2] = { { .pace_ups = 1e7, .own = true }, { .pace_ups = -1 } };
    struct cv_elastic elastic = {
        .hands = hands, .n = 2, .present = 2, .kind = CV_COMMAND_SLURPS, .phi = 0.1
    };

    (void)state;
    assert_true(fabs(cv_elastic_own_speed(&elastic, 0) - 1e6) < 1);
    cv_elastic_learn(&elastic, 0, 1e5, 1.01, 1);
    assert_true(fabs(cv_elastic_own_speed(&elastic, 0) - 1e5 / 1.01) < 1);
    /* Of one that works as it reads, the newest pace counts. */
    elastic.kind = CV_COMMAND_STREAMS;
    assert_true(fabs(cv_elastic_own_speed(&elastic, 0) - 1e6) < 1);
}

/* One did a large chunk in a second, and a small one in as long: it has become slow, or all of
 * that second was a start. Another has done one in 0.1 s, start and all. */
static void who_became_slow_does_not_make_starts_long(void **state)
{
    struct cv_hand hands[2] = { { .pace_ups = -1 }, { .pace_ups = -1 } };
    struct cv_elastic elastic = {
        .hands = hands, .n = 2, .present = 2, .kind = CV_COMMAND_SLURPS
    };

    (void)state;
    cv_elastic_learn(&elastic, 0, 1e6, 1, 1);
    cv_elastic_learn(&elastic, 0, 1e5, 1, 1);
    assert_true(elastic.lined);
    assert_true(elastic.late_s > 0.9); /* nobody knows better */
    cv_elastic_learn(&elastic, 1, 1e4, 0.1, 0.1);
    assert_true(elastic.late_s <= 0.2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chunk_that_was_done_says_more_than_a_pace),
        cmocka_unit_test(who_became_slow_does_not_make_starts_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
