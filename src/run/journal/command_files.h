/* command_files.h -- the files of a command, so that a resumed run notices a changed script.
 * SPDX-License-Identifier: MIT */
#ifndef CV_COMMAND_FILES_H
#define CV_COMMAND_FILES_H
#include <stdbool.h>
#include <stddef.h>
#include <cleave/error.h>

/* A line "IDENTITY NAME" for each file that the words name, but those in `except`, which ends in
 * NULL; NULL: none. *out is owned by the caller. */
enum cleave_status cv_command_files(const char *const *words, char *const *except,
                                    char **out, struct cleave_error *err);
/* Whether a file of `then` has another identity in `now`, or is missing. *out_name is in `then`. */
bool cv_command_files_differ(const char *then, const char *now, const char **out_name,
                             size_t *out_length);

#endif
