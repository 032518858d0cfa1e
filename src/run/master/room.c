/* room.c -- commands of this machine for which there is no room now, and which wait for it.
 * SPDX-License-Identifier: MIT */
#include "run/master/room.h"

#include "run/master/attempt_report.h"

/* What runs on this machine, and will end by itself. */
static struct cv_gate_crowd look(void *context)
{
    const struct cv_real_run *run = context;
    struct cv_gate_crowd crowd = { .workers = run->staff.nworkers };

    if (run->outlet != NULL)
        crowd.busy = cv_outlet_busy(run->outlet);
    for (uint32_t w = 0; w < run->desks.count; w++)
        for (uint32_t i = 0;
             run->staff.host_of[w] == NULL && i < run->desks.items[w].nerrands; i++) {
            const struct cv_errand *errand = &run->desks.items[w].errands[i];
            const bool waits = cv_errand_waits(errand);

            crowd.busy += errand->slot.busy && !waits;
            crowd.held += errand->slot.busy && waits;
        }
    return crowd;
}

static void tell(void *context, const char *why)
{
    const struct cv_real_run *run = context;

    cv_note_crowded(run->asked, why);
}

void cv_room_watch(struct cv_real_run *run)
{
    run->gate.look = look;
    run->gate.tell = tell;
    run->gate.context = run;
}

enum cleave_status cv_room_look(struct cv_real_run *run, const struct cv_slot *slot,
                                struct cleave_error *err)
{
    return cv_slot_starts(slot) ? cv_gate_room(&run->gate, err) : CLEAVE_OK;
}

bool cv_room_wait(struct cv_real_run *run, const struct cv_slot *slot,
                  const struct cleave_error *why)
{
    return !cv_slot_travels(slot) && cv_gate_wait(&run->gate, run->poller, why);
}
