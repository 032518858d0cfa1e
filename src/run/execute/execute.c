/* execute.c -- cleave_execute. SPDX-License-Identifier: MIT */
#include <cleave/execute.h>
#include "base/fail.h"
#include "run/execute/execution.h"
#include "run/execute/run_result.h"
#include "run/master/exec_run.h"

static enum cleave_status open_parts(struct cv_execution *execution,
                                     struct cleave_error *err)
{
    struct cv_exec_run *run = &execution->run;

    CV_TRY(cv_execution_open_base(execution, err));
    CV_TRY(cv_execution_open_input(execution, err));
    CV_TRY(cv_worker_setup_connect(&execution->setup, &run->pool, execution->request,
                                   cv_splitter_frames(execution->splitter),
                                   &run->stopped_by, err));
    return cv_execution_open_outlet(execution, err);
}

/* Folds are not events of the policy: they follow everything else in the trace. */
static enum cleave_status note_folds(const struct cv_exec_run *run,
                                     enum cleave_status status, struct cleave_error *err)
{
    struct cleave_error other;
    enum cleave_status written;

    if (run->folds.count == 0)
        return status;
    written = cv_fold_log_write(&run->folds, run->events.began_s,
                                run->request->listener.trace, &other);
    if (status != CLEAVE_OK || written == CLEAVE_OK)
        return status;
    if (err != NULL)
        *err = other;
    return written;
}

enum cleave_status cleave_execute(const struct cleave_execution *request,
                                  struct cleave_execution_result **out,
                                  struct cleave_error *err)
{
    struct cleave_execution filled = *request;
    struct cv_execution execution = { .request = &filled, .began_s = cv_clock_s() };
    enum cleave_status status;

    *out = NULL;
    cv_execution_prepare(&execution, &filled);
    status = cv_execution_name_signal(&execution.run, open_parts(&execution, err));
    if (status == CLEAVE_OK)
        status = cv_execution_heed_signals(&execution.run, err);
    if (status != CLEAVE_OK && execution.run.stopped_by != 0) {
        status = cv_fail_stopped(err);
        *out = cv_run_sum_up_nothing(execution.run.stopped_by,
                                     cv_clock_s() - execution.began_s);
    } else if (status == CLEAVE_OK) {
        status = cv_execution_run(&execution, err);
        status = note_folds(&execution.run, status, err);
        cv_note_failures_end(&execution.run.failures, &filled);
        cv_note_rests(&filled, &execution.run.pool);
        *out = cv_run_sum_up(&execution.run, &execution.setup,
                             cv_clock_s() - execution.began_s);
        if (*out == NULL && status == CLEAVE_OK)
            status = cv_fail_memory(err, "the summary");
    }
    cv_execution_close(&execution);
    return status;
}
