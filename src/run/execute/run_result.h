/* run_result.h -- what came of a run. SPDX-License-Identifier: MIT */
#ifndef CV_RUN_RESULT_H
#define CV_RUN_RESULT_H
#include "run/master/muster.h"
#include "run/master/real_run.h"

/* NULL when memory is short. */
struct cleave_execution_result *cv_run_sum_up(const struct cv_real_run *run,
                                              const struct cv_muster *muster,
                                              double seconds);

/* Of a run that was stopped before it had begun. */
struct cleave_execution_result *cv_run_sum_up_nothing(int stopped_by, double seconds);

#endif
