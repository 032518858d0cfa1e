/* resume.h -- begin where an earlier run ended. SPDX-License-Identifier: MIT */
#ifndef CV_RESUME_H
#define CV_RESUME_H
#include "run/master/exec_run.h"

/* Open the journal that was asked for, for a new run or to resume one. */
enum cleave_status cv_resume_open(struct cv_order_queue *queue,
                                  const struct cleave_execution *request,
                                  const struct cv_splitter *splitter,
                                  struct cleave_error *err);
/* Give the outputs of chunks that are finished and unchanged to the gather, and let the
 * rest be done again; what has changed is said. */
enum cleave_status cv_resume_known(struct cv_exec_run *run, struct cleave_error *err);
/* How fast workers were, if nobody has declared anything and the journal knows it of all:
 * *declared becomes what is told of them instead, in the arena, and a line says so. */
enum cleave_status cv_resume_speeds(const struct cv_exec_run *run, struct cv_arena *arena,
                                    const struct cleave_worker **declared,
                                    struct cleave_error *err);

#endif
