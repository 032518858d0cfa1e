/* journal_internal.h -- an open journal, for its own files. SPDX-License-Identifier: MIT */
#ifndef CV_JOURNAL_INTERNAL_H
#define CV_JOURNAL_INTERNAL_H
#include <sqlite3.h>
#include "run/journal/journal.h"
#include "run/common/pack.h"

enum { CV_JOURNAL_VERSION = 3, CV_JOURNAL_PART = 1 << 20 };

enum cv_journal_statement {
    CV_SQL_BEGIN,
    CV_SQL_COMMIT,
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
    int64_t row; /* its id in the database                                              */
    bool stale;  /* it was found to differ: it goes when its bytes are added again      */
};

struct cv_journal {
    char *path;                                  /* owned: as given, for messages  */
    int lock;                                    /* see journal_file.c             */
    sqlite3 *db;                                 /* owned */
    sqlite3_stmt *statements[CV_SQL_STATEMENTS]; /* owned; NULL until used          */
    char *part;                                  /* owned: of an output             */
    struct cv_content_hasher *hasher;            /* owned: of outputs and seals     */
    uint64_t key;                                /* of the run                      */
    int64_t next_row;            /* id in the database of the next chunk              */
    struct cv_journal_row *rows; /* owned: in order of files and offsets              */
    size_t nrows, row_room;
    size_t given; /* by cv_journal_next                                            */
    bool read;    /* `rows` are all that there are                                 */
    bool stale;   /* one of them is                                                */
    uint64_t damaged, total;
};

/* --- journal_file.c ---------------------------------------------------------------------- */

/* What SQLite complains of, as "cannot WHAT: ...". */
enum cleave_status cv_journal_fail(const struct cv_journal *journal, const char *what,
                                   struct cleave_error *err);
/* `what` is not as it was written. */
enum cleave_status cv_journal_fail_damaged(const struct cv_journal *journal,
                                           const char *what, struct cleave_error *err);
/* Run statements that give no rows. */
enum cleave_status cv_journal_execute(struct cv_journal *journal, const char *sql,
                                      struct cleave_error *err);
/* The number that a query gives. */
enum cleave_status cv_journal_ask(struct cv_journal *journal, const char *sql,
                                  int64_t *out, struct cleave_error *err);

/* --- journal_file.c: the file and the tables -------------------------------------------- */

/* Lock the file, open it as a database and make sure that it holds what a journal holds, or
 * nothing: then *fresh. CV_JOURNAL_OVERWRITE leaves nothing. */
enum cleave_status cv_journal_enter_file(struct cv_journal *journal,
                                         enum cv_journal_mode mode, bool *fresh,
                                         struct cleave_error *err);
enum cleave_status cv_journal_make_tables(struct cv_journal *journal,
                                          struct cleave_error *err);
enum cleave_status cv_journal_drop_tables(struct cv_journal *journal,
                                          struct cleave_error *err);

/* --- journal.c: run and inputs ---------------------------------------------------- */

/* Fails if the journal belongs to another run. */
enum cleave_status cv_journal_compare(struct cv_journal *journal,
                                      const struct cv_journal_run *run,
                                      const struct cv_source *source,
                                      struct cleave_error *err);
/* Write down the run, and what its inputs are now. */
enum cleave_status cv_journal_note_run(struct cv_journal *journal,
                                       const struct cv_journal_run *run,
                                       struct cleave_error *err);
enum cleave_status cv_journal_note_inputs(struct cv_journal *journal,
                                          const struct cv_source *source,
                                          struct cleave_error *err);

/* --- journal.c --------------------------------------------------------------------- */

/* The seal of a row of `table` from its packed columns, which are given up. */
enum cleave_status cv_journal_seal(struct cv_journal *journal, const char *table,
                                   struct cv_packer *columns,
                                   char out[CV_CONTENT_HASH_TEXT],
                                   struct cleave_error *err);
enum cleave_status cv_journal_seal_chunk(struct cv_journal *journal, int64_t row,
                                         const struct cv_journal_chunk *chunk,
                                         char out[CV_CONTENT_HASH_TEXT],
                                         struct cleave_error *err);
/* A column that is text without a zero byte, or NULL. */
const char *cv_journal_text(sqlite3_stmt *row, int column);
/* Whether a column is this text. */
bool cv_journal_is(sqlite3_stmt *row, int column, const char *text);
/* Whether a row's columns have these types: i integer, r real, t text, b bytes. */
bool cv_journal_types(sqlite3_stmt *row, const char *types);

/* --- journal_chunks.c ------------------------------------------------------------------- */

/* A statement to bind and step, made at first use; reset it when done. */
enum cleave_status cv_journal_prepare(struct cv_journal *journal,
                                      enum cv_journal_statement which, sqlite3_stmt **out,
                                      struct cleave_error *err);
/* Take a chunk and its output from the database. */
enum cleave_status cv_journal_forget(struct cv_journal *journal, int64_t row,
                                     struct cleave_error *err);

#endif
