/* series.c -- one input after the other, with the same workers. SPDX-License-Identifier: MIT */
#include "run/execute/series.h"

#include "base/fail.h"
#include "run/execute/execution.h"

/* As it was before the first input, but for who works and what links they have. */
static void forget_input(struct cv_execution *execution)
{
    struct cv_exec_run *run = &execution->run;
    const struct cv_exec_run before = *run;

    cv_execution_close_input(execution);
    cv_source_free(run->queue.source);
    *run = (struct cv_exec_run){ .request = before.request,
                                 .poller = before.poller,
                                 .pool = before.pool,
                                 .table = before.table,
                                 .stay = before.stay,
                                 .limiter = before.limiter,
                                 .stopped_by = before.stopped_by };
    run->pool.health = (struct cv_worker_health){ .count = 0 };
    execution->declared = NULL; /* who is there will have changed */
    run->pool.hosts.source = NULL;
    run->queue.events = &run->events;
}

static enum cleave_status open_next(struct cv_execution *execution, bool first,
                                    struct cleave_error *err)
{
    struct cv_exec_run *run = &execution->run;

    CV_TRY(cv_execution_open_input(execution, err));
    if (first)
        CV_TRY(cv_worker_setup_connect(&execution->setup, &run->pool, execution->request,
                                       cv_splitter_frames(execution->splitter),
                                       &run->stopped_by, err));
    else
        CV_TRY(cv_worker_setup_refresh(&execution->setup, &run->pool, err));
    return cv_execution_open_outlet(execution, err);
}

/* One input, from when it is there until its output is. */
static enum cleave_status run_one(struct cv_execution *execution, bool first,
                                  bool *out_failed, struct cleave_error *err)
{
    struct cv_exec_run *run = &execution->run;
    enum cleave_status status =
        cv_execution_name_signal(run, open_next(execution, first, err));

    if (status == CLEAVE_OK)
        status = cv_execution_heed_signals(run, err);
    if (status == CLEAVE_OK)
        status = cv_execution_run(execution, err);
    cv_note_failures_end(&run->failures, execution->request);
    *out_failed = run->queue.failed > 0;
    /* That its commands fail is no fault of this run. */
    if (run->halted && *out_failed && status == CLEAVE_EENGINE)
        status = CLEAVE_OK;
    forget_input(execution);
    return status;
}

/* There is no other input: let commands that stay end, as they do behind the last chunk. */
static enum cleave_status let_leave(struct cv_exec_run *run, struct cleave_error *err)
{
    while (!cv_attempt_table_drain(&run->table, false)) {
        CV_TRY(cv_poller_wait(run->poller, -1, err));
        if (run->stopped_by != 0)
            return cv_fail_stopped(err);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_execute_series(const struct cleave_execution *request,
                                     const struct cv_series *series,
                                     struct cleave_error *err)
{
    struct cleave_execution filled = *request;
    struct cv_execution execution = { .request = &filled, .began_s = cv_clock_s() };
    struct cv_exec_run *run = &execution.run;
    const char *path[] = { NULL };
    bool failed;
    enum cleave_status status;

    cv_execution_prepare(&execution, &filled);
    filled.input.files = path;
    filled.input.count = 1;
    run->stay = filled.persistent;
    status = cv_execution_open_base(&execution, err);
    for (bool first = true; status == CLEAVE_OK; first = false) {
        status =
            series->next(series->context, run->poller, &run->stopped_by, &path[0], err);
        if (status != CLEAVE_OK || path[0] == NULL)
            break;
        status = run_one(&execution, first, &failed, err);
        if (status == CLEAVE_OK)
            status = series->over(series->context, failed, err);
    }
    if (status == CLEAVE_OK)
        status = let_leave(run, err);
    cv_execution_close(&execution);
    return status;
}
