/* live.h -- what every worker does, while it does it. SPDX-License-Identifier: MIT */
#ifndef CV_LIVE_H
#define CV_LIVE_H
#include <cleave/execute.h>
#include <cleave/trace.h>
#include <stdbool.h>
#include "base/text.h"
#include "cli/live/http.h"

/* "720.8 kB", with as many digits as do not make the rest of a line tremble. */
void cv_run_add_bytes(struct cv_text *text, double bytes);
/* --live: add a line for each worker, at most `most` lines of `width` columns, each behind a
 * newline. Returns how many. */
unsigned cv_run_live_rows(const struct cleave_progress *progress, bool items,
                          unsigned max, unsigned width, struct cv_text *out);

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
