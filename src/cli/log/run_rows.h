/* run_rows.h -- what each command of an item wrote, as rows of one file: --results FILE.csv.
 * SPDX-License-Identifier: MIT */
#ifndef CV_RUN_ROWS_H
#define CV_RUN_ROWS_H
#include <cleave/execute.h>
#include "run/items/item_commands.h"

enum cv_rows_kind { CV_ROWS_NONE, CV_ROWS_CSV, CV_ROWS_TSV, CV_ROWS_JSON };

/* Standard error of a command, until its row is written. */
struct cv_row_errors {
    uint64_t item;
    int fd; /* owned */
};

struct cv_run_rows {
    enum cv_rows_kind kind;
    const struct cv_item_commands
        *commands; /* borrowed                                  */
    struct cleave_attempt
        last; /* what was heard last of a command; its texts are not kept */
    char worker[256];
    struct cv_row_errors *errors; /* owned */
    size_t nerrors, room;
    bool unordered; /* rows are written as they are made */
    bool begun;     /* the names of columns are written  */
};

/* By the end of the name of the file. */
enum cv_rows_kind cv_rows_kind(const char *name);
void cv_run_rows_done(struct cv_run_rows *rows);
/* How the command whose row is written next has ended. */
void cv_run_rows_attempted(struct cv_run_rows *rows,
                           const struct cleave_attempt *attempt);
/* Where its standard error goes. */
enum cleave_status cv_run_rows_errors(struct cv_run_rows *rows, uint64_t item, int *out,
                                      struct cleave_error *err);
/* Its row; the output is bytes [begin, end) of `fd`. *out is for free(). */
enum cleave_status cv_run_rows_make(struct cv_run_rows *rows, uint64_t item, int fd,
                                    uint64_t begin, uint64_t end, char **out,
                                    size_t *out_length, struct cleave_error *err);

#endif
