/* progress.h -- a bar on stderr while many runs go on. SPDX-License-Identifier: MIT */
#ifndef CV_PROGRESS_H
#define CV_PROGRESS_H
#include <stdbool.h>
#include <stdint.h>

struct cv_progress {
    const char *what; /* borrowed: shown before the bar           */
    uint64_t total;
    unsigned shown; /* percent shown last                       */
    bool on;        /* stderr is a terminal                     */
    bool drawn;
};

void cv_progress_init(struct cv_progress *progress, const char *what, uint64_t total);
/* Fits cleave_trial.progress with the struct as context. */
void cv_progress_show(void *progress, uint64_t done);
/* Take the bar away. */
void cv_progress_done(struct cv_progress *progress);

#endif
