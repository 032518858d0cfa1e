/* progress_report.c -- how far a run is, for whoever wants to be told.
 * SPDX-License-Identifier: MIT */
#include "run/master/progress_report.h"

#include <math.h>

/* Whether commands of this machine have to wait for its gate. */
static bool held(const struct cv_exec_run *run, uint32_t worker)
{
    const struct cv_start_limiter *limiter = &run->limiter;

    return run->pool.host_of[worker] == NULL && limiter->next_s > cv_clock_s() &&
           (limiter->delay_s > 0 || limiter->max_load > 0 || limiter->min_memory > 0);
}

static enum cleave_worker_state state_of(const struct cv_exec_run *run, uint32_t worker)
{
    const struct cv_order_queue *queue = &run->queue;
    const bool ordered = cv_order_queue_next(queue, worker) != NULL;

    if (cv_desks_busy(&run->table, worker))
        return CLEAVE_WORKER_BUSY;
    if (!cv_worker_pool_there(&run->pool, worker))
        return CLEAVE_WORKER_ABSENT;
    if (!cv_worker_pool_serves(&run->pool, worker))
        return CLEAVE_WORKER_RESTS;
    if (ordered && held(run, worker))
        return CLEAVE_WORKER_HELD;
    if (ordered || isinf(cv_source_total(queue->source)))
        return CLEAVE_WORKER_STARVES;
    return cv_order_queue_unordered_bytes(queue) > 0 ? CLEAVE_WORKER_UNASKED
                                                     : CLEAVE_WORKER_OVER;
}

static void look(const void *context, uint32_t worker, struct cleave_worker_progress *out)
{
    const struct cv_exec_run *run = context;
    const struct cv_worker_stats *tally = &run->pool.tallies[worker];

    if (worker >= run->table.count) { /* nothing has come, and nobody has a desk yet */
        *out = (struct cleave_worker_progress){ .name = run->pool.names[worker],
                                                .state = CLEAVE_WORKER_STARVES,
                                                .since_s = NAN };
        return;
    }
    *out = (struct cleave_worker_progress){
        .name = run->pool.names[worker],
        .state = state_of(run, worker),
        .chunks = tally->chunks,
        .failures = tally->failures,
        .units = tally->units,
        .busy_s = tally->busy_s,
        .read = cv_desk_read(&run->table, &run->pool, worker, cv_clock_s()),
        .since_s =
            cv_attempt_table_oldest_start_s(&run->table, worker) - run->events.began_s,
    };
}

/* Often enough for the eye: to look at all pipes costs more than to wake up. */
void cv_progress_look(const struct cv_exec_run *run, double *shown_s)
{
    const struct cleave_execution *request = run->request;
    const struct cv_order_queue *queue = &run->queue;
    const double now_s = cv_clock_s();
    uint32_t busy = 0;

    if (request->listener.progress == NULL || now_s < *shown_s + CV_LOOK_S)
        return;
    *shown_s = now_s;
    for (uint32_t w = 0; w < run->pool.first_spare; w++)
        busy += cv_desks_busy(&run->table, w);
    request->listener.progress(request->listener.context,
                               &(struct cleave_progress){
                                   .elapsed_s = now_s - run->events.began_s,
                                   .done = queue->done,
                                   .read = cv_desks_read(&run->table, &run->pool, now_s),
                                   .total = cv_source_total(queue->source) -
                                            queue->resumed_units,
                                   .chunks = queue->chunks,
                                   .failed = queue->failed,
                                   .busy = busy,
                                   .workers = run->pool.first_spare,
                                   .look = look,
                                   .run = run,
                               });
}
