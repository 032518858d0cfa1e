/* profile.h -- work on a machine whose speed changes over time.
 * SPDX-License-Identifier: MIT */
#ifndef CV_PROFILE_H
#define CV_PROFILE_H
#include <cleave/platform.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"

/* When work that takes `work_s` seconds at factor 1 ends if it begins at `begin_s`.
 * The factor is 1 before the first step and the last one lasts for ever; it is
 * integrated exactly. O(log steps + steps passed). */
double cv_profile_end(const struct cleave_profile *profile, double begin_s,
                      double work_s);
/* How many seconds of work at factor 1 are done from begin_s to end_s. */
double cv_profile_work(const struct cleave_profile *profile, double begin_s,
                       double end_s);
/* The first time from time_s on when the factor is above 0; INFINITY: never again. */
double cv_profile_back(const struct cleave_profile *profile, double time_s);
/* Whether the last factor is 0: what is not done by then never is. */
bool cv_profile_leaves(const struct cleave_profile *profile);
/* The largest factor that there ever is. */
double cv_profile_most(const struct cleave_profile *profile);

/* When a message of so many units has arrived at a worker, and when it has computed them, latencies
 * included: these are not stretched. */
double cv_profile_arrival(const struct cleave_profile *profile,
                          const struct cleave_worker *worker, double begin_s,
                          double units);
double cv_profile_computed(const struct cleave_profile *profile,
                           const struct cleave_worker *worker, double begin_s,
                           double units);

/* Whether anybody's speed changes with time; NULL: there is no platform. */
bool cv_is_changing(const struct cleave_platform *platform);

/* The profile of a worker; without steps if it has none. */
struct cleave_profile cv_profile_of(const struct cleave_platform *platform,
                                    uint32_t worker);

/* The profiles of all workers, NULL if nobody has one; *out_ok is false when memory is
 * short. */
const struct cleave_profile *cv_profiles(const struct cleave_platform *platform,
                                         struct cv_arena *arena, bool *out_ok);

/* The workers as fast as their profiles ever make them, for bounds; as they are if there are
 * none. NULL when memory is short. */
const struct cleave_worker *cv_platform_at_peak(const struct cleave_worker *workers,
                                                const struct cleave_profile *profiles,
                                                uint32_t n, struct cv_arena *arena);

struct cv_periodic {
    double drop;     /* 0 .. 1                      */
    double period_s; /* > 0                         */
    double phase_s;
    double duty; /* 0 .. 1: part of the period with the drop */
};

/* The profile as steps from time 0 up to `until_s`, *out_n of them; NULL when memory
 * is short or there would be too many. The last step lasts for ever, as it does in a
 * platform. */
struct cleave_step *cv_periodic_steps(const struct cv_periodic *profile, double until_s,
                                      struct cv_arena *arena, uint32_t *out_n);

#endif
