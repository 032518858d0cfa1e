/* test_learn.c -- sizes from measured costs: fits, recalls, lost chunks, streams.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/random.h"
#include "engine/driver.h"
#include "policy/common/fit.h"
#include "policy/common/reserved_workers.h"
#include "sim/load/native.h"
#include "engine_here.h"
#include "trace_check.h"

enum { MOST_WORKERS = 8 };

static const struct cleave_policy *learn(void)
{
    const struct cleave_policy *policy = NULL;

    assert_int_equal(cleave_policy_find(CLEAVE_TASK_LOAD, "learn", &policy, NULL),
                     CLEAVE_OK);
    return policy;
}

static struct cleave_platform *platform_of(enum cleave_port port, uint32_t n,
                                           const double *speeds, double latency_s,
                                           double bandwidth, double link_latency_s)
{
    struct cleave_worker workers[MOST_WORKERS] = { { 0 } };
    struct cleave_platform *platform = NULL;

    for (uint32_t w = 0; w < n; w++)
        workers[w] = (struct cleave_worker){ speeds[w],      latency_s, bandwidth,
                                             link_latency_s, bandwidth, link_latency_s };
    assert_int_equal(cleave_platform_new(port, workers, n, &platform, NULL), CLEAVE_OK);
    return platform;
}

/* One run; the policy gets `declared` costs, NULL: the true ones. */
static struct cv_outcome drive(const struct cleave_platform *platform,
                               const struct cleave_worker *declared,
                               const struct cv_engine *engine, const void *source,
                               double load, const struct cv_run *run,
                               struct cleave_trace *trace)
{
    const struct cleave_setting none[1] = { { NULL, NULL } };
    struct cv_outcome outcome = { 0 };
    struct cv_planned planned;
    struct cv_driver *driver = NULL;
    struct cleave_error err;

    if (cv_planned_init(&planned, learn(), none, 0, platform,
                        declared != NULL ? declared : cleave_platform_workers(platform),
                        &(struct cleave_view){ .units_total = load }, NULL, NULL,
                        &err) != CLEAVE_OK ||
        cv_driver_open(&planned, engine, platform, source, &driver, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    if (cv_driver_run(driver, run, trace, &outcome, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    cv_driver_close(driver);
    cv_planned_done(&planned);
    return outcome;
}

static struct cv_outcome simulate(const struct cleave_platform *platform, double load,
                                  struct cleave_trace *trace)
{
    return drive(platform, NULL, &cv_engine_native, NULL, load,
                 &(struct cv_run){ .platform = platform }, trace);
}

/* --- the fit ------------------------------------------------------------------------------ */

static void a_fit_finds_exact_costs(void **state)
{
    struct cv_fit fit = { 0 };
    double units = 1;

    (void)state;
    for (int i = 0; i < 7; i++, units *= 3)
        cv_fit_add(&fit, units, 0.25 + units / 40, -1);
    assert_true(fit.sure);
    assert_true(fabs(fit.latency_s - 0.25) < 1e-9);
    assert_true(fabs(fit.rate_ups - 40) < 1e-6);
}

static void one_size_tells_no_latency(void **state)
{
    struct cv_fit alone = { 0 }, told = { 0 };

    (void)state;
    for (int i = 0; i < 5; i++) {
        cv_fit_add(&alone, 10, 2, -1);
        cv_fit_add(&told, 10, 2, 0.5);
    }
    assert_false(alone.sure);
    assert_true(near_enough(alone.rate_ups, 5) && alone.latency_s < 1e-9);
    assert_false(told.sure);
    assert_true(fabs(told.latency_s - 0.5) < 1e-6);
    assert_true(fabs(told.rate_ups - 10 / 1.5) < 1e-6);
}

static void nonsense_teaches_nothing(void **state)
{
    struct cv_fit fit = { 0 };

    (void)state;
    cv_fit_add(&fit, 0, 1, -1);
    cv_fit_add(&fit, 1, 0, -1);
    cv_fit_add(&fit, 1, 1e-200, -1);
    cv_fit_add(&fit, 1, 1e200, -1);
    assert_true(fit.rate_ups == 0 && fit.latency_s == 0);
}

/* Times that shrink with the size are noise: a speed comes out anyway. */
static void a_fit_never_leaves_reason(void **state)
{
    struct cv_random random;

    (void)state;
    cv_random_at(&random, 1, 2, 3, 4);
    for (int trial = 0; trial < 200; trial++) {
        struct cv_fit fit = { 0 };

        for (int i = 0; i < 20; i++) {
            const double units = exp(10 * cv_random_uniform(&random));

            cv_fit_add(&fit, units, exp(10 * cv_random_uniform(&random)), -1);
            assert_true(fit.rate_ups > 0 && isfinite(fit.rate_ups));
            assert_true(fit.latency_s >= 0 && isfinite(fit.latency_s));
        }
    }
}

/* --- a known load ------------------------------------------------------------------------- */

/* Nothing is known, one worker is four times slower: at most 5 % over the least there is. */
static void unequal_workers_end_together(void **state)
{
    static const double latencies[] = { 0, 1e-3, 1e-2 };
    static const double speeds[][2] = { { 4, 1 }, { 1, 4 }, { 400, 100 }, { 1, 100 } };

    (void)state;
    for (size_t l = 0; l < 3; l++)
        for (size_t s = 0; s < 4; s++) {
            const double sum = speeds[s][0] + speeds[s][1], load = 20 * sum;
            struct cleave_platform *platform =
                platform_of(CLEAVE_PORT_MULTI, 2, speeds[s], latencies[l], 1e12, 0);
            struct cleave_trace *trace;
            struct trace_check check;
            struct cv_outcome outcome;

            assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
            outcome = simulate(platform, load, trace);
            check = trace_check(trace, platform, load, 0, true);
            assert_string_equal(check.fault, "");
            if (outcome.makespan_s > 1.05 * load / sum)
                fail_msg("speeds %g and %g, latency %g: %g s instead of %g", speeds[s][0],
                         speeds[s][1], latencies[l], outcome.makespan_s, load / sum);
            cleave_trace_free(trace);
            cleave_platform_free(platform);
        }
}

static size_t count_events(const struct cleave_trace *trace, enum cleave_event_kind kind)
{
    size_t count = 0;

    for (size_t i = 0; i < cleave_trace_count(trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);

        count += !entry->is_order && entry->as.event.kind == kind &&
                 (kind != CLEAVE_RECALLED || entry->as.event.units > 0);
    }
    return count;
}

/* A worker that breaks down to a hundredth of its speed in the middle has its chunk taken
 * away, and so the end is not waited for. */
static void a_late_tail_is_recalled(void **state)
{
    static const char yaml[] =
        "port: multi\nworkers:\n"
        "  - {name: steady, speed: 10, bandwidth: 1e9}\n"
        "  - {name: breaks, speed: 10, bandwidth: 1e9, profile: [[0, 1], [20, 0.01]]}\n";
    struct cleave_platform *platform = NULL;
    struct cleave_trace *trace;
    struct cv_outcome outcome;

    (void)state;
    assert_int_equal(cleave_platform_parse("test", yaml, strlen(yaml), &platform, NULL),
                     CLEAVE_OK);
    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    outcome = simulate(platform, 1000, trace);
    assert_true(count_events(trace, CLEAVE_RECALLED) > 0);
    /* 20 s with both, then 600 units for one: 80 s. */
    assert_true(outcome.makespan_s < 84);
    cleave_trace_free(trace);
    cleave_platform_free(platform);
}

/* Declared costs are not looked at: wrong ones change nothing. */
static void only_what_was_seen_counts(void **state)
{
    static const double speeds[] = { 3, 1, 7, 2 };
    static const enum cleave_port ports[] = { CLEAVE_PORT_MULTI, CLEAVE_PORT_ONE };

    (void)state;
    for (size_t p = 0; p < 2; p++) {
        struct cleave_platform *platform =
            platform_of(ports[p], 4, speeds, 0.2, 40, 0.01);
        struct cleave_worker wrong[4];
        struct cleave_trace *right, *misled;

        for (uint32_t w = 0; w < 4; w++)
            wrong[w] = (struct cleave_worker){ 1e3 / (w + 1), 5, 0.1 * (w + 1), 9, 1, 1 };
        assert_int_equal(cleave_trace_new(&right, NULL), CLEAVE_OK);
        assert_int_equal(cleave_trace_new(&misled, NULL), CLEAVE_OK);
        simulate(platform, 500, right);
        drive(platform, wrong, &cv_engine_native, NULL, 500,
              &(struct cv_run){ .platform = platform }, misled);
        assert_true(same_traces(right, misled));
        cleave_trace_free(right);
        cleave_trace_free(misled);
        cleave_platform_free(platform);
    }
}

static double mean_of(const struct cleave_platform *platform, const char *policy,
                      struct cleave_noise noise)
{
    struct cleave_stats stats;
    struct cleave_error err;

    if (cleave_simulate_load(&(struct cleave_job){ .platform = platform,
                                                   .load = 2000,
                                                   .policy = policy,
                                                   .seed = 5 },
                             &(struct cleave_trial){ .runs = 100, .noise = noise },
                             &stats, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    return stats.mean_s;
}

static void at_least_as_good_as_factoring(void **state)
{
    static const char *const files[] = { CLEAVE_SOURCE_DIR "/examples/equal.yaml",
                                         CLEAVE_SOURCE_DIR "/examples/unequal.yaml" };
    static const struct cleave_noise noises[] = { { CLEAVE_NOISE_NONE, 0 },
                                                  { CLEAVE_NOISE_NORMAL, 0.1 },
                                                  { CLEAVE_NOISE_NORMAL, 0.3 },
                                                  { CLEAVE_NOISE_GAMMA, 1 } };

    (void)state;
    for (size_t f = 0; f < 2; f++) {
        struct cleave_platform *platform = NULL;

        assert_int_equal(cleave_platform_load(files[f], &platform, NULL), CLEAVE_OK);
        for (size_t n = 0; n < 4; n++) {
            const double here = mean_of(platform, "learn", noises[n]);
            const double factoring = mean_of(platform, "factoring", noises[n]);
            const double self = mean_of(platform, "self", noises[n]);

            if (here > factoring || here > self)
                fail_msg("%s, noise %g: %g s, factoring %g, self %g", files[f],
                         noises[n].spread, here, factoring, self);
        }
        cleave_platform_free(platform);
    }
}

/* --- chunks that come to nothing ---------------------------------------------------------- */

/* An engine of workers that compute a unit a second and start at once. The `dead` workers
 * lose every chunk; other workers lose every third. */
struct frail {
    struct engine_here here;
    const bool *dead;
    double done;
    uint32_t given[MOST_WORKERS];
};

static enum cleave_status frail_submit(void *engine, const struct cleave_order *order,
                                       struct cleave_error *err)
{
    struct frail *frail = engine;
    const bool loses = frail->dead[order->worker] || frail->here.numbered % 3 == 2;
    struct cleave_event event = engine_here_hear(&frail->here, order);

    (void)err;
    if (event.kind != CLEAVE_SENT)
        return CLEAVE_OK;
    event.kind = loses ? CLEAVE_LOST : CLEAVE_DONE;
    event.time_s += loses ? 0.1 : 0.01 + order->units;
    frail->given[order->worker]++;
    frail->done += loses ? 0 : order->units;
    engine_here_add(&frail->here, event);
    return CLEAVE_OK;
}

static const struct cv_engine frail_engine = {
    .name = "frail",
    .summary = "loses chunks",
    .open = engine_here_open,
    .begin = engine_here_begin,
    .submit = frail_submit,
    .wait = engine_here_wait,
    .close = engine_here_close,
};

static void lost_chunks_are_done_again(void **state)
{
    static const double speeds[] = { 1, 1, 1, 1 };
    static const enum cleave_port ports[] = { CLEAVE_PORT_MULTI, CLEAVE_PORT_ONE };
    static const bool none[4] = { false }, two[4] = { true, false, true, false };

    (void)state;
    for (size_t p = 0; p < 2; p++)
        for (int i = 0; i < 2; i++) {
            struct frail frail = { .dead = i == 0 ? none : two };
            struct cleave_platform *platform = platform_of(ports[p], 4, speeds, 0, 1, 0);

            drive(platform, NULL, &frail_engine, &frail, 100,
                  &(struct cv_run){ .platform = platform }, NULL);
            assert_true(fabs(frail.done - 100) < 1e-6);
            /* Workers that lose everything are left out. */
            for (int w = 0; w < 4; w++)
                assert_true(!frail.dead[w] || frail.given[w] <= 6);
            cleave_platform_free(platform);
        }
}

/* --- the only host is lost -------------------------------------------------------------- */

/* One worker, over a link as slow as it is itself. Once, with a running chunk and one in
 * flight, both are lost, in the order of `first`. */
struct vanishing {
    struct engine_here here; /* its time counts */
    size_t first; /* of those two, from 0: the older one                               */
    struct cleave_event held[4];
    size_t count;
    bool sent, vanished; /* sent: the oldest has arrived                               */
    int losing;
    double done;
};

static enum cleave_status vanishing_submit(void *engine, const struct cleave_order *order,
                                           struct cleave_error *err)
{
    struct vanishing *here = engine;

    (void)err;
    if (order->kind != CLEAVE_SEND)
        return CLEAVE_OK;
    assert_true(here->count < 4);
    here->held[here->count++] =
        (struct cleave_event){ .chunk = here->here.numbered++, .units = order->units };
    return CLEAVE_OK;
}

static struct cleave_event drop_held(struct vanishing *here, size_t at,
                                     enum cleave_event_kind kind)
{
    struct cleave_event event = here->held[at];

    memmove(&here->held[at], &here->held[at + 1],
            (--here->count - at) * sizeof *here->held);
    event.kind = kind;
    event.start_s = event.time_s = here->here.now_s;
    return event;
}

static enum cleave_status vanishing_wait(void *engine, struct cleave_event *out,
                                         bool *out_any, struct cleave_error *err)
{
    struct vanishing *here = engine;

    (void)err;
    *out_any = here->count > 0;
    if (!*out_any)
        return CLEAVE_OK;
    if (here->losing == 0 && !here->vanished && here->sent && here->count == 2)
        here->losing = 2;
    if (here->losing > 0) {
        here->vanished = true;
        here->sent = false;
        *out = drop_held(here, here->losing-- == 2 ? here->first : 0, CLEAVE_LOST);
        return CLEAVE_OK;
    }
    here->here.now_s += 1 + here->held[0].units;
    if (!here->sent) {
        here->sent = true;
        *out = here->held[0];
        out->kind = CLEAVE_SENT;
        out->time_s = here->here.now_s;
        out->start_s = here->here.now_s - 1 - out->units;
        return CLEAVE_OK;
    }
    here->sent = false;
    here->done += here->held[0].units;
    *out = drop_held(here, 0, CLEAVE_DONE);
    out->start_s = here->here.now_s - 1 - out->units;
    return CLEAVE_OK;
}

static const struct cv_engine vanishing_engine = {
    .name = "vanishing",
    .summary = "loses its only worker",
    .open = engine_here_open,
    .begin = engine_here_begin,
    .submit = vanishing_submit,
    .wait = vanishing_wait,
    .close = engine_here_close,
};

static void a_port_is_free_when_its_chunk_is_lost(void **state)
{
    static const double speeds[] = { 1 };
    static const enum cleave_port ports[] = { CLEAVE_PORT_ONE, CLEAVE_PORT_DUPLEX,
                                              CLEAVE_PORT_MULTI };

    (void)state;
    for (size_t p = 0; p < 3; p++)
        for (size_t first = 0; first < 2; first++) {
            struct cleave_platform *platform = platform_of(ports[p], 1, speeds, 0, 1, 0);
            struct vanishing here = { .first = first };

            drive(platform, NULL, &vanishing_engine, &here, 100,
                  &(struct cv_run){ .platform = platform }, NULL);
            assert_true(here.vanished);
            assert_true(fabs(here.done - 100) < 1e-6);
            cleave_platform_free(platform);
        }
}

/* --- a stream ----------------------------------------------------------------------------- */

/* A worker computes no more than its link brings: the slower of the two counts. */
static void narrow_links_are_found_out(void **state)
{
    static const double speeds[] = { 4, 2, 1, 4 }, bandwidths[] = { 12, 6, 1.2, 0.25 };
    const struct cv_run run = { .number = 0 };
    const double load = 1000;
    struct cleave_worker workers[4];
    struct cleave_platform *platform = NULL;
    double rate = 0;

    (void)state;
    for (int w = 0; w < 4; w++) {
        workers[w] =
            (struct cleave_worker){ speeds[w], 0.02, bandwidths[w], 0.02, 1e9, 0 };
        rate += fmin(speeds[w], bandwidths[w]);
    }
    assert_int_equal(cleave_platform_new(CLEAVE_PORT_MULTI, workers, 4, &platform, NULL),
                     CLEAVE_OK);
    {
        struct cv_run here = run;
        struct cv_outcome outcome;

        here.platform = platform;
        outcome = drive(platform, NULL, &cv_engine_native, NULL, load, &here, NULL);
        assert_true(outcome.makespan_s < 1.03 * load / rate);
    }
    cleave_platform_free(platform);
}

/* An unused place gets nothing. */
static void vacant_places_are_left_alone(void **state)
{
    static const double speeds[] = { 4, 2, 1 };
    struct cleave_platform *platform =
        platform_of(CLEAVE_PORT_MULTI, 3, speeds, 0.1, 1000, 0.001);
    const struct cv_run run = { .platform = platform };
    struct cleave_worker declared[3];
    struct cleave_trace *trace = NULL;

    (void)state;
    for (uint32_t w = 0; w < 3; w++)
        declared[w] =
            w == 1 ? cv_reserved_worker() : cleave_platform_workers(platform)[w];
    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    drive(platform, declared, &cv_engine_native, NULL, 100, &run, trace);
    for (size_t i = 0; i < cleave_trace_count(trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);

        if (entry->is_order)
            assert_true(entry->as.order.worker != 1);
    }
    cleave_trace_free(trace);
    cleave_platform_free(platform);
}

/* The number of unused places after the others has no effect. */
static void vacant_places_change_nothing(void **state)
{
    static const double speeds[MOST_WORKERS] = { 4, 2, 1, 3, 3, 3, 3, 3 };
    struct cleave_trace *traces[2] = { NULL, NULL };

    (void)state;
    for (uint32_t t = 0; t < 2; t++) {
        const uint32_t n = t == 0 ? 3 : MOST_WORKERS;
        struct cleave_platform *platform =
            platform_of(CLEAVE_PORT_ONE, n, speeds, 0.1, 6, 0.001);
        const struct cv_run run = { .platform = platform };
        struct cleave_worker declared[MOST_WORKERS];

        for (uint32_t w = 0; w < n; w++)
            declared[w] =
                w < 3 ? cleave_platform_workers(platform)[w] : cv_reserved_worker();
        assert_int_equal(cleave_trace_new(&traces[t], NULL), CLEAVE_OK);
        drive(platform, declared, &cv_engine_native, NULL, 1000, &run, traces[t]);
        cleave_platform_free(platform);
    }
    assert_int_equal(cleave_trace_count(traces[0]), cleave_trace_count(traces[1]));
    for (size_t i = 0; i < cleave_trace_count(traces[0]); i++) {
        const struct cleave_entry *one = cleave_trace_at(traces[0], i);
        const struct cleave_entry *other = cleave_trace_at(traces[1], i);

        assert_int_equal(one->is_order, other->is_order);
        if (!one->is_order)
            continue;
        assert_int_equal(one->as.order.worker, other->as.order.worker);
        assert_true(one->as.order.units == other->as.order.units);
    }
    cleave_trace_free(traces[0]);
    cleave_trace_free(traces[1]);
}

static void a_stream_is_served_to_its_end(void **state)
{
    static const double speeds[] = { 1000, 4000, 500 };
    struct cleave_platform *platform =
        platform_of(CLEAVE_PORT_MULTI, 3, speeds, 0.01, 1e9, 0);
    const struct cv_run run = { .platform = platform,
                                .stream_end_s = 60,
                                .stream_rest = 10000 };
    struct cleave_trace *trace;
    double sent = 0, taken = 0, done = 0, last = 0, largest = 0;
    struct cv_outcome outcome;

    (void)state;
    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    outcome = drive(platform, NULL, &cv_engine_native, NULL, INFINITY, &run, trace);
    for (size_t i = 0; i < cleave_trace_count(trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);

        if (entry->is_order)
            sent += entry->as.order.kind == CLEAVE_SEND ? entry->as.order.units : 0;
        else if (entry->as.event.kind == CLEAVE_RECALLED)
            taken += entry->as.event.units;
        else if (entry->as.event.kind == CLEAVE_DONE) {
            done += entry->as.event.units;
            last = entry->as.event.time_s;
            largest = fmax(largest, entry->as.event.units);
        }
    }
    assert_true(near_enough(done, sent - taken));
    /* Starting commands costs little, and yet no worker gets more than a second's
     * worth. */
    assert_true(done > 0.93 * 5500 * outcome.makespan_s);
    assert_true(largest < 4000 * 4);
    assert_true(last < 60 + 10000 / 5500.0 + 1.5);
    cleave_trace_free(trace);
    cleave_platform_free(platform);
}

/* A link that is as fast as its worker: which of them is the slower one is a matter of the last
 * digits of times, and must not be one of the makespan. */
static void ties_do_not_decide(void **state)
{
    static const double speeds[] = { 1, 2, 2, 0.5, 4, 2, 0.5, 2, 4, 1 };
    static const double links[] = { 8, 4, 32, 16, 16, 4, 16, 32, 4, 8 };
    double least_s = INFINITY, most_s = 0;

    (void)state;
    for (int k = -3; k <= 3; k++) {
        struct cleave_worker workers[10];
        struct cleave_platform *platform = NULL;
        struct cv_run run = { .number = 0 };
        double end_s;

        for (int w = 0; w < 10; w++) {
            const double link = links[w] * (1 + (w % 3 - 1) * k * 4e-16);

            workers[w] = (struct cleave_worker){ speeds[w], 0, link, 0, link, 0 };
        }
        assert_int_equal(cleave_platform_new(CLEAVE_PORT_MULTI, workers, 10, &platform,
                                             NULL),
                         CLEAVE_OK);
        run.platform = platform;
        end_s =
            drive(platform, NULL, &cv_engine_native, NULL, 333.3, &run, NULL).makespan_s;
        least_s = fmin(least_s, end_s);
        most_s = fmax(most_s, end_s);
        cleave_platform_free(platform);
    }
    assert_true(most_s <= least_s * (1 + 1e-9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ties_do_not_decide),
        cmocka_unit_test(a_fit_finds_exact_costs),
        cmocka_unit_test(one_size_tells_no_latency),
        cmocka_unit_test(nonsense_teaches_nothing),
        cmocka_unit_test(a_fit_never_leaves_reason),
        cmocka_unit_test(unequal_workers_end_together),
        cmocka_unit_test(a_late_tail_is_recalled),
        cmocka_unit_test(only_what_was_seen_counts),
        cmocka_unit_test(at_least_as_good_as_factoring),
        cmocka_unit_test(lost_chunks_are_done_again),
        cmocka_unit_test(a_port_is_free_when_its_chunk_is_lost),
        cmocka_unit_test(narrow_links_are_found_out),
        cmocka_unit_test(vacant_places_are_left_alone),
        cmocka_unit_test(vacant_places_change_nothing),
        cmocka_unit_test(a_stream_is_served_to_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
