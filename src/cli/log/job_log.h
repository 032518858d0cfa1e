/* job_log.h -- files with a row for each command that ended: the job log (--joblog), and rows
 * with outputs of items (--results FILE.csv); and the failures of a trace. SPDX-License-Identifier: MIT
 *
 * Both have the columns of GNU parallel, which are one table in job_log.c. */
#ifndef CV_JOB_LOG_H
#define CV_JOB_LOG_H
#include <cleave/execute.h>
#include <cleave/trace.h>
#include "base/arena.h"
#include "cli/common/output.h"
#include "run/items/item_commands.h"

enum { CV_LOG_COLUMNS = 64 }; /* most columns of a log */

struct cv_job_log {
    struct cv_output_file out;   /* out.file is NULL if there is no log */
    int failed;                  /* exit status of an error that was printed    */
    int columns[CV_LOG_COLUMNS]; /* columns of the table; -1: unknown */
    size_t ncolumns;
};

/* `path` NULL: no log. With `resumes`, rows are added to an older log, with its
 * columns. */
int cv_job_log_open(struct cv_job_log *log, const char *path, bool resumes);
/* `items` NULL: the attempt was a part of an input. */
void cv_job_log_add(struct cv_job_log *log, const struct cleave_attempt *attempt,
                    const struct cv_item_commands *items);
/* Returns `status`, or the status of a failed write. The second call does nothing. */
int cv_job_log_close(struct cv_job_log *log, int status);

/* Failures for the trace: the first CV_FAILURES_KEPT of them. */
enum { CV_FAILURES_KEPT = 1000 };

struct cv_failure_list {
    struct cv_arena *arena; /* borrowed; NULL: nothing is kept */
    struct cleave_trace_failure *items;
    size_t count;
};

void cv_failure_list_add(struct cv_failure_list *list,
                         const struct cleave_attempt *attempt,
                         const struct cv_item_commands *items);

enum cv_rows_kind { CV_ROWS_NONE, CV_ROWS_CSV, CV_ROWS_TSV, CV_ROWS_JSON };

struct cv_row_errors {
    uint64_t item;
    int fd; /* owned */
};

/* Rows of --results. A row takes the place of the output of its item: so rows are in
 * order. */
struct cv_run_rows {
    enum cv_rows_kind kind;
    const struct cv_item_commands *commands; /* borrowed */
    struct cleave_attempt last; /* the attempt of the next row; its texts are not kept */
    char worker[256];           /* worker of the attempt */
    struct cv_row_errors *errors; /* owned */
    size_t nerrors, room;
    bool unordered; /* rows are written as they are made */
    bool begun;     /* the names of columns are written  */
};

enum cv_rows_kind cv_rows_kind(const char *name);
void cv_run_rows_done(struct cv_run_rows *rows);
/* The end of the command of the next row. */
void cv_run_rows_attempted(struct cv_run_rows *rows,
                           const struct cleave_attempt *attempt);
/* A descriptor for standard error of the item; errors of an earlier attempt are
 * dropped. */
enum cleave_status cv_run_rows_errors(struct cv_run_rows *rows, uint64_t item, int *out,
                                      struct cleave_error *err);
/* The row of an item whose output is bytes [begin, end) of `fd`. *out is for free(). */
enum cleave_status cv_run_rows_make(struct cv_run_rows *rows, uint64_t item, int fd,
                                    uint64_t begin, uint64_t end, char **out,
                                    size_t *out_length, struct cleave_error *err);

#endif
