/* test_plain_loop.c -- the loop in one piece with the native engine does what the one of all
 * engines does, to the last bit, and runs where nothing special is asked for.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include <cleave/trace.h>

#include "base/random.h"
#include "engine/driver.h"
#include "model/platform/generate.h"
#include "sim/load/native.h"
#include "sim/load/event_heap.h"

static unsigned plain_runs;

static enum cleave_status counted_loop(struct cv_driver *driver,
                                       struct cv_outcome *outcome,
                                       struct cleave_error *err)
{
    plain_runs++;
    return cv_engine_native.plain_loop(driver, outcome, err);
}

static struct cleave_platform *generate(enum cleave_port port, uint32_t workers,
                                        double heterogeneity)
{
    struct cv_generate wanted;
    struct cleave_platform *platform = NULL;
    struct cleave_error err;

    cv_generate_preset(&wanted);
    wanted.port = port;
    wanted.workers = workers;
    wanted.heterogeneity = heterogeneity;
    wanted.bandwidth = 2 * workers;
    wanted.seed = workers;
    assert_int_equal(cv_generate_platform(&wanted, &platform, &err), CLEAVE_OK);
    return platform;
}

/* One run with an engine. */
static void play(const struct cv_planned *planned, const struct cv_engine *engine,
                 const struct cv_run *run, struct cleave_trace *trace,
                 struct cv_outcome *out)
{
    struct cv_driver *driver = NULL;
    struct cleave_error err;

    memset(out, 0, sizeof *out);
    assert_int_equal(cv_driver_open(planned, engine, run->platform, NULL, &driver, &err),
                     CLEAVE_OK);
    if (cv_driver_run(driver, run, trace, out, &err) != CLEAVE_OK)
        fail_msg("%s: %s", planned->policy->name, err.text);
    cv_driver_close(driver);
}

static void compare(const struct cleave_policy *policy, struct cleave_platform *platform,
                    double error)
{
    const struct cleave_view load = { .units_total = 500, .seed = 7, .error = error };
    struct cv_engine plain = cv_engine_native, ordinary = cv_engine_native;
    struct cv_run run = { .platform = platform, .noise.seed = 3 };
    struct cv_outcome one, other;
    struct cv_planned planned;
    struct cleave_error err;

    plain.plain_loop = counted_loop;
    ordinary.plain_loop = NULL;
    if (error > 0)
        run.noise.drawn = (struct cleave_noise){ CLEAVE_NOISE_NORMAL, 0.2 };
    if (cv_planned_init(&planned, policy, NULL, 0, platform,
                        cleave_platform_workers(platform), &load, NULL, NULL,
                        &err) != CLEAVE_OK)
        return; /* unsuitable platform, or it simulates other policies */
    plain_runs = 0;
    play(&planned, &plain, &run, NULL, &one);
    assert_int_equal(plain_runs, 1);
    play(&planned, &ordinary, &run, NULL, &other);
    if (one.makespan_s != other.makespan_s || one.busy_s != other.busy_s ||
        one.sent_s != other.sent_s || one.chunks != other.chunks ||
        one.events != other.events)
        fail_msg("%s: %.17g and %.17g s, %llu and %llu events", policy->name,
                 one.makespan_s, other.makespan_s, (unsigned long long)one.events,
                 (unsigned long long)other.events);
    cv_planned_done(&planned);
}

static void test_same_to_the_last_bit(void **state)
{
    static const enum cleave_port ports[] = { CLEAVE_PORT_ONE, CLEAVE_PORT_DUPLEX,
                                              CLEAVE_PORT_MULTI };

    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (uint32_t n = 1; n < 12; n += 5) {
            struct cleave_platform *platform = generate(ports[i], n, n == 6 ? 1 : 4);

            for (size_t p = 0; p < cleave_policy_count(); p++)
                if (cleave_policy_at(p)->task == CLEAVE_TASK_LOAD) {
                    compare(cleave_policy_at(p), platform, 0);
                    compare(cleave_policy_at(p), platform, 0.2);
                }
            cleave_platform_free(platform);
        }
}

/* A trace, results, items and memory need the whole of it. */
static void test_only_plain_runs(void **state)
{
    struct cleave_platform *platform = generate(CLEAVE_PORT_ONE, 4, 2);
    struct cleave_view load = { .units_total = 100, .seed = 1, .result_ratio = 0.5 };
    struct cv_engine plain = cv_engine_native;
    const struct cv_run run = { .platform = platform };
    const struct cleave_policy *self = NULL;
    struct cleave_trace *trace = NULL;
    struct cv_planned planned;
    struct cv_outcome out;
    struct cleave_error err;

    (void)state;
    plain.plain_loop = counted_loop;
    plain_runs = 0;
    assert_int_equal(cleave_policy_find(CLEAVE_TASK_LOAD, "self", &self, &err),
                     CLEAVE_OK);
    assert_int_equal(cv_planned_init(&planned, self, NULL, 0, platform,
                                     cleave_platform_workers(platform), &load, NULL, NULL,
                                     &err),
                     CLEAVE_OK);
    play(&planned, &plain, &run, NULL, &out);
    cv_planned_done(&planned);
    load.result_ratio = 0;
    assert_int_equal(cv_planned_init(&planned, self, NULL, 0, platform,
                                     cleave_platform_workers(platform), &load, NULL, NULL,
                                     &err),
                     CLEAVE_OK);
    assert_int_equal(cleave_trace_new(&trace, &err), CLEAVE_OK);
    play(&planned, &plain, &run, trace, &out);
    assert_int_equal(plain_runs, 0);
    play(&planned, &plain, &run, NULL, &out);
    assert_int_equal(plain_runs, 1);
    cleave_trace_free(trace);
    cv_planned_done(&planned);
    cleave_platform_free(platform);
}

/* --- the earliest of what each place has pending ---------------------------------------- */

static void test_tournament(void **state)
{
    enum { PLACES = 37, STEPS = 5000 };
    struct cv_pending now[PLACES];
    struct cv_tournament tree;
    struct cv_random random;

    (void)state;
    cv_random_at(&random, 5, 0, 0, 0);
    for (size_t places = 1; places <= PLACES; places += 4) {
        assert_true(cv_tournament_init(&tree, places));
        cv_tournament_clear(&tree);
        for (size_t i = 0; i < places; i++)
            now[i] = CV_PENDING_NEVER;
        for (uint64_t step = 0; step < STEPS; step++) {
            const size_t place = (size_t)(cv_random_uniform(&random) * (double)places);
            const double drawn = cv_random_uniform(&random);
            const struct cv_pending *best = &now[0];

            /* Times that are often equal, so that the key decides, or no end. */
            now[place] = drawn < 0.1    ? CV_PENDING_NEVER
                         : drawn < 0.15 ? cv_pending_at(1.0 / 0.0, step)
                                        : cv_pending_at((double)(int)(20 * drawn), step);
            cv_tournament_set(&tree, place, now[place]);
            for (size_t i = 1; i < places; i++)
                if (now[i].time_bits < best->time_bits ||
                    (now[i].time_bits == best->time_bits && now[i].key < best->key))
                    best = &now[i];
            assert_int_equal(cv_tournament_first(&tree)->time_bits, best->time_bits);
            assert_int_equal(cv_tournament_first(&tree)->key, best->key);
        }
        cv_tournament_done(&tree);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_to_the_last_bit),
        cmocka_unit_test(test_only_plain_runs),
        cmocka_unit_test(test_tournament),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
