/* engine_here.h -- engines for tests: opened as given, with pending events.
 * SPDX-License-Identifier: MIT
 *
 * The state of an engine begins with a struct engine_here. It adds the results of its
 * orders with engine_here_add; engine_here_wait gives the earliest of these. */
#ifndef CV_ENGINE_HERE_H
#define CV_ENGINE_HERE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/driver.h"

struct engine_here {
    struct cleave_event *events; /* to come; owned until the engine is closed */
    size_t count, room;
    uint64_t numbered; /* chunks */
    double now_s;
};

static inline enum cleave_status engine_here_open(const struct cleave_platform *platform,
                                                  const void *source, void **out,
                                                  struct cleave_error *err)
{
    union {
        const void *in;
        void *out;
    } same = { source };

    (void)platform;
    (void)err;
    *out = same.out;
    return CLEAVE_OK;
}

static inline enum cleave_status engine_here_begin(void *engine, const struct cv_run *run,
                                                   struct cleave_error *err)
{
    (void)engine;
    (void)run;
    (void)err;
    return CLEAVE_OK;
}

static inline void engine_here_add(struct engine_here *here, struct cleave_event event)
{
    if (here->count == here->room) {
        here->room = here->room * 2 + 64;
        here->events = realloc(here->events, here->room * sizeof *here->events);
        assert_non_null(here->events);
    }
    here->events[here->count++] = event;
}

/* Immediate event of an order: for a send, the next chunk was sent. */
static inline struct cleave_event engine_here_hear(struct engine_here *here,
                                                   const struct cleave_order *order)
{
    struct cleave_event event = { .worker = order->worker,
                                  .start_s = here->now_s,
                                  .time_s = here->now_s,
                                  .units = order->units };

    if (order->kind == CLEAVE_RECALL) {
        event.kind = CLEAVE_RECALLED;
        event.units = 0;
    } else if (order->kind == CLEAVE_WAKE_AT) {
        event.kind = CLEAVE_WAKE;
        event.time_s = order->time_s;
    } else {
        event.kind = CLEAVE_SENT;
        event.chunk = here->numbered++;
    }
    engine_here_add(here, event);
    return event;
}

static inline enum cleave_status engine_here_wait(void *engine, struct cleave_event *out,
                                                  bool *out_any, struct cleave_error *err)
{
    struct engine_here *here = engine;
    size_t first = 0;

    (void)err;
    *out_any = here->count > 0;
    if (!*out_any)
        return CLEAVE_OK;
    for (size_t i = 1; i < here->count; i++)
        if (here->events[i].time_s < here->events[first].time_s)
            first = i;
    *out = here->events[first];
    memmove(&here->events[first], &here->events[first + 1],
            (--here->count - first) * sizeof *here->events);
    here->now_s = out->time_s;
    return CLEAVE_OK;
}

static inline void engine_here_close(void *engine)
{
    struct engine_here *here = engine;

    free(here->events);
    here->events = NULL;
}

#endif
