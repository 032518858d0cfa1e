/* periodic_profile.c -- a speed that drops for a part of every period.
 * SPDX-License-Identifier: MIT
 *
 * Time is kept as a number of whole periods and a place in the period, so that the edges
 * are where phase + k period puts them, however far they are. */
#include "model/platform/periodic_profile.h"

#include <math.h>

static double first_of_period(const struct cv_periodic *profile, double count)
{
    return profile->phase_s + count * profile->period_s;
}

/* Which period a time lies in. */
static double period_of(const struct cv_periodic *profile, double time_s)
{
    double count = floor((time_s - profile->phase_s) / profile->period_s);

    /* Rounding of the quotient may have crossed an edge. */
    if (first_of_period(profile, count) > time_s)
        count--;
    else if (first_of_period(profile, count + 1) <= time_s)
        count++;
    return count;
}

static double factor_at(const struct cv_periodic *profile, double time_s)
{
    const double begin = first_of_period(profile, period_of(profile, time_s));

    return time_s < begin + profile->duty * profile->period_s ? 1 - profile->drop : 1;
}

struct cleave_step *cv_periodic_steps(const struct cv_periodic *profile, double until_s,
                                      struct cv_arena *arena, uint32_t *out_n)
{
    const double slow_s = profile->duty * profile->period_s;
    const double first = period_of(profile, 0), last = period_of(profile, until_s);
    struct cleave_step *steps = NULL;
    uint32_t n = 0;

    if (last - first < UINT32_MAX / 4.0)
        steps = cv_array(arena, 2 * (size_t)fmax(1, last - first + 1) + 1, sizeof *steps);
    if (steps == NULL)
        return NULL;
    steps[n++] = (struct cleave_step){ 0, factor_at(profile, 0) };
    for (uint32_t count = 0; count <= last - first; count++) {
        const double begin = first_of_period(profile, first + count);
        const struct cleave_step edges[] = { { begin, 1 - profile->drop },
                                             { begin + slow_s, 1 } };

        for (unsigned i = 0; i < 2; i++)
            if (edges[i].from_s > 0 && edges[i].from_s <= until_s)
                steps[n++] = edges[i];
    }
    *out_n = n;
    return steps;
}
