/* best_planner.h -- the planner made for a kind of platform. SPDX-License-Identifier: MIT */
#ifndef CV_BEST_PLANNER_H
#define CV_BEST_PLANNER_H
#include <cleave/policy.h>

/* For exact costs: links for a multi-port master, else xmi-k for equal workers and
 * umr-plus for unequal ones. All are plans fixed in advance. *out_why (static; may be
 * NULL) says what decided. */
const struct cleave_policy *cv_best_planner(const struct cleave_view *view,
                                            const char **out_why);

#endif
