/* rounds_varied.h -- rounds with results for workers whose speed changes, or who are away for a
 * while. SPDX-License-Identifier: MIT */
#ifndef CV_ROUNDS_VARIED_H
#define CV_ROUNDS_VARIED_H
#include <cleave/policy.h>
#include "model/rounds/rounds.h"
#include "policy/common/setup.h"

/* A plan for the load of a view that has profiles. `plan` was made without them, and is left if
 * nothing better is found; its makespan is what it comes to. */
enum cleave_status cv_rounds_varied(const struct cleave_view *view,
                                    enum cv_rounds_effort effort,
                                    struct cleave_setup *setup,
                                    struct cv_rounds_plan *plan,
                                    struct cleave_error *err);

#endif
