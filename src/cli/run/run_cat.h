/* run_cat.h -- a chunk as a file instead of standard input. SPDX-License-Identifier: MIT */
#ifndef CV_RUN_CAT_H
#define CV_RUN_CAT_H
#include "cli/run/run_options.h"

/* The words that put a chunk into a file and run the command with its name for {}; `words` are
 * replaced by them, from the arena. Returns an exit status; what is wrong has been told. */
int cv_run_cat(const struct cv_call *call, const char *const **words);

#endif
