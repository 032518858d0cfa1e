/* test_elastic_costs.c -- what is known of workers whose chunks stay open.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "policy/common/orders.h"
#include "policy/pull/elastic.h"

/* It read 100 KB in 10 ms and worked for a second: its pace times what others did while they
 * read is a guess, and not needed any more. */
static void a_chunk_that_was_done_says_more_than_a_pace(void **state)
{
    struct cv_worker_estimate hands[2] = { { .pace_ups = 1e7, .own = true },
                                           { .pace_ups = -1 } };
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
    struct cv_worker_estimate hands[2] = { { .pace_ups = -1 }, { .pace_ups = -1 } };
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

/* One is four times slower, also to start: a fast one starts as fast again. Where all are equally fast,
 * starts that differ as much vary, and the next one of anybody may be a long one. */
static void who_is_slow_starts_slowly(void **state)
{
    struct cv_worker_estimate hands[3] = {
        { .pace_ups = 4e4, .start_s = 0.3, .prior = 1 },
        { .pace_ups = 4e4, .start_s = 0.31, .prior = 1 },
        { .pace_ups = 1e4, .start_s = 1.2, .prior = 1 },
    };
    struct cv_elastic elastic = {
        .hands = hands, .n = 3, .present = 3, .kind = CV_COMMAND_STREAMS, .phi = 1
    };

    (void)state;
    cv_elastic_pool(&elastic);
    assert_true(elastic.usual_start_s > 0.9);
    assert_true(cv_elastic_usual_start(&elastic, 0) < 0.32);
    assert_true(cv_elastic_usual_start(&elastic, 2) < 1.3);
    for (int w = 0; w < 3; w++)
        hands[w].pace_ups = 2e4;
    cv_elastic_pool(&elastic);
    assert_true(cv_elastic_usual_start(&elastic, 0) > 0.9);
}

/* The first records of a file are short: a test of four sips says 345 bytes a second, and two others, that
 * have read for longer, 900. Nobody is thought to be more than twice as fast as he was, and a test of many sips
 * counts as it is. */
static void a_test_of_few_records_may_be_off(void **state)
{
    struct cv_worker_estimate hands[3] = {
        { .pace_ups = 345, .done = 64, .prior = 1 },
        { .pace_ups = 900, .read = 4000, .prior = 1 },
        { .pace_ups = 900, .read = 4000, .prior = 1 },
    };
    struct cv_elastic elastic = { .hands = hands,
                                  .n = 3,
                                  .present = 3,
                                  .kind = CV_COMMAND_STREAMS,
                                  .phi = 1,
                                  .small_write = 16 };

    (void)state;
    cv_elastic_pool(&elastic);
    assert_true(fabs(cv_elastic_own_speed(&elastic, 0) - 690) < 1);
    hands[0].pace_ups = 500;
    cv_elastic_pool(&elastic);
    assert_true(fabs(cv_elastic_own_speed(&elastic, 0) - 900) < 1);
    assert_true(fabs(cv_elastic_own_speed(&elastic, 1) - 900) < 1);
    /* Who is slow is slow, and then nobody knows of the first one. */
    hands[1].pace_ups = 90;
    cv_elastic_pool(&elastic);
    assert_true(fabs(cv_elastic_own_speed(&elastic, 0) - 500) < 1);
    hands[1].pace_ups = 900;
    hands[0].done = 640;
    cv_elastic_pool(&elastic);
    assert_true(fabs(cv_elastic_own_speed(&elastic, 0) - 500) < 1);
}

/* Five sips in 0.16 s: that is its pace, whatever four sips of another one said. */
static void what_one_reads_itself_counts(void **state)
{
    struct cv_worker_estimate hand = {
        .pace_ups = -1, .moving_ups = -1, .from_s = -1, .prior = 1
    };
    struct cv_elastic elastic = { .hands = &hand,
                                  .n = 1,
                                  .present = 1,
                                  .kind = CV_COMMAND_STREAMS,
                                  .phi = 1,
                                  .scale_ups = 100 };
    const struct cleave_worker worker = { 1e8, 1e-3, 1e12, 0, 1e12, 0 };
    const struct cleave_view view = {
        .nworkers = 1, .workers = &worker, .real = true, .burst_s = 0.16, .ahead = 16
    };
    struct cv_decision turn = { .elastic = &elastic, .view = &view, .now_s = 1 };

    (void)state;
    cv_decision_sample(&turn, 0, 16);
    assert_true(hand.pace_ups < 0);
    turn.now_s = 1.16;
    cv_decision_sample(&turn, 0, 96);
    assert_true(fabs(hand.pace_ups - 80 / 0.16) < 1);
}

/* It had waited for 0.8 s and read 24 ms after it was given something: that is a busy machine, no start. */
static void who_had_waited_shows_no_start(void **state)
{
    struct cv_worker_estimate hand = { .state = CV_PHASE_OPEN,
                                       .bound_s = 0.8,
                                       .given = 100,
                                       .start_s = -1,
                                       .started_s = -1,
                                       .pace_ups = -1 };
    struct cv_elastic elastic = { .hands = &hand, .n = 1 };
    const struct cleave_worker worker = { 1e8, 1e-3, 1e12, 0, 1e12, 0 };
    const struct cleave_view view = { .nworkers = 1,
                                      .workers = &worker,
                                      .units_total = 100,
                                      .real = true,
                                      .burst_s = 0.16,
                                      .ahead = 16 };
    struct cleave_order items[8];
    struct cleave_orders orders = { .items = items, .capacity = 8 };
    struct cleave_event event = { .kind = CLEAVE_STARTED, .time_s = 0.824 };

    (void)state;
    cv_elastic_decide(&elastic, &view, &event, &orders);
    assert_true(hand.started_s == 0.824 && hand.start_s < 0);
    event.time_s = 1.1;
    cv_elastic_decide(&elastic, &view, &event, &orders);
    assert_true(hand.start_s == 1.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chunk_that_was_done_says_more_than_a_pace),
        cmocka_unit_test(who_became_slow_does_not_make_starts_long),
        cmocka_unit_test(who_is_slow_starts_slowly),
        cmocka_unit_test(a_test_of_few_records_may_be_off),
        cmocka_unit_test(what_one_reads_itself_counts),
        cmocka_unit_test(who_had_waited_shows_no_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
