/* run_mistakes.h -- commands that would run, and do something else than was meant.
 * SPDX-License-Identifier: MIT */
#ifndef CV_RUN_MISTAKES_H
#define CV_RUN_MISTAKES_H
#include <cleave/execute.h>
#include <stdbool.h>
#include <stdint.h>
#include "cli/common/verb.h"

/* Words that a forgotten quote has torn apart, a sign that is nearly ':::', a --reduce that
 * merges nothing. Returns an exit status; what is wrong has been told. */
int cv_run_mistakes_check(const struct cv_call *call, bool items);

/* Nothing succeeded: say it where an option of cleave stands behind the command, or where hosts
 * lack files that are here. False: neither is so. */
bool cv_run_mistakes_failed(const struct cv_call *call, bool items, bool hosts);

/* Chunks are cut between lines, or as csv: say it where the name of the input or its first line
 * tells of other records. */
void cv_run_mistakes_form(const struct cv_call *call);
/* The same of what the input itself begins with, where its name tells nothing. */
void cv_run_mistakes_seeming(const struct cv_call *call,
                             const struct cleave_execution_result *result);
/* By its name before the run, if its input is so large that it will be cut: who has made a mistake
 * should not hear of it after hours. Whether it is. Also told: that standard input is names of
 * files, and the command one that was meant to get the files. */
bool cv_run_mistakes_form_early(const struct cv_call *call);

/* Outputs have headers that were not asked to be written once, or not all of them. */
void cv_run_mistakes_headers(const struct cv_call *call,
                             const struct cleave_execution_result *result);
/* All chunks are done: say it where the outputs of this command do not make one of the whole
 * input, or where it has not read its chunks. */
void cv_run_mistakes_hint(const struct cv_call *call, uint64_t chunks, double bytes);

#endif
