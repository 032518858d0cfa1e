/* test_native_conditions.c -- undeclared conditions of runs, on the native engine.
 * SPDX-License-Identifier: MIT
 *
 * Scripted policies; times are worked out by hand. Two workers of speed 10 start up in 1 s,
 * and links take no time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "model/platform/noise.h"
#include "open_scene.h"
#include "trace_check.h"

/* 20 to the first one, of which 5 go to the other at 2 s. */
static void ask_and_recall(const struct cleave_view *view,
                           const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)view;
    if (event->kind == CLEAVE_START) {
        cleave_order_send(orders, 0, 20);
        cleave_order_wake(orders, 0, 2);
    } else if (event->kind == CLEAVE_WAKE) {
        cleave_order_look(orders, 0);
        cleave_order_recall(orders, 0, 5);
    } else if (event->kind == CLEAVE_RECALLED) {
        cleave_order_send(orders, 1, event->units);
    }
}

static void answers_take_time(void **unused)
{
    const struct cleave_conditions late = { .answers_s = 0.25 };

    (void)unused;
    expect(&(struct scene){ .reads = "stream", .load = 20, .decide = ask_and_recall },
           "0 sent 0:20, 2 wake 0:0, 2 progress 0:10, 2 recalled 0:5, 2 sent 1:5, "
           "2.5 done 0:15, 3.5 done 1:5");
    expect(
        &(struct scene){
            .reads = "stream", .load = 20, .conditions = late, .decide = ask_and_recall },
        "0 sent 0:20, 2 wake 0:0, 2.25 progress 0:10, 2.25 recalled 0:5, 2.25 sent 1:5, "
        "2.75 done 0:15, 4 done 1:5");
}

/* The second part is ordered before the report that the first was read: that report comes
 * too late to matter. */
static void extend_early(const struct cleave_view *view, const struct cleave_event *event,
                         struct cleave_orders *orders)
{
    if (event->kind == CLEAVE_START) {
        cleave_order_open(orders, 0, 10);
        cleave_order_wake(orders, 0, 2.25);
    } else if (event->kind == CLEAVE_WAKE) {
        cleave_order_extend(orders, 0, 10);
    } else if (event->kind == CLEAVE_DRAINED && !(view->units_left > 0)) {
        cleave_order_close(orders, 0);
    }
}

static void an_outdated_report_is_not_told(void **unused)
{
    (void)unused;
    expect(&(struct scene){ .reads = "stream",
                            .load = 20,
                            .conditions = { .answers_s = 0.5 },
                            .decide = extend_early },
           "0 sent 0:10, 1.5 started 0:10, 2.25 wake 0:0, 2.25 extended 0:10, "
           "3.75 drained 0:20, 4.25 done 0:20");
}

/* Both have 20; lost units go to the second. */
static void halves(const struct cleave_view *view, const struct cleave_event *event,
                   struct cleave_orders *orders)
{
    (void)view;
    if (event->kind == CLEAVE_START) {
        cleave_order_send(orders, 0, 20);
        cleave_order_send(orders, 1, 20);
    } else if (event->kind == CLEAVE_LOST) {
        cleave_order_send(orders, event->chunk == 0 ? 0 : 1, event->units);
    }
}

/* For a policy without loss events the other worker's events take its place. */
static void somebody_stands_in_for_a_worker_that_hangs(void **unused)
{
    static const struct cleave_hang hang = { 0, 2 };
    struct scene scene = { .reads = "stream",
                           .load = 40,
                           .closed = true,
                           .conditions = { .hangs = &hang, .nhangs = 1, .timeout_s = 3 },
                           .decide = halves };

    (void)unused;
    expect(&scene, "0 sent 0:20, 0 sent 1:20, 3 done 1:20, 8 done 0:20");
    scene.result_ratio = 1;
    expect(&scene, "0 sent 0:20, 0 sent 1:20, 3 done 1:20, 3 returned 1:20, 8 done 0:20, "
                   "8 returned 0:20");
}

static void what_a_worker_that_hangs_has_is_lost(void **unused)
{
    static const struct cleave_hang hang = { 0, 2 };
    const struct cleave_conditions hangs = { .hangs = &hang,
                                             .nhangs = 1,
                                             .timeout_s = 3 };

    (void)unused;
    /* Units sent to it later are lost at once. */
    expect(
        &(struct scene){ .reads = "stream",
                         .load = 40,
                         .conditions = hangs,
                         .gets_losses = true,
                         .decide = halves },
        "0 sent 0:20, 0 sent 1:20, 3 done 1:20, 5 lost 0:20, 5 lost 0:20, 5 sent 1:20, "
        "8 done 1:20");
    /* A worker that has ended before loses nothing. */
    expect(&(struct scene){ .reads = "stream",
                            .load = 40,
                            .conditions = { .hangs = &(struct cleave_hang){ 0, 3.5 },
                                            .nhangs = 1 },
                            .gets_losses = true,
                            .decide = halves },
           "0 sent 0:20, 0 sent 1:20, 3 done 0:20, 3 done 1:20");
}

/* Closed chunks are copied where chunks cannot be opened as well. */
static void copy_when_idle(const struct cleave_view *view,
                           const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)view;
    if (event->kind == CLEAVE_START) {
        cleave_order_send(orders, 0, 20);
        cleave_order_send(orders, 1, 20);
    } else if (event->kind == CLEAVE_DONE && event->chunk == 1) {
        cleave_order_copy(orders, 1, 0);
    }
}

static void the_first_of_two_copies_counts(void **unused)
{
    static const struct cleave_hang hang = { 0, 2 };
    static const char SLOW[] = "port: multi\n"
                               "workers:\n"
                               "  - { name: slow, speed: 2, bandwidth: 1e300 }\n"
                               "  - { name: fast, speed: 10, bandwidth: 20 }\n";

    (void)unused;
    /* The copy needs 1 s for its input and 2 s for its work. */
    expect(&(struct scene){ .platform = SLOW,
                            .reads = "stream",
                            .load = 40,
                            .copies = true,
                            .decide = copy_when_idle },
           "0 sent 0:20, 1 sent 1:20, 3 done 1:20, 6 done 1:20, 6 dropped 0:0");
    /* The original is done at 10 s, and the copy would be at 11 s. */
    expect(&(struct scene){ .platform = "port: multi\n"
                                        "workers:\n"
                                        "  - { name: a, speed: 2, bandwidth: 1e300 }\n"
                                        "  - { name: b, speed: 4, bandwidth: 20 }\n",
                            .reads = "stream",
                            .load = 40,
                            .copies = true,
                            .decide = copy_when_idle },
           "0 sent 0:20, 1 sent 1:20, 6 done 1:20, 10 done 0:20, 10 dropped 1:0");
    /* A lost worker with a copy: its chunk continues in the copy. */
    expect(&(struct scene){ .reads = "stream",
                            .load = 40,
                            .copies = true,
                            .gets_losses = true,
                            .conditions = { .hangs = &hang, .nhangs = 1, .timeout_s = 3 },
                            .decide = copy_when_idle },
           "0 sent 0:20, 0 sent 1:20, 3 done 1:20, 5 dropped 0:0, 6 done 1:20");
    /* A chunk that is done cannot be copied. */
    expect(&(struct scene){ .reads = "stream",
                            .load = 40,
                            .copies = true,
                            .decide = copy_when_idle },
           "0 sent 0:20, 0 sent 1:20, 3 done 0:20, 3 done 1:20, 3 dropped 1:0");
}

/* Unread units of an open chunk are recalled before it is copied. */
static void copy_open(const struct cleave_view *view, const struct cleave_event *event,
                      struct cleave_orders *orders)
{
    (void)view;
    if (event->kind == CLEAVE_START) {
        cleave_order_open(orders, 0, 40);
        cleave_order_wake(orders, 1, 2);
    } else if (event->kind == CLEAVE_WAKE) {
        cleave_order_copy(orders, 1, 0);
    } else if (event->kind == CLEAVE_DROPPED) {
        cleave_order_send(orders, 0, 30);
    }
}

static void an_open_chunk_is_closed_and_copied(void **unused)
{
    (void)unused;
    expect(&(struct scene){ .reads = "mix",
                            .load = 40,
                            .copies = true,
                            .decide = copy_open },
           "0 sent 0:40, 1 started 0:40, 2 wake 1:0, 2 recalled 0:6.66667, "
           "4.33333 done 0:33.3333, 4.33333 dropped 1:0, 4.33333 sent 0:6.66667, "
           "6 done 0:6.66667");
}

static double ask_s, asked_units;

static void ask_at(const struct cleave_view *view, const struct cleave_event *event,
                   struct cleave_orders *orders)
{
    (void)view;
    if (event->kind == CLEAVE_START) {
        cleave_order_send(orders, 0, asked_units);
        cleave_order_wake(orders, 0, ask_s);
    } else if (event->kind == CLEAVE_WAKE) {
        cleave_order_look(orders, 0);
    }
}

static void a_chunk_costs_the_sum_of_its_records(void **unused)
{
    const struct cv_noise seeded = { .seed = 7 };
    const struct cleave_cost_law laws[] = { { CLEAVE_COST_GAMMA, 1.5, 5 },
                                            { CLEAVE_COST_LOGNORMAL, 1, 5 },
                                            { CLEAVE_COST_PARETO, 1.5, 5 } };

    (void)unused;
    for (size_t k = 0; k < 3; k++) {
        struct scene scene = { .reads = "stream",
                               .load = 20,
                               .noise = &seeded,
                               .conditions = { .costs = laws[k] },
                               .decide = ask_at };
        struct cv_record_law law;
        double sum = 0;
        char events[200];

        cv_record_law_begin(&law, &laws[k], 7, 0);
        for (uint64_t i = 0; i < 4; i++)
            sum += cv_record_factor(&law, i);
        asked_units = 20;
        /* In the middle of the second record it has read 7.5 units. */
        ask_s = 1 + 0.5 * cv_record_factor(&law, 0) + 0.25 * cv_record_factor(&law, 1);
        snprintf(events, sizeof events,
                 "0 sent 0:20, %g wake 0:0, %g progress 0:7.5, %g done 0:20",
                 round(ask_s * 1e9) / 1e9, round(ask_s * 1e9) / 1e9,
                 round((1 + 0.5 * sum) * 1e9) / 1e9);
        expect(&scene, events);
    }
}

/* A chunk that is half a second short of its end when the first stall begins. */
static void a_worker_stands_still_and_goes_on(void **unused)
{
    const struct cleave_stalls law = { 8, 3 };
    int tried = 0;

    (void)unused;
    for (uint64_t seed = 1; tried < 20; seed++) {
        const struct cv_noise seeded = { .seed = seed };
        struct scene scene = { .reads = "slurp",
                               .noise = &seeded,
                               .conditions = { .stalls = law },
                               .decide = ask_at };
        struct cv_standstill still;
        double from_s, to_s;
        char events[200];

        cv_standstill_begin(&still, &law, INFINITY, seed, 0, 0);
        from_s = still.from_s;
        to_s = still.to_s;
        cv_standstill_next(&still);
        if (!(from_s > 1) || !(still.from_s > to_s + 0.5))
            continue;
        tried++;
        asked_units = 10 * (from_s - 1 + 0.5);
        scene.load = asked_units;
        ask_s = 0.5;
        snprintf(events, sizeof events,
                 "0 sent 0:%g, 0.5 wake 0:0, 0.5 progress 0:0, %g done 0:%g", asked_units,
                 round((to_s + 0.5) * 1e9) / 1e9, asked_units);
        expect(&scene, events);
    }
}

static void laws_have_their_moments(void **unused)
{
    enum { DRAWS = 200000 };
    const struct {
        struct cleave_cost_law law;
        double cv;
    } cases[] = { { { CLEAVE_COST_GAMMA, 0.5, 1 }, 0.5 },
                  { { CLEAVE_COST_LOGNORMAL, 0.8, 1 }, 0.8 },
                  { { CLEAVE_COST_PARETO, 5, 1 }, 1 / sqrt(15) } };

    (void)unused;
    for (size_t k = 0; k < 3; k++) {
        struct cv_record_law law;
        double sum = 0, squares = 0, mean;

        cv_record_law_begin(&law, &cases[k].law, 3, 1);
        for (uint64_t i = 0; i < DRAWS; i++) {
            const double factor = cv_record_factor(&law, i);

            assert_true(factor >= 0);
            sum += factor;
            squares += factor * factor;
        }
        mean = sum / DRAWS;
        assert_true(fabs(mean - 1) < 0.01);
        assert_true(fabs(sqrt(squares / DRAWS - mean * mean) - cases[k].cv) < 0.03);
    }
}

static void bad_laws_are_refused(void **unused)
{
    static const char *const costs[] = {
        "",          "gamma",      "gamma:",    "gamma:0",        "gamma:-1",
        "gamma:101", "pareto:1",   "uniform:1", "gamma:1,",       "gamma:1,0",
        "gamma:x",   "gamma:1,-2", "none",      "lognormal:1,2,3"
    };
    static const char *const stalls[] = { "",      "60s",    "60s,",     "0s,1s",
                                          "1s,0s", "-1s,1s", "1s,1s,1s", "1u,2s" };
    struct cleave_cost_law law = { .record = 42 };
    struct cleave_stalls still = { 0, 0 };
    struct cleave_error err;

    (void)unused;
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        assert_int_equal(cleave_cost_law_parse(costs[i], &law, &err), CLEAVE_EINPUT);
    assert_true(law.record == 42);
    for (size_t i = 0; i < sizeof stalls / sizeof *stalls; i++)
        assert_int_equal(cleave_stalls_parse(stalls[i], &still, &err), CLEAVE_EINPUT);
    assert_int_equal(cleave_cost_law_parse("pareto:1.5,2k", &law, &err), CLEAVE_OK);
    assert_true(law.kind == CLEAVE_COST_PARETO && law.spread == 1.5 &&
                law.record == 2000);
    assert_int_equal(cleave_stalls_parse("1min,500ms", &still, &err), CLEAVE_OK);
    assert_true(still.every_s == 60 && still.length_s == 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(somebody_stands_in_for_a_worker_that_hangs),
        cmocka_unit_test(a_chunk_costs_the_sum_of_its_records),
        cmocka_unit_test(a_worker_stands_still_and_goes_on),
        cmocka_unit_test(laws_have_their_moments),
        cmocka_unit_test(bad_laws_are_refused),
        cmocka_unit_test(answers_take_time),
        cmocka_unit_test(an_outdated_report_is_not_told),
        cmocka_unit_test(what_a_worker_that_hangs_has_is_lost),
        cmocka_unit_test(the_first_of_two_copies_counts),
        cmocka_unit_test(an_open_chunk_is_closed_and_copied),
    };

    return cmocka_run_group_tests_name("native_conditions", tests, NULL, NULL);
}
