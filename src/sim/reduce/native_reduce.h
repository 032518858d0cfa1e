/* native_reduce.h -- the built-in simulator of reductions. SPDX-License-Identifier: MIT */
#ifndef CV_NATIVE_REDUCE_H
#define CV_NATIVE_REDUCE_H
#include "engine/engine.h"

/* Its source is a struct cv_reduce_costs. */
extern const struct cv_engine cv_engine_native_reduce;
/* The same for policies that do not hear of arrivals: there a node does one thing at a
 * time, so that a transfer and the combination after it are one event. */
extern const struct cv_engine cv_engine_native_reduce_plain;
/* The one of the two that a policy is made for. */
const struct cv_engine *cv_native_reduce_for(const struct cleave_policy *policy);

#endif
