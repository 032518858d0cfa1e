/* trace_context.c -- a trace and what it is about. SPDX-License-Identifier: MIT */
#include "io/trace_context.h"

#include <stdio.h>

const char *cv_context_name(const struct cv_trace_context *context, uint32_t worker,
                            char buffer[CV_STORY_NAME_ROOM])
{
    if (context->platform != NULL)
        return cleave_platform_worker_name(context->platform, worker);
    snprintf(buffer, CV_STORY_NAME_ROOM, "%lu", (unsigned long)worker);
    return buffer;
}
