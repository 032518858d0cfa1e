/* journal_ask.c -- what SQLite is asked, and what it complains of.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/fail.h"
#include "run/journal/journal_internal.h"

static const char what_to_do[] = "begin anew with --overwrite or with another journal";

enum cleave_status cv_journal_fail(const struct cv_journal *journal, const char *what,
                                   struct cleave_error *err)
{
    const struct cv_place place = { journal->path, 0, 0, NULL };
    const int code = sqlite3_errcode(journal->db);
    const int reason = sqlite3_system_errno(journal->db);
    const char *text = sqlite3_errmsg(journal->db);

    if (code == SQLITE_NOMEM)
        return cv_fail_memory(err, "a journal");
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT || code == SQLITE_TOOBIG ||
        code == SQLITE_FORMAT)
        return cv_fail_at(err, &place, "cannot %s: the file is damaged; %s", what,
                          what_to_do);
    if (code == SQLITE_FULL)
        text = "no space left on the disk";
    else if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
        text = "another program is writing to it";
    else if ((code == SQLITE_IOERR || code == SQLITE_CANTOPEN) && reason != 0)
        text = strerror(reason);
    (void)cv_fail_at(err, &place, "cannot %s: %s", what, text);
    /* A disk that is full says nothing against what was asked for. */
    if (code != SQLITE_FULL && code != SQLITE_IOERR)
        return CLEAVE_EINPUT;
    if (err != NULL)
        err->status = CLEAVE_EENGINE;
    return CLEAVE_EENGINE;
}

enum cleave_status cv_journal_fail_damaged(const struct cv_journal *journal,
                                           const char *what, struct cleave_error *err)
{
    const struct cv_place place = { journal->path, 0, 0, NULL };

    return cv_fail_at(err, &place, "the journal is damaged: %s are not as written; %s",
                      what, what_to_do);
}

enum cleave_status cv_journal_execute(struct cv_journal *journal, const char *sql,
                                      struct cleave_error *err)
{
    if (sqlite3_exec(journal->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return cv_journal_fail(journal, "write the journal", err);
    return CLEAVE_OK;
}

enum cleave_status cv_journal_ask(struct cv_journal *journal, const char *sql,
                                  int64_t *out, struct cleave_error *err)
{
    sqlite3_stmt *query;

    if (sqlite3_prepare_v2(journal->db, sql, -1, &query, NULL) != SQLITE_OK)
        return cv_journal_fail(journal, "read the journal", err);
    if (sqlite3_step(query) != SQLITE_ROW) {
        sqlite3_finalize(query);
        return cv_journal_fail(journal, "read the journal", err);
    }
    *out = sqlite3_column_int64(query, 0);
    sqlite3_finalize(query);
    return CLEAVE_OK;
}
