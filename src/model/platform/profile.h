/* profile.h -- work on a machine whose speed changes over time.
 * SPDX-License-Identifier: MIT */
#ifndef CV_PROFILE_H
#define CV_PROFILE_H
#include <stddef.h>
#include <stdint.h>
#include <cleave/platform.h>

/* When work that takes `work_s` seconds at factor 1 ends if it begins at `begin_s`.
 * The factor is 1 before the first step and the last one lasts for ever; it is
 * integrated exactly. O(log steps + steps passed). */
double cv_profile_end(const struct cleave_step *steps, uint32_t nsteps, double begin_s,
                      double work_s);
/* How many seconds of work at factor 1 are done from begin_s to end_s. */
double cv_profile_work(const struct cleave_step *steps, uint32_t nsteps, double begin_s,
                       double end_s);

#endif
