/* test_native.c -- the native engine and the driver, by scripted policies.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "engine/driver.h"
#include "sim/load/native.h"
#include "trace_check.h"

/* A policy that gives listed orders at START. */
static const struct cleave_order *script;
static size_t script_length;

static void scripted_decide(void *state, const struct cleave_view *view,
                            const struct cleave_event *event,
                            struct cleave_orders *orders)
{
    (void)state;
    (void)view;
    if (event->kind != CLEAVE_START)
        return;
    for (size_t i = 0; i < script_length; i++)
        if (script[i].kind == CLEAVE_SEND)
            cleave_order_send(orders, script[i].worker, script[i].units);
        else if (script[i].kind == CLEAVE_RETURN)
            cleave_order_return(orders, script[i].worker, script[i].chunk);
        else
            cleave_order_wake(orders, script[i].worker, script[i].time_s);
}

static const struct cleave_policy scripted = {
    .name = "scripted",
    .summary = "-",
    .reference = "-",
    .state_size = 1,
    .decide = scripted_decide,
};

static struct cleave_platform *parse(const char *text)
{
    struct cleave_platform *platform = NULL;
    struct cleave_error err;

    if (cleave_platform_parse("test", text, strlen(text), &platform, &err) != CLEAVE_OK)
        fail_msg("%s: %s", err.field, err.text);
    return platform;
}

/* Run the list on the platform; returns the status, fills trace and outcome. */
static double result_ratio;

static enum cleave_status play(const char *text, double load,
                               const struct cleave_order *list, size_t n,
                               const struct cv_noise *noise, struct cleave_trace *trace,
                               struct cv_outcome *out, struct cleave_error *err)
{
    struct cleave_platform *platform = parse(text);
    struct cv_run run = { .platform = platform };
    struct cv_driver *driver = NULL;
    struct cv_planned planned;
    enum cleave_status status;

    script = list;
    script_length = n;
    if (noise != NULL)
        run.noise = *noise;
    assert_int_equal(cv_planned_init(&planned, &scripted, NULL, 0, platform,
                                     cleave_platform_workers(platform),
                                     &(struct cleave_view){ .units_total = load,
                                                            .result_ratio =
                                                                result_ratio },
                                     NULL, NULL, err),
                     CLEAVE_OK);
    assert_int_equal(cv_driver_open(&planned, &cv_engine_native, platform, NULL, &driver,
                                    err),
                     CLEAVE_OK);
    status = cv_driver_run(driver, &run, trace, out, err);
    cv_driver_close(driver);
    cv_planned_done(&planned);
    cleave_platform_free(platform);
    return status;
}

static struct cv_outcome play_well(const char *text, double load,
                                   const struct cleave_order *list, size_t n,
                                   const struct cv_noise *noise,
                                   struct cleave_trace *trace)
{
    struct cv_outcome outcome;
    struct cleave_error err;

    if (play(text, load, list, n, noise, trace, &outcome, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    return outcome;
}

/* The n-th event of a kind. */
static const struct cleave_event *nth_event(const struct cleave_trace *trace,
                                            enum cleave_event_kind kind, size_t n)
{
    for (size_t i = 0; i < cleave_trace_count(trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);

        if (!entry->is_order && entry->as.event.kind == kind && n-- == 0)
            return &entry->as.event;
    }
    fail_msg("no such event");
    return NULL;
}

#define TWO_WORKERS                                                             \
    "workers:\n"                                                                \
    "  - {name: a, speed: 2, compute_latency: 1, bandwidth: 4, latency: 0.5}\n" \
    "  - {name: b, speed: 1, compute_latency: 2, bandwidth: 10, latency: 0.25}\n"

static const struct cleave_order three_sends[] = { { CLEAVE_SEND, 0, 8, 0, 0, 0, 0 },
                                                   { CLEAVE_SEND, 1, 10, 0, 0, 0, 0 },
                                                   { CLEAVE_SEND, 0, 4, 0, 0, 0, 0 } };

static void one_port_sends_one_after_the_other(void **state)
{
    struct cleave_trace *trace;
    struct cv_outcome outcome;

    (void)state;
    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    outcome = play_well("port: one\n" TWO_WORKERS, 22, three_sends, 3, NULL, trace);
    /* a: 0.5 + 2 = 2.5; b: 2.5 + 0.25 + 1 = 3.75; a: 3.75 + 0.5 + 1 = 5.25. */
    assert_true(nth_event(trace, CLEAVE_SENT, 0)->time_s == 2.5);
    assert_true(nth_event(trace, CLEAVE_SENT, 1)->time_s == 3.75);
    assert_true(nth_event(trace, CLEAVE_SENT, 2)->time_s == 5.25);
    /* a computes 2.5 .. 7.5 and 7.5 .. 10.5; b 3.75 .. 15.75. */
    assert_true(nth_event(trace, CLEAVE_DONE, 0)->time_s == 7.5);
    assert_true(nth_event(trace, CLEAVE_DONE, 1)->start_s == 7.5);
    assert_true(nth_event(trace, CLEAVE_DONE, 1)->time_s == 10.5);
    assert_true(outcome.makespan_s == 15.75);
    assert_true(outcome.busy_s == 5 + 3 + 12);
    assert_int_equal(outcome.chunks, 3);
    cleave_trace_free(trace);
}

static void multi_port_sends_side_by_side(void **state)
{
    struct cleave_trace *trace;
    struct cv_outcome outcome;

    (void)state;
    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    outcome = play_well("port: multi\n" TWO_WORKERS, 22, three_sends, 3, NULL, trace);
    /* b's chunk goes at once; a's second waits for a's link. */
    assert_true(nth_event(trace, CLEAVE_SENT, 0)->worker == 1);
    assert_true(nth_event(trace, CLEAVE_SENT, 0)->time_s == 1.25);
    assert_true(nth_event(trace, CLEAVE_SENT, 2)->start_s == 2.5);
    assert_true(nth_event(trace, CLEAVE_SENT, 2)->time_s == 4);
    assert_true(outcome.makespan_s == 13.25);
    cleave_trace_free(trace);
}

static void equal_times_come_in_the_order_begun(void **state)
{
    static const struct cleave_order list[] = { { CLEAVE_WAKE_AT, 0, 0, 1, 0, 0, 0 },
                                                { CLEAVE_SEND, 0, 1, 0, 0, 0, 0 },
                                                { CLEAVE_WAKE_AT, 0, 0, 1, 0, 0, 0 } };
    struct cleave_trace *trace;

    (void)state;
    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    play_well("workers: [{name: a, speed: 1, bandwidth: 1}]", 1, list, 3, NULL, trace);
    /* wake, sent, wake at 1; all but the last say that more follow. */
    assert_true(cleave_trace_at(trace, 4)->as.event.kind == CLEAVE_WAKE);
    assert_true(cleave_trace_at(trace, 4)->as.event.more);
    assert_true(cleave_trace_at(trace, 5)->as.event.kind == CLEAVE_SENT);
    assert_true(cleave_trace_at(trace, 5)->as.event.more);
    assert_true(cleave_trace_at(trace, 6)->as.event.kind == CLEAVE_WAKE);
    assert_false(cleave_trace_at(trace, 6)->as.event.more);
    cleave_trace_free(trace);
}

static void profiles_are_integrated_exactly(void **state)
{
    static const struct cleave_order list[] = { { CLEAVE_SEND, 0, 20, 0, 0, 0, 0 } };
    struct cleave_trace *trace;

    (void)state;
    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    play_well(
        "workers: [{name: a, speed: 1, bandwidth: 10, latency: 1, compute_latency: 2, "
        "profile: [[2, 0.5], [10, 0], [15, 2]]}]",
        20, list, 1, NULL, trace);
    /* Transfer: latency to 1, 10 units by 2, the other 10 at half rate: 2 + 2 = 4. */
    assert_true(nth_event(trace, CLEAVE_SENT, 0)->time_s == 4);
    /* Computation: latency to 6, 2 units by 10, none to 15, 18 at double speed: 24. */
    assert_true(nth_event(trace, CLEAVE_DONE, 0)->time_s == 24);
    cleave_trace_free(trace);
}

static void recorded_factors_stretch_chunks(void **state)
{
    static const double twice[] = { 2, 1 }, thrice[] = { 1, 3, 1 };
    struct cv_noise noise = { .transfer = { twice, 2 }, .compute = { thrice, 3 } };
    struct cv_outcome outcome;
    struct cleave_trace *trace;

    (void)state;
    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    outcome = play_well("port: one\n" TWO_WORKERS, 22, three_sends, 3, &noise, trace);
    assert_true(nth_event(trace, CLEAVE_SENT, 0)->time_s == 5);
    assert_true(nth_event(trace, CLEAVE_SENT, 1)->time_s == 6.25);
    assert_true(nth_event(trace, CLEAVE_SENT, 2)->time_s == 9.25);
    assert_true(outcome.makespan_s == 6.25 + 36);
    cleave_trace_free(trace);
}

/* Results of a policy that leaves them alone come back as they get ready. */
static void results_share_the_only_port(void **state)
{
    struct cleave_trace *trace;
    struct cv_outcome outcome;

    (void)state;
    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    result_ratio = 0.5;
    outcome = play_well("port: one\n" TWO_WORKERS, 22, three_sends, 3, NULL, trace);
    result_ratio = 0;
    /* Sent by 5.25 in all; a is done at 7.5 and 10.5, b at 15.75. */
    assert_true(nth_event(trace, CLEAVE_RETURNED, 0)->start_s == 7.5);
    assert_true(nth_event(trace, CLEAVE_RETURNED, 0)->time_s == 7.5 + 0.5 + 1);
    assert_true(nth_event(trace, CLEAVE_RETURNED, 1)->time_s == 10.5 + 0.5 + 0.5);
    assert_true(nth_event(trace, CLEAVE_RETURNED, 2)->time_s == 15.75 + 0.25 + 0.5);
    assert_true(outcome.makespan_s == 16.5);
    cleave_trace_free(trace);
}

static void results_wait_only_where_the_port_is_shared(void **state)
{
    static const char workers[] = "workers:\n"
                                  "  - {name: a, speed: 8, bandwidth: 4}\n"
                                  "  - {name: b, speed: 8, bandwidth: 1}\n";
    static const struct cleave_order list[] = { { CLEAVE_SEND, 0, 8, 0, 0, 0, 0 },
                                                { CLEAVE_SEND, 1, 8, 0, 0, 0, 0 } };
    static const struct {
        const char *port;
        double first_start, second_start;
    } cases[] = { { "port: one\n", 10, 12 },
                  { "port: duplex\n", 3, 11 },
                  { "port: multi\n", 3, 9 } };
    char text[200];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cleave_trace *trace;

        assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
        snprintf(text, sizeof text, "%s%s", cases[i].port, workers);
        result_ratio = 1;
        play_well(text, 16, list, 2, NULL, trace);
        result_ratio = 0;
        assert_true(nth_event(trace, CLEAVE_RETURNED, 0)->start_s ==
                    cases[i].first_start);
        assert_true(nth_event(trace, CLEAVE_RETURNED, 1)->start_s ==
                    cases[i].second_start);
        cleave_trace_free(trace);
    }
}

/* Takes part of a's chunk back at a given time and hands it to b. */
static double recall_at_s, recall_units;

static void recalling_decide(void *state, const struct cleave_view *view,
                             const struct cleave_event *event,
                             struct cleave_orders *orders)
{
    (void)state;
    if (event->kind == CLEAVE_START) {
        cleave_order_send(orders, 0, view->units_left);
        cleave_order_wake(orders, 0, recall_at_s);
    } else if (event->kind == CLEAVE_WAKE) {
        cleave_order_recall(orders, 0, recall_units);
    } else if (event->kind == CLEAVE_RECALLED && event->units > 0) {
        cleave_order_send(orders, 1, event->units);
    }
}

/* More may be asked for than a worker has memory for at once. */
static void late_tails_are_recalled(void **state)
{
    static const struct {
        double at_s, units; /* asked for      */
        double got, first_end_s, end_s;
    } cases[] = {
        { 5, 4, 4, 9, 9 },     /* a would end at 13; 4 of the 8 to come go to b   */
        { 5, 100, 8, 5, 13 },  /* all pending units */
        { 1, 100, 10, 3, 11 }, /* in the latency, which passes anyway */
        { 20, 4, 0, 13, 13 },  /* too late                                       */
    };
    struct cleave_policy recalling = scripted;

    (void)state;
    recalling.decide = recalling_decide;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cleave_platform *platform =
            parse("workers:\n"
                  "  - {name: a, speed: 1, bandwidth: 1e300, compute_latency: 3, "
                  "memory: 10}\n"
                  "  - {name: b, speed: 1, bandwidth: 1e300}\n");
        struct cv_run run = { .platform = platform };
        struct cleave_trace *trace;
        struct cv_outcome outcome;
        struct cv_driver *driver;
        struct cv_planned planned;

        recall_at_s = cases[i].at_s;
        recall_units = cases[i].units;
        assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
        assert_int_equal(cv_planned_init(&planned, &recalling, NULL, 0, platform,
                                         cleave_platform_workers(platform),
                                         &(struct cleave_view){ .units_total = 10 }, NULL,
                                         NULL, NULL),
                         CLEAVE_OK);
        assert_int_equal(cv_driver_open(&planned, &cv_engine_native, platform, NULL,
                                        &driver, NULL),
                         CLEAVE_OK);
        assert_int_equal(cv_driver_run(driver, &run, trace, &outcome, NULL), CLEAVE_OK);
        assert_true(nth_event(trace, CLEAVE_RECALLED, 0)->units == cases[i].got);
        assert_true(nth_event(trace, CLEAVE_DONE, 0)->time_s == cases[i].first_end_s);
        assert_true(outcome.makespan_s == cases[i].end_s);
        cv_driver_close(driver);
        cv_planned_done(&planned);
        cleave_trace_free(trace);
        cleave_platform_free(platform);
    }
}

/* The driver names the mistake of a policy. */
static void bad_orders_are_refused(void **state)
{
    static const struct {
        struct cleave_order order;
        double load;
        const char *text;
    } cases[] = {
        { { CLEAVE_SEND, 2, 5, 0, 0, 0, 0 }, 5, "policy 'scripted' named worker 2 of 2" },
        { { CLEAVE_SEND, 0, -1, 0, 0, 0, 0 },
          5,
          "policy 'scripted' sent -1 units to worker 0" },
        { { CLEAVE_SEND, 0, NAN, 0, 0, 0, 0 },
          5,
          "policy 'scripted' sent nan units to worker 0" },
        { { CLEAVE_SEND, 0, 6, 0, 0, 0, 0 },
          5,
          "policy 'scripted' handed out 1 units more than the load" },
        { { CLEAVE_SEND, 0, 4, 0, 0, 0, 0 },
          5,
          "policy 'scripted' stopped with 1 of 5 units left" },
        { { CLEAVE_WAKE_AT, 0, 0, -1, 0, 0, 0 },
          5,
          "policy 'scripted' asked to be woken at -1 s, but it is 0 s" },
        { { CLEAVE_RETURN, 0, 0, 0, 0, 0, 0 },
          5,
          "policy 'scripted' asked worker 0 for the result of chunk 0: this load has "
          "none" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cv_outcome outcome;
        struct cleave_error err;

        assert_int_equal(play(TWO_WORKERS, cases[i].load, &cases[i].order, 1, NULL, NULL,
                              &outcome, &err),
                         CLEAVE_EPOLICY);
        assert_string_equal(err.text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_port_sends_one_after_the_other),
        cmocka_unit_test(multi_port_sends_side_by_side),
        cmocka_unit_test(equal_times_come_in_the_order_begun),
        cmocka_unit_test(profiles_are_integrated_exactly),
        cmocka_unit_test(recorded_factors_stretch_chunks),
        cmocka_unit_test(results_share_the_only_port),
        cmocka_unit_test(results_wait_only_where_the_port_is_shared),
        cmocka_unit_test(late_tails_are_recalled),
        cmocka_unit_test(bad_orders_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
