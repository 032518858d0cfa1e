/* connect_wait.c -- how long a run waits for hosts before it begins. SPDX-License-Identifier: MIT
 *
 * A policy that takes nobody later waits for all. Others begin with those who are there: at once, as
 * long as hosts come no faster than that, where the policy counts those who are about to come when
 * it shares out; else they are waited for for a second, lest the first one is given all. */
#include "run/hosts/connect_wait.h"

#include <math.h>
#include <cleave/policy.h>

#include "model/platform/generate.h"

/* So long those who are ready wait for others, at most and since the last one came. */
static const struct cv_patience LONG = { 1, INFINITY }, SHORT = { 0.5, 0.2 };

/* Whether nothing is known of hosts: where costs are, plans are made for all of them. */
static bool is_nominal(const struct cleave_platform *platform)
{
    const struct cleave_worker *workers = cleave_platform_workers(platform);

    for (uint32_t w = 0; w < cleave_platform_nworkers(platform); w++)
        if (!cv_is_nominal(&workers[w]))
            return false;
    return true;
}

struct cv_patience cv_connect_wait_of(const struct cleave_platform *platform,
                                      const struct cleave_policy *policy, bool opens)
{
    if (!policy->takes_joiners)
        return (struct cv_patience){ INFINITY, INFINITY };
    return policy->opens_chunks && opens && is_nominal(platform) ? SHORT : LONG;
}

bool cv_connect_wait_is_short(const struct cv_patience *patience)
{
    return isfinite(patience->gap_s);
}
