/* connect_wait.h -- how long a run waits for hosts before it begins. SPDX-License-Identifier: MIT */
#ifndef CV_CONNECT_WAIT_H
#define CV_CONNECT_WAIT_H
#include <cleave/policy.h>

#include "run/hosts/hosts.h"

/* Of a run on this platform, with this policy. `opens`: chunks may stay open, so that those who are
 * about to come can be counted. */
struct cv_patience cv_connect_wait_of(const struct cleave_platform *platform,
                                      const struct cleave_policy *policy, bool opens);
/* Whether it begins with hosts that are expected any moment. */
bool cv_connect_wait_is_short(const struct cv_patience *patience);

#endif
