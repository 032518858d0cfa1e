/* trace_context.h -- a trace and what it is about. SPDX-License-Identifier: MIT */
#ifndef CV_TRACE_CONTEXT_H
#define CV_TRACE_CONTEXT_H
#include <cleave/trace.h>

struct cv_trace_context {
    const struct cleave_trace *trace;
    const struct cleave_platform *platform; /* NULL for a reduction: */
    uint32_t nodes;                         /* so many               */
    const char *policy;
    double load; /* units */
};

/* The name of a worker; a node's number is written into `buffer`. */
enum { CV_STORY_NAME_ROOM = 24 };
const char *cv_context_name(const struct cv_trace_context *context, uint32_t worker,
                            char buffer[CV_STORY_NAME_ROOM]);

#endif
