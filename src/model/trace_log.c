/* trace_log.c -- a trace in memory: entries in the order they came.
 * SPDX-License-Identifier: MIT */
#include <cleave/trace.h>

#include <stdlib.h>

#include "base/arena.h"
#include "base/fail.h"

struct cleave_trace {
    struct cleave_entry *entries; /* owned */
    size_t count, capacity;
};

enum cleave_status cleave_trace_new(struct cleave_trace **out, struct cleave_error *err)
{
    struct cleave_trace *trace = calloc(1, sizeof *trace);

    if (trace == NULL)
        return cv_fail_memory(err, "a trace");
    *out = trace;
    return CLEAVE_OK;
}

void cleave_trace_free(struct cleave_trace *trace)
{
    if (trace == NULL)
        return;
    free(trace->entries);
    free(trace);
}

void cleave_trace_clear(struct cleave_trace *trace)
{
    trace->count = 0;
}

size_t cleave_trace_count(const struct cleave_trace *trace)
{
    return trace->count;
}

const struct cleave_entry *cleave_trace_at(const struct cleave_trace *trace, size_t index)
{
    return &trace->entries[index];
}

enum cleave_status cleave_trace_add(struct cleave_trace *trace,
                                    const struct cleave_entry *entry,
                                    struct cleave_error *err)
{
    if (trace->count == trace->capacity) {
        struct cleave_entry *grown =
            cv_grow(trace->entries, &trace->capacity, trace->count + 1, sizeof *grown);

        if (grown == NULL)
            return cv_fail_memory(err, "a trace");
        trace->entries = grown;
    }
    trace->entries[trace->count++] = *entry;
    return CLEAVE_OK;
}
