/* stream_sizes.c -- orders of a policy for a stream follow the units it was given.
 * SPDX-License-Identifier: MIT
 *
 * A stream gives no more than it holds, whatever is asked for. A policy that takes its
 * own orders for arrived units orders more and more, and in the end infinitely much. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "engine/driver.h"
#include "unit/engine_here.h"

enum { WORKERS = 3, EVENTS = 100000, PENDING = 64 };

/* Largest order, as a multiple of the largest chunk ever given. */
static const double MULTIPLE = 64;

/* Duration of a chunk of this many units on a worker. */
struct costs {
    const char *name;
    double latency_s, speed_ups, noise;
};

static const struct costs all_costs[] = {
    { "starts cost nothing", 0, 1e6, 0 },
    { "starts cost a little", 1e-3, 1e6, 0 },
    { "starts cost as much as chunks", 0.1, 1e6, 0 },
    { "times vary", 1e-3, 1e6, 0.5 },
};

struct spring {
    struct engine_here here;
    const struct costs *costs;
    double max; /* units of a piece                                                   */
    struct cv_random random;
    uint64_t told;
    double free_s[WORKERS];
    double given, done, rest;
    bool ended;
};

/* A piece of at least half of the most, if more is asked for. */
static double piece_of(struct spring *spring, double request)
{
    const double max = spring->max * (1 + cv_random_uniform(&spring->random)) / 2;
    const double units = fmin(request, max);

    return spring->ended ? fmin(units, spring->rest) : units;
}

static void send(struct spring *spring, const struct cleave_order *order)
{
    const double units = piece_of(spring, order->units);
    const double start_s = fmax(spring->here.now_s, spring->free_s[order->worker]);
    const double end_s =
        start_s + (spring->costs->latency_s + units / spring->costs->speed_ups) *
                      (1 + spring->costs->noise * cv_random_uniform(&spring->random));
    struct cleave_event event = { .kind = CLEAVE_SENT,
                                  .worker = order->worker,
                                  .chunk = spring->here.numbered++,
                                  .units = units,
                                  .start_s = spring->here.now_s,
                                  .time_s = spring->here.now_s };

    if (!isfinite(order->units) || order->units > MULTIPLE * spring->max)
        fail_msg("%s, event %llu: %g units were asked for, %g is the most there is",
                 spring->costs->name, (unsigned long long)spring->told, order->units,
                 spring->max);
    spring->given += units;
    if (spring->ended)
        spring->rest -= units;
    engine_here_add(&spring->here, event);
    event.kind = CLEAVE_DONE;
    event.start_s = start_s;
    event.time_s = spring->free_s[order->worker] = end_s;
    engine_here_add(&spring->here, event);
}

static enum cleave_status spring_submit(void *engine, const struct cleave_order *order,
                                        struct cleave_error *err)
{
    struct spring *spring = engine;
    struct cleave_event event = { .worker = order->worker,
                                  .time_s = fmax(order->time_s, spring->here.now_s) };

    (void)err;
    if (order->kind == CLEAVE_SEND) {
        send(spring, order);
        return CLEAVE_OK;
    }
    event.kind = order->kind == CLEAVE_RECALL ? CLEAVE_RECALLED : CLEAVE_WAKE;
    engine_here_add(&spring->here, event);
    return CLEAVE_OK;
}

static enum cleave_status spring_wait(void *engine, struct cleave_event *out,
                                      bool *out_any, struct cleave_error *err)
{
    struct spring *spring = engine;

    if (spring->told++ == EVENTS && !spring->ended) {
        spring->ended = true;
        spring->rest = 20 * spring->max;
        *out = (struct cleave_event){ .kind = CLEAVE_ENDED,
                                      .units = spring->rest,
                                      .time_s = spring->here.now_s };
        return CLEAVE_OK;
    }
    CV_TRY(engine_here_wait(engine, out, out_any, err));
    spring->done += *out_any && out->kind == CLEAVE_DONE ? out->units : 0;
    return CLEAVE_OK;
}

static double spring_left(const void *engine)
{
    const struct spring *spring = engine;

    return spring->ended ? spring->rest : INFINITY;
}

static const struct cv_engine spring_engine = {
    .name = "spring",
    .summary = "a stream that gives no more than it holds",
    .open = engine_here_open,
    .begin = engine_here_begin,
    .submit = spring_submit,
    .wait = spring_wait,
    .left = spring_left,
    .close = engine_here_close,
};

static void drain(const struct cleave_policy *policy, enum cleave_port port,
                  const struct costs *costs)
{
    const struct cleave_worker declared = { 1e6, 1e-3, 1e9, 0, 1e9, 0 };
    const struct cleave_worker workers[WORKERS] = { declared, declared, declared };
    const struct cleave_setting chunk = { "chunk", "1000" };
    struct spring spring = { .costs = costs, .max = 1e4 };
    struct cleave_platform *platform = NULL;
    struct cv_driver *driver = NULL;
    struct cv_outcome outcome;
    struct cv_planned planned;
    struct cleave_error err;

    cv_random_at(&spring.random, 7, 0, 0, 0);
    assert_int_equal(cleave_platform_new(port, workers, WORKERS, &platform, NULL),
                     CLEAVE_OK);
    if (cv_planned_init(&planned, policy, &chunk, policy->one_size != NULL, platform,
                        workers,
                        &(struct cleave_view){ .units_total = INFINITY, .real = true },
                        NULL, NULL, &err) != CLEAVE_OK ||
        cv_driver_open(&planned, &spring_engine, platform, &spring, &driver, &err) !=
            CLEAVE_OK ||
        cv_driver_run(driver, &(struct cv_run){ .platform = platform }, NULL, &outcome,
                      &err) != CLEAVE_OK)
        fail_msg("%s: %s", costs->name, err.text);
    assert_true(spring.ended && spring.rest == 0);
    assert_true(fabs(spring.done - spring.given) <= 1e-9 * spring.given);
    cv_driver_close(driver);
    cv_planned_done(&planned);
    cleave_platform_free(platform);
}

static void sizes_follow_the_given_input(void **state)
{
    static const enum cleave_port ports[] = { CLEAVE_PORT_MULTI, CLEAVE_PORT_ONE };
    size_t policies = 0;

    (void)state;
    for (size_t i = 0; i < cleave_policy_count(); i++) {
        const struct cleave_policy *policy = cleave_policy_at(i);

        /* auto tries other policies in simulation. */
        if (policy->task != CLEAVE_TASK_LOAD || !policy->takes_streams ||
            strcmp(policy->name, "auto") == 0)
            continue;
        policies++;
        for (size_t p = 0; p < 2; p++)
            for (size_t c = 0; c < sizeof all_costs / sizeof *all_costs; c++)
                drain(policy, ports[p], &all_costs[c]);
    }
    assert_true(policies >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_follow_the_given_input),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
