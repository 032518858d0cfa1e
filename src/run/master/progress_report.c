/* progress_report.c -- how far a run is, for whoever wants to be told.
 * SPDX-License-Identifier: MIT */
#include "run/master/progress_report.h"

#include <math.h>

/* Whether commands of this machine have to wait for its gate. */
static bool held(const struct cv_exec_run *run, uint32_t worker)
{
    const struct cv_start_limiter *gate = &run->gate;

    return run->staff.host_of[worker] == NULL && gate->next_s > cv_clock_s() &&
           (gate->delay_s > 0 || gate->most_load > 0 || gate->least_memory > 0);
}

static enum cleave_worker_state state_of(const struct cv_exec_run *run, uint32_t worker)
{
    const struct cv_order_queue *books = &run->books;
    const bool ordered = cv_order_queue_next(books, worker) != NULL;

    if (cv_desks_busy(&run->desks, worker))
        return CLEAVE_WORKER_BUSY;
    if (!cv_worker_pool_there(&run->staff, worker))
        return CLEAVE_WORKER_ABSENT;
    if (!cv_worker_pool_serves(&run->staff, worker))
        return CLEAVE_WORKER_RESTS;
    if (ordered && held(run, worker))
        return CLEAVE_WORKER_HELD;
    if (ordered || isinf(cv_source_total(books->source)))
        return CLEAVE_WORKER_STARVES;
    return cv_order_queue_unordered_bytes(books) > 0 ? CLEAVE_WORKER_UNASKED
                                                     : CLEAVE_WORKER_OVER;
}

static void look(const void *context, uint32_t worker, struct cleave_worker_progress *out)
{
    const struct cv_exec_run *run = context;
    const struct cv_worker_stats *tally = &run->staff.tallies[worker];

    if (worker >= run->desks.count) { /* nothing has come, and nobody has a desk yet */
        *out = (struct cleave_worker_progress){ .name = run->staff.names[worker],
                                                .state = CLEAVE_WORKER_STARVES,
                                                .since_s = NAN };
        return;
    }
    *out = (struct cleave_worker_progress){
        .name = run->staff.names[worker],
        .state = state_of(run, worker),
        .chunks = tally->chunks,
        .failures = tally->failures,
        .units = tally->units,
        .busy_s = tally->busy_s,
        .read = cv_desk_read(&run->desks, &run->staff, worker, cv_clock_s()),
        .since_s =
            cv_attempt_table_oldest_start_s(&run->desks, worker) - run->news.began_s,
    };
}

/* Often enough for the eye: to look at all pipes costs more than to wake up. */
void cv_progress_look(const struct cv_exec_run *run, double *shown_s)
{
    const struct cleave_execution *request = run->request;
    const struct cv_order_queue *books = &run->books;
    const double now_s = cv_clock_s();
    uint32_t busy = 0;

    if (request->tell.progress == NULL || now_s < *shown_s + CV_LOOK_S)
        return;
    *shown_s = now_s;
    for (uint32_t w = 0; w < run->staff.first_spare; w++)
        busy += cv_desks_busy(&run->desks, w);
    request->tell.progress(request->tell.context,
                           &(struct cleave_progress){
                               .elapsed_s = now_s - run->news.began_s,
                               .done = books->done,
                               .read = cv_desks_read(&run->desks, &run->staff, now_s),
                               .total =
                                   cv_source_total(books->source) - books->resumed_units,
                               .chunks = books->chunks,
                               .failed = books->failed,
                               .busy = busy,
                               .workers = run->staff.first_spare,
                               .look = look,
                               .run = run,
                           });
}
