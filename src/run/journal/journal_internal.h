/* journal_internal.h -- an open journal, for its own files. SPDX-License-Identifier: MIT */
#ifndef CV_JOURNAL_INTERNAL_H
#define CV_JOURNAL_INTERNAL_H
#include <sqlite3.h>
#include "base/fail.h"
#include "run/common/transfer.h"
#include "run/journal/journal.h"

enum cv_journal_statement {
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
    struct cv_place place;                       /* the path, for messages        */
    int lock;                                    /* see journal_file.c            */
    sqlite3 *db;                                 /* owned */
    sqlite3_stmt *statements[CV_SQL_STATEMENTS]; /* owned; NULL until used        */
    char *part;                                  /* owned: a part of an output    */
    struct cv_content_hasher *hasher;            /* owned: of outputs and seals   */
    uint64_t key;                                /* random number of the run      */
    int64_t next_row;            /* id in the database of the next chunk          */
    struct cv_journal_row *rows; /* owned: by file and offset                     */
    size_t nrows, row_room;
    bool stale; /* one of the rows is */
    uint64_t damaged, total;
};

/* --- journal_file.c ---------------------------------------------------------------------- */

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
/* A column that is text without a NUL byte, or NULL. */
const char *cv_journal_text(sqlite3_stmt *row, int column);
/* Whether a column is this text. */
bool cv_journal_is(sqlite3_stmt *row, int column, const char *text);
/* Whether a row's columns have these types: i integer, r real, t text, b bytes. */
bool cv_journal_types(sqlite3_stmt *row, const char *types);
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

/* --- journal.c ---------------------------------------------------------------------------- */

/* The seal of a row of `table` from its packed columns, which are released. */
enum cleave_status cv_journal_seal(struct cv_journal *journal, const char *table,
                                   struct cv_packer *columns,
                                   char out[CV_CONTENT_HASH_TEXT],
                                   struct cleave_error *err);
#endif
