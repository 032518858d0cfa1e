/* live_page.h -- --serve: the report of a run while it runs. SPDX-License-Identifier: MIT */
#ifndef CV_LIVE_PAGE_H
#define CV_LIVE_PAGE_H
#include <cleave/execute.h>
#include <cleave/trace.h>
#include "cli/live/http.h"

struct cv_live_page {
    struct cv_http *http; /* owned; NULL: nobody is to look */
    double next_s;        /* no other page before that, in seconds of the run */
    const struct cleave_trace *trace; /* borrowed, as the policy is */
    const char *policy;
};

/* Make a page of how far the run is, if somebody wants one and not too much time would go
 * into pages. `now` says how far it is. */
void cv_live_page_look(struct cv_live_page *live, const struct cleave_progress *progress,
                       const char *now);
/* The last page, of what came of it, and no more. It may be called without any page. */
void cv_live_page_close(struct cv_live_page *live,
                        const struct cleave_execution_result *result, const char *now);

#endif
