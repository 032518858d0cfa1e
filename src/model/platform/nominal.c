/* nominal.c -- workers of which nothing is known yet. SPDX-License-Identifier: MIT */
#include "model/platform/nominal.h"

#include <stdlib.h>

#include "model/platform/platform_internal.h"

/* Links on one machine are pipes, so wide that they never matter; those to others may be a
 * network. */
static const struct cleave_worker workers[] = {
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
        kinds[i] = workers[kind];
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
    return workers[kind];
}

bool cv_is_nominal(const struct cleave_worker *worker)
{
    for (size_t i = 0; i < sizeof workers / sizeof *workers; i++)
        if (worker->speed_ups == workers[i].speed_ups &&
            worker->compute_latency_s == workers[i].compute_latency_s &&
            worker->bandwidth_ups == workers[i].bandwidth_ups &&
            worker->latency_s == workers[i].latency_s)
            return true;
    return false;
}
