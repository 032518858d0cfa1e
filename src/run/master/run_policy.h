/* run_policy.h -- who decides how much each worker gets. SPDX-License-Identifier: MIT
 *
 * A block is short for the policy whose chunks all have one size. This is the one place
 * that knows. */
#ifndef CV_RUN_POLICY_H
#define CV_RUN_POLICY_H
#include <cleave/execute.h>
#include <cleave/policy.h>
#include "base/arena.h"

/* The policy that was asked for, or the one that does what was. */
enum cleave_status cv_run_policy_find(const struct cleave_policy_options *request,
                                      const struct cleave_policy **out,
                                      struct cleave_error *err);
/* Its name, even if there is none of that name: borrowed. */
const char *cv_run_policy_name(const struct cleave_policy_options *request);
/* How many bytes every chunk is to have; 0: the policy decides that. */
double cv_run_policy_size(const struct cleave_policy_options *request);
/* What the policy is to be set to, a block included: *out is never NULL, and borrowed or
 * in the arena. */
enum cleave_status cv_run_policy_settings(const struct cleave_policy_options *request,
                                          struct cv_arena *arena,
                                          const struct cleave_setting **out,
                                          size_t *out_count, struct cleave_error *err);

#endif
