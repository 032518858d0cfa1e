/* open_scene.h -- runs with chunks that stay open, by scripted policies.
 * SPDX-License-Identifier: MIT */
#ifndef OPEN_SCENE_H
#define OPEN_SCENE_H
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/driver.h"
#include "sim/load/native.h"

/* Reaction of a test policy to an event. */
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
    .orders_copies = true,
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
    double load, hold, pipe_ups, ahead, result_ratio;
    const struct cv_noise *noise; /* NULL: none */
    struct cleave_conditions conditions;
    bool copies, gets_losses;
    bool closed;                    /* chunks cannot be opened */
    const struct cv_engine *engine; /* NULL: native */
    const void *source;
    decision *decide;
};

static inline enum cleave_status play(const struct scene *scene,
                                      struct cleave_trace *trace,
                                      struct cv_outcome *outcome,
                                      struct cleave_error *err)
{
    struct cleave_platform *platform = NULL;
    struct cv_command_model command;
    struct cv_run run = { .command = &command,
                          .units = scene->load,
                          .hold = scene->hold };
    struct cv_driver *driver = NULL;
    struct cleave_policy policy = scripted;
    struct cv_planned planned;
    enum cleave_status status;
    const char *text = scene->platform != NULL ? scene->platform : PLAIN;

    if (cleave_platform_parse("test", text, strlen(text), &platform, err) != CLEAVE_OK)
        fail_msg("%s: %s", err->field, err->text);
    run.platform = platform;
    run.conditions = scene->conditions;
    policy.gets_losses = scene->gets_losses;
    if (scene->noise != NULL)
        run.noise = *scene->noise;
    assert_int_equal(cv_command_find(scene->reads, &command, err), CLEAVE_OK);
    command.pipe_ups = scene->pipe_ups;
    command.ahead = scene->ahead;
    decide_now = scene->decide;
    assert_int_equal(cv_planned_init(&planned, &policy, NULL, 0, platform,
                                     cleave_platform_workers(platform),
                                     &(struct cleave_view){
                                         .units_total =
                                             scene->hold > 0 ? INFINITY : scene->load,
                                         .result_ratio = scene->result_ratio,
                                         .opens = !scene->closed,
                                         .copies = scene->copies,
                                         .ahead = scene->ahead,
                                         .hold = scene->hold },
                                     NULL, NULL, err),
                     CLEAVE_OK);
    assert_int_equal(cv_driver_open(&planned,
                                    scene->engine != NULL ? scene->engine
                                                          : &cv_engine_native_open,
                                    platform, scene->source, &driver, err),
                     CLEAVE_OK);
    status = cv_driver_run(driver, &run, trace, outcome, err);
    cv_driver_close(driver);
    cv_planned_done(&planned);
    cleave_platform_free(platform);
    return status;
}

/* The events in order, as short text. */
static inline void tell(const struct cleave_trace *trace, char *out, size_t size)
{
    static const char *const names[] = {
        [CLEAVE_SENT] = "sent",         [CLEAVE_DONE] = "done",
        [CLEAVE_WAKE] = "wake",         [CLEAVE_RECALLED] = "recalled",
        [CLEAVE_LOST] = "lost",         [CLEAVE_STARTED] = "started",
        [CLEAVE_DRAINED] = "drained",   [CLEAVE_EXTENDED] = "extended",
        [CLEAVE_PROGRESS] = "progress", [CLEAVE_DROPPED] = "dropped",
        [CLEAVE_RETURNED] = "returned", [CLEAVE_ENDED] = "ended",
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

static inline struct cv_outcome expect(const struct scene *scene, const char *events)
{
    struct cleave_trace *trace = NULL;
    struct cv_outcome outcome;
    struct cleave_error err;
    char told[4096];

    assert_int_equal(cleave_trace_new(&trace, &err), CLEAVE_OK);
    if (play(scene, trace, &outcome, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    tell(trace, told, sizeof told);
    assert_string_equal(told, events);
    cleave_trace_free(trace);
    return outcome;
}

#endif
