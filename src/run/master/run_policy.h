/* run_policy.h -- the policy of a run and its settings. SPDX-License-Identifier: MIT
 *
 * policy.block is short for the policy whose chunks all have one size. */
#ifndef CV_RUN_POLICY_H
#define CV_RUN_POLICY_H
#include <cleave/execute.h>
#include <cleave/policy.h>
#include "base/arena.h"

enum cleave_status cv_run_policy_find(const struct cleave_policy_options *request,
                                      const struct cleave_policy **out,
                                      struct cleave_error *err);
/* The name as requested, even if no policy has it: borrowed. */
const char *cv_run_policy_name(const struct cleave_policy_options *request);
/* Size of all chunks in bytes; 0: the policy decides. */
double cv_run_policy_size(const struct cleave_policy_options *request);
/* All settings, including a block: *out is never NULL, and borrowed or in the arena. */
enum cleave_status cv_run_policy_settings(const struct cleave_policy_options *request,
                                          struct cv_arena *arena,
                                          const struct cleave_setting **out,
                                          size_t *out_count, struct cleave_error *err);

#endif
