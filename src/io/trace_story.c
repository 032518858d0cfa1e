/* trace_story.c -- a trace and what it is about. SPDX-License-Identifier: MIT */
#include "io/trace_story.h"

#include <stdio.h>

const char *cv_story_name(const struct cv_trace_story *story, uint32_t worker,
                          char buffer[CV_STORY_NAME_ROOM])
{
    if (story->platform != NULL)
        return cleave_platform_worker_name(story->platform, worker);
    snprintf(buffer, CV_STORY_NAME_ROOM, "%lu", (unsigned long)worker);
    return buffer;
}
