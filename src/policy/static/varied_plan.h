/* varied_plan.h -- plans for workers with profiles: changing speeds and absences.
 * SPDX-License-Identifier: MIT */
#ifndef CV_VARIED_PLAN_H
#define CV_VARIED_PLAN_H
#include <cleave/policy.h>
#include "model/load/plan.h"
#include "policy/common/setup.h"

/* The best plan found for the load of the view, which has profiles; with `one_round` a
 * worker has at most one chunk. `other`, if not NULL, is a plan made without profiles;
 * the result is never worse. *out_s is its makespan. A search that the setup limits ends
 * with the best so far. */
enum cleave_status cv_varied_plan(const struct cleave_view *view, bool one_round,
                                  const struct cv_plan *other, struct cleave_setup *setup,
                                  struct cv_plan *out, double *out_s,
                                  struct cleave_error *err);

#endif
