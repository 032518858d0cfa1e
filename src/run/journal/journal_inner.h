/* journal_inner.h -- an open journal, for its own files. SPDX-License-Identifier: MIT */
#ifndef CV_JOURNAL_INNER_H
#define CV_JOURNAL_INNER_H
#include <sqlite3.h>
#include "run/journal/journal.h"

enum cv_journal_statement {
    CV_SQL_BEGIN,
    CV_SQL_COMMIT,
    CV_SQL_ADD_CHUNK,
    CV_SQL_ADD_PART,
    CV_SQL_FORGET_PARTS,
    CV_SQL_FORGET_CHUNKS,
    CV_SQL_NEXT,
    CV_SQL_CHUNK,
    CV_SQL_PARTS,
    CV_SQL_STATEMENTS,
};

struct cv_journal {
    char *path;                                  /* owned: as given, for messages */
    int lock;                                    /* see cv_journal_open           */
    sqlite3 *db;                                 /* owned */
    sqlite3_stmt *statements[CV_SQL_STATEMENTS]; /* owned; NULL until used          */
    char *part;          /* owned: of an output                                       */
    bool stale;          /* it holds chunks that were found to differ                 */
    bool begun;          /* cv_journal_next has given                                 */
    size_t last_file;    /*   this                                                    */
    uint64_t last_begin; /* and this                                                */
};

/* What SQLite complains of, as "cannot WHAT: ...". */
enum cleave_status cv_journal_fail(const struct cv_journal *journal, const char *what,
                                   struct cleave_error *err);
/* A statement to bind and step, made at first use; reset it when done. */
enum cleave_status cv_journal_prepare(struct cv_journal *journal,
                                      enum cv_journal_statement which, sqlite3_stmt **out,
                                      struct cleave_error *err);

#endif
