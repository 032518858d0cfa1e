/* mi.h -- multi-installment without latencies. SPDX-License-Identifier: MIT */
#ifndef CV_MI_H
#define CV_MI_H
#include <cleave/policy.h>
#include "policy/static/xmi.h"

extern const struct cleave_policy cleave_policy_mi;

/* All n workers, sizes as if there were no latencies; out->makespan_s is with them. */
enum cleave_status cv_mi_plan(const struct cleave_worker *worker, uint32_t n, double load,
                              uint32_t rounds, struct cv_arena *arena, struct cv_xmi *out,
                              struct cleave_error *err);

#endif
