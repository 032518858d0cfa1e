/* run_command.h -- the command as it was typed, and what was meant instead.
 * SPDX-License-Identifier: MIT */
#ifndef CV_RUN_COMMAND_H
#define CV_RUN_COMMAND_H
#include <stdbool.h>
#include <stdint.h>
#include "cli/common/verb.h"

/* Check the operands of a call that are a command: there is one, it is no input whose -i
 * was forgotten, and, unless `literal` or there are `items`, it has no places for them
 * ("{}"). With items it may be missing: they are commands then. Returns an
 * exit status; what is wrong has been told. */
int cv_run_command_check(const struct cv_call *call, bool literal, bool items);

/* What came of a command. */
struct cv_run_outcome {
    uint64_t failed; /* so many chunks                                                  */
    bool all;        /* and these are all                                               */
    bool by_one;     /* a command ended with status 1                                   */
    bool halted;     /* that was enough, and has been told                              */
    bool rest;       /* all but the first, of one input                                 */
    uint64_t chunks; /* of these                                                        */
    double bytes;    /* of the input                                                    */
    bool hosts;      /* on other machines                                               */
    bool items;      /* no chunks, but commands of items                               */
    bool form_told;  /* what its records may be was said before                         */
    bool empty;      /* there was nothing in the input                                  */
    const struct cleave_execution_result *result; /* borrowed                           */
};

/* What may have been meant, of a run that failed, had nothing to do or whose output is one of
 * each chunk. */
void cv_run_command_hint(const struct cv_call *call, const struct cv_run_outcome *how);

/* Whether a word of it names a variable that commands are told of their chunk by, or it lists
 * all. */
bool cv_run_command_asks(const char *const *words);

/* The words that put a chunk into a file and run the command with its name for {}; `words` are
 * replaced by them, from the arena. Returns an exit status; what is wrong has been told. */
int cv_run_cat(const struct cv_call *call, const char *const **words);

#endif
