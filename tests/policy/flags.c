/* flags.c -- declared properties of policies are true. SPDX-License-Identifier: MIT
 *
 * A run reads the struct of a policy, never its name: whether it handles workers that
 * come later, and whether all its chunks have one size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <cleave/run.h>
#include <cleave/trace.h>

#include "engine/driver.h"
#include "engine/replay.h"
#include "policy/compound/registry.h"
#include "policy/common/reserved_workers.h"
#include "sim/load/native.h"
#include "unit/engine_here.h"

enum { WORKERS = 3, LATE = 1, ITEMS = 100 };

static const double LOAD = 100, JOINS_S = 10, WAKES_S = 5;

static const struct cleave_worker persistent = { 1, 0.01, 1e6, 0, 1e6, 0 };

static struct cleave_platform *build(void)
{
    const struct cleave_worker workers[WORKERS] = { persistent, persistent, persistent };
    struct cleave_platform *platform = NULL;

    assert_int_equal(cleave_platform_new(CLEAVE_PORT_MULTI, workers, WORKERS, &platform,
                                         NULL),
                     CLEAVE_OK);
    return platform;
}

/* --- an engine of workers that compute a unit a second, of whom one is late ------------- */

struct door {
    struct engine_here here;
    bool loses;     /* the policy gets losses: early orders are lost */
    bool wakes;     /* a timer names the late worker */
    uint64_t early; /* orders for the late worker before its arrival */
    double free_s[WORKERS], done[WORKERS];
};

static enum cleave_status door_begin(void *engine, const struct cv_run *run,
                                     struct cleave_error *err)
{
    struct door *door = engine;

    (void)run;
    (void)err;
    door->free_s[LATE] = JOINS_S;
    if (door->wakes) /* a timer is not a worker that joins */
        engine_here_add(&door->here, (struct cleave_event){ .kind = CLEAVE_WAKE,
                                                            .worker = LATE,
                                                            .start_s = WAKES_S,
                                                            .time_s = WAKES_S });
    engine_here_add(&door->here, (struct cleave_event){ .kind = CLEAVE_CAME,
                                                        .worker = LATE,
                                                        .start_s = JOINS_S,
                                                        .time_s = JOINS_S });
    return CLEAVE_OK;
}

static enum cleave_status door_submit(void *engine, const struct cleave_order *order,
                                      struct cleave_error *err)
{
    struct door *door = engine;
    const bool too_early = order->worker == LATE && door->here.now_s < JOINS_S;
    struct cleave_event event = engine_here_hear(&door->here, order);
    double *free_s = &door->free_s[order->worker];

    (void)err;
    if (event.kind != CLEAVE_SENT)
        return CLEAVE_OK;
    door->early += too_early;
    if (too_early && door->loses) {
        event.kind = CLEAVE_LOST;
    } else {
        event.kind = CLEAVE_DONE;
        event.start_s = *free_s > event.time_s ? *free_s : event.time_s;
        *free_s = event.time_s = event.start_s + 0.01 + order->units;
        door->done[order->worker] += order->units;
    }
    engine_here_add(&door->here, event);
    return CLEAVE_OK;
}

static const struct cv_engine door_engine = {
    .name = "door",
    .summary = "one worker comes later",
    .open = engine_here_open,
    .begin = door_begin,
    .submit = door_submit,
    .wait = engine_here_wait,
    .close = engine_here_close,
};

/* --- runs ------------------------------------------------------------------------------- */

static void drive(const struct cleave_policy *policy,
                  const struct cleave_setting *settings, size_t nsettings,
                  const struct cleave_platform *platform,
                  const struct cleave_worker *declared, const struct cv_engine *engine,
                  const void *source, struct cleave_trace *trace)
{
    const struct cv_run run = { .platform = platform };
    static double ones[ITEMS];
    const bool items = policy->task == CLEAVE_TASK_ITEMS;
    const struct cleave_view load = { .units_total = LOAD,
                                      .real = true,
                                      .sizes = items ? ones : NULL,
                                      .nitems = items ? ITEMS : 0 };
    struct cv_planned planned;
    struct cv_driver *driver = NULL;
    struct cv_outcome outcome;
    struct cleave_error err;

    for (int i = 0; i < ITEMS; i++)
        ones[i] = LOAD / ITEMS;
    if (cv_planned_init(&planned, policy, settings, nsettings, platform, declared, &load,
                        NULL, NULL, &err) != CLEAVE_OK)
        fail_msg("%s: %s", policy->name, err.text);
    if (cv_driver_open(&planned, engine, platform, source, &driver, &err) != CLEAVE_OK ||
        cv_driver_run(driver, &run, trace, &outcome, &err) != CLEAVE_OK)
        fail_msg("%s: %s", policy->name, err.text);
    cv_driver_close(driver);
    cv_planned_done(&planned);
}

/* The trace, with `kind` in place of CLEAVE_CAME, leads to the same orders. */
static void replay(const struct cleave_policy *policy,
                   const struct cleave_platform *platform,
                   const struct cleave_worker *declared, const struct cleave_trace *trace,
                   enum cleave_event_kind kind)
{
    static const struct cleave_setting none[1];
    struct cleave_replayed found = { .same = false };
    struct cleave_trace *copy = NULL;

    assert_int_equal(cleave_trace_new(&copy, NULL), CLEAVE_OK);
    for (size_t i = 0; i < cleave_trace_count(trace); i++) {
        struct cleave_entry entry = *cleave_trace_at(trace, i);

        if (!entry.is_order && entry.as.event.kind == CLEAVE_CAME)
            entry.as.event.kind = kind;
        assert_int_equal(cleave_trace_add(copy, &entry, NULL), CLEAVE_OK);
    }
    drive(policy, none, 0, platform, declared, &cv_engine_replay,
          &(struct cv_replay_source){ copy, WORKERS, &found }, NULL);
    assert_true(found.same);
    cleave_trace_free(copy);
}

/* A policy that takes joiners gives a fair share of the rest to a joining worker. */
static void joiners_get_work(void **state)
{
    static const struct cleave_setting none[1];
    const struct cleave_worker declared[WORKERS] = { persistent, cv_reserved_worker(),
                                                     persistent };
    struct cleave_platform *platform = build();
    size_t count = 0;

    (void)state;
    for (size_t p = 0; p < cleave_policy_count(); p++) {
        const struct cleave_policy *policy = cleave_policy_at(p);
        struct door door = { .loses = policy->gets_losses };
        struct door timer = { .loses = policy->gets_losses, .wakes = true };
        struct cleave_trace *trace = NULL;

        if (!policy->takes_joiners)
            continue;
        count++;
        assert_int_not_equal(policy->task, CLEAVE_TASK_REDUCE);
        assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
        drive(policy, none, 0, platform, declared, &door_engine, &door, trace);
        replay(policy, platform, declared, trace, CLEAVE_CAME);
        replay(policy, platform, declared, trace, CLEAVE_WAKE); /* as 0.2 wrote it */
        cleave_trace_free(trace);
        drive(policy, none, 0, platform, declared, &door_engine, &timer, NULL);
        door.early += timer.early;
        if (door.early > 0)
            fail_msg("%s: %llu orders for a place that nobody had", policy->name,
                     (unsigned long long)door.early);
        if (door.done[LATE] < 0.7 * (LOAD - 2 * JOINS_S) / WORKERS)
            fail_msg("%s: who joined got %g units", policy->name, door.done[LATE]);
    }
    assert_true(count >= 2);
    cleave_platform_free(platform);
}

/* A worker loses all chunks, returns, and gets work again. */
static void returning_workers_get_work(void **state)
{
    static const struct cleave_setting none[1];
    struct cleave_platform *platform = build();
    size_t count = 0;

    (void)state;
    for (size_t p = 0; p < cleave_policy_count(); p++) {
        const struct cleave_policy *policy = cleave_policy_at(p);
        struct door door = { .loses = true };

        if (!policy->gets_losses)
            continue;
        count++;
        drive(policy, none, 0, platform, cleave_platform_workers(platform), &door_engine,
              &door, NULL);
        if (door.early == 0 || door.early > 10)
            fail_msg("%s: %llu orders for a worker that lost all", policy->name,
                     (unsigned long long)door.early);
        if (door.done[LATE] < 0.7 * (LOAD - 2 * JOINS_S) / WORKERS)
            fail_msg("%s: the worker that returned got %g units", policy->name,
                     door.done[LATE]);
    }
    assert_true(count >= 2);
    cleave_platform_free(platform);
}

/* A policy with one size has a parameter for it, which all chunks except the last
 * follow. */
static void one_size_is_one_size(void **state)
{
    const struct cleave_setting seven[] = { { NULL, "7" } };
    struct cleave_platform *platform = build();
    size_t count = 0;

    (void)state;
    for (size_t p = 0; p < cleave_policy_count(); p++) {
        const struct cleave_policy *policy = cleave_policy_at(p);
        struct cleave_setting setting = seven[0];
        struct cleave_trace *trace = NULL;
        size_t chunks = 0, others = 0;

        if (policy->one_size == NULL)
            continue;
        count++;
        setting.key = policy->one_size;
        assert_int_equal(policy->task, CLEAVE_TASK_LOAD);
        assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
        drive(policy, &setting, 1, platform, cleave_platform_workers(platform),
              &cv_engine_native, NULL, trace);
        for (size_t i = 0; i < cleave_trace_count(trace); i++) {
            const struct cleave_entry *entry = cleave_trace_at(trace, i);

            if (!entry->is_order || entry->as.order.kind != CLEAVE_SEND)
                continue;
            chunks++;
            others += entry->as.order.units != 7;
        }
        assert_int_equal(chunks, 15);
        assert_int_equal(others, 1);
        cleave_trace_free(trace);
    }
    assert_true(count >= 1);
    cleave_platform_free(platform);
}

/* Fallback policies of a run can do everything that a run of unknown length on hosts may
 * need. */
static void defaults_are_fit_for_runs(void **state)
{
    const struct cleave_policy *both[] = { cv_policy_of_runs(), cv_policy_of_one_size() };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_non_null(both[i]);
        assert_true(both[i]->takes_joiners && both[i]->takes_streams);
        assert_int_equal(both[i]->needs, 0);
    }
    assert_non_null(both[1]->one_size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joiners_get_work),
        cmocka_unit_test(returning_workers_get_work),
        cmocka_unit_test(one_size_is_one_size),
        cmocka_unit_test(defaults_are_fit_for_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
