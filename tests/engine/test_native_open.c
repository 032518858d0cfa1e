/* test_native_open.c -- chunks that stay open, on the native engine.
 * SPDX-License-Identifier: MIT
 *
 * Scripted policies open, extend, recall and close; times are worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>

#include "engine/driver.h"
#include "sim/load/native.h"
#include "trace_check.h"

/* What the policy of a test does at an event; `seen` counts events of all kinds. */
typedef void decision(const struct cleave_view *view, const struct cleave_event *event,
                      struct cleave_orders *orders);

static decision *decide_now;

static void scripted_decide(void *state, const struct cleave_view *view,
                            const struct cleave_event *event,
                            struct cleave_orders *orders)
{
    (void)state;
    decide_now(view, event, orders);
}

static const struct cleave_policy scripted = {
    .name = "scripted",
    .summary = "-",
    .reference = "-",
    .takes_streams = true,
    .opens_chunks = true,
    .state_size = 1,
    .decide = scripted_decide,
};

/* Two workers of speed 10 that start up in 1 s, links that take no time. */
static const char PLAIN[] = "port: multi\n"
                            "workers:\n"
                            "  - { name: w, count: 2, speed: 10, compute_latency: 1, "
                            "bandwidth: 1e300, latency: 0 }\n";

struct scene {
    const char *platform, *reads;
    double load, hold, pipe_ups, ahead;
    decision *decide;
};

static enum cleave_status play(const struct scene *scene, struct cleave_trace *trace,
                               struct cv_outcome *outcome, struct cleave_error *err)
{
    struct cleave_platform *platform = NULL;
    struct cv_command_model command;
    struct cv_run run = { .command = &command,
                          .units = scene->load,
                          .hold = scene->hold };
    struct cv_driver *driver = NULL;
    struct cv_planned planned;
    enum cleave_status status;
    const char *text = scene->platform != NULL ? scene->platform : PLAIN;

    if (cleave_platform_parse("test", text, strlen(text), &platform, err) != CLEAVE_OK)
        fail_msg("%s: %s", err->field, err->text);
    run.platform = platform;
    assert_int_equal(cv_command_find(scene->reads, &command, err), CLEAVE_OK);
    command.pipe_ups = scene->pipe_ups;
    command.ahead = scene->ahead;
    decide_now = scene->decide;
    assert_int_equal(cv_planned_init(&planned, &scripted, NULL, 0, platform,
                                     cleave_platform_workers(platform),
                                     &(struct cv_load){ .units = scene->hold > 0
                                                                     ? INFINITY
                                                                     : scene->load,
                                                        .opens = true,
                                                        .ahead = scene->ahead,
                                                        .hold = scene->hold },
                                     NULL, err),
                     CLEAVE_OK);
    assert_int_equal(cv_driver_open(&planned, &cv_engine_native_open, platform, NULL,
                                    &driver, err),
                     CLEAVE_OK);
    status = cv_driver_run(driver, &run, trace, outcome, err);
    cv_driver_close(driver);
    cv_planned_done(&planned);
    cleave_platform_free(platform);
    return status;
}

/* What happened, one event after the other, as short text. */
static void tell(const struct cleave_trace *trace, char *out, size_t size)
{
    static const char *const names[] = {
        [CLEAVE_SENT] = "sent",         [CLEAVE_DONE] = "done",
        [CLEAVE_WAKE] = "wake",         [CLEAVE_ENDED] = "ended",
        [CLEAVE_RECALLED] = "recalled", [CLEAVE_STARTED] = "started",
        [CLEAVE_DRAINED] = "drained",   [CLEAVE_EXTENDED] = "extended",
        [CLEAVE_SEEN] = "seen",
    };
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < cleave_trace_count(trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);
        const struct cleave_event *event = &entry->as.event;

        if (entry->is_order || event->kind == CLEAVE_START)
            continue;
        used += (size_t)snprintf(out + used, size - used, "%s%g %s %u:%g",
                                 used > 0 ? ", " : "", round(event->time_s * 1e9) / 1e9,
                                 names[event->kind], event->worker, event->units);
        assert_true(used < size);
    }
}

static void expect(const struct scene *scene, const char *story)
{
    struct cleave_trace *trace = NULL;
    struct cv_outcome outcome;
    struct cleave_error err;
    char told[4096];

    assert_int_equal(cleave_trace_new(&trace, &err), CLEAVE_OK);
    if (play(scene, trace, &outcome, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    tell(trace, told, sizeof told);
    assert_string_equal(told, story);
    cleave_trace_free(trace);
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_take_their_time),
    };

    return cmocka_run_group_tests_name("native_open", tests, NULL, NULL);
}
