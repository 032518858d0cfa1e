/* run_report.h -- what cleave run says while it runs and at the end.
 * SPDX-License-Identifier: MIT */
#ifndef CV_RUN_REPORT_H
#define CV_RUN_REPORT_H
#include <stdbool.h>
#include <stdio.h>
#include "base/new_file.h"
#include "cli/live/live.h"
#include "cli/log/job_log.h"
#include "cli/run/run_options.h"
#include "report/terminal/terminal_progress.h"
#include "run/items/item_commands.h"

struct cv_run_report {
    struct cv_job_log log;
    bool bar, live, plain, drawn;
    unsigned below;        /* rows drawn below the bar               */
    bool result_on_stdout; /* the summary must not be between outputs */
    double shown_s;        /* when the progress was shown last  */
    double done;           /* as it is shown: it never falls    */
    size_t facts_wide;     /* columns that facts beside the bar have needed */
    struct cv_eta pace;
    struct cv_live_page page; /* --serve */
    bool declared;      /* costs are: its end can be predicted                      */
    bool by_one;        /* a command ended with status 1                            */
    double predicted_s; /* by the plan; NAN: none            */
    const struct cv_worker_list
        *workers; /* borrowed: who was asked to take part             */
    const struct cleave_platform *platform; /* borrowed: the costs that were declared */
    const char *const *command;             /* borrowed, ends with NULL     */
    const struct cv_item_commands *items;   /* borrowed; NULL: an input is shared out */
    struct cv_run_rows *rows; /* borrowed: of --results FILE.csv; NULL: none          */
    /* To read the hosts again: */
    const struct cv_run_options *options; /* borrowed */
    struct cv_reach reach;
    struct cv_arena *arena;
    struct cv_worker_list again; /* its platform is owned */
};

/* Returns an exit status; what is wrong has been told. */
int cv_run_report_open(struct cv_run_report *report, const struct cv_run_options *values);
/* Returns `status`, or that of a log that could not be written. */
int cv_run_report_close(struct cv_run_report *report, int status);

/* Fit struct cleave_execution, with the report as context. */
void cv_run_attempted(void *context, const struct cleave_attempt *attempt);
void cv_run_progress(void *context, const struct cleave_progress *progress);
void cv_run_note(void *context, const char *text);
enum cleave_status cv_run_more_hosts(void *context, struct cleave_more_hosts *out,
                                     struct cleave_error *err);

void cv_run_progress_end(struct cv_run_report *report);
/* The same where outputs go to the screen on which it is drawn. */
void cv_run_make_room(void *context);
/* What is shown while it runs shows its end; `result` may be NULL. */
void cv_run_page_end(struct cv_run_report *report,
                     const struct cleave_execution_result *result, int status);
/* Whether what was done is kept for another run: there is a journal, and nobody has removed it. */
bool cv_run_can_resume(const char *journal);
/* A signal stopped the run: what is done of it, and how to go on. */
void cv_run_stopped(const struct cleave_execution_result *result,
                    const struct cv_run_options *values,
                    const struct cv_run_report *report);
/* Why it took longer or less than predicted, if it did by much. */
void cv_run_predicted_text(const struct cleave_execution_result *result,
                           const struct cv_run_report *report, FILE *file);
/* From when all that were waited for could be given something, and how much of it a worker
 * was busy. */
double cv_run_makespan(const struct cleave_execution_result *result);
double cv_run_busy_part(const struct cleave_execution_result *result,
                        const struct cleave_worker_result *worker);
/* A row for each worker; of many, only those that did something. */
void cv_run_item_workers(const struct cleave_execution_result *result, FILE *file);
void cv_run_summary(const struct cleave_execution_result *result,
                    const struct cv_run_options *values, struct cv_run_report *report,
                    int exit_status);

struct cv_run_sink {
    const char *option; /* borrowed: that asked for it                                 */
    const char *path; /* borrowed; NULL: standard output                               */
    struct cv_new_file file;
    bool kept; /* a journal has all of it: nothing stays beside that is not whole   */
    bool on_stdout; /* outputs come on standard output, by whatever name               */
};

/* `path` is what the option says, as --output: NULL and "-" are standard output. *out_descriptor
 * is where to write. Returns an exit status; what is wrong has been told. */
int cv_run_sink_open(struct cv_run_sink *sink, const char *option, const char *path,
                     int *out_descriptor);
/* All outputs are there, in order: the file gets its name. Otherwise what there is stays
 * beside, and it is told where, unless it is kept elsewhere or empty. Returns `status`, or that of a
 * result that could not be written. Does nothing the second time. */
int cv_run_sink_close(struct cv_run_sink *sink, bool whole, int status);

/* Whether --output names a file: without it, and with "-", outputs go to standard output. */
bool cv_run_output_is_file(const struct cv_run_options *values);

#endif
