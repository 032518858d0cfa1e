/* profile.c -- work on a machine whose speed changes over time.
 * SPDX-License-Identifier: MIT */
#include "model/profile.h"

double cv_profile_end(const struct cleave_step *steps, uint32_t nsteps, double begin_s,
                      double work_s)
{
    double now = begin_s, factor = 1;
    uint32_t next = 0;

    while (next < nsteps && steps[next].from_s <= now)
        factor = steps[next++].factor;
    while (next < nsteps) {
        double done = (steps[next].from_s - now) * factor;

        if (work_s <= done)
            break;
        work_s -= done;
        now = steps[next].from_s;
        factor = steps[next++].factor;
    }
    return work_s > 0 ? now + work_s / factor : now;
}
