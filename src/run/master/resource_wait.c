/* resource_wait.c -- commands of this machine for which there is no room now, and which wait for it.
 * SPDX-License-Identifier: MIT */
#include "run/master/resource_wait.h"

#include "run/master/attempt_report.h"

/* What runs on this machine, and will end by itself. */
static struct cv_start_usage look(void *context)
{
    const struct cv_exec_run *run = context;
    struct cv_start_usage crowd = { .workers = run->staff.nworkers };

    if (run->outlet != NULL)
        crowd.busy = cv_result_sink_busy(run->outlet);
    for (uint32_t w = 0; w < run->desks.count; w++)
        for (uint32_t i = 0;
             run->staff.host_of[w] == NULL && i < run->desks.items[w].nerrands; i++) {
            const struct cv_attempt *errand = &run->desks.items[w].errands[i];
            const bool waits = cv_attempt_awaits_order(errand);

            crowd.busy += errand->slot.busy && !waits;
            crowd.held += errand->slot.busy && waits;
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
    run->gate.look = look;
    run->gate.tell = tell;
    run->gate.context = run;
}

enum cleave_status cv_resource_wait_look(struct cv_exec_run *run,
                                         const struct cv_slot *slot,
                                         struct cleave_error *err)
{
    return cv_slot_starts(slot) ? cv_start_limiter_room(&run->gate, err) : CLEAVE_OK;
}

bool cv_resource_wait_wait(struct cv_exec_run *run, const struct cv_slot *slot,
                           const struct cleave_error *why)
{
    return !cv_slot_is_remote(slot) &&
           cv_start_limiter_wait(&run->gate, run->poller, why);
}
