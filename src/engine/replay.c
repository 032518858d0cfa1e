/* replay.c -- run a policy against what was recorded. SPDX-License-Identifier: MIT */
#include "engine/replay.h"

#include <stdlib.h>

#include <cleave/trace.h>
#include "base/fail.h"

struct replay {
    const struct cleave_trace *trace; /* borrowed */
    size_t next;
};

static enum cleave_status replay_open(const struct cleave_platform *platform,
                                      const void *source, void **out,
                                      struct cleave_error *err)
{
    struct replay *replay = calloc(1, sizeof *replay);

    (void)platform;
    if (replay == NULL)
        return cv_fail_memory(err, "a replay");
    replay->trace = source;
    *out = replay;
    return CLEAVE_OK;
}

static enum cleave_status replay_begin(void *engine, const struct cv_run *run,
                                       struct cleave_error *err)
{
    struct replay *replay = engine;
    const struct cleave_entry *first;

    (void)run;
    if (cleave_trace_count(replay->trace) == 0)
        return cv_fail(err, CLEAVE_EENGINE, "the trace is empty");
    first = cleave_trace_at(replay->trace, 0);
    if (first->is_order || first->as.event.kind != CLEAVE_START)
        return cv_fail(err, CLEAVE_EENGINE, "the trace does not begin with a start");
    replay->next = 1; /* the driver makes the start itself */
    return CLEAVE_OK;
}

static enum cleave_status replay_submit(void *engine, const struct cleave_order *order,
                                        struct cleave_error *err)
{
    struct replay *replay = engine;
    const struct cleave_entry *entry = NULL;
    const struct cleave_order *old;

    if (replay->next < cleave_trace_count(replay->trace))
        entry = cleave_trace_at(replay->trace, replay->next);
    if (entry == NULL || !entry->is_order)
        return cv_fail(
            err, CLEAVE_EPOLICY,
            "entry %zu of the trace: no order was recorded here, got one of %g "
            "units to worker %u",
            replay->next, order->units, order->worker);
    old = &entry->as.order;
    if (old->kind != order->kind || old->worker != order->worker ||
        old->units != order->units || old->time_s != order->time_s ||
        old->peer != order->peer || old->chunk != order->chunk)
        return cv_fail(
            err, CLEAVE_EPOLICY,
            "entry %zu of the trace: recorded %.17g units to worker %u, got %.17g "
            "units to worker %u",
            replay->next, old->units, old->worker, order->units, order->worker);
    replay->next++;
    return CLEAVE_OK;
}

static enum cleave_status replay_wait(void *engine, struct cleave_event *out,
                                      bool *out_any, struct cleave_error *err)
{
    struct replay *replay = engine;
    const struct cleave_entry *entry;

    *out_any = replay->next < cleave_trace_count(replay->trace);
    if (!*out_any)
        return CLEAVE_OK;
    entry = cleave_trace_at(replay->trace, replay->next);
    if (entry->is_order)
        return cv_fail(
            err, CLEAVE_EPOLICY,
            "entry %zu of the trace: %.17g units to worker %u were recorded here, "
            "got no order",
            replay->next, entry->as.order.units, entry->as.order.worker);
    *out = entry->as.event;
    replay->next++;
    return CLEAVE_OK;
}

static void replay_close(void *engine)
{
    free(engine);
}

const struct cv_engine cv_engine_replay = {
    .name = "replay",
    .summary = "repeats a recorded run and checks that the policy orders the same",
    .open = replay_open,
    .begin = replay_begin,
    .submit = replay_submit,
    .wait = replay_wait,
    .close = replay_close,
};
