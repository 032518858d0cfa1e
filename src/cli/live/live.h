/* live.h -- --live and --serve: what every worker does, while it does it.
 * SPDX-License-Identifier: MIT */
#ifndef CV_LIVE_H
#define CV_LIVE_H
#include <cleave/error.h>
#include <cleave/execute.h>
#include <cleave/trace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/text.h"

enum { CV_HTTP_URL_ROOM = 80 };

struct cv_http;

/* Serve pages at "PORT", "127.0.0.1:PORT", "localhost:PORT" or "[::1]:PORT"; `url` is
 * the address, with a key of 128 random bits: all users of a machine can connect to it. */
enum cleave_status cv_http_open(const char *text, struct cv_http **out,
                                char url[CV_HTTP_URL_ROOM], struct cleave_error *err);

enum cv_http_wish {
    CV_HTTP_MORE,    /* the request is not complete yet */
    CV_HTTP_PAGE,    /* the page after number `after`                                 */
    CV_HTTP_BAD,     /* not HTTP */
    CV_HTTP_FOREIGN, /* the Host header names another machine */
    CV_HTTP_ABSENT,  /* no such page, or not the key */
    CV_HTTP_METHOD,  /* not GET */
};

struct cv_http_request {
    enum cv_http_wish wish;
    uint64_t after; /* UINT64_MAX: the newest */
};

/* Read the first `length` bytes of a request for a page below `folder`, as "/KEY". */
struct cv_http_request cv_http_request_read(const char *text, size_t length,
                                            const char *folder);

/* "720.8 kB" */
void cv_run_add_bytes(struct cv_text *text, double bytes);
/* --live: add a line for each worker, at most `max` lines of `width` columns, each
 * after a newline. Returns how many. */
unsigned cv_run_live_rows(const struct cleave_progress *progress, bool items,
                          unsigned max, unsigned width, struct cv_text *out);

struct cv_live_page {
    struct cv_http *http; /* owned; NULL: no page */
    double next_s;        /* earliest time of the next page, in seconds of the run */
    const struct cleave_trace *trace; /* borrowed, like the policy */
    const char *policy;
};

/* Make a page if a browser waits and pages do not take too much time. `now` is the
 * line about the progress. */
void cv_live_page_look(struct cv_live_page *live, const struct cleave_progress *progress,
                       const char *now);
/* Make the last page, and stop. Works without any page. */
void cv_live_page_close(struct cv_live_page *live,
                        const struct cleave_execution_result *result, const char *now);

#endif
