/* fetch_process.h -- a command whose output is read by who waits for it.
 * SPDX-License-Identifier: MIT
 *
 * Waiting ends early when nobody wants the bytes any more: when the reader of `outlet` is gone
 * or, without one (-1), when a signal is there that is to stop us. */
#ifndef CV_FETCH_PROCESS_H
#define CV_FETCH_PROCESS_H
#include "run/common/process.h"

struct cv_fetching {
    struct cv_command command;
    struct cv_process process;
    struct cv_pipe pipe;
    int results; /* borrowed */
};

/* The line for /bin/sh, with CLEAVE_INPUT. */
enum cleave_status cv_fetching_start(struct cv_fetching *fetching, const char *line,
                                     const char *name, int results,
                                     struct cleave_error *err);
/* Some bytes; 0: there are no more, or *stopped. */
ssize_t cv_fetching_read(struct cv_fetching *fetching, char *out, size_t max,
                         bool *stopped);
/* Wait for its end. Whether it ended with status 0; if not, `why` says how. */
bool cv_fetching_end(struct cv_fetching *fetching, bool *stopped, char *why, size_t room);
void cv_fetching_kill(struct cv_fetching *fetching);
/* Whether that was ended early. */
bool cv_fetching_pause(int pause_ms, int results);

#endif
