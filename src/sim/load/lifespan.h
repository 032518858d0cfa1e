/* lifespan.h -- plan for a load, or for as much as ends within a lifespan.
 * SPDX-License-Identifier: MIT */
#ifndef CV_LIFESPAN_H
#define CV_LIFESPAN_H
#include "sim/load/load_case.h"

/* The most units that end within a lifespan are found as far as the makespan grows with the
 * load. If the case has a meter, all that is tried counts there. */
enum cleave_status cv_load_case_plan(const struct cv_load_case *load_case,
                                     const struct cleave_job *job,
                                     struct cv_planned *planned,
                                     struct cleave_error *err);
#endif
