/* execution.h -- all that a run needs, from what was asked to its end. SPDX-License-Identifier: MIT */
#ifndef CV_EXECUTION_H
#define CV_EXECUTION_H
#include <cleave/execute.h>
#include "engine/driver.h"
#include "run/master/exec_run.h"
#include "run/master/worker_setup.h"

/* All that a run needs; closed in reverse. */
struct cv_execution {
    const struct cleave_execution *request;
    struct cv_worker_setup setup;
    struct cv_splitter *splitter; /* owned               */
    struct cv_splitter *outputs;  /* owned: of a header that each output has, or NULL */
    struct cv_exec_run run;       /* its parts are owned */
    const struct cleave_worker *declared; /* what the policy is told of workers       */
    struct cv_planned planned;
    bool is_planned;
    double began_s;
};

/* Fill in what was left open in `filled`, a copy of what was asked, and make everything ready to be
 * opened. */
void cv_execution_prepare(struct cv_execution *execution,
                          struct cleave_execution *filled);
/* What does not depend on the input; the input, and where outputs go; what is done with these, and
 * the journal. Between the last two, who works is called. */
enum cleave_status cv_execution_open_base(struct cv_execution *execution,
                                          struct cleave_error *err);
enum cleave_status cv_execution_open_input(struct cv_execution *execution,
                                           struct cleave_error *err);
enum cleave_status cv_execution_open_outlet(struct cv_execution *execution,
                                            struct cleave_error *err);
/* A signal that came while nobody waited for anything. */
enum cleave_status cv_execution_heed_signals(struct cv_exec_run *run,
                                             struct cleave_error *err);
/* What has stopped the run, where that was seen by somebody who does not hear signals. Returns
 * `status`. */
enum cleave_status cv_execution_name_signal(struct cv_exec_run *run,
                                            enum cleave_status status);
/* What belongs to an input: hosts, and the poller, stay. Then all of it. */
void cv_execution_close_input(struct cv_execution *execution);
void cv_execution_close(struct cv_execution *execution);

/* Ask the policy for a plan of so many bytes (execution.c). */
enum cleave_status cv_execution_plan(struct cv_execution *execution, double total,
                                     struct cleave_error *err);
/* Do all of the input, write the outputs and look whether that is all. A run that failed for several
 * reasons has one status (execution_run.c). */
enum cleave_status cv_execution_run(struct cv_execution *execution,
                                    struct cleave_error *err);

/* Give the outputs of chunks that are finished and unchanged to the gather, and let the
 * rest be done again; what has changed is said. */
enum cleave_status cv_resume_known(struct cv_exec_run *run, struct cleave_error *err);

#endif
