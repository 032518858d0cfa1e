/* fold_command.h -- the words of a command that reduces. SPDX-License-Identifier: MIT */
#ifndef CV_FOLD_COMMAND_H
#define CV_FOLD_COMMAND_H
#include <stdbool.h>
#include <cleave/error.h>
#include "base/text.h"

/* Whether it is one: it may have {1} and {2}, or none of them. */
enum cleave_status cv_fold_check_command(const char *command, struct cleave_error *err);
/* Whether it takes its partials as files {1} and {2}: then two at a time. */
bool cv_fold_takes_files(const char *command);
/* The command with names of files in the place of {1} and {2}. They are those of this
 * process's descriptors: there is no other name, and a copy would cost. False: memory is
 * short. */
bool cv_fold_name_files(const char *command, const int fds[2], struct cv_text *out);

#endif
