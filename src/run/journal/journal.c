/* journal.c -- open a journal, and see whose it is. SPDX-License-Identifier: MIT
 *
 * SQLite's own locks are held for moments only, so that others can read. That a journal
 * belongs to one run at a time is seen to by a lock on a byte far behind the file's end.
 * It is bound to the open file, not to the process: another open of the same file in this
 * process is refused as well. The descriptor must outlive the database, as closing it
 * takes away the locks of SQLite. */
#include "run/journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/text.h"
#include "run/journal/journal_inner.h"

enum { VERSION = 1, APPLICATION = 0x636c766a /* "clvj" */, BUSY_MS = 10000 };

static const char schema[] =
    "CREATE TABLE run (command TEXT NOT NULL, splitter TEXT NOT NULL,"
    " header INTEGER NOT NULL, pairs INTEGER NOT NULL,"
    " started TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);"
    "CREATE TABLE input (file INTEGER PRIMARY KEY, path TEXT NOT NULL,"
    " device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL,"
    " mtime_ns INTEGER NOT NULL);"
    "CREATE TABLE chunk (id INTEGER PRIMARY KEY, file INTEGER NOT NULL,"
    " first_byte INTEGER NOT NULL, end_byte INTEGER NOT NULL, hash TEXT NOT NULL,"
    " status INTEGER NOT NULL, seconds REAL NOT NULL, worker TEXT NOT NULL,"
    " output_bytes INTEGER NOT NULL, UNIQUE (file, first_byte));"
    "CREATE TABLE output (chunk INTEGER NOT NULL, part INTEGER NOT NULL,"
    " bytes BLOB NOT NULL, PRIMARY KEY (chunk, part));"
    "PRAGMA application_id = 1668052586; PRAGMA user_version = 1;";

/* --- errors and statements -------------------------------------------------------------- */

enum cleave_status cv_journal_fail(const struct cv_journal *journal, const char *what,
                                   struct cleave_error *err)
{
    const struct cv_place place = { journal->path, 0, 0, NULL };
    const int code = sqlite3_errcode(journal->db);
    const int reason = sqlite3_system_errno(journal->db);
    const char *text = sqlite3_errmsg(journal->db);

    if (code == SQLITE_NOMEM)
        return cv_fail_memory(err, "a journal");
    if (code == SQLITE_FULL)
        text = "no space left on the disk";
    else if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
        text = "another program is writing to it";
    else if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
        text = "the file is damaged";
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

static enum cleave_status execute(struct cv_journal *journal, const char *sql,
                                  struct cleave_error *err)
{
    if (sqlite3_exec(journal->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return cv_journal_fail(journal, "write the journal", err);
    return CLEAVE_OK;
}

/* The number that a query gives. */
static enum cleave_status ask(struct cv_journal *journal, const char *sql, int64_t *out,
                              struct cleave_error *err)
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

/* --- the file --------------------------------------------------------------------------- */

static enum cleave_status lock(struct cv_journal *journal, struct cleave_error *err)
{
    static const char magic[] = "SQLite format 3";
    const struct cv_place place = { journal->path, 0, 0, NULL };
    struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
    char head[sizeof magic];
    ssize_t got;

    range.l_start = (off_t)1 << 62;
    journal->lock = open(journal->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (journal->lock < 0)
        return cv_fail_at(err, &place, "cannot open the journal: %s", strerror(errno));
    if (fcntl(journal->lock, F_OFD_SETLK, &range) != 0)
        return errno == EAGAIN || errno == EACCES
                   ? cv_fail_at(err, &place,
                                "expected a journal that is free, got one that another "
                                "run is using")
                   : cv_fail_at(err, &place, "cannot lock the journal: %s",
                                strerror(errno));
    got = pread(journal->lock, head, sizeof head, 0);
    if (got < 0)
        return cv_fail_at(err, &place, "cannot read the journal: %s", strerror(errno));
    if (got > 0 && (got < (ssize_t)sizeof head || memcmp(head, magic, sizeof magic) != 0))
        return cv_fail_at(err, &place,
                          "expected a journal or a new file, got a file of another kind");
    return CLEAVE_OK;
}

static enum cleave_status open_database(struct cv_journal *journal,
                                        struct cleave_error *err)
{
    /* A whole path, as some names mean something else to SQLite. */
    char *whole = realpath(journal->path, NULL);
    const struct cv_place place = { journal->path, 0, 0, NULL };
    int opened;

    if (whole == NULL)
        return cv_fail_at(err, &place, "cannot open the journal: %s", strerror(errno));
    opened = sqlite3_open_v2(whole, &journal->db,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    free(whole);
    if (journal->db == NULL)
        return cv_fail_memory(err, "a journal");
    if (opened != SQLITE_OK)
        return cv_journal_fail(journal, "open the journal", err);
    sqlite3_busy_timeout(journal->db, BUSY_MS);
    return CLEAVE_OK;
}

/* Whether the database is a journal, or may become one. */
static enum cleave_status identify(struct cv_journal *journal, bool *fresh,
                                   struct cleave_error *err)
{
    const struct cv_place place = { journal->path, 0, 0, NULL };
    int64_t application = 0, version = 0, tables = 0;

    CV_TRY(ask(journal, "PRAGMA application_id", &application, err));
    CV_TRY(ask(journal, "PRAGMA user_version", &version, err));
    CV_TRY(ask(journal, "SELECT count(*) FROM sqlite_master", &tables, err));
    *fresh = tables == 0;
    if (tables > 0 && application != APPLICATION)
        return cv_fail_at(err, &place,
                          "expected a journal, got a database of another program");
    if (tables > 0 && version != VERSION)
        return cv_fail_at(err, &place,
                          "expected a journal of version %d, got version %" PRId64,
                          VERSION, version);
    return CLEAVE_OK;
}

/* --- whose it is ------------------------------------------------------------------------ */

static enum cleave_status differs(const struct cv_journal *journal, const char *what,
                                  const char *expected, const char *got,
                                  struct cleave_error *err)
{
    const struct cv_place place = { journal->path, 0, 0, NULL };
    char shown[2][160];

    return cv_fail_at(err, &place,
                      "the journal belongs to another run: expected %s '%s', got '%s'",
                      what, cv_shown(expected, strlen(expected), shown[0], sizeof *shown),
                      cv_shown(got, strlen(got), shown[1], sizeof *shown));
}

static const char *text_of(sqlite3_stmt *query, int column)
{
    const char *text = (const char *)sqlite3_column_text(query, column);

    return text != NULL ? text : "";
}

static enum cleave_status compare_run(struct cv_journal *journal, sqlite3_stmt *query,
                                      const struct cv_journal_run *run,
                                      struct cleave_error *err)
{
    static const char *const yes_no[] = { "no", "yes" };
    const int header = sqlite3_column_int(query, 2) != 0;
    const int pairs = sqlite3_column_int(query, 3) != 0;

    if (strcmp(text_of(query, 0), run->command) != 0)
        return differs(journal, "the command", text_of(query, 0), run->command, err);
    if (strcmp(text_of(query, 1), run->splitter) != 0)
        return differs(journal, "the splitter", text_of(query, 1), run->splitter, err);
    if (header != run->header)
        return differs(journal, "a header:", yes_no[header], yes_no[run->header], err);
    if (pairs != run->pairs)
        return differs(journal, "pairs:", yes_no[pairs], yes_no[run->pairs], err);
    return CLEAVE_OK;
}

/* An input may have been moved or replaced, but not both: what is in it is compared by
 * hashes later. */
static enum cleave_status compare_input(struct cv_journal *journal, sqlite3_stmt *query,
                                        const struct cv_source *source,
                                        struct cleave_error *err)
{
    const size_t file = (size_t)sqlite3_column_int64(query, 0);
    struct cv_input input;

    if (file >= cv_source_inputs(source))
        return differs(journal, "the input", text_of(query, 1), "nothing", err);
    input = cv_source_input(source, file);
    if (strcmp(text_of(query, 1), input.path) == 0 ||
        ((uint64_t)sqlite3_column_int64(query, 2) == input.device &&
         (uint64_t)sqlite3_column_int64(query, 3) == input.inode))
        return CLEAVE_OK;
    return differs(journal, "the input", text_of(query, 1), input.path, err);
}

static enum cleave_status compare(struct cv_journal *journal,
                                  const struct cv_journal_run *run,
                                  const struct cv_source *source,
                                  struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    sqlite3_stmt *query = NULL;
    int step;

    if (sqlite3_prepare_v2(journal->db,
                           "SELECT command, splitter, header, pairs FROM run", -1, &query,
                           NULL) != SQLITE_OK)
        return cv_journal_fail(journal, "read the journal", err);
    while (status == CLEAVE_OK && (step = sqlite3_step(query)) != SQLITE_DONE)
        status = step == SQLITE_ROW ? compare_run(journal, query, run, err)
                                    : cv_journal_fail(journal, "read the journal", err);
    sqlite3_finalize(query);
    CV_TRY(status);
    if (sqlite3_prepare_v2(journal->db,
                           "SELECT file, path, device, inode FROM input ORDER BY file",
                           -1, &query, NULL) != SQLITE_OK)
        return cv_journal_fail(journal, "read the journal", err);
    while (status == CLEAVE_OK && (step = sqlite3_step(query)) != SQLITE_DONE)
        status = step == SQLITE_ROW ? compare_input(journal, query, source, err)
                                    : cv_journal_fail(journal, "read the journal", err);
    sqlite3_finalize(query);
    return status;
}

/* Write down the run, if it is not there, and what its inputs are now. */
static enum cleave_status note_run(struct cv_journal *journal,
                                   const struct cv_journal_run *run,
                                   const struct cv_source *source,
                                   struct cleave_error *err)
{
    sqlite3_stmt *add = NULL;
    bool good;

    good = sqlite3_prepare_v2(journal->db,
                              "INSERT INTO run (command, splitter, header, pairs)"
                              " SELECT ?, ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM run)",
                              -1, &add, NULL) == SQLITE_OK &&
           sqlite3_bind_text(add, 1, run->command, -1, SQLITE_STATIC) == SQLITE_OK &&
           sqlite3_bind_text(add, 2, run->splitter, -1, SQLITE_STATIC) == SQLITE_OK &&
           sqlite3_bind_int(add, 3, run->header) == SQLITE_OK &&
           sqlite3_bind_int(add, 4, run->pairs) == SQLITE_OK &&
           sqlite3_step(add) == SQLITE_DONE;
    sqlite3_finalize(add);
    add = NULL;
    good = good && sqlite3_prepare_v2(journal->db,
                                      "INSERT OR REPLACE INTO input VALUES (?, ?, ?, ?, "
                                      "?, ?)",
                                      -1, &add, NULL) == SQLITE_OK;
    for (size_t i = 0; good && i < cv_source_inputs(source); i++) {
        const struct cv_input input = cv_source_input(source, i);

        good = sqlite3_bind_int64(add, 1, (int64_t)i) == SQLITE_OK &&
               sqlite3_bind_text(add, 2, input.path, -1, SQLITE_STATIC) == SQLITE_OK &&
               sqlite3_bind_int64(add, 3, (int64_t)input.device) == SQLITE_OK &&
               sqlite3_bind_int64(add, 4, (int64_t)input.inode) == SQLITE_OK &&
               sqlite3_bind_int64(add, 5, input.size) == SQLITE_OK &&
               sqlite3_bind_int64(add, 6, input.mtime_ns) == SQLITE_OK &&
               sqlite3_step(add) == SQLITE_DONE && sqlite3_reset(add) == SQLITE_OK;
    }
    sqlite3_finalize(add);
    return good ? CLEAVE_OK : cv_journal_fail(journal, "write the journal", err);
}

/* --- opening ---------------------------------------------------------------------------- */

static enum cleave_status enter(struct cv_journal *journal, enum cv_journal_mode mode,
                                bool fresh, const struct cv_journal_run *run,
                                const struct cv_source *source, struct cleave_error *err)
{
    const struct cv_place place = { journal->path, 0, 0, NULL };
    int64_t chunks = 0;

    if (!fresh) {
        CV_TRY(ask(journal, "SELECT count(*) FROM chunk", &chunks, err));
        if (chunks > 0 && mode != CV_JOURNAL_OVERWRITE)
            CV_TRY(compare(journal, run, source, err));
        if (chunks > 0 && mode == CV_JOURNAL_NEW)
            return cv_fail_at(err, &place,
                              "expected a new journal, got one with %" PRId64 " finished "
                              "chunks of this run: resume it or overwrite it",
                              chunks);
        if (chunks == 0 || mode == CV_JOURNAL_OVERWRITE)
            CV_TRY(execute(journal,
                           "DROP TABLE run; DROP TABLE input; DROP TABLE chunk;"
                           "DROP TABLE output",
                           err));
    }
    if (chunks == 0 || mode == CV_JOURNAL_OVERWRITE)
        CV_TRY(execute(journal, schema, err));
    return note_run(journal, run, source, err);
}

static enum cleave_status start(struct cv_journal *journal, enum cv_journal_mode mode,
                                const struct cv_journal_run *run,
                                const struct cv_source *source, struct cleave_error *err)
{
    bool fresh;

    CV_TRY(lock(journal, err));
    CV_TRY(open_database(journal, err));
    CV_TRY(identify(journal, &fresh, err));
    /* Where no memory can be shared, as on some network file systems, SQLite keeps the
     * journal mode that it has: slower, and as safe. A commit is in the page cache, so it
     * survives the death of the process; the disk is waited for now and then only. */
    CV_TRY(execute(journal,
                   "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL;"
                   "PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 67108864",
                   err));
    CV_TRY(execute(journal, "BEGIN IMMEDIATE", err));
    CV_TRY(enter(journal, mode, fresh, run, source, err));
    return execute(journal, "COMMIT", err);
}

enum cleave_status cv_journal_open(const char *path, enum cv_journal_mode mode,
                                   const struct cv_journal_run *run,
                                   const struct cv_source *source,
                                   struct cv_journal **out, struct cleave_error *err)
{
    struct cv_journal *journal = calloc(1, sizeof *journal);
    enum cleave_status status;

    if (journal == NULL)
        return cv_fail_memory(err, "a journal");
    journal->lock = -1;
    journal->path = strdup(path);
    status = journal->path == NULL ? cv_fail_memory(err, "a journal")
                                   : start(journal, mode, run, source, err);
    if (status == CLEAVE_OK)
        *out = journal;
    else
        cv_journal_close(journal);
    return status;
}

void cv_journal_close(struct cv_journal *journal)
{
    if (journal == NULL)
        return;
    for (size_t i = 0; i < CV_SQL_STATEMENTS; i++)
        sqlite3_finalize(journal->statements[i]);
    sqlite3_close(journal->db);
    if (journal->lock >= 0)
        close(journal->lock);
    free(journal->part);
    free(journal->path);
    free(journal);
}
