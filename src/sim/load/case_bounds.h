/* case_bounds.h -- what no schedule of a case can beat. SPDX-License-Identifier: MIT */
#ifndef CV_CASE_BOUNDS_H
#define CV_CASE_BOUNDS_H
#include "model/bounds/load_bounds.h"
#include "sim/load/load_case.h"

/* All bounds for what was planned: at most CV_MAX_BOUNDS of them, and which is the
 * tightest. Returns how many; 0 when memory is short. */
size_t cv_load_case_bounds(const struct cv_load_case *load_case,
                           const struct cv_planned *planned, struct cv_arena *arena,
                           struct cleave_bound *out, size_t *out_tightest);

#endif
