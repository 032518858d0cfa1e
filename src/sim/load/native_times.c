/* native_times.c -- when an activity ends under noise and profiles.
 * SPDX-License-Identifier: MIT */
#include "model/platform/profile.h"
#include "sim/load/native_parts.h"

double cv_native_end_of(const struct native *native, const struct chunk *chunk,
                        enum cv_activity activity, double latency_s, double work_s)
{
    double factor = 1;
    uint32_t nsteps;
    const struct cleave_step *steps;

    if (native->noisy)
        factor = cv_noise_factor(&native->run->noise, activity, chunk->worker, chunk->nth,
                                 chunk->number);
    if (native->steady)
        return native->now_s + factor * (latency_s + work_s);
    steps = cleave_platform_profile(native->platform, chunk->worker, &nsteps);
    return cv_profile_end(steps, nsteps, native->now_s + factor * latency_s,
                          factor * work_s);
}
