/* fold_command.h -- the words of a command that reduces. SPDX-License-Identifier: MIT */
#ifndef CV_FOLD_COMMAND_H
#define CV_FOLD_COMMAND_H
#include <stdbool.h>
#include <cleave/error.h>
#include "run/slot/slot.h"

/* Whether it is one: it may have {1} and {2}, or none of them. */
enum cleave_status cv_fold_check_command(const char *command, struct cleave_error *err);
/* Whether it takes its partials as files {1} and {2}: then two at a time. */
bool cv_fold_takes_files(const char *command);

/* Who runs it; the first three are borrowed. */
struct cv_fold_call {
    const char *text;
    const char *const *prefix; /* words before it, ended by NULL; or NULL               */
    const char *worker;        /* a name                                                */
    struct cv_command command; /* owned while has_command                               */
    bool has_command;
};

/* Make it ready for any partials, if it takes them on standard input; cv_fold_call_start
 * does that, too. */
enum cleave_status cv_fold_call_prepare(struct cv_fold_call *call,
                                        struct cleave_error *err);
/* Start it in the slot on 2 to CV_FOLD_MOST partials; on two if it takes files. */
enum cleave_status cv_fold_call_start(struct cv_fold_call *call, struct cv_slot *slot,
                                      const struct cv_taken *partials, size_t count,
                                      struct cleave_error *err);
void cv_fold_call_done(struct cv_fold_call *call);

#endif
