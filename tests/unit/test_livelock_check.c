/* test_livelock_check.c -- policies without progress are stopped, and named.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "engine/driver.h"
#include "engine/driver_loop.h"
#include "policy/common/orders.h"
#include "sim/load/native.h"

/* --- policies of our own ------------------------------------------------------------------ */

/* Asks to be woken at once, again and again. */
static void wakes(void *state, const struct cleave_view *view,
                  const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state;
    (void)view;
    cleave_order_wake(orders, 0, event->time_s);
}

/* Recalls whatever it has sent. */
static void recalls(void *state, const struct cleave_view *view,
                    const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state;
    if (event->kind == CLEAVE_SENT)
        cleave_order_recall(orders, 0, view->units_total);
    else if (event->kind != CLEAVE_DONE && view->units_left > 0)
        cleave_order_send(orders, 0, view->units_left);
}

/* Sends chunks of nothing. */
static void sends_nothing(void *state, const struct cleave_view *view,
                          const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state;
    (void)view;
    if (event->kind != CLEAVE_DONE)
        cleave_order_send(orders, 0, 0);
}

/* Sends half, then next to nothing: the sum does not change. */
static void sends_next_to_nothing(void *state, const struct cleave_view *view,
                                  const struct cleave_event *event,
                                  struct cleave_orders *orders)
{
    (void)state;
    if (event->kind == CLEAVE_START)
        cleave_order_send(orders, 0, view->units_left / 2);
    else if (event->kind == CLEAVE_SENT)
        cleave_order_send(orders, 1, 1e-300);
}

static const struct cleave_policy idlers[] = {
    { .name = "wakes", .decide = wakes, .state_size = 1 },
    { .name = "recalls", .decide = recalls, .state_size = 1 },
    { .name = "nothing", .decide = sends_nothing, .state_size = 1 },
    { .name = "next-to-nothing", .decide = sends_next_to_nothing, .state_size = 1 },
};

static enum cleave_status simulate(const struct cleave_policy *policy,
                                   const struct cleave_platform *platform, double load,
                                   struct cv_outcome *outcome, struct cleave_error *err)
{
    const struct cleave_setting none[1] = { { NULL, NULL } };
    struct cv_driver *driver = NULL;
    struct cv_planned planned;
    enum cleave_status status;

    if (cv_planned_init(&planned, policy, none, 0, platform,
                        cleave_platform_workers(platform),
                        &(struct cleave_view){ .units_total = load }, NULL, NULL,
                        err) != CLEAVE_OK ||
        cv_driver_open(&planned, &cv_engine_native, platform, NULL, &driver, err) !=
            CLEAVE_OK)
        fail_msg("%s", err->text);
    status = cv_driver_run(driver, &(struct cv_run){ .platform = platform }, NULL,
                           outcome, err);
    cv_driver_close(driver);
    cv_planned_done(&planned);
    return status;
}

static struct cleave_platform *platform_of(const struct cleave_worker *workers,
                                           uint32_t n, enum cleave_port port)
{
    struct cleave_platform *platform = NULL;

    assert_int_equal(cleave_platform_new(port, workers, n, &platform, NULL), CLEAVE_OK);
    return platform;
}

static void idlers_are_stopped(void **state)
{
    const struct cleave_worker workers[] = { { 1, 0, 10, 0, 10, 0 },
                                             { 1, 0, 10, 0, 10, 0 } };
    struct cleave_platform *platform = platform_of(workers, 2, CLEAVE_PORT_MULTI);

    (void)state;
    for (size_t i = 0; i < sizeof idlers / sizeof *idlers; i++) {
        struct cv_outcome outcome;
        struct cleave_error err = { .text = "" };
        char begin[100];

        assert_int_equal(simulate(&idlers[i], platform, 100, &outcome, &err),
                         CLEAVE_EPOLICY);
        snprintf(begin, sizeof begin, "policy '%s' makes no headway: since ",
                 idlers[i].name);
        if (strncmp(err.text, begin, strlen(begin)) != 0)
            fail_msg("%s", err.text);
    }
    cleave_platform_free(platform);
}

/* --- events ------------------------------------------------------------------------------- */

static bool note(struct cv_livelock_check *livelock, enum cleave_event_kind kind,
                 double units)
{
    return cv_livelock_check_note(livelock,
                                  &(struct cleave_event){ .kind = kind, .units = units });
}

/* A policy with any progress continues. */
static void count_of_idle_turns_restarts(void **state)
{
    static const enum cleave_event_kind kinds[] = { CLEAVE_DONE, CLEAVE_LOST,
                                                    CLEAVE_ENDED, CLEAVE_COMBINED,
                                                    CLEAVE_ARRIVED };

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct cv_livelock_check livelock = { .idle = 0 };

        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < CV_LIVELOCK_PATIENCE; i++)
                assert_true(note(&livelock, CLEAVE_WAKE, 0));
            assert_true(note(&livelock, kinds[k], 1));
        }
        for (int i = 0; i < CV_LIVELOCK_PATIENCE; i++)
            assert_true(note(&livelock, CLEAVE_WAKE, 0));
        assert_false(note(&livelock, CLEAVE_WAKE, 0));
    }
}

/* A plan that sends a million chunks before the first is done makes progress, and so does
 * one whose chunks are mostly empty at its end, as records were larger than chunks. */
static void many_chunks_are_legal(void **state)
{
    struct cv_livelock_check livelock = { .idle = 0 };

    (void)state;
    for (int i = 0; i < 1000000; i++) {
        livelock.open++;
        assert_true(note(&livelock, CLEAVE_SENT, 1e-3));
    }
    for (int i = 0; i < 1000000; i++)
        assert_true(note(&livelock, CLEAVE_DONE, i == 0 ? 1000 : 0) ||
                    livelock.open < 500000);
}

/* --- the policy learn --------------------------------------------------------------------- */

static const struct cleave_policy *learn(void)
{
    const struct cleave_policy *policy = NULL;

    assert_int_equal(cleave_policy_find(CLEAVE_TASK_LOAD, "learn", &policy, NULL),
                     CLEAVE_OK);
    return policy;
}

/* Links slower than the nodes: units recalled for the idle worker were sent to the late
 * one again, for ever. */
static void narrow_links_come_to_an_end(void **state)
{
    const struct cleave_worker workers[] = {
        { .0167, 1.2, .00156, .1, .00156, .1 },
        { .289, .12, .00154, 0, .00154, 0 },
    };
    static const enum cleave_port ports[] = { CLEAVE_PORT_ONE, CLEAVE_PORT_DUPLEX,
                                              CLEAVE_PORT_MULTI };

    (void)state;
    for (size_t p = 0; p < 3; p++) {
        struct cleave_platform *platform = platform_of(workers, 2, ports[p]);
        struct cv_outcome outcome = { 0 };
        struct cleave_error err = { .text = "" };

        if (simulate(learn(), platform, 0.08, &outcome, &err) != CLEAVE_OK)
            fail_msg("%s", err.text);
        assert_true(outcome.makespan_s < 60);
        cleave_platform_free(platform);
    }
}

/* Random platforms of that kind: all come to an end, with a bounded number of chunks. */
static void random_narrow_links(void **state)
{
    static const enum cleave_port ports[] = { CLEAVE_PORT_ONE, CLEAVE_PORT_DUPLEX,
                                              CLEAVE_PORT_MULTI };
    struct cv_random random;

    (void)state;
    for (uint32_t trial = 0; trial < 3000; trial++) {
        struct cleave_worker workers[5];
        struct cleave_platform *platform;
        struct cv_outcome outcome = { 0 };
        struct cleave_error err = { .text = "" };
        uint32_t n;

        cv_random_at(&random, 23, trial, 0, 0);
        n = 2 + (uint32_t)(4 * cv_random_uniform(&random));
        for (uint32_t w = 0; w < n; w++) {
            const double speed = exp(6 * cv_random_uniform(&random) - 3);
            const double width = speed * exp(-6 * cv_random_uniform(&random));

            workers[w] = (struct cleave_worker){
                speed, 2 * cv_random_uniform(&random) * cv_random_uniform(&random),
                width, cv_random_uniform(&random) < 0.5 ? 0 : 0.1,
                width, 0
            };
        }
        platform = platform_of(workers, n, ports[trial % 3]);
        if (simulate(learn(), platform, exp(8 * cv_random_uniform(&random) - 4), &outcome,
                     &err) != CLEAVE_OK)
            fail_msg("trial %u: %s", trial, err.text);
        assert_true(outcome.chunks < 20000);
        cleave_platform_free(platform);
    }
}

/* 1,000 workers with a round every second make 20,000,000 chunks in 10,000 s. */
static void streams_may_have_more_chunks_than_loads(void **state)
{
    (void)state;
    assert_false(cv_is_too_many_chunks(10000000, 1, 1000));
    assert_true(cv_is_too_many_chunks(10000001, 1, 1000));
    assert_false(cv_is_too_many_chunks(20000000, INFINITY, 1000));
    assert_true(cv_is_too_many_chunks(10000001, INFINITY, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idlers_are_stopped),
        cmocka_unit_test(count_of_idle_turns_restarts),
        cmocka_unit_test(many_chunks_are_legal),
        cmocka_unit_test(narrow_links_come_to_an_end),
        cmocka_unit_test(random_narrow_links),
        cmocka_unit_test(streams_may_have_more_chunks_than_loads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
