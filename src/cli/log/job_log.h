/* job_log.h -- files with a row for each command that ended: the job log (--joblog), and rows
 * with outputs of items (--results FILE.csv). SPDX-License-Identifier: MIT
 *
 * Both have the columns of GNU parallel, which are one table in job_log.c. */
#ifndef CV_JOB_LOG_H
#define CV_JOB_LOG_H
#include <cleave/execute.h>
#include "cli/common/output.h"
#include "run/items/item_commands.h"

enum { CV_LOG_COLUMNS = 64 }; /* most of a log that is continued */

struct cv_job_log {
    struct cv_output_file out;   /* its file is NULL: there is no log           */
    int failed;                  /* exit status of an error that was printed    */
    int columns[CV_LOG_COLUMNS]; /* of the table, -1: one that is not known   */
    size_t ncolumns;
};

/* `path` is the argument of --joblog; NULL: no log. `resumes`: rows are added to those of an
 * older log, if there is one, and have its columns. Returns an exit status. */
int cv_job_log_open(struct cv_job_log *log, const char *path, bool resumes);
/* `items`: their commands, by number; NULL: the attempt was a part of an input. */
void cv_job_log_add(struct cv_job_log *log, const struct cleave_attempt *attempt,
                    const struct cv_item_commands *items);
/* Returns `status`, or that of a log that could not be written. Does nothing the second
 * time. */
int cv_job_log_close(struct cv_job_log *log, int status);

enum cv_rows_kind { CV_ROWS_NONE, CV_ROWS_CSV, CV_ROWS_TSV, CV_ROWS_JSON };

/* Standard error of a command, until its row is written. */
struct cv_row_errors {
    uint64_t item;
    int fd; /* owned */
};

/* Rows of --results. A row is the output of its item for the run, which writes it in place of
 * the output of the command: so rows are in order. */
struct cv_run_rows {
    enum cv_rows_kind kind;
    const struct cv_item_commands *commands; /* borrowed */
    struct cleave_attempt
        last;         /* the attempt whose row is next; its texts are not kept */
    char worker[256]; /* of that attempt */
    struct cv_row_errors *errors; /* owned */
    size_t nerrors, room;
    bool unordered; /* rows are written as they are made */
    bool begun;     /* the names of columns are written  */
};

/* By the end of the name of the file. */
enum cv_rows_kind cv_rows_kind(const char *name);
void cv_run_rows_done(struct cv_run_rows *rows);
/* The end of the command whose row is written next. */
void cv_run_rows_attempted(struct cv_run_rows *rows,
                           const struct cleave_attempt *attempt);
/* A descriptor for its standard error; errors of an earlier attempt are dropped. */
enum cleave_status cv_run_rows_errors(struct cv_run_rows *rows, uint64_t item, int *out,
                                      struct cleave_error *err);
/* Its row; the output is bytes [begin, end) of `fd`. *out is for free(). */
enum cleave_status cv_run_rows_make(struct cv_run_rows *rows, uint64_t item, int fd,
                                    uint64_t begin, uint64_t end, char **out,
                                    size_t *out_length, struct cleave_error *err);

#endif
