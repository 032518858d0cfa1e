/* test_native_open.c -- chunks that stay open, on the native engine.
 * SPDX-License-Identifier: MIT
 *
 * Scripted policies open, extend, recall and close; times are worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "open_scene.h"
#include "trace_check.h"

/* Open with 20 of 50 units, 30 more when they are read, then close. */
static void extend_once(const struct cleave_view *view, const struct cleave_event *event,
                        struct cleave_orders *orders)
{
    if (event->kind == CLEAVE_START)
        cleave_order_open(orders, 0, 20);
    if (event->kind == CLEAVE_DRAINED && view->units_left > 0)
        cleave_order_extend(orders, 0, 30);
    else if (event->kind == CLEAVE_DRAINED)
        cleave_order_close(orders, 0);
}

static void kinds_take_their_time(void **unused)
{
    (void)unused;
    expect(&(struct scene){ .reads = "stream", .load = 50, .decide = extend_once },
           "0 sent 0:20, 1 started 0:20, 3 drained 0:20, 3 extended 0:30, "
           "6 drained 0:50, 6 done 0:50");
    expect(&(struct scene){ .reads = "slurp", .load = 50, .decide = extend_once },
           "0 sent 0:20, 1 started 0:20, 1 drained 0:20, 1 extended 0:30, "
           "1 drained 0:50, 6 done 0:50");
    expect(&(struct scene){ .reads = "late", .load = 50, .decide = extend_once },
           "0 sent 0:20, 0.001 started 0:20, 0.001 drained 0:20, 0.001 extended 0:30, "
           "0.001 drained 0:50, 6 done 0:50");
    expect(&(struct scene){ .reads = "mix", .load = 50, .decide = extend_once },
           "0 sent 0:20, 1 started 0:20, 1.6 drained 0:20, 1.6 extended 0:30, "
           "2.5 drained 0:50, 6 done 0:50");
    expect(&(struct scene){ .reads = "slurp",
                            .load = 50,
                            .pipe_ups = 100,
                            .decide = extend_once },
           "0 sent 0:20, 1 started 0:20, 1.2 drained 0:20, 1.2 extended 0:30, "
           "1.5 drained 0:50, 6.5 done 0:50");
}

/* The second one waits for its input until the first has started. */
static void bind_late(const struct cleave_view *view, const struct cleave_event *event,
                      struct cleave_orders *orders)
{
    (void)view;
    if (event->kind == CLEAVE_START) {
        cleave_order_open(orders, 0, 20);
        cleave_order_open(orders, 1, 0);
        cleave_order_close(orders, 0);
    }
    if (event->kind == CLEAVE_STARTED && event->worker == 0) {
        cleave_order_extend(orders, 1, 30);
        cleave_order_close(orders, 1);
    }
}

static void a_command_starts_before_it_is_known_what_it_reads(void **unused)
{
    (void)unused;
    expect(&(struct scene){ .reads = "stream", .load = 50, .decide = bind_late },
           "0 sent 1:0, 0 sent 0:20, 1 started 0:20, 1 extended 1:30, 1 started 1:30, "
           "3 done 0:20, 4 done 1:30");
}

/* Both have half; the first is slow to start, so that its ungiven units go to the other,
 * which waits; one chunk cannot be two ranges. */
static void steal(const struct cleave_view *view, const struct cleave_event *event,
                  struct cleave_orders *orders)
{
    if (event->kind == CLEAVE_START) {
        cleave_order_open(orders, 0, 60);
        cleave_order_open(orders, 1, 20);
        cleave_order_close(orders, 0);
    }
    if (event->kind == CLEAVE_DRAINED) {
        cleave_order_extend(orders, 1, 100); /* 80 to 100 follow it */
        cleave_order_recall(orders, 0, 25);
        cleave_order_look(orders, 0);
    }
    if (event->kind == CLEAVE_EXTENDED && event->units > 0)
        cleave_order_extend(orders, 1, 5); /* nothing follows */
    if (event->kind == CLEAVE_EXTENDED && event->units == 0)
        cleave_order_close(orders, 1);
    if (event->kind == CLEAVE_DONE && event->worker == 0 && view->units_left > 0)
        cleave_order_send(orders, 0, 100); /* 35 to 60 are free */
}

static void
a_tail_that_is_recalled_is_free_and_what_follows_is_what_is_given(void **unused)
{
    (void)unused;
    /* At 3 s worker 0 has read 20. */
    expect(&(struct scene){ .reads = "stream", .load = 100, .decide = steal },
           "0 sent 1:20, 0 sent 0:60, 1 started 1:20, 1 started 0:60, 3 drained 1:20, "
           "3 extended 1:0, 3 recalled 0:25, 3 progress 0:20, 3 done 1:20, "
           "4.5 done 0:35, 4.5 sent 0:45, 10 done 0:45");
    /* It has read 20 and was given 35 more, which cannot be recalled. */
    expect(&(struct scene){ .reads = "count", .load = 100, .ahead = 35, .decide = steal },
           "0 sent 1:20, 0 sent 0:60, 1 started 1:20, 1 started 0:60, 3 drained 1:20, "
           "3 extended 1:0, 3 recalled 0:5, 3 progress 0:20, 3 done 1:20, "
           "6.5 done 0:55, 6.5 sent 0:25, 10 done 0:25");
}

/* All orders that apply to a command before its start. */
static void before_it_starts(const struct cleave_view *view,
                             const struct cleave_event *event,
                             struct cleave_orders *orders)
{
    (void)view;
    if (event->kind == CLEAVE_START) {
        cleave_order_open(orders, 0, 10);
        cleave_order_open(orders, 1, 0);
        cleave_order_close(orders, 1); /* killed */
    }
    if (event->kind == CLEAVE_SENT && event->worker == 0 && event->chunk == 0) {
        cleave_order_recall(orders, 0, 99); /* all of it: it is undecided again */
        cleave_order_recall(orders, 1, 99); /* it was removed */
        cleave_order_look(orders, 0);
        cleave_order_wake(orders, 0, 0.5);
    }
    if (event->kind == CLEAVE_WAKE) {
        cleave_order_open(orders, 1, 15); /* takes the first units before the other */
        cleave_order_extend(orders, 0, 15);
        cleave_order_close(orders, 0);
        cleave_order_close(orders, 1);
    }
}

static void a_command_that_has_not_started_can_be_emptied_and_killed(void **unused)
{
    (void)unused;
    expect(
        &(struct scene){ .reads = "slurp", .load = 30, .decide = before_it_starts },
        "0 sent 1:0, 0 done 1:0, 0 sent 0:10, 0 recalled 0:10, 0 recalled 1:0, "
        "0 progress 0:0, 0.5 wake 0:0, 0.5 sent 1:15, 0.5 extended 0:15, 1 started 0:15, "
        "1.5 started 1:15, 2.5 done 0:15, 3 done 1:15");
}

/* --- links, streams, profiles, results ------------------------------------------------- */

static const char LINKED[] = "port: one\n"
                             "workers:\n"
                             "  - { name: w, count: 2, speed: 10, compute_latency: 1, "
                             "bandwidth: 10, latency: 1 }\n";

static void extend_early(const struct cleave_view *view, const struct cleave_event *event,
                         struct cleave_orders *orders)
{
    (void)view;
    if (event->kind == CLEAVE_START)
        cleave_order_open(orders, 0, 20);
    if (event->kind == CLEAVE_STARTED) {
        cleave_order_extend(orders, 0, 20);
        cleave_order_wake(orders, 0, 4);
    }
    if (event->kind == CLEAVE_WAKE) {
        cleave_order_recall(orders, 0, 9); /* it is in flight */
        cleave_order_look(orders, 0);
    }
    if (event->kind == CLEAVE_DRAINED)
        cleave_order_close(orders, 0);
}

static void units_are_read_when_they_have_come(void **unused)
{
    (void)unused;
    expect(&(struct scene){ .platform = LINKED,
                            .reads = "stream",
                            .load = 40,
                            .decide = extend_early },
           "3 sent 0:20, 3 started 0:20, 4 wake 0:0, 4 recalled 0:0, 4 progress 0:10, "
           "6 extended 0:20, 8 drained 0:40, 8 done 0:40");
}

static void take_what_comes(const struct cleave_view *view,
                            const struct cleave_event *event,
                            struct cleave_orders *orders)
{
    (void)view;
    if (event->kind == CLEAVE_START) {
        assert_true(isinf(view->units_left));
        cleave_order_open(orders, 0, 30); /* 20 have arrived */
        cleave_order_open(orders, 1, 10); /* nothing */
    }
    if (event->kind == CLEAVE_DRAINED)
        cleave_order_close(orders, event->worker);
    if (event->kind == CLEAVE_DONE && event->worker == 0 && event->chunk == 0)
        cleave_order_extend(orders, 1, 100);
    if (event->kind == CLEAVE_ENDED) {
        assert_true(view->units_left == 10 && view->units_total == 50);
        cleave_order_send(orders, 0, 100);
    }
}

/* The fifth chunk waits for its part of the stream. */
static void wait_for_more(const struct cleave_view *view,
                          const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)view;
    if (event->kind == CLEAVE_START)
        for (uint32_t i = 0; i < 5; i++)
            cleave_order_send(orders, i % 2, 5);
    if (event->kind == CLEAVE_ENDED) {
        cleave_order_send(orders, 1, 99);
        cleave_order_send(orders, 0, 99); /* nothing is left for it */
    }
}

static void a_stream_comes_as_chunks_are_done(void **unused)
{
    (void)unused;
    expect(&(struct scene){ .reads = "stream",
                            .load = 50,
                            .hold = 20,
                            .decide = take_what_comes },
           "0 sent 1:0, 0 sent 0:20, 1 started 0:20, 3 drained 0:20, 3 done 0:20, "
           "3 extended 1:20, 3 started 1:20, 5 drained 1:20, 5 done 1:20, 5 ended 0:10, "
           "5 sent 0:10, 7 done 0:10");
    expect(&(struct scene){ .reads = "slurp",
                            .load = 30,
                            .hold = 20,
                            .decide = wait_for_more },
           "0 sent 0:5, 0 sent 1:5, 0 sent 0:5, 0 sent 1:5, 1.5 done 0:5, 1.5 done 1:5, "
           "1.5 sent 0:5, 1.5 ended 0:5, 1.5 sent 1:5, 1.5 sent 0:0, 1.5 done 0:0, "
           "3 done 0:5, 3 done 1:5, 4.5 done 0:5, 4.5 done 1:5");
}

static const char SLOWER[] =
    "port: multi\n"
    "workers:\n"
    "  - { name: w, speed: 10, compute_latency: 1, bandwidth: 1e300, latency: 0,\n"
    "      profile: [[2, 0.5], [6, 2]] }\n";

/* Reading 50 units after 1 s: 10 by 2 s, 20 by 6 s, 20 more at 20 a second. */
static void speeds_change_while_it_reads(void **unused)
{
    (void)unused;
    expect(&(struct scene){ .platform = SLOWER,
                            .reads = "stream",
                            .load = 50,
                            .decide = extend_once },
           "0 sent 0:20, 1 started 0:20, 4 drained 0:20, 4 extended 0:30, "
           "7 drained 0:50, 7 done 0:50");
    expect(&(struct scene){ .platform = SLOWER,
                            .reads = "slurp",
                            .load = 50,
                            .decide = extend_once },
           "0 sent 0:20, 1 started 0:20, 1 drained 0:20, 1 extended 0:30, "
           "1 drained 0:50, 7 done 0:50");
}

static void results_come_back_of_what_was_open(void **unused)
{
    (void)unused;
    expect(&(struct scene){ .platform = LINKED,
                            .reads = "stream",
                            .load = 40,
                            .result_ratio = 0.5,
                            .decide = extend_early },
           "3 sent 0:20, 3 started 0:20, 4 wake 0:0, 4 recalled 0:0, 4 progress 0:10, "
           "6 extended 0:20, 8 drained 0:40, 8 done 0:40, 11 returned 0:40");
    /* Also for a killed command. */
    expect(
        &(struct scene){ .reads = "slurp",
                         .load = 30,
                         .result_ratio = 0.1,
                         .decide = before_it_starts },
        "0 sent 1:0, 0 done 1:0, 0 returned 1:0, 0 sent 0:10, 0 recalled 0:10, "
        "0 recalled 1:0, 0 progress 0:0, 0.5 wake 0:0, 0.5 sent 1:15, 0.5 extended 0:15, "
        "1 started 0:15, 1.5 started 1:15, 2.5 done 0:15, 2.5 returned 0:15, "
        "3 done 1:15, 3 returned 1:15");
}

/* --- orders that are refused ----------------------------------------------------------- */

static const struct cleave_order *bad_orders;
static size_t nbad_orders;

static void give_bad_orders(const struct cleave_view *view,
                            const struct cleave_event *event,
                            struct cleave_orders *orders)
{
    (void)view;
    for (size_t i = 0; event->kind == CLEAVE_START && i < nbad_orders; i++) {
        const struct cleave_order *order = &bad_orders[i];

        if (order->kind == CLEAVE_SEND)
            cleave_order_send(orders, order->worker, order->units);
        else if (order->kind == CLEAVE_OPEN)
            cleave_order_open(orders, order->worker, order->units);
        else if (order->kind == CLEAVE_EXTEND)
            cleave_order_extend(orders, order->worker, order->units);
        else
            cleave_order_close(orders, order->worker);
    }
}

static void refused(const struct cleave_order *list, size_t n, const char *why)
{
    const struct scene scene = { .reads = "stream",
                                 .load = 50,
                                 .decide = give_bad_orders };
    struct cv_outcome outcome;
    struct cleave_error err = { 0 };

    bad_orders = list;
    nbad_orders = n;
    assert_int_equal(play(&scene, NULL, &outcome, &err), CLEAVE_EPOLICY);
    assert_string_equal(err.text, why);
}

static void orders_about_what_is_not_open_are_refused(void **unused)
{
    const struct cleave_order twice[] = { { .kind = CLEAVE_OPEN, .units = 5 },
                                          { .kind = CLEAVE_OPEN, .units = 5 } };
    const struct cleave_order busy[] = { { .kind = CLEAVE_SEND, .units = 5 },
                                         { .kind = CLEAVE_OPEN, .units = 5 } };
    const struct cleave_order none[] = { { .kind = CLEAVE_EXTEND, .units = 5 } };
    const struct cleave_order sent[] = { { .kind = CLEAVE_SEND, .units = 5 },
                                         { .kind = CLEAVE_CLOSE } };
    const struct cleave_order closed[] = { { .kind = CLEAVE_OPEN, .units = 5 },
                                           { .kind = CLEAVE_CLOSE },
                                           { .kind = CLEAVE_EXTEND, .units = 5 } };
    const struct cleave_order due[] = { { .kind = CLEAVE_OPEN, .units = 5 },
                                        { .kind = CLEAVE_EXTEND, .units = 5 },
                                        { .kind = CLEAVE_EXTEND, .units = 5 } };
    const struct cleave_order forgotten[] = {
        { .kind = CLEAVE_OPEN, .worker = 1, .units = 50 }
    };
    const struct cleave_order left[] = { { .kind = CLEAVE_OPEN, .units = 5 } };

    (void)unused;
    refused(twice, 2,
            "policy 'scripted' asked to open a chunk of worker 0: it has one "
            "that has not ended");
    refused(busy, 2,
            "policy 'scripted' asked to open a chunk of worker 0: it has "
            "something else to do");
    refused(none, 1,
            "policy 'scripted' asked to extend a chunk of worker 0: it has none "
            "that is open");
    refused(sent, 2,
            "policy 'scripted' asked to close a chunk of worker 0: it has none "
            "that is open");
    refused(closed, 3,
            "policy 'scripted' asked to extend a chunk of worker 0: it has "
            "none that is open");
    refused(due, 3,
            "policy 'scripted' asked to extend a chunk of worker 0: its "
            "last extension has no result yet");
    refused(forgotten, 1,
            "policy 'scripted' stopped and left the chunk of worker 1 open");
    refused(left, 1, "policy 'scripted' stopped with 45 of 50 units left");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_take_their_time),
        cmocka_unit_test(a_command_starts_before_it_is_known_what_it_reads),
        cmocka_unit_test(
            a_tail_that_is_recalled_is_free_and_what_follows_is_what_is_given),
        cmocka_unit_test(a_command_that_has_not_started_can_be_emptied_and_killed),
        cmocka_unit_test(units_are_read_when_they_have_come),
        cmocka_unit_test(a_stream_comes_as_chunks_are_done),
        cmocka_unit_test(speeds_change_while_it_reads),
        cmocka_unit_test(results_come_back_of_what_was_open),
        cmocka_unit_test(orders_about_what_is_not_open_are_refused),
    };

    return cmocka_run_group_tests_name("native_open", tests, NULL, NULL);
}
