/* execution_run.c -- a run from its plan until its outputs are written. SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "engine/driver.h"
#include "run/execute/execution.h"
#include "run/master/exec_engine.h"
#include "run/execute/resume.h"
#include "run/execute/short_stream.h"

static enum cleave_status drive(struct cv_execution *execution, struct cleave_error *err)
{
    struct cv_run run = { .platform = execution->setup.platform };
    struct cv_driver *driver;
    struct cv_outcome outcome;
    enum cleave_status status;

    CV_TRY(cv_driver_open(&execution->planned, &cv_engine_exec, execution->setup.platform,
                          &execution->run, &driver, err));
    status =
        cv_driver_run(driver, &run, execution->request->listener.trace, &outcome, err);
    cv_driver_close(driver);
    return cv_execution_name_signal(&execution->run, status);
}

/* Write what is still to be written. After a halt, what comes behind a chunk that was not
 * done never will be. */
static enum cleave_status flush(struct cv_execution *execution, struct cleave_error *err)
{
    struct cv_exec_run *run = &execution->run;
    enum cv_ordered_output_state state;

    for (;;) {
        const enum cleave_status status =
            cv_ordered_output_pump(run->outputs, 0, &state, err);

        CV_TRY(cv_exec_run_written(run, err));
        if (status != CLEAVE_OK || state == CV_GATHER_IDLE)
            return status;
        if (run->stopped_by != 0)
            return cv_fail_stopped(err);
        CV_TRY(cv_poller_wait(run->poller, -1, err));
    }
}

/* Items do not hang together: after a halt, outputs behind those that are left are wanted all
 * the same. */
static enum cleave_status pass_over_left(struct cv_execution *execution,
                                         struct cleave_error *err)
{
    struct cv_exec_run *run = &execution->run;
    struct cv_range_set left;
    struct cv_range range;
    enum cleave_status status;

    if (!run->halted || run->stopped_by != 0 || run->request->items.words == NULL ||
        run->request->reduce.command != NULL)
        return CLEAVE_OK;
    cv_range_set_init(&left);
    status = cv_input_coverage_left(&run->queue.coverage,
                                    cv_source_extent(run->queue.source), &left, err);
    for (uint64_t at = 0; status == CLEAVE_OK && cv_range_set_find(&left, at, &range);
         at = range.end)
        status = cv_result_sink_skip(run->results, range.begin, range.end, err);
    cv_range_set_done(&left);
    return status;
}

/* A record that the end of the input cuts short: something is missing there, and though all
 * that came was done, the result is not that of whole records. */
static enum cleave_status check_torn(const struct cv_execution *execution,
                                     struct cleave_error *err)
{
    struct cleave_error note;
    bool torn = false;

    CV_TRY(cv_source_ends_in_record(execution->run.queue.source, &torn, &note, err));
    if (!torn)
        return CLEAVE_OK;
    if (err != NULL)
        *err = note;
    return note.status;
}

/* What was done twice is worth a word whatever else has failed. */
static void note_fault(const struct cv_execution *execution)
{
    const struct cv_order_queue *queue = &execution->run.queue;
    struct cleave_error err;

    if (execution->request->listener.note != NULL &&
        cv_input_coverage_check(&queue->coverage, queue->source, false, &err) !=
            CLEAVE_OK)
        execution->request->listener.note(execution->request->listener.context, err.text);
}

/* A file that is decoded is damaged: do what is left of all that is before. */
static bool begin_again(struct cv_execution *execution)
{
    struct cv_exec_run *run = &execution->run;
    struct cv_order_queue *queue = &run->queue;
    struct cv_range_set left;
    bool again = false;

    if (run->stopped_by != 0 || run->halted || run->pool.hosts.count > 0)
        return false;
    cv_range_set_init(&left);
    if (cv_input_coverage_left(&queue->coverage, cv_source_extent(queue->source), &left,
                               NULL) == CLEAVE_OK)
        again = cv_source_shorten(queue->source, &left);
    cv_range_set_done(&left);
    if (!again)
        return false;
    queue->pending = queue->growing = 0;
    queue->wanted = 0;
    queue->running = 0;
    run->events.broken = false;
    cv_planned_done(&execution->planned);
    execution->is_planned = false;
    return true;
}

static enum cleave_status drive_all(struct cv_execution *execution,
                                    struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    double left;

    CV_TRY(cv_short_stream_await(execution, err));
    left = cv_source_left(execution->run.queue.source);
    while (left > 0) {
        CV_TRY(cv_execution_plan(execution, left, err));
        status = drive(execution, err);
        if (status == CLEAVE_OK || !begin_again(execution))
            return status;
        left = cv_source_left(execution->run.queue.source);
    }
    return CLEAVE_OK;
}

static enum cleave_status run_all(struct cv_execution *execution,
                                  struct cleave_error *err)
{
    struct cv_exec_run *run = &execution->run;
    enum cleave_status status;

    if (run->queue.journal != NULL)
        CV_TRY(cv_resume_known(run, err));
    status = drive_all(execution, err);
    if (status == CLEAVE_OK)
        status = cv_exec_run_settle(run, err);
    if (status == CLEAVE_OK || run->halted) {
        struct cleave_error *told = status == CLEAVE_OK ? err : NULL;
        enum cleave_status written = pass_over_left(execution, told);

        if (written == CLEAVE_OK)
            written = flush(execution, told);
        status = written == CLEAVE_OK ? status : written;
    }
    if (status == CLEAVE_OK)
        status = cv_exec_run_complete(run, err);
    else
        note_fault(execution);
    return status == CLEAVE_OK ? check_torn(execution, err) : status;
}

/* A run that failed for several reasons has one status: that of the first of these. */
static enum cleave_status name_failure(const struct cv_exec_run *run,
                                       enum cleave_status status,
                                       struct cleave_error *err)
{
    if (status == CLEAVE_OK)
        return CLEAVE_OK;
    if (run->stopped_by != 0)
        status = CLEAVE_ESTOPPED;
    else if (run->output_closed)
        status = CLEAVE_ECLOSED;
    if (err != NULL)
        err->status = status;
    return status;
}

enum cleave_status cv_execution_run(struct cv_execution *execution,
                                    struct cleave_error *err)
{
    return name_failure(&execution->run, run_all(execution, err), err);
}
