/* periodic_end.c -- when work ends whose speed drops for a part of every period.
 * SPDX-License-Identifier: MIT */
#include "periodic_end.h"

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

double periodic_end(const struct cv_periodic *profile, double begin_s, double work_s)
{
    const double slow_s = profile->duty * profile->period_s;
    const double low = 1 - profile->drop;
    const double per_period = slow_s * low + (profile->period_s - slow_s);
    double now = begin_s, count = period_of(profile, begin_s);

    if (!(work_s > 0))
        return begin_s;
    if (!(per_period > 0))
        return INFINITY;
    for (;;) {
        const double edge = first_of_period(profile, count) + slow_s;
        const double next = first_of_period(profile, count + 1);

        if (now < edge) {
            if (work_s <= (edge - now) * low)
                return now + work_s / low;
            work_s -= (edge - now) * low;
            now = edge;
        }
        if (work_s <= next - now)
            return now + work_s;
        work_s -= next - now;
        count += 1 + floor(work_s / per_period);
        work_s = fmod(work_s, per_period);
        now = first_of_period(profile, count);
        if (!(work_s > 0))
            return now;
    }
}
