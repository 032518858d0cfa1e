/* parity_simgrid.c -- the native engine and SimGrid, policy by policy.
 * SPDX-License-Identifier: MIT
 *
 * Every registered policy on random platforms, equal and unequal, with every port rule, with
 * results, with speeds that change, with noise, as streams, and as reductions: both engines
 * must see the same orders, and every transfer and computation must begin and end at the
 * same time, up to 1e-9 of it.
 *
 * Costs of equal platforms are small sums of powers of two: there, many events are
 * simultaneous, and both engines must agree on their order. Skipped where cleave-simgrid
 * is missing. */
#include "parity_check.h"

#include <cleave/reduce.h>
#include "base/random.h"
#include "sim/load/forecast.h"
#include "sim/load/native.h"
#include "sim/reduce/native_reduce.h"

enum { MOST_WORKERS = 16, MOST_NODES = 70 };

/* --- loads ------------------------------------------------------------------------------ */

struct scene {
    uint32_t workers;
    bool equal, latencies, profiles, noise;
    double load, result_ratio;
    bool leaders;
};

static const struct scene scenes[] = {
    { 1, false, true, false, false, 100, 0, false },
    { 4, true, true, false, false, 256, 0, false },
    { 5, true, false, false, false, 320, 0, false },
    { 6, false, true, false, false, 300, 0, false },
    { 9, false, true, false, true, 500, 0, false },
    { 7, false, false, false, true, 300, 0, false },
    { 6, false, true, true, false, 300, 0, false },
    { 6, false, true, true, true, 300, 0, false },
    { 4, true, true, false, true, 256, 0.5, false },
    { 5, false, true, false, false, 200, 0.3, false },
    { 6, false, true, true, true, 300, 0.7, false },
    { 5, false, true, true, false, 200, 2, false },
    { 4, true, false, false, true, 256, 1.5, false },
    { 7, false, true, false, true, 300, 0.4, false },
    { 4, false, true, false, false, 1e-5, 0, false },
    { 4, false, true, false, false, 1e6, 0, false },
    { 3, false, true, false, false, 300, 0, true },
    { 3, false, true, false, true, 300, 0.4, true },
};

/* The text of a platform file, since only files have profiles. */
static struct cleave_platform *build(const struct scene *scene, enum cleave_port port,
                                     uint32_t seed)
{
    char text[8192];
    int at = snprintf(text, sizeof text, "port: %s\nworkers:\n", cleave_port_name(port));
    struct cleave_platform *platform = NULL;
    struct cleave_error err;
    struct cv_random random;

    cv_random_at(&random, 5, seed, scene->workers, port);
    for (uint32_t w = 0; w < scene->workers; w++) {
        double v[6] = { 1, 0.5, 16, 0.25, 16, 0.25 };

        for (int k = 0; k < 6 && !scene->equal; k++)
            v[k] *= 0.5 + 2 * cv_random_uniform(&random);
        if (!scene->latencies)
            v[1] = v[3] = v[5] = 0;
        at +=
            snprintf(text + at, sizeof text - (size_t)at,
                     "  - { name: w%u, speed: %.17g, compute_latency: %.17g, bandwidth: "
                     "%.17g, latency: %.17g, return_bandwidth: %.17g, "
                     "return_latency: %.17g",
                     w, v[0], v[1], v[2], v[3], v[4], v[5]);
        if (scene->profiles && w % 2 == 0)
            at += snprintf(text + at, sizeof text - (size_t)at,
                           ", profile: [[%.17g, %.17g], [%.17g, %.17g], [%.17g, %.17g]]",
                           w % 4 == 0 ? 0 : 3 * cv_random_uniform(&random),
                           0.2 + cv_random_uniform(&random),
                           5 + 10 * cv_random_uniform(&random), w == 2 ? 0 : 0.3,
                           20 + 10 * cv_random_uniform(&random),
                           0.5 + cv_random_uniform(&random));
        at += snprintf(text + at, sizeof text - (size_t)at, " }\n");
    }
    if (scene->leaders)
        snprintf(text + at, sizeof text - (size_t)at, "%s",
                 "  - { name: a, via: w0, count: 2, speed: 1.3, compute_latency: 0.41,"
                 "      bandwidth: 5.1, latency: 0.17 }\n"
                 "  - { name: b, via: a, speed: 0.9, compute_latency: 0.23,"
                 "      bandwidth: 4.3, latency: 0.11 }\n"
                 "  - { name: c, via: w0, speed: 2.1, compute_latency: 0.37,"
                 "      bandwidth: 3.7, latency: 0.29 }\n"
                 "  - { name: d, via: w2, speed: 1.7, compute_latency: 0.19,"
                 "      bandwidth: 6.1, latency: 0.31 }\n");
    if (cleave_platform_parse("scene", text, strlen(text), &platform, &err) != CLEAVE_OK)
        fail_msg("%s: %s", err.field, err.text);
    return platform;
}

/* Parameters that have no preset: orders of workers. */
static size_t needed_settings(const struct cleave_policy *policy, uint32_t workers,
                              struct cleave_setting *out)
{
    static char order[8 * MOST_WORKERS];
    size_t count = 0, length = 0;

    for (uint32_t i = 0; i < workers; i++)
        length += (size_t)snprintf(order + length, sizeof order - length, "%s%u",
                                   i == 0 ? "" : ",", i);
    for (const struct cleave_param *p = policy->params; p != NULL && p->name != NULL; p++)
        if (strstr(p->name, "-order") != NULL)
            out[count++] = (struct cleave_setting){ p->name, order };
    return count;
}

/* Returns whether the policy takes such a load and the engines could be compared. */
static bool one_policy(const struct cleave_policy *policy, const struct scene *scene,
                       const struct cleave_platform *platform, const char *where)
{
    const struct cleave_view load = { .units_total = scene->load,
                                      .result_ratio = scene->result_ratio,
                                      .error = scene->noise ? 0.2 : 0,
                                      .seed = 3 };
    const struct cv_forecast forecast = cv_native_forecast(platform);
    struct cv_run run = { .platform = platform, .number = 2 };
    struct cleave_setting settings[2];
    const size_t n = needed_settings(policy, scene->workers, settings);
    struct cv_planned planned;
    bool decided;

    /* A policy that tries all others takes long, and picks one of them in the end. */
    if ((policy->needs & CLEAVE_NEEDS_FORECAST) != 0 && scene->workers > 5)
        return false;
    if (scene->noise)
        run.noise = (struct cv_noise){ .drawn = { CLEAVE_NOISE_GAMMA, 0.3 },
                                       .seed = 11,
                                       .run = 2 };
    if (cv_planned_init(&planned, policy, settings, n, platform,
                        cleave_platform_workers(platform), &load, &forecast, NULL,
                        NULL) != CLEAVE_OK)
        return false;
    decided = run_both(policy, where, &planned, &cv_engine_native, NULL, &run);
    cv_planned_done(&planned);
    return decided;
}

static void loads_on(enum cleave_port port)
{
    const unsigned other =
        port == CLEAVE_PORT_MULTI ? CLEAVE_NEEDS_SHARED_PORT : CLEAVE_NEEDS_MULTI_PORT;
    size_t compared[100][2] = { { 0 } }; /* per policy: without and with results */
    char where[160];

    for (size_t s = 0; s < sizeof scenes / sizeof *scenes; s++) {
        struct cleave_platform *platform = build(&scenes[s], port, (uint32_t)s);

        snprintf(where, sizeof where, "scene %zu, port %s", s, cleave_port_name(port));
        borrow(&cv_engine_simgrid, platform, NULL);
        for (size_t p = 0; p < cleave_policy_count(); p++)
            if (cleave_policy_at(p)->task == CLEAVE_TASK_LOAD)
                compared[p][scenes[s].result_ratio > 0] +=
                    one_policy(cleave_policy_at(p), &scenes[s], platform, where);
        give_back();
        cleave_platform_free(platform);
    }
    for (size_t p = 0; p < cleave_policy_count(); p++) {
        const struct cleave_policy *policy = cleave_policy_at(p);

        if (policy->task == CLEAVE_TASK_LOAD && (policy->needs & other) == 0)
            for (int results = 0; results < 2; results++)
                if (compared[p][results] < 2)
                    fail_msg("policy '%s' was compared %zu times %s results",
                             policy->name, compared[p][results],
                             results ? "with" : "without");
    }
}

static void one_port(void **state)
{
    (void)state;
    loads_on(CLEAVE_PORT_ONE);
}

static void duplex_port(void **state)
{
    (void)state;
    loads_on(CLEAVE_PORT_DUPLEX);
}

static void multi_port(void **state)
{
    (void)state;
    loads_on(CLEAVE_PORT_MULTI);
}

/* A world whose clock has run far is replaced, without effect on results. */
static void many_runs(void **state)
{
    const struct scene scene = { 3, false, true, false, true, 30, 0, false };
    struct cleave_platform *platform = build(&scene, CLEAVE_PORT_ONE, 7);
    const struct cleave_view load = { .units_total = scene.load, .seed = 3 };
    struct cv_planned planned;

    (void)state;
    assert_int_equal(cv_planned_init(&planned, &cleave_policy_self, NULL, 0, platform,
                                     cleave_platform_workers(platform), &load, NULL, NULL,
                                     NULL),
                     CLEAVE_OK);
    borrow(&cv_engine_simgrid, platform, NULL);
    for (uint32_t i = 0; i < 300; i++) {
        const struct cv_run run = {
            .platform = platform,
            .number = i,
            .noise = { .drawn = { CLEAVE_NOISE_NORMAL, 0.2 }, .seed = 5, .run = i }
        };

        assert_true(run_both(&cleave_policy_self, "many runs", &planned,
                             &cv_engine_native, NULL, &run));
    }
    give_back();
    cv_planned_done(&planned);
    cleave_platform_free(platform);
}

/* --- streams ---------------------------------------------------------------------------- */

static void streams(void **state)
{
    const struct scene kinds[] = { { 3, false, true, false, false, 0, 0, false },
                                   { 6, false, true, true, false, 0, 0.2, false },
                                   { 4, false, true, true, false, 0, 0.1, false } };

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int end = 0; end < 2; end++) {
            struct cleave_platform *platform = build(&kinds[k], CLEAVE_PORT_ONE, 9);
            const struct cleave_view load = { .units_total = INFINITY,
                                              .result_ratio = kinds[k].result_ratio };
            const struct cv_run run = { .platform = platform,
                                        .stream_end_s = 100.3,
                                        .stream_rest = end * 40.5 };
            const struct cleave_setting settings[] = { { "end", "none" } },
                                        spread[] = { { "end", "spread" } },
                                        *ends = end && kinds[k].result_ratio == 0
                                                    ? spread
                                                    : settings;
            struct cv_planned planned;
            struct cleave_error err;

            if (cv_planned_init(&planned, &cleave_policy_as4dr, ends, 1, platform,
                                cleave_platform_workers(platform), &load, NULL, NULL,
                                &err) != CLEAVE_OK)
                fail_msg("as4dr: %s", err.text);
            borrow(&cv_engine_simgrid, platform, NULL);
            assert_true(run_both(&cleave_policy_as4dr, "a stream", &planned,
                                 &cv_engine_native, NULL, &run));
            give_back();
            cv_planned_done(&planned);
            cleave_platform_free(platform);
        }
}

/* --- taking units back ------------------------------------------------------------------ */

/* Sends two chunks to each of two workers and takes parts of them back: before their first
 * unit, in the middle, more than there is; returned units go to the other worker. */
static void fickle_decide(void *state, const struct cleave_view *view,
                          const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state;
    if (event->kind == CLEAVE_START) {
        for (uint32_t i = 0; i < 4; i++)
            cleave_order_send(orders, i % 2, view->units_total / 4);
        for (int i = 0; i < 5; i++)
            cleave_order_wake(orders, i % 2 == 0, 1.3 + 7.7 * i);
    } else if (event->kind == CLEAVE_WAKE) {
        cleave_order_recall(orders, event->worker, event->time_s > 30 ? 1e9 : 3.25);
    } else if (event->kind == CLEAVE_RECALLED && event->units > 0) {
        cleave_order_send(orders, 1 - event->worker, event->units);
    }
}

static const struct cleave_policy fickle = { .name = "fickle",
                                             .summary = "-",
                                             .reference = "-",
                                             .state_size = 1,
                                             .decide = fickle_decide };

static void recalls(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < 8; kind++) {
        const struct scene scene = {
            2, false, (kind & 1) != 0, (kind & 2) != 0, (kind & 4) != 0, 120, 0, false
        };
        struct cleave_platform *platform = build(&scene, CLEAVE_PORT_ONE, kind);

        borrow(&cv_engine_simgrid, platform, NULL);
        assert_true(one_policy(&fickle, &scene, platform, "recalls"));
        give_back();
        cleave_platform_free(platform);
    }
}

/* --- reductions -------------------------------------------------------------------------- */

struct instance {
    uint32_t nodes;
    double transfer, compute, cv; /* means; cv 0: equal, negative: small whole numbers */
};

static const struct instance instances[] = {
    { 1, 1, 1, 1 },  { 2, 1, 1, 1 },      { 3, 1, 1, 0 },          { 5, 1, 0, 1 },
    { 7, 0, 1, 1 },  { 8, 2, 3, 0 },      { 13, 1, 1, -1 },        { 33, 1, 0.5, 0.3 },
    { 64, 1, 1, 1 }, { 64, 1, 0.1, 1.2 }, { 70, 1, 10, 0.5 },      { 70, 1, 0, -1 },
    { 20, 0, 0, 0 }, { 31, 1, 1, -1 },    { 40, 1e-6, 2e-6, 0.5 },
};

static double draw(const struct instance *instance, double mean, struct cv_random *random)
{
    if (mean == 0 || instance->cv == 0)
        return mean;
    if (instance->cv < 0)
        return floor(1 + 4 * cv_random_uniform(random));
    return mean * cv_random_gamma(random, instance->cv);
}

static struct cleave_costs *make_costs(const struct instance *instance)
{
    static double transfer[MOST_NODES * MOST_NODES], compute[MOST_NODES];
    const uint32_t n = instance->nodes;
    struct cleave_costs *costs = NULL;
    struct cv_random random;

    cv_random_at(&random, 77, n, 0, 0);
    for (size_t i = 0; i < (size_t)n * n; i++)
        transfer[i] = draw(instance, instance->transfer, &random);
    for (uint32_t i = 0; i < n; i++)
        compute[i] = draw(instance, instance->compute, &random);
    assert_int_equal(cleave_costs_new(n, transfer, compute, &costs, NULL), CLEAVE_OK);
    return costs;
}

/* Policies with or without arrival events: they need separate worlds. */
static void reduce_all(const struct cv_reduce_costs *costs, bool plain, const char *where)
{
    const struct cv_simgrid_source source = { .costs = costs, .plain = plain };

    borrow(&cv_engine_simgrid, NULL, &source);
    for (size_t p = 0; p < cleave_policy_count(); p++) {
        const struct cleave_policy *policy = cleave_policy_at(p);
        struct cv_planned planned;

        if (policy->task != CLEAVE_TASK_REDUCE || policy->gets_arrivals == plain)
            continue;
        assert_int_equal(cv_planned_reduce_costs(&planned, policy, NULL, 0, costs, 1,
                                                 NULL),
                         CLEAVE_OK);
        for (uint32_t number = 0; number < 3; number++)
            assert_true(run_both(policy, where, &planned, cv_native_reduce_for(policy),
                                 costs, &(struct cv_run){ .number = number }));
        cv_planned_done(&planned);
    }
    give_back();
}

static void exact_reductions(void **state)
{
    char where[80];

    (void)state;
    for (size_t i = 0; i < sizeof instances / sizeof *instances; i++) {
        struct cleave_costs *exact = make_costs(&instances[i]);
        const struct cv_reduce_costs costs = { .nodes = instances[i].nodes,
                                               .exact = exact };

        snprintf(where, sizeof where, "reduction %zu", i);
        reduce_all(&costs, false, where);
        reduce_all(&costs, true, where);
        cleave_costs_free(exact);
    }
}

static void drawn_reductions(void **state)
{
    static const char *const laws[][2] = { { "gamma:1,0.5", "gamma:0.3,1" },
                                           { "exp:2", "0" },
                                           { "1", "exp:1" },
                                           { "bernoulli:1,4,0.3", "1" },
                                           { "uniform:0.5,1.5", "2" } };

    (void)state;
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++)
        for (int fixed = 0; fixed < 2; fixed++) {
            struct cv_reduce_costs costs = { .nodes = 48,
                                             .model = fixed ? CLEAVE_COMPUTE_FIXED
                                                            : CLEAVE_COMPUTE_FRESH };

            assert_int_equal(cv_distribution_parse(laws[i][0], &costs.transfer, NULL),
                             CLEAVE_OK);
            assert_int_equal(cv_distribution_parse(laws[i][1], &costs.compute, NULL),
                             CLEAVE_OK);
            cv_reduce_costs_seed(&costs, 21);
            reduce_all(&costs, false, laws[i][0]);
            reduce_all(&costs, true, laws[i][0]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_port),         cmocka_unit_test(duplex_port),
        cmocka_unit_test(multi_port),       cmocka_unit_test(many_runs),
        cmocka_unit_test(streams),          cmocka_unit_test(recalls),
        cmocka_unit_test(exact_reductions), cmocka_unit_test(drawn_reductions),
    };
    const char *folder = getenv("CLEAVE_BUILD_DIR");
    struct cleave_error err;

    if (folder != NULL) /* test programs are not next to the command */
        setenv("CLEAVE_LIBEXEC", folder, 0);
    if (cleave_simgrid_find(NULL, 0, &err) != CLEAVE_OK) {
        fprintf(stderr, "skipped: %s\n", err.text);
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
