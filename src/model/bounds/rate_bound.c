/* rate_bound.c -- the least time for items on workers with rates. SPDX-License-Identifier: MIT */
#include "model/bounds/rate_bound.h"

#include <math.h>

enum { DOUBLINGS = 2000, HALVINGS = 100 };

static double done_by(const struct cv_rated_workers *groups, size_t count, double time_s)
{
    double done = 0;

    for (size_t i = 0; i < count; i++) {
        const struct cv_rated_workers *group = &groups[i];
        const double able = group->speed_ups * time_s;
        double windows, rest;

        if (!(group->amount > 0)) {
            done += able;
            continue;
        }
        windows = floor(time_s / group->period_s);
        rest = group->workers + group->speed_ups * (time_s - windows * group->period_s);
        done += fmin(able, windows * group->amount + fmin(group->amount, rest));
    }
    return done;
}

double cv_rate_bound_s(const struct cv_rated_workers *groups, size_t count, double items)
{
    const double enough = items * (1 - 1e-9);
    double low_s = 0, high_s = 1e-9;

    if (!(items > 0))
        return 0;
    for (int i = 0; i < DOUBLINGS && done_by(groups, count, high_s) < enough; i++)
        high_s *= 2;
    if (!isfinite(high_s))
        return INFINITY;
    for (int i = 0; i < HALVINGS; i++) {
        const double middle_s = low_s + (high_s - low_s) / 2;

        if (done_by(groups, count, middle_s) < enough)
            low_s = middle_s;
        else
            high_s = middle_s;
    }
    return high_s;
}
