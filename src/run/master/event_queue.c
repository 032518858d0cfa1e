/* event_queue.c -- what the driver is to be told. SPDX-License-Identifier: MIT */
#include "run/master/event_queue.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/common/poller.h"

void cv_event_queue_done(struct cv_event_queue *news)
{
    free(news->events);
    news->events = NULL;
    news->first = news->count = news->room = 0;
}

void cv_event_queue_push(struct cv_event_queue *news, struct cleave_event event)
{
    if (news->first == news->count)
        news->first = news->count = 0;
    if (!CV_ROOM(news->events, &news->room, news->count + 1)) {
        cv_fail_memory(&news->err, "the events of a run");
        news->broken = true;
        return;
    }
    event.time_s = cv_clock_s() - news->began_s;
    if (event.kind != CLEAVE_DONE && !(event.start_s > 0))
        event.start_s = event.time_s;
    news->events[news->count++] = event;
}

void cv_event_queue_remove(struct cv_event_queue *news)
{
    if (news->count > news->first)
        news->count--;
}

void cv_event_queue_fail(struct cv_event_queue *news, const struct cleave_error *err)
{
    if (!news->broken)
        news->err = *err;
    news->broken = true;
}

bool cv_event_queue_pop(struct cv_event_queue *news, struct cleave_event *out)
{
    if (news->first == news->count)
        return false;
    *out = news->events[news->first++];
    out->more = news->first < news->count;
    return true;
}

enum cleave_status cv_event_queue_status(const struct cv_event_queue *news,
                                         struct cleave_error *err)
{
    if (!news->broken)
        return CLEAVE_OK;
    if (err != NULL)
        *err = news->err;
    return news->err.status == CLEAVE_OK ? CLEAVE_EENGINE : news->err.status;
}
