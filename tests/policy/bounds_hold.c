/* bounds_hold.c -- no policy beats a bound on random platforms. SPDX-License-Identifier: MIT
 *
 * Ports of all kinds, results or none, fixed costs or none, links that differ on the way back,
 * loads from a unit per worker to thousands: every policy ends, and not before any bound.
 * CLEAVE_BOUNDS=10000 tries that many platforms instead of a hundred. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "engine/driver.h"
#include "model/bounds/load_bounds.h"
#include "sim/load/forecast.h"
#include "sim/load/native.h"

/* Searches for orders of one round take long for more workers than FEW. */
enum { PLATFORMS = 120, MOST_WORKERS = 16, FEW = 3 };

struct scene {
    unsigned number;
    struct cleave_platform *platform;
    uint32_t nworkers;
    double load, ratio;
    size_t count[2];
    struct cleave_bound bounds[2][CV_MAX_BOUNDS]; /* bounds for any rounds, and for one */
};

static double scale(struct cv_random *random, double low, double high)
{
    return low * pow(high / low, cv_random_uniform(random));
}

static void build(struct scene *scene, unsigned number)
{
    static const enum cleave_port ports[] = { CLEAVE_PORT_ONE, CLEAVE_PORT_DUPLEX,
                                              CLEAVE_PORT_ONE, CLEAVE_PORT_MULTI };
    struct cleave_worker workers[MOST_WORKERS];
    struct cv_random random;
    double spread, parallel, fixed;

    cv_random_at(&random, 2026, number, 0, 0);
    *scene = (struct scene){ .number = number };
    scene->nworkers =
        1 + (uint32_t)(cv_random_uniform(&random) * (number % 8 == 7 ? MOST_WORKERS : 6));
    spread = scale(&random, 1, 30);
    parallel = scene->nworkers * scale(&random, 0.3, 10);
    fixed = number % 5 == 0 ? 0 : scale(&random, 0.003, 3);
    scene->ratio = number % 4 == 3 ? 0 : scale(&random, 0.05, 1.5);
    scene->load = scene->nworkers * scale(&random, 1, 1000);
    for (uint32_t i = 0; i < scene->nworkers; i++) {
        double factor[6];

        for (int k = 0; k < 6; k++)
            factor[k] =
                number % 7 == 0 ? 1 : scale(&random, 1 / sqrt(spread), sqrt(spread));
        workers[i] = (struct cleave_worker){
            factor[0],         fixed * factor[1],    parallel * factor[2],
            fixed * factor[3], parallel * factor[2], fixed * factor[3]
        };
        if (number % 3 == 0) {
            workers[i].return_bandwidth_ups = parallel * factor[4];
            workers[i].return_latency_s = fixed * factor[5];
        }
    }
    assert_int_equal(cleave_platform_new(ports[number / 2 % 4], workers, scene->nworkers,
                                         &scene->platform, NULL),
                     CLEAVE_OK);
}

static void set_bounds(struct scene *scene)
{
    for (int one_round = 0; one_round < 2; one_round++) {
        const struct cv_bound_query query = {
            .workers = cleave_platform_workers(scene->platform),
            .nworkers = scene->nworkers,
            .port = cleave_platform_port(scene->platform),
            .load = scene->load,
            .result_ratio = scene->ratio,
            .one_round = one_round == 1,
        };
        struct cv_arena arena;
        size_t tightest;

        cv_arena_init(&arena);
        scene->count[one_round] =
            cv_load_bounds(&query, &arena, scene->bounds[one_round], &tightest);
        assert_true(scene->count[one_round] > 0);
        cv_arena_done(&arena);
    }
}

static void check(const struct scene *scene, const struct cleave_policy *policy,
                  double makespan_s)
{
    for (size_t i = 0; i < scene->count[policy->one_round]; i++) {
        const struct cleave_bound *bound = &scene->bounds[policy->one_round][i];

        if (bound->value_s <= makespan_s * (1 + 1e-9))
            continue;
        print_error(
            "platform %u, port %s, %u workers, load %.17g, ratio %.17g: %s ends at "
            "%.17g s, bound '%s' is %.17g s\n",
            scene->number, cleave_port_name(cleave_platform_port(scene->platform)),
            scene->nworkers, scene->load, scene->ratio, policy->name, makespan_s,
            bound->name, bound->value_s);
        fail();
    }
}

static void try_policy(const struct scene *scene, const struct cleave_policy *policy)
{
    const struct cleave_view load = { .units_total = scene->load,
                                      .result_ratio = scene->ratio,
                                      .seed = 1 };
    struct cv_forecast forecast = cv_native_forecast(scene->platform);
    const struct cv_run run = { .platform = scene->platform };
    struct cv_planned planned;
    struct cv_driver *driver = NULL;
    struct cv_outcome outcome;
    struct cleave_error err;

    if (cv_planned_init(&planned, policy, NULL, 0, scene->platform,
                        cleave_platform_workers(scene->platform), &load, &forecast, NULL,
                        &err) != CLEAVE_OK)
        return; /* unsuitable for such a platform */
    assert_int_equal(cv_driver_open(&planned, &cv_engine_native, scene->platform, NULL,
                                    &driver, &err),
                     CLEAVE_OK);
    if (cv_driver_run(driver, &run, NULL, &outcome, &err) != CLEAVE_OK) {
        print_error("platform %u: %s: %s\n", scene->number, policy->name, err.text);
        fail();
    }
    check(scene, policy, outcome.makespan_s);
    cv_driver_close(driver);
    cv_planned_done(&planned);
}

static void no_bound_is_beaten(void **state)
{
    const char *wanted = getenv("CLEAVE_BOUNDS");
    const unsigned long n = wanted != NULL ? strtoul(wanted, NULL, 10) : PLATFORMS;

    (void)state;
    for (unsigned number = 0; number < n; number++) {
        struct scene scene;

        build(&scene, number);
        set_bounds(&scene);
        for (size_t p = 0; p < cleave_policy_count(); p++) {
            const struct cleave_policy *policy = cleave_policy_at(p);
            const bool searches = (policy->needs & CLEAVE_NEEDS_FORECAST) != 0 ||
                                  strcmp(policy->name, "best-orders") == 0;

            if (policy->task == CLEAVE_TASK_LOAD && (!searches || scene.nworkers <= FEW))
                try_policy(&scene, policy);
        }
        cleave_platform_free(scene.platform);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(no_bound_is_beaten) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
