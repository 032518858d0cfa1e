/* literature_platforms.c -- the ten kinds of workers and the ten profiles of a paper on streams.
 * SPDX-License-Identifier: MIT */
#include "model/platform/literature_platforms.h"

#include <stdio.h>

#include "model/platform/periodic_profile.h"

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
