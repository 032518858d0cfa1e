/* exec_run.h -- the run itself: what was asked for, and its parts.
 * SPDX-License-Identifier: MIT
 *
 * Made by cleave_execute. Who works (worker_pool.h), what is owed (order_queue.h), what is under way
 * (attempts.h), where outputs go (result_sink.h) and what the driver is to be told (event_queue.h) know
 * nothing of it. */
#ifndef CV_EXEC_RUN_H
#define CV_EXEC_RUN_H
#include <cleave/execute.h>
#include "run/failures/retry_queue.h"
#include "run/failures/piece_bisect.h"
#include "run/common/start_limiter.h"
#include "run/common/median.h"
#include "run/common/slow_stream.h"
#include "run/failures/poison_chunks.h"
#include "run/master/order_queue.h"
#include "run/master/attempts.h"
#include "run/fold/fold.h"
#include "run/master/failure_notes.h"
#include "run/master/event_queue.h"
#include "run/master/result_sink.h"
#include "run/master/worker_pool.h"

struct cv_exec_run {
    const struct cleave_execution
        *request;             /* borrowed                                  */
    struct cv_poller *poller; /* owned by cleave_execute, as all below     */
    struct cv_ordered_output *outputs;
    struct cv_result_sink *results;
    struct cv_worker_pool pool;
    struct cv_order_queue queue;
    struct cv_poison_tracker poison;
    struct cv_attempt_table table;
    size_t
        small_write; /* of open chunks: what a command that is slow is fed at a time; 0: a page */
    bool stay; /* commands that stay do so when the input ends, for the next one        */
    struct cv_event_queue events;
    struct cv_median taken; /* by commands of items that succeeded                     */
    struct cv_start_limiter
        limiter; /* of this machine                                            */
    struct cv_slow_stream slow;
    struct cv_fold_log folds;
    struct cv_failure_notes failures;
    struct cv_bisect_groups families;
    uint64_t memory_kills; /* of all that runs here, when that was last asked          */
    struct cv_retry_queue agains;    /* what failed and is to be done again            */
    struct cv_candidate *candidates; /* room for all workers                           */
    /* What ends it early: */
    int stopped_by; /* a signal; 0: none                                               */
    bool stopping;  /* what is under way was asked to end for it                       */
    bool halted, output_closed;
    bool hopeless; /* halted, since nothing has succeeded but what begins a file       */
    /* Chunks that begin a file, and those that do not: where only the first succeed and only
     * the others fail, it is likely a header that these lack. */
    bool start_failed, middle_succeeded;
    bool reduce_failed; /* the command that reduces did, for good                      */
    bool rehost;        /* the hosts are to be asked for again                         */
    bool held;          /* it was said that children of a command hold it up           */
};

/* See to what stops a run before its end. Fails when it is to end now: what is under way
 * is asked to end first, and waited for. */
enum cleave_status cv_exec_run_check(struct cv_exec_run *run, struct cleave_error *err);

/* How writing went so far: CLEAVE_ECLOSED, and output_closed, if nobody reads any more. */
enum cleave_status cv_exec_run_written(struct cv_exec_run *run, struct cleave_error *err);

/* Whether commands that stay have ended, which they are let, or may stay. */
bool cv_exec_run_left(struct cv_exec_run *run);

/* While no chunk runs: fold until there is room for more outputs; or all, so that the
 * result is with the gather. */
enum cleave_status cv_exec_run_relieve(struct cv_exec_run *run, struct cleave_error *err);
enum cleave_status cv_exec_run_settle(struct cv_exec_run *run, struct cleave_error *err);
/* At the end of a run that succeeded: fails with CLEAVE_EACCOUNT if bytes of the input were
 * neither done nor failed, or twice, or if the output is not that of all of them. It would
 * be a mistake in here, and must not look like success. */
enum cleave_status cv_exec_run_complete(const struct cv_exec_run *run,
                                        struct cleave_error *err);

#endif
