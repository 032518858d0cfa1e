/* profile.c -- work on a machine whose speed changes over time.
 * SPDX-License-Identifier: MIT */
#include "model/platform/profile.h"

#include <math.h>
#include "base/bisect.h"

/* How many steps have begun at a time. */
static uint32_t steps_begun(const struct cleave_profile *profile, double time_s)
{
    uint32_t begun;

    CV_BISECT(begun, profile->nsteps, i, profile->steps[i].from_s <= time_s);
    return begun;
}

double cv_profile_end(const struct cleave_profile *profile, double begin_s, double work_s)
{
    const struct cleave_step *steps = profile->steps;
    uint32_t next = steps_begun(profile, begin_s);
    double now = begin_s, factor = next > 0 ? steps[next - 1].factor : 1;

    while (next < profile->nsteps) {
        double done = (steps[next].from_s - now) * factor;

        if (work_s <= done)
            break;
        work_s -= done;
        now = steps[next].from_s;
        factor = steps[next++].factor;
    }
    return work_s > 0 ? now + work_s / factor : now;
}

double cv_profile_work(const struct cleave_profile *profile, double begin_s, double end_s)
{
    const struct cleave_step *steps = profile->steps;
    uint32_t next = steps_begun(profile, begin_s);
    double now = begin_s, factor = next > 0 ? steps[next - 1].factor : 1, work_s = 0;

    while (next < profile->nsteps && steps[next].from_s < end_s) {
        work_s += (steps[next].from_s - now) * factor;
        now = steps[next].from_s;
        factor = steps[next++].factor;
    }
    return work_s + (end_s - now) * factor;
}

double cv_profile_back(const struct cleave_profile *profile, double time_s)
{
    const struct cleave_step *steps = profile->steps;
    uint32_t next = steps_begun(profile, time_s);

    if (next == 0 || steps[next - 1].factor > 0)
        return time_s;
    while (next < profile->nsteps && !(steps[next].factor > 0))
        next++;
    return next < profile->nsteps ? steps[next].from_s : INFINITY;
}

double cv_profile_most(const struct cleave_profile *profile)
{
    double max = profile->nsteps > 0 && !(profile->steps[0].from_s > 0) ? 0 : 1;

    for (uint32_t i = 0; i < profile->nsteps; i++)
        max = fmax(max, profile->steps[i].factor);
    return max;
}

bool cv_profile_leaves(const struct cleave_profile *profile)
{
    return profile->nsteps > 0 && !(profile->steps[profile->nsteps - 1].factor > 0);
}

double cv_profile_arrival(const struct cleave_profile *profile,
                          const struct cleave_worker *worker, double begin_s,
                          double units)
{
    return cv_profile_end(profile, begin_s + worker->latency_s,
                          units / worker->bandwidth_ups);
}

double cv_profile_computed(const struct cleave_profile *profile,
                           const struct cleave_worker *worker, double begin_s,
                           double units)
{
    return cv_profile_end(profile, begin_s + worker->compute_latency_s,
                          units / worker->speed_ups);
}

struct cleave_profile cv_profile_of(const struct cleave_platform *platform,
                                    uint32_t worker)
{
    struct cleave_profile profile = { 0 };

    profile.steps = cleave_platform_profile(platform, worker, &profile.nsteps);
    return profile;
}

bool cv_is_changing(const struct cleave_platform *platform)
{
    for (uint32_t w = 0; platform != NULL && w < cleave_platform_nworkers(platform); w++)
        if (cv_profile_of(platform, w).nsteps > 0)
            return true;
    return false;
}

const struct cleave_profile *cv_profiles(const struct cleave_platform *platform,
                                         struct cv_arena *arena, bool *out_ok)
{
    const uint32_t n = cleave_platform_nworkers(platform);
    struct cleave_profile *all = NULL;

    *out_ok = true;
    for (uint32_t w = 0; w < n; w++) {
        const struct cleave_profile one = cv_profile_of(platform, w);

        if (one.nsteps == 0)
            continue;
        if (all == NULL && (all = cv_array(arena, n, sizeof *all)) == NULL) {
            *out_ok = false;
            return NULL;
        }
        all[w] = one;
    }
    return all;
}

const struct cleave_worker *cv_platform_at_peak(const struct cleave_worker *workers,
                                                const struct cleave_profile *profiles,
                                                uint32_t n, struct cv_arena *arena)
{
    struct cleave_worker *fastest;

    if (profiles == NULL)
        return workers;
    fastest = cv_array(arena, n, sizeof *fastest);
    for (uint32_t w = 0; fastest != NULL && w < n; w++) {
        const double max = fmax(1e-9, cv_profile_most(&profiles[w]));

        fastest[w] = workers[w];
        fastest[w].speed_ups *= max;
        fastest[w].bandwidth_ups *= max;
        fastest[w].return_bandwidth_ups *= max;
    }
    return fastest;
}

/* --- a speed that drops for a part of every period --------------------------------- */

/* Time is kept as a number of whole periods and a place in the period, so that the edges
 * are where phase + k period puts them, however far they are. */

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
    struct cleave_step *steps;
    uint32_t n = 0;

    if (!(last - first < UINT32_MAX / 4.0) ||
        !CV_NEW(arena, steps, 2 * (size_t)fmax(1, last - first + 1) + 1))
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
