/* attempt_report.h -- what the user is told of commands. SPDX-License-Identifier: MIT
 *
 * Every attempt is reported, whether it succeeded or not; what is not as it should be is
 * worth a note. */
#ifndef CV_ATTEMPT_REPORT_H
#define CV_ATTEMPT_REPORT_H
#include <cleave/execute.h>
#include "run/master/attempts.h"
#include "run/master/worker_pool.h"

/* One attempt of the worker has ended, perhaps the last one; its output is with the slot. */
void cv_attempt_report(const struct cleave_execution *request, const char *worker,
                       const struct cv_attempt *attempt, enum cv_slot_end end,
                       bool given_up);

/* A command that stays does not answer its first chunk. */
void cv_note_silent(const struct cleave_execution *request, const char *worker);
/* A command has ended, but others hold its output. */
void cv_note_held(const struct cleave_execution *request, const char *worker);
/* That there is no room for another command, and why. */
void cv_note_crowded(const struct cleave_execution *request, const char *why);
/* Something of an input was changed, perhaps its bytes. */
void cv_note_touched(const struct cleave_execution *request, const char *name);
/* A command that stayed has ended after its last chunk, and not well. */
void cv_note_bad_end(const struct cleave_execution *request, const char *worker,
                     const struct cv_slot *slot);

/* A party is left out, since others did what it failed with; at the end, who has rested. */
void cv_note_worker_excluded(const struct cleave_execution *request, const char *name,
                             const struct cv_health_record *standing);
void cv_note_rests(const struct cleave_execution *request,
                   const struct cv_worker_pool *pool);

#endif
