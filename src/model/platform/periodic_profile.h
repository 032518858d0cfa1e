/* periodic_profile.h -- a speed that drops for a part of every period.
 * SPDX-License-Identifier: MIT
 *
 * The factor on speed and bandwidths is 1 - drop while (t - phase) mod period is less
 * than duty * period, and 1 else; so it is before the phase as well. */
#ifndef CV_PERIODIC_PROFILE_H
#define CV_PERIODIC_PROFILE_H
#include <stdint.h>
#include <cleave/platform.h>
#include "base/arena.h"

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
