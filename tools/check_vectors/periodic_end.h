/* periodic_end.h -- when work ends whose speed drops for a part of every period: in one
 * step, to hold engines against. SPDX-License-Identifier: MIT */
#ifndef PERIODIC_END_H
#define PERIODIC_END_H
#include "model/platform/profile.h"

/* When work that takes `work_s` seconds at factor 1 ends if it begins at `begin_s`;
 * INFINITY if it never does. Whole periods are passed over in one step. */
double periodic_end(const struct cv_periodic *profile, double begin_s, double work_s);

#endif
