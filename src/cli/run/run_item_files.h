/* run_item_files.h -- files that go to other machines with items, and come back.
 * SPDX-License-Identifier: MIT */
#ifndef CV_RUN_ITEM_FILES_H
#define CV_RUN_ITEM_FILES_H
#include "cli/run/run_results.h"

/* Read --transferfile, --return, --basefile and --workdir. Returns an exit status; what is wrong
 * has been told. */
int cv_item_files_open(const struct cv_call *call, struct cv_run_items *items);
void cv_item_files_done(struct cv_run_items *items);
/* Ask the run for it. Returns an exit status. */
int cv_item_files_fill(const struct cv_call *call, const struct cv_run_items *items,
                       struct cleave_execution *out);

#endif
