/* profile.c -- work on a machine whose speed changes over time.
 * SPDX-License-Identifier: MIT */
#include "model/platform/profile.h"

/* How many steps have begun at a time. */
static uint32_t steps_begun(const struct cleave_step *steps, uint32_t nsteps,
                            double time_s)
{
    uint32_t low = 0, high = nsteps;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (steps[middle].from_s <= time_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

double cv_profile_end(const struct cleave_step *steps, uint32_t nsteps, double begin_s,
                      double work_s)
{
    uint32_t next = steps_begun(steps, nsteps, begin_s);
    double now = begin_s, factor = next > 0 ? steps[next - 1].factor : 1;

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

double cv_profile_work(const struct cleave_step *steps, uint32_t nsteps, double begin_s,
                       double end_s)
{
    uint32_t next = steps_begun(steps, nsteps, begin_s);
    double now = begin_s, factor = next > 0 ? steps[next - 1].factor : 1, work_s = 0;

    while (next < nsteps && steps[next].from_s < end_s) {
        work_s += (steps[next].from_s - now) * factor;
        now = steps[next].from_s;
        factor = steps[next++].factor;
    }
    return work_s + (end_s - now) * factor;
}
