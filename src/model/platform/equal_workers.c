/* equal_workers.c -- whether all workers are alike. SPDX-License-Identifier: MIT */
#include "model/platform/equal_workers.h"

#include <stddef.h>

static const char *first_difference(const struct cleave_worker *a,
                                    const struct cleave_worker *b)
{
    if (a->speed_ups != b->speed_ups)
        return "speed";
    if (a->bandwidth_ups != b->bandwidth_ups)
        return "bandwidth";
    if (a->compute_latency_s != b->compute_latency_s)
        return "compute_latency";
    if (a->latency_s != b->latency_s)
        return "latency";
    return NULL;
}

bool cv_workers_equal(const struct cleave_worker *workers, uint32_t nworkers,
                      uint32_t *out_other, const char **out_what)
{
    for (uint32_t i = 1; i < nworkers; i++) {
        const char *what = first_difference(&workers[0], &workers[i]);

        if (what == NULL)
            continue;
        if (out_other != NULL)
            *out_other = i;
        if (out_what != NULL)
            *out_what = what;
        return false;
    }
    return true;
}
