/* fold_log.c -- which folds were made when. SPDX-License-Identifier: MIT */
#include "run/fold/fold_log.h"

#include <math.h>
#include <stdlib.h>

#include <cleave/trace.h>
#include "base/arena.h"
#include "base/fail.h"

struct cv_fold_note {
    double start_s, end_s;
    size_t count;
    uint32_t worker;
};

void cv_fold_log_add(struct cv_fold_log *log, uint32_t worker, double start_s,
                     double end_s, size_t count)
{
    if (log == NULL)
        return;
    if (!CV_ROOM(log->notes, &log->room, log->count + 1)) {
        log->short_of_memory = true;
        return;
    }
    log->notes[log->count++] = (struct cv_fold_note){ start_s, end_s, count, worker };
}

enum cleave_status cv_fold_log_write(const struct cv_fold_log *log, double began_s,
                                     struct cleave_trace *trace, struct cleave_error *err)
{
    for (size_t i = 0; i < log->count; i++) {
        const struct cv_fold_note *note = &log->notes[i];
        const double start_s = fmax(0, note->start_s - began_s);
        const struct cleave_entry entry = {
            .as.event = { .kind = CLEAVE_FOLDED,
                          .worker = note->worker,
                          .units = (double)note->count,
                          .start_s = start_s,
                          .time_s = fmax(start_s, note->end_s - began_s) }
        };

        CV_TRY(cleave_trace_add(trace, &entry, err));
    }
    return log->short_of_memory ? cv_fail_memory(err, "the folds of a trace") : CLEAVE_OK;
}

void cv_fold_log_done(struct cv_fold_log *log)
{
    free(log->notes);
    *log = (struct cv_fold_log){ 0 };
}
