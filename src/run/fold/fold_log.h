/* fold_log.h -- which folds were made when. SPDX-License-Identifier: MIT */
#ifndef CV_FOLD_LOG_H
#define CV_FOLD_LOG_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>

struct cleave_trace;
struct cv_fold_note;

/* A zeroed one is empty. */
struct cv_fold_log {
    struct cv_fold_note *notes; /* owned */
    size_t count, room;
    bool short_of_memory; /* some are missing */
};

/* Worker has folded so many partials into one, from start_s to end_s of the clock. `log` may
 * be NULL: nobody wants to know. */
void cv_fold_log_add(struct cv_fold_log *log, uint32_t worker, double start_s,
                     double end_s, size_t count);
/* Add them to a trace whose time 0 is began_s, behind all that it has. */
enum cleave_status cv_fold_log_write(const struct cv_fold_log *log, double began_s,
                                     struct cleave_trace *trace,
                                     struct cleave_error *err);
void cv_fold_log_done(struct cv_fold_log *log);

#endif
