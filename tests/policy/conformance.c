/* conformance.c -- requirements on every registered policy on every platform.
 * SPDX-License-Identifier: MIT
 *
 * Units conserved, ports never shared, an end, the same again when repeated, the same
 * orders when replayed, never below a bound; with one worker, one unit, huge and tiny
 * parameters, a worker a million times slower. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/random.h"
#include "engine/driver.h"
#include "engine/replay.h"
#include "model/bounds/load_bounds.h"
#include "sim/load/forecast.h"
#include "sim/load/native.h"
#include "trace_check.h"

/* Searches for orders take the square of the workers and more: as much is found with few. A
 * sanitizer is slow, and finds as much in every third scene. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { MAX_WORKERS = 12, SCENES_APART = 3 };
#else
enum { MAX_WORKERS = 14, SCENES_APART = 1 };
#endif

struct scene {
    const char *name;
    uint32_t nworkers;
    double speed, compute_latency, bandwidth, latency; /* means           */
    double heterogeneity;                              /* 1: equal        */
    double slow;                                       /* divides one speed */
};

static const struct scene scenes[] = {
    { "one worker", 1, 1, 0.5, 10, 0.2, 1, 1 },
    { "one worker, slow link", 1, 5, 0.5, 0.1, 0.2, 1, 1 },
    { "five equal", 5, 1, 0.5, 20, 0.2, 1, 1 },
    { "equal, R = N", 4, 1, 1, 4, 0.3, 1, 1 },
    { "equal, R < N", 12, 1, 0.5, 5, 0.2, 1, 1 },
    { "equal, no latencies", 6, 1, 0, 9, 0, 1, 1 },
    { "equal, compute latency rules", 8, 1, 60, 100, 0.01, 1, 1 },
    { "equal, link latency rules", 8, 1, 0.01, 100, 60, 1, 1 },
    { "unequal", 8, 1, 1, 20, 1, 4, 1 },
    { "very unequal", 10, 1, 1, 20, 1, 1000, 1 },
    { "unequal, no latencies", 7, 1, 0, 20, 0, 10, 1 },
    { "one a million times slower", 6, 1, 0.1, 50, 0.05, 2, 1e6 },
    { "huge rates", 5, 1e12, 1e-6, 1e13, 1e-6, 3, 1 },
    { "tiny rates", 5, 1e-9, 10, 1e-8, 10, 3, 1 },
    { "slow links without latency", 3, 4e9, 0.003, 6e6, 0, 2, 1 },
    { "many", MAX_WORKERS, 2, 0.3, 60, 0.02, 5, 1 },
};

static const double loads[] = { 1, 2000, 1e-6, 1e9 };

static struct cleave_platform *build(const struct scene *scene, enum cleave_port port)
{
    struct cleave_worker workers[MAX_WORKERS] = { { 0 } };
    struct cleave_platform *platform = NULL;
    double spread = (scene->heterogeneity - 1) / (scene->heterogeneity + 1);
    struct cv_random random;

    cv_random_at(&random, 7, 1, 2, 3);
    for (uint32_t i = 0; i < scene->nworkers; i++) {
        double factor[4];

        for (int k = 0; k < 4; k++)
            factor[k] = 1 + spread * (2 * cv_random_uniform(&random) - 1);
        workers[i] = (struct cleave_worker){
            .speed_ups = scene->speed * factor[0],
            .compute_latency_s = scene->compute_latency * factor[1],
            .bandwidth_ups = scene->bandwidth * factor[2],
            .latency_s = scene->latency * factor[3],
            .return_bandwidth_ups = scene->bandwidth,
            .return_latency_s = scene->latency / 2,
        };
    }
    workers[scene->nworkers / 2].speed_ups /= scene->slow;
    assert_int_equal(cleave_platform_new(port, workers, scene->nworkers, &platform, NULL),
                     CLEAVE_OK);
    return platform;
}

/* One policy on one platform with one load. */
struct trial {
    const struct cleave_policy *policy;
    const struct scene *scene;
    struct cleave_platform *platform;
    double load, error, ratio;
};

#define MUST(trial, condition, ...)                                                \
    do {                                                                           \
        if (!(condition)) {                                                        \
            print_error("%s on '%s', %s port, load %g, error %g, results %g: ",    \
                        (trial)->policy->name, (trial)->scene->name,               \
                        cleave_port_name(cleave_platform_port((trial)->platform)), \
                        (trial)->load, (trial)->error, (trial)->ratio);            \
            print_error(__VA_ARGS__);                                              \
            print_error("\n");                                                     \
            fail();                                                                \
        }                                                                          \
    } while (0)

static void drive(const struct trial *trial, const struct cv_planned *planned,
                  const struct cv_engine *engine, const void *source,
                  const struct cv_noise *noise, struct cleave_trace *trace,
                  struct cv_outcome *out)
{
    struct cv_run run = { .platform = trial->platform };
    struct cleave_error err;
    struct cv_driver *driver = NULL;
    enum cleave_status status;

    if (noise != NULL)
        run.noise = *noise;
    status = cv_driver_open(planned, engine, trial->platform, source, &driver, &err);
    if (status == CLEAVE_OK)
        status = cv_driver_run(driver, &run, trace, out, &err);
    MUST(trial, status == CLEAVE_OK, "%s: %s", engine->name, err.text);
    cv_driver_close(driver);
}

/* Bounds depend on the policy only in whether it makes one round. */
struct known_bounds {
    const struct cleave_platform *platform;
    double load, ratio;
    size_t count;
    struct cleave_bound bounds[CV_MAX_BOUNDS];
};

static struct known_bounds known_bounds[2];

/* Another platform may be where this one was. */
static void forget_bounds(void)
{
    known_bounds[0].platform = known_bounds[1].platform = NULL;
}

static const struct known_bounds *bounds_of(const struct trial *trial)
{
    struct known_bounds *found = &known_bounds[trial->policy->one_round];
    const struct cv_bound_query query = {
        .workers = cleave_platform_workers(trial->platform),
        .nworkers = cleave_platform_nworkers(trial->platform),
        .port = cleave_platform_port(trial->platform),
        .load = trial->load,
        .result_ratio = trial->ratio,
        .one_round = trial->policy->one_round,
    };
    struct cv_arena arena;
    size_t tightest = 0;

    if (found->platform == trial->platform && found->load == trial->load &&
        found->ratio == trial->ratio)
        return found;
    *found =
        (struct known_bounds){ trial->platform, trial->load, trial->ratio, 0, { { 0 } } };
    cv_arena_init(&arena);
    found->count = cv_load_bounds(&query, &arena, found->bounds, &tightest);
    cv_arena_done(&arena);
    return found;
}

static void check_bounds(const struct trial *trial, double makespan_s)
{
    const struct known_bounds *known = bounds_of(trial);

    MUST(trial, known->count > 0, "no bounds");
    for (size_t i = 0; i < known->count; i++)
        MUST(trial, known->bounds[i].value_s <= makespan_s * (1 + 1e-9),
             "bound '%s' of %.17g s is above the makespan %.17g s", known->bounds[i].name,
             known->bounds[i].value_s, makespan_s);
}

static void check_runs(const struct trial *trial, const struct cv_planned *planned,
                       const struct cv_noise *noise)
{
    struct cleave_trace *first, *second, *replayed;
    struct cv_outcome outcome = { 0 }, again = { 0 };
    struct trace_check check;

    assert_int_equal(cleave_trace_new(&first, NULL), CLEAVE_OK);
    assert_int_equal(cleave_trace_new(&second, NULL), CLEAVE_OK);
    assert_int_equal(cleave_trace_new(&replayed, NULL), CLEAVE_OK);
    drive(trial, planned, &cv_engine_native, NULL, noise, first, &outcome);
    check = trace_check(first, trial->platform, trial->load, trial->ratio, noise == NULL);
    MUST(trial, check.fault[0] == '\0', "%s", check.fault);
    MUST(trial, near_enough(check.makespan_s, outcome.makespan_s),
         "makespan %g, trace says %g", outcome.makespan_s, check.makespan_s);
    MUST(trial, check.chunks == outcome.chunks, "%zu chunks", check.chunks);
    if (noise == NULL)
        check_bounds(trial, outcome.makespan_s);
    drive(trial, planned, &cv_engine_native, NULL, noise, second, &again);
    MUST(trial, same_traces(first, second), "does not repeat itself");
    drive(trial, planned, &cv_engine_replay,
          &(struct cv_replay_source){ first, planned->view.nworkers, NULL }, noise,
          replayed, &again);
    MUST(trial, same_traces(first, replayed), "replay differs");
    cleave_trace_free(first);
    cleave_trace_free(second);
    cleave_trace_free(replayed);
}

/* A policy may refuse, with a reason, only what its contract or its idea excludes. */
static bool may_refuse(const struct trial *trial)
{
    const unsigned needs = trial->policy->needs;
    const bool multi = cleave_platform_port(trial->platform) == CLEAVE_PORT_MULTI;

    return (needs & CLEAVE_NEEDS_EQUAL_WORKERS) != 0 ||
           (needs & (multi ? CLEAVE_NEEDS_SHARED_PORT : CLEAVE_NEEDS_MULTI_PORT)) != 0;
}

/* Parameters that have no preset: orders of workers, in which all take part. */
static size_t needed_settings(const struct trial *trial, struct cleave_setting *out)
{
    static char order[8 * MAX_WORKERS];
    size_t count = 0, length = 0;

    for (uint32_t i = 0; i < trial->scene->nworkers; i++)
        length += (size_t)snprintf(order + length, sizeof order - length, "%s%u",
                                   i == 0 ? "" : ",", i);
    for (const struct cleave_param *p = trial->policy->params;
         p != NULL && p->name != NULL; p++)
        if (strstr(p->name, "-order") != NULL)
            out[count++] = (struct cleave_setting){ p->name, order };
    return count;
}

static void check_policy(const struct trial *trial)
{
    struct cv_forecast forecast = cv_native_forecast(trial->platform);
    struct cv_noise noise = { .drawn = { CLEAVE_NOISE_GAMMA, 0.5 }, .seed = 11 };
    const struct cleave_view load = { .units_total = trial->load,
                                      .result_ratio = trial->ratio,
                                      .error = trial->error,
                                      .seed = 3 };
    struct cleave_setting settings[2];
    const size_t nsettings = needed_settings(trial, settings);
    struct cv_planned planned;
    struct cleave_error err;
    enum cleave_status status =
        cv_planned_init(&planned, trial->policy, settings, nsettings, trial->platform,
                        cleave_platform_workers(trial->platform), &load, &forecast, NULL,
                        &err);

    if (status == CLEAVE_EINPUT && may_refuse(trial)) {
        MUST(trial, err.text[0] != '\0', "refused without a reason");
        return;
    }
    MUST(trial, status == CLEAVE_OK, "%s", err.text);
    check_runs(trial, &planned, NULL);
    check_runs(trial, &planned, &noise);
    cv_planned_done(&planned);
}

/* It plans and simulates all other policies, which are tested as well. */
static bool tries_others(const struct cleave_policy *policy)
{
    return strcmp(policy->name, "auto") == 0;
}

static void every_policy_on(enum cleave_port port, double error, double ratio)
{
    for (size_t s = 0; s < sizeof scenes / sizeof *scenes; s += SCENES_APART) {
        struct cleave_platform *platform = build(&scenes[s], port);

        /* Results scale as loads do, and searching for orders takes its time. */
        for (size_t l = ratio > 0; l < (ratio > 0 ? 2 : sizeof loads / sizeof *loads);
             l++)
            for (size_t p = 0; p < cleave_policy_count(); p++)
                if (cleave_policy_at(p)->task == CLEAVE_TASK_LOAD &&
                    (loads[l] == 2000 || !tries_others(cleave_policy_at(p))))
                    check_policy(&(struct trial){ cleave_policy_at(p), &scenes[s],
                                                  platform, loads[l], error, ratio });
        cleave_platform_free(platform);
        forget_bounds();
    }
}

static void one_port(void **state)
{
    (void)state;
    every_policy_on(CLEAVE_PORT_ONE, 0, 0);
}

static void one_port_with_errors(void **state)
{
    (void)state;
    every_policy_on(CLEAVE_PORT_ONE, 0.3, 0);
    every_policy_on(CLEAVE_PORT_ONE, 2, 0);
}

static void duplex_port(void **state)
{
    (void)state;
    every_policy_on(CLEAVE_PORT_DUPLEX, 0.1, 0);
}

static void multi_port(void **state)
{
    (void)state;
    every_policy_on(CLEAVE_PORT_MULTI, 0.2, 0);
}

static void results_come_back(void **state)
{
    (void)state;
    every_policy_on(CLEAVE_PORT_ONE, 0, 0.5);
    every_policy_on(CLEAVE_PORT_DUPLEX, 0, 0.5);
    every_policy_on(CLEAVE_PORT_DUPLEX, 0.2, 3);
    every_policy_on(CLEAVE_PORT_MULTI, 0, 1);
}

/* Names, texts and presets that help and man pages rely on. */
static void registry_is_sane(void **state)
{
    (void)state;
    for (size_t i = 0; i < cleave_policy_count(); i++) {
        const struct cleave_policy *policy = cleave_policy_at(i), *found = NULL;

        assert_true(policy->name[0] != '\0' && policy->summary[0] != '\0' &&
                    policy->reference[0] != '\0');
        assert_int_equal(cleave_policy_find(policy->task, policy->name, &found, NULL),
                         CLEAVE_OK);
        assert_ptr_equal(policy, found);
        for (const struct cleave_param *p = policy->params; p != NULL && p->name != NULL;
             p++) {
            assert_true(p->preset >= p->min && p->preset <= p->max);
            assert_true(p->offset < policy->state_size && p->summary[0] != '\0');
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registry_is_sane),     cmocka_unit_test(one_port),
        cmocka_unit_test(one_port_with_errors), cmocka_unit_test(duplex_port),
        cmocka_unit_test(multi_port),           cmocka_unit_test(results_come_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
