/* journal_internal.h -- an open journal, for its own files. SPDX-License-Identifier: MIT */
#ifndef CV_JOURNAL_INTERNAL_H
#define CV_JOURNAL_INTERNAL_H
#include <sqlite3.h>
#include "run/common/transfer.h"
#include "run/journal/journal.h"

enum cv_journal_statement {
    CV_SQL_ADD_RUN,
    CV_SQL_ADD_INPUT,
    CV_SQL_ADD_CHUNK,
    CV_SQL_ADD_PART,
    CV_SQL_FORGET_PARTS,
    CV_SQL_FORGET_CHUNK,
    CV_SQL_CHUNKS,
    CV_SQL_PARTS,
    CV_SQL_STATEMENTS,
};

/* A chunk of an earlier run. */
struct cv_journal_row {
    struct cv_journal_chunk chunk;
    int64_t row; /* id in the database */
    bool stale;  /* removed when its bytes are added again */
};

struct cv_journal {
    char *path;                                  /* owned                         */
    int lock;                                    /* see journal_file.c            */
    sqlite3 *db;                                 /* owned */
    sqlite3_stmt *statements[CV_SQL_STATEMENTS]; /* owned; NULL until used        */
    char *part;                                  /* owned: a part of an output    */
    char *changed;                               /* owned: cv_journal_changed     */
    struct cv_content_hasher *hasher;            /* owned: of outputs and seals   */
    uint64_t key;                                /* random number of the run      */
    int64_t next_row;            /* id in the database of the next chunk          */
    struct cv_journal_row *rows; /* owned: by file and offset                     */
    size_t nrows, row_room;
    bool stale; /* one of the rows is */
    uint64_t damaged, total;
};

/* Report an error of SQLite as "cannot WHAT: ...". */
enum cleave_status cv_journal_fail(const struct cv_journal *journal, const char *what,
                                   struct cleave_error *err);
/* Report that `what` has changed since it was written. */
enum cleave_status cv_journal_fail_damaged(const struct cv_journal *journal,
                                           const char *what, struct cleave_error *err);
/* Run statements that return no rows. */
enum cleave_status cv_journal_execute(struct cv_journal *journal, const char *sql,
                                      struct cleave_error *err);
enum cleave_status cv_journal_query(struct cv_journal *journal, const char *sql,
                                    sqlite3_stmt **out, struct cleave_error *err);
/* Run a query that returns one number. */
enum cleave_status cv_journal_ask(struct cv_journal *journal, const char *sql,
                                  int64_t *out, struct cleave_error *err);
/* A statement to bind and step, made at first use; to be reset after use. */
enum cleave_status cv_journal_prepare(struct cv_journal *journal,
                                      enum cv_journal_statement which, sqlite3_stmt **out,
                                      struct cleave_error *err);

/* A column or parameter: number, real, text, hash or bytes, as its statement has it. */
struct cv_journal_value {
    int64_t number; /* or length of bytes */
    double real;
    const char *text; /* borrowed; of a row that is read: until the next step */
    const void *bytes;
    struct cv_content_hash hash;
};

enum { CV_JOURNAL_COLUMNS = 11 }; /* most columns of a row, without its seal */

/* Run a statement that returns no rows. A row of a table with seals gets one. */
enum cleave_status cv_journal_write(struct cv_journal *journal,
                                    enum cv_journal_statement which,
                                    const struct cv_journal_value *values,
                                    struct cleave_error *err);
/* Read a row that `which` has added with a seal. *good is false if it is damaged. */
enum cleave_status cv_journal_read(struct cv_journal *journal, sqlite3_stmt *row,
                                   enum cv_journal_statement which,
                                   struct cv_journal_value values[CV_JOURNAL_COLUMNS],
                                   bool *good, struct cleave_error *err);
/* Commit the open transaction if `status` is OK, else roll it back. */
enum cleave_status cv_journal_end(struct cv_journal *journal, enum cleave_status status,
                                  struct cleave_error *err);
/* Lock the file, open it as a database and check that it has the tables of a journal, or none:
 * then *fresh. CV_JOURNAL_OVERWRITE removes all tables. */
enum cleave_status cv_journal_open_file(struct cv_journal *journal,
                                        enum cv_journal_mode mode, bool *fresh,
                                        struct cleave_error *err);
/* Make empty tables. `drop`: there are some. */
enum cleave_status cv_journal_make_tables(struct cv_journal *journal, bool drop,
                                          struct cleave_error *err);

#endif
