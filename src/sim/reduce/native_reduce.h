/* native_reduce.h -- the built-in simulator of reductions. SPDX-License-Identifier: MIT */
#ifndef CV_NATIVE_REDUCE_H
#define CV_NATIVE_REDUCE_H
#include "engine/engine.h"

/* The simulator that a policy is made for. Its source is a struct cv_reduce_costs. */
const struct cv_engine *cv_native_reduce_for(const struct cleave_policy *policy);

#endif
