/* test_held_returns.c -- on port one sends overtake results that wait, if they may.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <cleave/run.h>

#include "engine/held_returns.h"

/* One at a time, in the order asked for, and only while no send waits. */
static void wait_for_sends(void **state)
{
    const struct cleave_event sent = { .kind = CLEAVE_SENT },
                              returned = { .kind = CLEAVE_RETURNED };
    struct cv_held_returns held = { 0 };
    struct cleave_order order = { .kind = CLEAVE_RETURN };

    (void)state;
    cv_held_returns_clear(&held, true);
    held.sends = 2;
    for (order.chunk = 7; order.chunk < 10; order.chunk++)
        assert_true(cv_held_returns_add(&held, &order));
    assert_false(cv_held_returns_next(&held, &order));
    cv_held_returns_note(&held, &sent);
    assert_false(cv_held_returns_next(&held, &order));
    cv_held_returns_note(&held, &sent);
    assert_true(cv_held_returns_next(&held, &order));
    assert_int_equal(order.chunk, 7);
    assert_false(cv_held_returns_next(&held, &order));
    held.sends = 1; /* asked for while the return is under way: it goes next */
    cv_held_returns_note(&held, &returned);
    assert_false(cv_held_returns_next(&held, &order));
    cv_held_returns_note(&held, &sent);
    assert_true(cv_held_returns_next(&held, &order));
    assert_int_equal(order.chunk, 8);
    cv_held_returns_clear(&held, true);
    assert_false(cv_held_returns_next(&held, &order));
    cv_held_returns_done(&held);
}

static struct cleave_schedule *plan(const struct cleave_platform *platform,
                                    const char *policy, bool in_turn)
{
    const struct cleave_job job = { .platform = platform,
                                    .load = 2000,
                                    .result_ratio = 0.5,
                                    .in_turn = in_turn,
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

/* umr-plus always has a chunk to send: its results come after them all. In turn it is as it
 * was, and longer. On a duplex port nothing changes. */
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
        first = plan(platform, "umr-plus", false);
        turn = plan(platform, "umr-plus", true);
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
    first = plan(platform, "as4dr", false);
    turn = plan(platform, "as4dr", true);
    assert_true(first->makespan_s == turn->makespan_s);
    cleave_schedule_free(first);
    cleave_schedule_free(turn);
    cleave_platform_free(platform);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wait_for_sends),
        cmocka_unit_test(plans_send_first),
        cmocka_unit_test(papers_go_in_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
