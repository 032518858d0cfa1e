/* execution.h -- everything a run needs, from the request to its end.
 * SPDX-License-Identifier: MIT */
#ifndef CV_EXECUTION_H
#define CV_EXECUTION_H
#include <cleave/execute.h>
#include "engine/driver.h"
#include "run/master/exec_run.h"
#include "run/master/worker_setup.h"

/* Closed in reverse order. */
struct cv_execution {
    const struct cleave_execution *request;
    struct cv_worker_setup setup;
    struct cv_splitter *splitter; /* owned               */
    /* owned: of the header of each output; NULL: outputs have none */
    struct cv_splitter *outputs;
    const char *head;                     /* borrowed from the source: */
    uint64_t alone;                       /* end of the header that is a chunk; 0: none */
    struct cv_exec_run run;               /* its parts are owned */
    const struct cleave_worker *declared; /* costs of workers as the policy gets them */
    struct cv_planned planned;
    bool is_planned;
    double began_s;
    struct cv_watch cancelled;
};

/* Fill in the defaults of `filled`, a copy of the request. */
void cv_execution_prepare(struct cv_execution *execution,
                          struct cleave_execution *filled);
/* Open what does not depend on the input. */
enum cleave_status cv_execution_open_base(struct cv_execution *execution,
                                          struct cleave_error *err);
/* Open the input and the output, set up the workers, and open the result sink and the journal.
 * If an input was opened before, the workers stay: not `first`. */
enum cleave_status cv_execution_open(struct cv_execution *execution, bool first,
                                     struct cleave_error *err);
/* After cv_execution_open with `status`: take over a signal that stopped it, or that came
 * while nothing was polled. */
enum cleave_status cv_execution_opened(struct cv_exec_run *run, enum cleave_status status,
                                       struct cleave_error *err);
/* Close what belongs to the input; hosts and poller stay. Then everything. */
void cv_execution_close_input(struct cv_execution *execution);
void cv_execution_close(struct cv_execution *execution);

/* Handle signals and other events; `awaits`: until more of the stream can be read. */
enum cleave_status cv_execution_heed(struct cv_exec_run *run, bool awaits,
                                     struct cleave_error *err);
/* Process the whole input, write the outputs and check that they are complete. */
enum cleave_status cv_execution_run(struct cv_execution *execution,
                                    struct cleave_error *err);

#endif
