/* run_results.h -- outputs of items that are kept in files of their own, or tagged.
 * SPDX-License-Identifier: MIT */
#ifndef CV_RUN_RESULTS_H
#define CV_RUN_RESULTS_H
#include <cleave/execute.h>
#include "cli/log/job_log.h"
#include "cli/run/run_options.h"
#include "run/items/item_commands.h"
#include "run/items/result_name_set.h"

/* Items of a run, and what becomes of their outputs. */
struct cv_run_items {
    struct cv_item_commands commands;
    struct cv_item_template tag;   /* --tag, --tagstring                                */
    struct cv_item_template place; /* --results with places in it                       */
    const char *results;           /* folder; NULL: none                                */
    const char *folder; /* of files that --files makes; NULL: it is not asked */
    bool tags, names_files, in_place;
    struct cv_result_names
        result_names; /* names of files of --results                         */
    struct cv_run_rows
        rows;              /* --results FILE.csv                                       */
    const char *rows_file; /* where they go; NULL: there are none                     */
    /* Names of files that go to other machines, and that come back (run_results.h). */
    struct cv_item_template *sends, *returns; /* owned */
    size_t nsends, nreturns;
};

/* Read what is asked for. Returns an exit status; what is wrong has been told. */
int cv_run_results_open(const struct cv_call *call, struct cv_run_items *items);
void cv_run_results_done(struct cv_run_items *items);
/* Ask the run for it. */
void cv_run_results_fill(const struct cv_run_items *items, struct cleave_items *out);

/* Read --transferfile, --return, --basefile and --workdir. Returns an exit status; what is wrong
 * has been told. */
int cv_item_files_open(const struct cv_call *call, struct cv_run_items *items);
void cv_item_files_done(struct cv_run_items *items);
/* Ask the run for it. Returns an exit status. */
int cv_item_files_fill(const struct cv_call *call, const struct cv_run_items *items,
                       struct cleave_execution *out);

#endif
