/* patience.h -- how long a run waits for hosts before it begins. SPDX-License-Identifier: MIT */
#ifndef CV_PATIENCE_H
#define CV_PATIENCE_H
#include <cleave/policy.h>

#include "run/hosts/hosts.h"

/* Of a run on this platform, with this policy. `opens`: chunks may stay open, so that those who are
 * about to come can be counted. */
struct cv_patience cv_patience_of(const struct cleave_platform *platform,
                                  const struct cleave_policy *policy, bool opens);
/* Whether it begins with hosts that are expected any moment. */
bool cv_patience_is_short(const struct cv_patience *patience);

#endif
