/* map_master.c -- what all parts of rank 0 of a shared job rest on.
 * SPDX-License-Identifier: MIT */
#include "mpi/map/map_master.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/fail.h"
#include "mpi/bridge/bridge_idle.h"

void cv_map_fail(struct cv_map_master *master, const struct cleave_error *err)
{
    if (!master->failed)
        master->err = *err;
    master->failed = true;
}

void cv_map_event(struct cv_map_master *master, struct cleave_event event)
{
    if (master->first_event == master->nevents)
        master->first_event = master->nevents = 0;
    if (master->nevents == master->event_room) {
        struct cleave_event *grown = cv_grow(master->events, &master->event_room,
                                             master->nevents + 1, sizeof *grown);

        if (grown == NULL) {
            struct cleave_error err;

            cv_fail_memory(&err, "the events of a run");
            cv_map_fail(master, &err);
            return;
        }
        master->events = grown;
    }
    event.time_s = cv_idle_wait_clock_s() - master->began_s;
    if (event.kind != CLEAVE_DONE && event.kind != CLEAVE_SENT)
        event.start_s = event.time_s;
    master->events[master->nevents++] = event;
}

enum cleave_status cv_map_step(struct cv_map_master *master, double until_s,
                               struct cleave_error *err)
{
    CV_TRY(cv_map_progress(&master->requests, master->tasks, 1, &master->last_s, until_s,
                           err));
    if (!master->failed)
        return CLEAVE_OK;
    *err = master->err;
    return err->status;
}

void cv_map_chunk_free(struct cv_map_chunk *chunk)
{
    if (chunk == NULL)
        return;
    cv_map_buffer_done(&chunk->buffer);
    free(chunk);
}
