/* execution_run.c -- a run from its plan until its outputs are written.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include "base/fail.h"
#include "engine/driver.h"
#include "run/common/poller.h"
#include "run/execute/execution.h"
#include "run/input/source.h"
#include "run/master/exec_run.h"
#include "run/master/run_policy.h"

/* --- is a stream a short one? ------------------------------------------------------ */

/* The size of a stream is unknown, so the first command is given what a pipe holds. If
 * records are few and slow, such as 4,000 names in a pipe, that can be most of the
 * input. Such streams usually end at once, so wait for the end. */

/* Longer than a writer needs to exit after its last write, and too short to be
 * noticed. */
#define SOON_S 0.01

enum { MUCH = 256 * 1024 }; /* a stream with more bytes is not short */

struct wait {
    struct cv_exec_run *run;
    double until_s; /* 0: nothing has arrived */
};

static void input_ready(void *context, unsigned events)
{
    struct wait *wait = context;
    struct cleave_error err;

    (void)events;
    if (!(wait->until_s > 0))
        wait->until_s = cv_clock_s() + SOON_S;
    if (cv_source_pump(wait->run->queue.source, &err) != CLEAVE_OK)
        cv_event_queue_fail(&wait->run->events, &err);
}

/* Whether the policy sizes chunks by the input, and workers can be fed small pieces. */
static enum cleave_status is_worth_it(const struct cv_execution *execution, bool *out,
                                      struct cleave_error *err)
{
    const struct cv_exec_run *run = &execution->run;
    const struct cleave_policy *policy;

    CV_TRY(cv_run_policy_find(&execution->request->policy, &policy, err));
    *out = policy->opens_chunks && run->pool.hosts.count == 0 &&
           execution->request->items.words == NULL && cv_source_flows(run->queue.source);
    return CLEAVE_OK;
}

/* Whether waiting is still useful. Signals and closed outputs are left to the run. A
 * compressed stream is read by its decoder. */
static bool may_be_short(struct wait *wait, int fd)
{
    struct cv_exec_run *run = wait->run;
    const struct cv_source *source = run->queue.source;

    return !run->events.broken && run->stopped_by == 0 &&
           cv_exec_run_written(run, NULL) == CLEAVE_OK && cv_source_wants(source) &&
           cv_source_poll_fd(source) == fd && cv_source_extent(source) < MUCH &&
           !(wait->until_s > 0 && cv_clock_s() >= wait->until_s);
}

/* Before the plan: wait for the first bytes of a stream, and a moment longer for its
 * end while it is small. Its size is then known like that of a file. This delays
 * nothing, because no command starts before input arrives. */
static enum cleave_status short_stream_await(struct cv_execution *execution,
                                             struct cleave_error *err)
{
    struct cv_exec_run *run = &execution->run;
    const int fd = cv_source_poll_fd(run->queue.source);
    const double look_s = run->request->listener.progress != NULL ? CV_LOOK_S : -1;
    struct wait wait = { .run = run };
    struct cv_watch watch = { 0 };
    double shown_s = 0;
    enum cleave_status status;
    bool worth_it;

    CV_TRY(is_worth_it(execution, &worth_it, err));
    if (!worth_it)
        return CLEAVE_OK;
    run->events.began_s = execution->began_s;
    status = cv_poller_add(run->poller, &watch, fd, CV_READABLE, input_ready, &wait, err);
    while (status == CLEAVE_OK && may_be_short(&wait, fd)) {
        cv_progress_look(run, &shown_s);
        status = cv_poller_wait(run->poller,
                                wait.until_s > 0 ? fmax(0, wait.until_s - cv_clock_s())
                                                 : look_s,
                                err);
    }
    cv_poller_remove(run->poller, &watch);
    return status;
}

/* --- a run from its plan until its outputs are written ----------------------------- */

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

/* Write the remaining outputs. After a halt, outputs after a missing chunk are not
 * written. */
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

/* Items are independent: after a halt, outputs after missing ones are written. */
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

/* The input ends within a record: it is probably truncated, so the run fails although
 * everything was processed. */
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

/* Report bytes that were processed twice, whatever else has failed. */
static void note_fault(const struct cv_execution *execution)
{
    const struct cv_order_queue *queue = &execution->run.queue;
    struct cleave_error err;

    if (execution->request->listener.note != NULL &&
        cv_input_coverage_check(&queue->coverage, queue->source, false, &err) !=
            CLEAVE_OK)
        execution->request->listener.note(execution->request->listener.context, err.text);
}

/* A compressed file is damaged: process what precedes the damage. */
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

    CV_TRY(short_stream_await(execution, err));
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

/* The status of a run that failed for several reasons is the first of these. */
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
