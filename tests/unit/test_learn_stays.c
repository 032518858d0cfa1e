/* test_learn_stays.c -- sizes where one worker is much faster, for commands that stay and others.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "engine/driver.h"
#include "engine_here.h"
#include "sim/load/native.h"

/* For example a GPU next to cores. */
enum { CORES = 15, WORKERS = CORES + 1, SEEDS = 12 };
static const double SPEED = 330, LOAD = SPEED + CORES;

/* Workers with persistent commands: the first has to be started, which its first chunk
 * pays for, and works in batches; a part of a batch takes no less than a fifth. Given
 * units cannot be taken back. With all of them busy it would take a second. */
struct staying {
    struct engine_here here;
    double start_s, latency_s, batch_s, spread;
    double fade; /* after half of that time the other workers take longer by this part */
    struct cv_random random;
    uint32_t given[WORKERS];
    double done[WORKERS], busy_s[WORKERS];
};

static double takes(struct staying *here, uint32_t worker, double units)
{
    const bool fast = worker == 0;
    const double even_s = units / (fast ? SPEED : 1);
    const double rest_s = fast && here->batch_s > 0 ? fmod(even_s, here->batch_s) : 0;
    const double time_s = (fast ? here->latency_s : 0) +
                          (fast && here->given[0] == 0 ? here->start_s : 0) + even_s +
                          (rest_s > 0 ? fmax(0, here->batch_s / 5 - rest_s) : 0) +
                          (!fast && here->here.now_s > 0.5 ? here->fade * even_s : 0);

    return time_s * exp(here->spread * cv_random_normal(&here->random));
}

static enum cleave_status staying_submit(void *engine, const struct cleave_order *order,
                                         struct cleave_error *err)
{
    struct staying *here = engine;
    struct cleave_event event = engine_here_hear(&here->here, order);

    (void)err;
    if (event.kind != CLEAVE_SENT)
        return CLEAVE_OK;
    event.kind = CLEAVE_DONE;
    event.time_s += takes(here, order->worker, order->units);
    here->given[order->worker]++;
    here->done[order->worker] += order->units;
    here->busy_s[order->worker] += event.time_s - event.start_s;
    engine_here_add(&here->here, event);
    return CLEAVE_OK;
}

static const struct cv_engine staying_engine = {
    .name = "staying",
    .summary = "commands that stay",
    .open = engine_here_open,
    .begin = engine_here_begin,
    .submit = staying_submit,
    .wait = engine_here_wait,
    .close = engine_here_close,
};

/* How much longer it takes than if all were busy to the end, as they were on the way. */
static double over_busy(struct staying *here)
{
    const struct cleave_setting none[1] = { { NULL, NULL } };
    const struct cleave_policy *policy = NULL;
    struct cleave_worker workers[WORKERS];
    struct cleave_platform *platform = NULL;
    struct cv_outcome outcome = { 0 };
    struct cv_planned planned;
    struct cv_driver *driver = NULL;
    struct cleave_error err;
    double rate = 0, done = 0;

    for (int w = 0; w < WORKERS; w++)
        workers[w] = (struct cleave_worker){ 1, 0, 1e12, 0, 1e12, 0 };
    assert_int_equal(cleave_platform_new(CLEAVE_PORT_MULTI, workers, WORKERS, &platform,
                                         NULL),
                     CLEAVE_OK);
    assert_int_equal(cleave_policy_find(CLEAVE_TASK_LOAD, "learn", &policy, NULL),
                     CLEAVE_OK);
    if (cv_planned_init(&planned, policy, none, 0, platform, workers,
                        &(struct cleave_view){ .units_total = LOAD }, NULL, NULL,
                        &err) != CLEAVE_OK ||
        cv_driver_open(&planned, &staying_engine, platform, here, &driver, &err) !=
            CLEAVE_OK ||
        cv_driver_run(driver, &(struct cv_run){ .platform = platform }, NULL, &outcome,
                      &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    cv_driver_close(driver);
    cv_planned_done(&planned);
    cleave_platform_free(platform);
    for (int w = 0; w < WORKERS; w++) {
        done += here->done[w];
        rate += here->busy_s[w] > 0 ? here->done[w] / here->busy_s[w] : 0;
    }
    assert_true(fabs(done - LOAD) < 1e-6 * LOAD);
    return outcome.makespan_s * rate / LOAD - 1;
}

/* A start that the first chunk has paid for is not charged again. */
static void a_start_that_comes_once_is_not_counted_again(void **state)
{
    static const struct staying kinds[] = {
        { .latency_s = 0.001, .spread = 0.03 },
        { .start_s = 0.02, .latency_s = 0.001, .spread = 0.03 },
        { .start_s = 0.05, .latency_s = 0.001, .spread = 0.03 },
        { .start_s = 0.02, .latency_s = 0.001, .batch_s = 0.013, .spread = 0.03 },
        { .start_s = 0.05, .latency_s = 0.001, .batch_s = 0.013, .spread = 0.05 },
        { .start_s = 0.05, .latency_s = 0.003, .batch_s = 0.013, .spread = 0.03 },
    };

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (uint32_t seed = 0; seed < SEEDS; seed++) {
            struct staying here = kinds[k];
            double over;

            cv_random_at(&here.random, seed, 0, 0, 0);
            over = over_busy(&here);
            if (over > 0.01)
                fail_msg("kind %zu, seed %u: %.1f %% over all busy", k, seed, 100 * over);
        }
}

/* If each chunk pays for a start, the fast worker is not left idle because the rest is
 * not worth one: the others would take far longer. */
static void a_start_that_comes_each_time_is_paid_if_all_end_sooner(void **state)
{
    static const struct staying kinds[] = {
        { .latency_s = 0.02, .spread = 0.03 },
        { .latency_s = 0.05, .spread = 0.03 },
        { .latency_s = 0.05, .batch_s = 0.013, .spread = 0.05 },
        { .latency_s = 0.02, .spread = 0.03, .fade = 1 },
        { .latency_s = 0.05, .spread = 0.03, .fade = 1 },
    };

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (uint32_t seed = 0; seed < SEEDS; seed++) {
            struct staying here = kinds[k];
            double over;

            cv_random_at(&here.random, seed, 0, 0, 0);
            over = over_busy(&here);
            if (over > 0.07)
                fail_msg("kind %zu, seed %u: %.1f %% over all busy", k, seed, 100 * over);
        }
}

/* 64 workers alike and a small load: how many starts, one after the other, it takes. When
 * no worker is busy and no share is worth a start, all units left go to one, lest crumbs
 * go to all. */
static double starts_for(double latency_s, double load_s)
{
    enum { MANY = 64 };
    static const double BYTES = 1e7;
    const struct cleave_setting none[1] = { { NULL, NULL } };
    const struct cleave_policy *policy = NULL;
    struct cleave_worker workers[MANY];
    struct cleave_platform *platform = NULL;
    struct cv_command_model command;
    struct cv_outcome outcome = { 0 };
    struct cv_planned planned;
    struct cv_driver *driver = NULL;
    struct cleave_error err;

    for (int w = 0; w < MANY; w++)
        workers[w] = (struct cleave_worker){ .speed_ups = BYTES,
                                             .compute_latency_s = latency_s,
                                             .bandwidth_ups = 1e300,
                                             .return_bandwidth_ups = 1e300 };
    assert_int_equal(cleave_platform_new(CLEAVE_PORT_MULTI, workers, MANY, &platform,
                                         NULL),
                     CLEAVE_OK);
    assert_int_equal(cleave_policy_find(CLEAVE_TASK_LOAD, "learn", &policy, NULL),
                     CLEAVE_OK);
    assert_int_equal(cv_command_find("mix", &command, &err), CLEAVE_OK);
    command.pipe_ups = 200 * BYTES;
    command.ahead = 4000;
    command.record = 100;
    if (cv_planned_init(&planned, policy, none, 0, platform, workers,
                        &(struct cleave_view){ .units_total = BYTES * load_s,
                                               .real = true,
                                               .ahead = command.ahead },
                        NULL, NULL, &err) != CLEAVE_OK ||
        cv_driver_open(&planned, &cv_engine_native_open, platform, NULL, &driver, &err) !=
            CLEAVE_OK ||
        cv_driver_run(driver,
                      &(struct cv_run){ .platform = platform,
                                        .command = &command,
                                        .units = BYTES * load_s },
                      NULL, &outcome, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    cv_driver_close(driver);
    cv_planned_done(&planned);
    cleave_platform_free(platform);
    return outcome.makespan_s / latency_s;
}

static void crumbs_do_not_go_to_one_after_the_other(void **state)
{
    (void)state;
    assert_true(starts_for(0.03, 0.1) < 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_that_comes_once_is_not_counted_again),
        cmocka_unit_test(a_start_that_comes_each_time_is_paid_if_all_end_sooner),
        cmocka_unit_test(crumbs_do_not_go_to_one_after_the_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
