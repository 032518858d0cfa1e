/* event_queue.c -- what the driver is to be told. SPDX-License-Identifier: MIT */
#include "run/master/event_queue.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/common/poller.h"

void cv_event_queue_done(struct cv_event_queue *events)
{
    free(events->events);
    events->events = NULL;
    events->first = events->count = events->room = 0;
}

void cv_event_queue_push(struct cv_event_queue *events, struct cleave_event event)
{
    if (events->first == events->count)
        events->first = events->count = 0;
    if (!CV_ROOM(events->events, &events->room, events->count + 1)) {
        cv_fail_memory(&events->err, "the events of a run");
        events->broken = true;
        return;
    }
    event.time_s = cv_clock_s() - events->began_s;
    if (event.kind != CLEAVE_DONE && !(event.start_s > 0))
        event.start_s = event.time_s;
    events->events[events->count++] = event;
}

void cv_event_queue_remove(struct cv_event_queue *events)
{
    if (events->count > events->first)
        events->count--;
}

void cv_event_queue_fail(struct cv_event_queue *events, const struct cleave_error *err)
{
    if (!events->broken)
        events->err = *err;
    events->broken = true;
}

bool cv_event_queue_pop(struct cv_event_queue *events, struct cleave_event *out)
{
    if (events->first == events->count)
        return false;
    *out = events->events[events->first++];
    out->more = events->first < events->count;
    return true;
}

enum cleave_status cv_event_queue_status(const struct cv_event_queue *events,
                                         struct cleave_error *err)
{
    if (!events->broken)
        return CLEAVE_OK;
    if (err != NULL)
        *err = events->err;
    return events->err.status == CLEAVE_OK ? CLEAVE_EENGINE : events->err.status;
}
