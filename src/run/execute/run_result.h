/* run_result.h -- the result of a run. SPDX-License-Identifier: MIT */
#ifndef CV_RUN_RESULT_H
#define CV_RUN_RESULT_H
#include "run/master/worker_setup.h"
#include "run/master/exec_run.h"

/* NULL: out of memory. */
struct cleave_execution_result *cv_run_sum_up(const struct cv_exec_run *run,
                                              const struct cv_worker_setup *setup,
                                              double seconds);

/* The result of a run that was stopped before it began. */
struct cleave_execution_result *cv_run_sum_up_nothing(int stopped_by, double seconds);

#endif
