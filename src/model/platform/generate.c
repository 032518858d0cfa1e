/* generate.c -- random platforms of a given heterogeneity.
 * SPDX-License-Identifier: MIT */
#include "model/platform/generate.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/fail.h"
#include "base/quantity.h"
#include "base/random.h"
#include "model/platform/platform_internal.h"
#include "model/platform/profile.h"

/* Names of random streams: their order is part of what a seed means. */
enum field { SPEED, COMPUTE_LATENCY, BANDWIDTH, LATENCY };

void cv_generate_preset(struct cv_generate *out)
{
    *out = (struct cv_generate){
        .workers = 10,
        .heterogeneity = 1,
        .speed = 1,
        .compute_latency = 1,
        .bandwidth = 20,
        .latency = 1,
        .port = CLEAVE_PORT_ONE,
    };
}

static enum cleave_status check(const char *name, double value, double min, bool above,
                                struct cleave_error *err)
{
    char number[CV_NUMBER_SIZE];

    if (isfinite(value) && (above ? value > min : value >= min))
        return CLEAVE_OK;
    return cv_fail_at(err, &(struct cv_place){ .field = name },
                      "expected a number %s %g, got '%s'",
                      above ? "above" : "of at least", min,
                      cv_number_short(value, number));
}

static double sample(const struct cv_generate *wanted, double h, uint32_t worker,
                     enum field field, double mean)
{
    struct cv_random random;

    cv_random_at(&random, wanted->seed, worker, (uint32_t)field, 0);
    /* Equal workers get the mean itself, not the mean plus a rounding error. */
    return h == 0 ? mean : mean * (1 + h * (2 * cv_random_uniform(&random) - 1));
}

enum cleave_status cv_generate_platform(const struct cv_generate *wanted,
                                        struct cleave_platform **out,
                                        struct cleave_error *err)
{
    double het = wanted->heterogeneity, h;
    struct cleave_worker *workers;
    enum cleave_status status;

    CV_TRY(check("heterogeneity", het, 1, false, err));
    CV_TRY(check("speed", wanted->speed, 0, true, err));
    CV_TRY(check("compute_latency", wanted->compute_latency, 0, false, err));
    CV_TRY(check("bandwidth", wanted->bandwidth, 0, true, err));
    CV_TRY(check("latency", wanted->latency, 0, false, err));
    if (wanted->workers == 0 || wanted->workers > CLEAVE_MAX_WORKERS)
        return cv_fail_at(err, &(struct cv_place){ .field = "workers" },
                          "expected a whole number from 1 to %u, got '%lu'",
                          CLEAVE_MAX_WORKERS, (unsigned long)wanted->workers);
    h = (het - 1) / (het + 1);
    workers = calloc(wanted->workers, sizeof *workers);
    if (workers == NULL)
        return cv_fail_memory(err, "a platform");
    for (uint32_t i = 0; i < wanted->workers; i++) {
        struct cleave_worker *worker = &workers[i];

        worker->speed_ups = sample(wanted, h, i, SPEED, wanted->speed);
        worker->compute_latency_s =
            sample(wanted, h, i, COMPUTE_LATENCY, wanted->compute_latency);
        worker->bandwidth_ups = sample(wanted, h, i, BANDWIDTH, wanted->bandwidth);
        worker->latency_s = sample(wanted, h, i, LATENCY, wanted->latency);
        worker->return_bandwidth_ups = worker->bandwidth_ups;
        worker->return_latency_s = worker->latency_s;
    }
    status = cleave_platform_new(wanted->port, workers, wanted->workers, out, err);
    free(workers);
    return status;
}

/* --- workers of which nothing is known yet ----------------------------------------- */

/* Links on one machine are pipes, so wide that they never matter; those to others may be a
 * network. */
static const struct cleave_worker nominal_workers[] = {
    [CV_NOMINAL_HERE] = { 1e8, 1e-3, 1e12, 0, 1e12, 0 },
    [CV_NOMINAL_RANK] = { 1e8, 1e-3, 1e9, 0, 1e9, 0 },
    [CV_NOMINAL_CALL] = { 1e6, 1e-4, 1e9, 1e-5, 1e9, 1e-5 },
};

/* As many kinds as workers, all the same. */
static enum cleave_status build(enum cv_nominal kind, const char *const *names,
                                uint32_t count, struct cleave_worker *kinds,
                                struct cv_group *groups, struct cleave_platform **out,
                                struct cleave_error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        kinds[i] = nominal_workers[kind];
        if (names == NULL)
            continue;
        CV_TRY(cv_worker_name_check(names[i], "a name", err));
        groups[i] = (struct cv_group){ .name = names[i], .count = 1 };
    }
    return names == NULL ? cleave_platform_new(CLEAVE_PORT_MULTI, kinds, count, out, err)
                         : cv_platform_build(CLEAVE_PORT_MULTI, kinds, groups, count, out,
                                             NULL, err);
}

enum cleave_status cv_nominal_platform(enum cv_nominal kind, const char *const *names,
                                       uint32_t count, struct cleave_platform **out,
                                       struct cleave_error *err)
{
    struct cleave_worker *kinds = calloc((size_t)count + 1, sizeof *kinds);
    struct cv_group *groups = calloc((size_t)count + 1, sizeof *groups);
    enum cleave_status status = kinds == NULL || groups == NULL
                                    ? cv_fail_memory(err, "the workers")
                                    : build(kind, names, count, kinds, groups, out, err);

    free(kinds);
    free(groups);
    return status;
}

struct cleave_worker cv_nominal_worker(enum cv_nominal kind)
{
    return nominal_workers[kind];
}

bool cv_is_nominal(const struct cleave_worker *worker)
{
    for (size_t i = 0; i < sizeof nominal_workers / sizeof *nominal_workers; i++)
        if (worker->speed_ups == nominal_workers[i].speed_ups &&
            worker->compute_latency_s == nominal_workers[i].compute_latency_s &&
            worker->bandwidth_ups == nominal_workers[i].bandwidth_ups &&
            worker->latency_s == nominal_workers[i].latency_s)
            return true;
    return false;
}

/* --- the ten kinds of workers and the ten profiles of a paper on streams ----------- */

struct cleave_worker cv_literature_worker(unsigned kind)
{
    static const struct {
        double speed, compute_latency, bandwidth, latency;
    } table[CV_PUBLISHED_KINDS] = {
        { 1, 1e-2, 1e6, 1e-2 },    { 100, 1e-1, 1e7, 1e-3 },  { 10, 1e-3, 1e8, 1.5e-2 },
        { 1000, 1e-2, 1e9, 1e-2 }, { 1, 1e-3, 1e6, 1e-2 },    { 100, 1e-1, 1e7, 1e-3 },
        { 10, 1e-4, 1e8, 1e-2 },   { 1000, 1e-2, 1e9, 1e-2 }, { 1, 1e-3, 1e6, 1e-3 },
        { 100, 1e-2, 1e7, 1e-2 },
    };

    return (struct cleave_worker){
        .speed_ups = table[kind].speed,
        .compute_latency_s = table[kind].compute_latency,
        .bandwidth_ups = table[kind].bandwidth,
        .latency_s = table[kind].latency,
        .return_bandwidth_ups = table[kind].bandwidth,
        .return_latency_s = table[kind].latency,
    };
}

enum cleave_status cv_literature_profiles(double drop, double until_s,
                                          struct cv_arena *arena,
                                          struct cv_group out[CV_PUBLISHED_PROFILES],
                                          struct cleave_error *err)
{
    for (unsigned k = 0; k < CV_PUBLISHED_PROFILES; k++) {
        const struct cv_periodic profile = {
            .drop = drop,
            .period_s = 100 * (k + 1.0),
            .phase_s = 10 * k * (k + 1.0),
            .duty = 0.5,
        };

        out[k] = (struct cv_group){ .count = 1 };
        if (!(drop > 0))
            continue;
        out[k].steps = cv_periodic_steps(&profile, until_s, arena, &out[k].nsteps);
        if (out[k].steps == NULL)
            return cv_fail_memory(err, "the profiles of workers");
    }
    return CLEAVE_OK;
}

enum cleave_status cv_literature_platform(uint32_t nworkers, enum cleave_port port,
                                          double drop, double until_s,
                                          struct cleave_platform **out,
                                          struct cleave_error *err)
{
    enum { NAME_ROOM = 16 };
    struct cv_group profiles[CV_PUBLISHED_PROFILES];
    struct cleave_worker *workers;
    struct cv_group *groups;
    enum cleave_status status;
    struct cv_arena arena;
    char *names;

    cv_arena_init(&arena);
    workers = cv_array(&arena, nworkers, sizeof *workers);
    groups = cv_array(&arena, nworkers, sizeof *groups);
    names = cv_array(&arena, nworkers, NAME_ROOM);
    status = workers != NULL && groups != NULL && names != NULL
                 ? cv_literature_profiles(drop, until_s, &arena, profiles, err)
                 : cv_fail_memory(err, "the published platform");
    for (uint32_t i = 0; status == CLEAVE_OK && i < nworkers; i++) {
        workers[i] = cv_literature_worker(i % CV_PUBLISHED_KINDS);
        groups[i] = profiles[i / CV_PUBLISHED_KINDS % CV_PUBLISHED_PROFILES];
        groups[i].name = &names[(size_t)i * NAME_ROOM];
        snprintf(&names[(size_t)i * NAME_ROOM], NAME_ROOM, "w%u", i);
    }
    if (status == CLEAVE_OK)
        status = cv_platform_build(port, workers, groups, nworkers, out, NULL, err);
    cv_arena_done(&arena);
    return status;
}
