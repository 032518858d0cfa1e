/* exec_run.c -- early ends of a run, its final checks, and waiting for resources.
 * SPDX-License-Identifier: MIT */
#include "run/master/exec_run.h"

#include <errno.h>
#include <math.h>
#include "base/fail.h"

/* Whether something is running that the end of the run has to wait for. */
static bool busy(struct cv_exec_run *run)
{
    return run->queue.running > 0 || cv_result_sink_busy(run->results) ||
           !cv_exec_run_left(run);
}

bool cv_exec_run_left(struct cv_exec_run *run)
{
    return cv_attempt_table_drain(&run->table, run->stay && !run->stopping);
}

enum cleave_status cv_exec_run_written(struct cv_exec_run *run, struct cleave_error *err)
{
    int reason = 0;
    const enum cleave_status status =
        cv_ordered_output_status(run->outputs, &reason, err);

    /* A line-buffered write may have seen the closed pipe first. */
    run->output_closed |= status != CLEAVE_OK && reason == EPIPE;
    if (status == CLEAVE_OK || reason != EPIPE)
        return status;
    if (err != NULL)
        err->status = CLEAVE_ECLOSED;
    return CLEAVE_ECLOSED;
}

enum cleave_status cv_exec_run_check(struct cv_exec_run *run, struct cleave_error *err)
{
    if (run->stopped_by != 0 && !run->stopping) {
        run->stopping = true;
        cv_attempt_table_stop(&run->table);
    }
    if (run->stopping || run->halted)
        cv_result_sink_stop(run->results);
    CV_TRY(cv_result_sink_status(run->results, &run->reduce_failed, err));
    CV_TRY(cv_exec_run_written(run, err));
    CV_TRY(cv_event_queue_status(&run->events, err));
    if (!run->stopping && run->queue.open)
        CV_TRY(cv_worker_pool_check(&run->pool, err));
    if ((!run->stopping && !run->halted) || busy(run))
        return CLEAVE_OK;
    if (run->unfit)
        return cv_fail(
            err, CLEAVE_EENGINE,
            "halted: no host can run the command: %llu %ss failed, none succeeded",
            (unsigned long long)run->queue.failed,
            run->request->items.words != NULL ? "item" : "chunk");
    /* A running command may have succeeded since the run was halted. */
    if (run->hopeless && run->pool.health.anybody && !run->start_failed &&
        !run->middle_succeeded)
        return cv_fail(
            err, CLEAVE_EENGINE,
            "halted: %llu chunks failed, only first chunks of files succeeded: if the "
            "input has a header, use input.header (failures.halt never: do not halt)",
            (unsigned long long)run->queue.failed);
    if (run->hopeless)
        return cv_fail(err, CLEAVE_EENGINE,
                       "halted: %llu chunks failed and none succeeded: does the command "
                       "read standard input? (failures.halt never: do not halt)",
                       (unsigned long long)run->queue.failed);
    if (run->halted && run->request->failures.halt_on == CLEAVE_HALT_ON_LATER)
        return cv_fail(err, CLEAVE_EENGINE,
                       "halted: %llu commands in a row asked to be run later",
                       (unsigned long long)run->queue.later_in_a_row);
    if (run->halted && run->request->failures.halt_on != CLEAVE_HALT_ON_FAILURES)
        return cv_fail(err, CLEAVE_EENGINE, "halted, as asked for");
    return run->halted ? cv_fail(err, CLEAVE_EENGINE, "halted after %llu failed %s%s",
                                 (unsigned long long)run->queue.failed,
                                 run->request->items.words != NULL ? "command" : "chunk",
                                 run->queue.failed == 1 ? "" : "s")
                       : cv_fail_stopped(err);
}

static enum cleave_status
until_done(struct cv_exec_run *run,
           enum cleave_status (*go_on)(struct cv_result_sink *results, bool *out_done,
                                       struct cleave_error *err),
           struct cleave_error *err)
{
    for (;;) {
        bool done;

        CV_TRY(cv_exec_run_check(run, err));
        CV_TRY(go_on(run->results, &done, err));
        if (done)
            return CLEAVE_OK;
        CV_TRY(cv_poller_wait(run->poller, -1, err));
    }
}

enum cleave_status cv_exec_run_relieve(struct cv_exec_run *run, struct cleave_error *err)
{
    return until_done(run, cv_result_sink_free_memory, err);
}

enum cleave_status cv_exec_run_settle(struct cv_exec_run *run, struct cleave_error *err)
{
    return until_done(run, cv_result_sink_finish, err);
}

enum cleave_status cv_exec_run_complete(const struct cv_exec_run *run,
                                        struct cleave_error *err)
{
    const struct cv_order_queue *queue = &run->queue;

    const bool whole = !cv_source_is_short(queue->source);

    CV_TRY(cv_input_coverage_check(&queue->coverage, queue->source, whole, err));
    CV_TRY(cv_order_queue_check(queue, err));
    if (!whole) /* outputs after the end of a shortened input are not written */
        return CLEAVE_OK;
    CV_TRY(cv_result_sink_check(run->results, queue->coverage.settled.total, err));
    if (cv_ordered_output_pending(run->outputs))
        return cv_fail(
            err, CLEAVE_EACCOUNT,
            "outputs were not written: earlier output is missing: a defect of cleave");
    return CLEAVE_OK;
}

/* --- commands that wait for resources -------------------------------------------------- */

/* Commands of this machine that will end without another order. */
static struct cv_start_usage count_running(void *context)
{
    const struct cv_exec_run *run = context;
    struct cv_start_usage crowd = { .held = 0 };

    if (run->results != NULL)
        crowd.busy = cv_result_sink_busy(run->results);
    for (uint32_t w = 0; w < run->table.count; w++)
        for (uint32_t i = 0;
             run->pool.host_of[w] == NULL && i < run->table.items[w].count; i++) {
            const struct cv_attempt *attempt = &run->table.items[w].items[i];
            const bool waits = cv_attempt_awaits_order(attempt);

            crowd.busy += cv_attempt_is_running(attempt) && !waits;
            crowd.held += cv_attempt_is_running(attempt) && waits;
        }
    return crowd;
}

static void tell(void *context, const char *why)
{
    const struct cv_exec_run *run = context;

    cv_note(run->request, "%s: commands wait until others have ended", why);
}

void cv_resource_wait_watch(struct cv_exec_run *run)
{
    run->limiter.look = count_running;
    run->limiter.tell = tell;
    run->limiter.context = run;
}

enum cleave_status cv_resource_wait_look(struct cv_exec_run *run,
                                         const struct cv_slot *slot,
                                         struct cleave_error *err)
{
    return cv_slot_starts(slot) ? cv_start_limiter_room(&run->limiter, err) : CLEAVE_OK;
}

bool cv_resource_wait_wait(struct cv_exec_run *run, const struct cv_slot *slot,
                           const struct cleave_error *why)
{
    return !cv_slot_is_remote(slot) &&
           cv_start_limiter_wait(&run->limiter, run->poller, why);
}
