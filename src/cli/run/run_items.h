/* run_items.h -- one command for each item: what was asked for. SPDX-License-Identifier: MIT */
#ifndef CV_RUN_ITEMS_H
#define CV_RUN_ITEMS_H
#include <cleave/execute.h>
#include <stdbool.h>
#include "cli/run/run_options.h"
#include "cli/run/run_results.h"
#include "run/items/item_lists.h"

/* Whether the call has items: ":::" and the like behind the command, -a or --each. */
bool cv_run_items_asked(const struct cv_call *call);
/* Read the items and make their commands. Returns an exit status; what is wrong has been
 * told. */
int cv_run_items_open(const struct cv_call *call, uint32_t workers,
                      struct cv_run_items *out);
/* Ask for them instead of an input. Returns an exit status. */
int cv_run_items_fill(const struct cv_call *call, struct cv_run_items *items,
                      struct cleave_execution *out);
/* What they take, if that is known or asked for: then policy items decides who does which,
 * and when. Returns an exit status. (run_item_sizes.c) */
int cv_run_item_sizes(const struct cv_call *call, const struct cv_item_commands *commands,
                      uint32_t workers, struct cleave_execution *out);
/* --dry-run: the command lines. */
int cv_run_items_show(struct cv_run_items *items);

struct cv_item_stream;

/* cv_files_check with the files of '::::' and of '--results FILE.csv' among them. */
int cv_item_lists_check_files(const struct cv_call *call);

#endif
