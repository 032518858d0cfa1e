/* resource_wait.c -- commands of this machine for which there is no room now, and which wait for it.
 * SPDX-License-Identifier: MIT */
#include "run/master/resource_wait.h"

#include "run/master/attempt_report.h"

/* What runs on this machine, and will end by itself. */
static struct cv_start_usage look(void *context)
{
    const struct cv_exec_run *run = context;
    struct cv_start_usage crowd = { .workers = run->pool.nworkers };

    if (run->results != NULL)
        crowd.busy = cv_result_sink_busy(run->results);
    for (uint32_t w = 0; w < run->table.count; w++)
        for (uint32_t i = 0;
             run->pool.host_of[w] == NULL && i < run->table.items[w].nerrands; i++) {
            const struct cv_attempt *attempt = &run->table.items[w].attempts[i];
            const bool waits = cv_attempt_awaits_order(attempt);

            crowd.busy += attempt->slot.busy && !waits;
            crowd.held += attempt->slot.busy && waits;
        }
    return crowd;
}

static void tell(void *context, const char *why)
{
    const struct cv_exec_run *run = context;

    cv_note_crowded(run->request, why);
}

void cv_resource_wait_watch(struct cv_exec_run *run)
{
    run->limiter.look = look;
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
