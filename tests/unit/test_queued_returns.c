/* test_queued_returns.c -- on port one sends overtake results that wait, if they may.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <cleave/run.h>

#include "engine/driver_loop.h"

/* One at a time, in the order asked for, and only while no send waits. */
static void wait_for_sends(void **state)
{
    const struct cleave_event sent = { .kind = CLEAVE_SENT },
                              returned = { .kind = CLEAVE_RETURNED };
    struct cv_queued_returns held = { 0 };
    struct cleave_order order = { .kind = CLEAVE_RETURN };

    (void)state;
    cv_queued_returns_clear(&held, true, false);
    held.sends = 2;
    for (order.chunk = 7; order.chunk < 10; order.chunk++)
        assert_true(cv_queued_returns_add(&held, &order));
    assert_false(cv_queued_returns_next(&held, false, &order));
    cv_queued_returns_note(&held, &sent);
    assert_false(cv_queued_returns_next(&held, false, &order));
    cv_queued_returns_note(&held, &sent);
    assert_true(cv_queued_returns_next(&held, false, &order));
    assert_int_equal(order.chunk, 7);
    assert_false(cv_queued_returns_next(&held, false, &order));
    held.sends = 1; /* requested while the return is in flight: it goes next */
    cv_queued_returns_note(&held, &returned);
    assert_false(cv_queued_returns_next(&held, false, &order));
    cv_queued_returns_note(&held, &sent);
    assert_true(cv_queued_returns_next(&held, false, &order));
    assert_int_equal(order.chunk, 8);
    cv_queued_returns_clear(&held, true, false);
    assert_false(cv_queued_returns_next(&held, false, &order));
    cv_queued_returns_done(&held);
}

/* Results of a worker go when it is sent something, all results when no more is sent. */
static void wait_for_the_next_chunk(void **state)
{
    static const uint32_t workers[] = { 0, 1, 0, 2 };
    struct cv_queued_returns held = { 0 };
    struct cleave_order order = { .kind = CLEAVE_RETURN };

    (void)state;
    cv_queued_returns_clear(&held, true, true);
    for (order.chunk = 0; order.chunk < 4; order.chunk++) {
        order.worker = workers[order.chunk];
        assert_true(cv_queued_returns_add(&held, &order));
    }
    assert_false(cv_queued_returns_next(&held, false, &order));
    assert_true(cv_queued_returns_take(&held, 0, &order));
    assert_int_equal(order.chunk, 0);
    assert_true(cv_queued_returns_take(&held, 0, &order));
    assert_int_equal(order.chunk, 2);
    assert_false(cv_queued_returns_take(&held, 0, &order));
    held.sends = 1;
    assert_false(cv_queued_returns_next(&held, true, &order));
    held.sends = 0;
    assert_true(cv_queued_returns_next(&held, true, &order));
    assert_int_equal(order.chunk, 1);
    assert_true(cv_queued_returns_take(&held, 2, &order));
    assert_int_equal(order.chunk, 3);
    assert_false(cv_queued_returns_take(&held, 1, &order));
    cv_queued_returns_done(&held);
}

enum scheme { SENDS_FIRST, IN_TURN, BEFORE_ROUND };

static struct cleave_schedule *plan(const struct cleave_platform *platform,
                                    const char *policy, enum scheme scheme)
{
    const struct cleave_job job = { .platform = platform,
                                    .load = 2000,
                                    .result_ratio = 0.5,
                                    .in_turn = scheme == IN_TURN,
                                    .before_round = scheme == BEFORE_ROUND,
                                    .policy = policy,
                                    .seed = 1 };
    struct cleave_schedule *schedule = NULL;

    assert_int_equal(cleave_plan_load(&job, &schedule, NULL), CLEAVE_OK);
    return schedule;
}

/* Whether a result begins to return before the last chunk has been sent. */
static bool is_mixed(const struct cleave_schedule *schedule)
{
    double sent_s = 0, returns_s = INFINITY;

    for (size_t k = 0; k < schedule->nchunks; k++) {
        sent_s = fmax(sent_s, schedule->chunks[k].send_end_s);
        returns_s = fmin(returns_s, schedule->chunks[k].return_start_s);
    }
    return returns_s < sent_s;
}

/* umr-plus always has a chunk to send: its results come after them all. With messages in
 * turn it is unchanged, and longer. On a duplex port nothing changes. */
static void plans_send_first(void **state)
{
    const struct cleave_worker workers[3] = { { 3, 0.1, 20, 0.1, 20, 0.1 },
                                              { 2, 0.2, 15, 0.1, 15, 0.1 },
                                              { 1, 0.1, 25, 0.2, 25, 0.2 } };
    static const enum cleave_port ports[] = { CLEAVE_PORT_ONE, CLEAVE_PORT_DUPLEX };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct cleave_platform *platform = NULL;
        struct cleave_schedule *first, *turn;

        assert_int_equal(cleave_platform_new(ports[i], workers, 3, &platform, NULL),
                         CLEAVE_OK);
        first = plan(platform, "umr-plus", SENDS_FIRST);
        turn = plan(platform, "umr-plus", IN_TURN);
        assert_true(is_mixed(turn));
        if (ports[i] == CLEAVE_PORT_ONE) {
            assert_false(is_mixed(first));
            assert_true(first->makespan_s < turn->makespan_s);
        } else {
            assert_true(first->makespan_s == turn->makespan_s);
        }
        cleave_schedule_free(first);
        cleave_schedule_free(turn);
        cleave_platform_free(platform);
    }
}

/* A policy that reproduces a paper with results goes in turn, asked or not. */
static void papers_go_in_turn(void **state)
{
    const struct cleave_worker workers[2] = { { 3, 0.1, 20, 0.1, 20, 0.1 },
                                              { 2, 0.2, 15, 0.1, 15, 0.1 } };
    struct cleave_platform *platform = NULL;
    struct cleave_schedule *first, *turn;

    (void)state;
    assert_int_equal(cleave_platform_new(CLEAVE_PORT_ONE, workers, 2, &platform, NULL),
                     CLEAVE_OK);
    first = plan(platform, "as4dr", SENDS_FIRST);
    turn = plan(platform, "as4dr", IN_TURN);
    assert_true(first->makespan_s == turn->makespan_s);
    cleave_schedule_free(first);
    cleave_schedule_free(turn);
    cleave_platform_free(platform);
}

/* Whether the next message of the port after this one's end is the next chunk of a worker. */
static const struct cleave_chunk *next_chunk(const struct cleave_schedule *schedule,
                                             const struct cleave_chunk *chunk)
{
    for (size_t k = 0; k < schedule->nchunks; k++)
        if (schedule->chunks[k].worker == chunk->worker &&
            schedule->chunks[k].send_start_s >= chunk->return_end_s)
            return &schedule->chunks[k];
    return NULL;
}

/* A result whose worker gets another chunk afterwards is back when that one leaves, with
 * nothing but its other results between; and the result was ready by then, so that nothing
 * was waited for. The rest comes when all is sent. */
static void results_come_before_the_next_round(void **state)
{
    const struct cleave_worker workers[3] = { { 3, 0.1, 20, 0.1, 20, 0.1 },
                                              { 2, 0.2, 15, 0.1, 15, 0.1 },
                                              { 1, 0.1, 25, 0.2, 25, 0.2 } };
    static const char *const policies[] = { "umr", "umr-plus", "self",
                                            "weighted-factoring", "rumr" };
    struct cleave_platform *platform = NULL;

    (void)state;
    assert_int_equal(cleave_platform_new(CLEAVE_PORT_ONE, workers, 3, &platform, NULL),
                     CLEAVE_OK);
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        struct cleave_schedule *schedule = plan(platform, policies[i], BEFORE_ROUND);
        double sent_s = 0;
        size_t early = 0;

        for (size_t k = 0; k < schedule->nchunks; k++)
            sent_s = fmax(sent_s, schedule->chunks[k].send_end_s);
        for (size_t k = 0; k < schedule->nchunks; k++) {
            const struct cleave_chunk *chunk = &schedule->chunks[k];
            const struct cleave_chunk *next = next_chunk(schedule, chunk);

            assert_true(chunk->return_start_s >= chunk->compute_end_s);
            if (chunk->return_start_s >= sent_s)
                continue;
            early++;
            assert_non_null(next);
            for (size_t m = 0; m < schedule->nchunks; m++) {
                const struct cleave_chunk *other = &schedule->chunks[m];

                if (other->worker != chunk->worker)
                    assert_true(other->send_end_s <= chunk->return_end_s ||
                                other->send_start_s >= next->send_end_s);
            }
        }
        assert_true(early > 0);
        cleave_schedule_free(schedule);
    }
    cleave_platform_free(platform);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wait_for_sends),
        cmocka_unit_test(wait_for_the_next_chunk),
        cmocka_unit_test(plans_send_first),
        cmocka_unit_test(results_come_before_the_next_round),
        cmocka_unit_test(papers_go_in_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
