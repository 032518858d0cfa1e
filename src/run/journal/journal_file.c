/* journal_file.c -- the file of a journal, and its tables. SPDX-License-Identifier: MIT
 *
 * SQLite holds its own locks for moments only, so that other processes can read. A lock on a
 * byte far after the end of the file keeps other runs out. It belongs to the open file, not to
 * the process, so a second open in this process is refused as well. Its descriptor must outlive
 * the database, because close() would release the locks of SQLite.
 *
 * Chunks in a journal are not run again, so other users must not be able to change it. It is
 * made with mode 0600, and SQLite gives its companion files the same mode. A journal that others
 * own or may write to is refused, and so are links; users who trust such a file can copy it. The
 * schema must be ours to the letter before a row is read: no views, triggers, generated columns
 * or indices.
 *
 * A commit is in the page cache, so it survives kill -9. In WAL mode with synchronous = NORMAL
 * SQLite waits for the disk only when it copies the log into the database. After a loss of power
 * the last commits may be missing, and their chunks run again; earlier ones are intact. Without
 * shared memory, as on some network file systems, there is no WAL. Then each commit waits for
 * the disk (FULL), because the rollback journal would not be safe otherwise. Seals detect data
 * that a disk has lost or mixed up in spite of that. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cleave/error.h>
#include "base/fail.h"
#include "run/journal/journal_internal.h"

/* --- owners and companion files ----------------------------------------------------------- */

enum { MAGIC = 4, FORMS = 3 };

/* Files that SQLite keeps next to a database, by their first bytes (fileformat2.html and
 * walformat.html of SQLite). A file that was incomplete at a crash may begin with zeros. */
static const struct companion {
    const char *suffix;
    unsigned char magic[FORMS][MAGIC];
} companions[] = {
    { "-wal", { { 0x37, 0x7f, 0x06, 0x82 }, { 0x37, 0x7f, 0x06, 0x83 }, { 0 } } },
    /* The version, in the byte order of the machine. */
    { "-shm", { { 0x18, 0xe2, 0x2d, 0x00 }, { 0x00, 0x2d, 0xe2, 0x18 }, { 0 } } },
    { "-journal", { { 0xd9, 0xd5, 0x05, 0xf9 }, { 0 }, { 0 } } },
};

static enum cleave_status trust_file(const char *path, const char *suffix,
                                     const struct stat *facts, struct cleave_error *err)
{
    if (!S_ISREG(facts->st_mode))
        return cv_fail_at(err, CV_FILE(path),
                          "expected a journal or a new file, got one%s%s that is not "
                          "a regular file",
                          *suffix != '\0' ? " with " : "", suffix);
    if (facts->st_uid != geteuid())
        return cv_fail_at(err, CV_FILE(path),
                          "the journal%s%s belongs to user %lu, not to you: if you trust "
                          "what it holds, copy it to your own file",
                          *suffix != '\0' ? "'s file " : "", suffix,
                          (unsigned long)facts->st_uid);
    if (facts->st_size > 0 && (facts->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return cv_fail_at(err, CV_FILE(path),
                          "others may write to the journal%s%s (mode %03o): if you trust "
                          "what it holds, take that away with chmod go-w",
                          *suffix != '\0' ? "'s file " : "", suffix,
                          (unsigned)(facts->st_mode & 0777));
    return CLEAVE_OK;
}

/* Whether SQLite may have made the file. If it cannot be read, SQLite will report that. */
static bool is_companion(const char *path, const struct companion *companion)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    unsigned char head[MAGIC];
    const ssize_t got = fd >= 0 ? pread(fd, head, sizeof head, 0) : 0;
    static const unsigned char blank[MAGIC];
    /* A process may be killed after it has truncated -shm to three bytes. */
    bool known = got <= 0 || (got < MAGIC && memcmp(head, blank, (size_t)got) == 0);

    if (fd >= 0)
        close(fd);
    for (size_t i = 0; i < FORMS; i++)
        known = known ||
                (got == MAGIC && memcmp(head, companion->magic[i], sizeof head) == 0);
    return known;
}

static enum cleave_status trust_companion(const char *path, char *beside,
                                          const struct companion *companion,
                                          struct cleave_error *err)
{
    struct stat facts;

    if (lstat(beside, &facts) != 0)
        return CLEAVE_OK;
    CV_TRY(trust_file(path, companion->suffix, &facts, err));
    if (is_companion(beside, companion))
        return CLEAVE_OK;
    return cv_fail_at(err, CV_FILE(path),
                      "a file with this name and the suffix %s exists, is not part of a "
                      "journal and would be lost: use another journal",
                      companion->suffix);
}

/* Check that only this user can have written the file and its companions, which SQLite reads as
 * part of the journal and removes, and that SQLite has made the companions. */
static enum cleave_status check_owner(const char *path, const struct stat *facts,
                                      struct cleave_error *err)
{
    const size_t room = strlen(path) + sizeof "-journal";
    char *beside = malloc(room);
    enum cleave_status status = trust_file(path, "", facts, err);

    if (beside == NULL && status == CLEAVE_OK)
        status = cv_fail_memory(err, "a journal");
    for (size_t i = 0; status == CLEAVE_OK && i < sizeof companions / sizeof *companions;
         i++) {
        snprintf(beside, room, "%s%s", path, companions[i].suffix);
        status = trust_companion(path, beside, &companions[i], err);
    }
    free(beside);
    return status;
}

/* --- SQLite ------------------------------------------------------------------------------- */

static const char what_to_do[] = "use journal.overwrite or another journal";

enum cleave_status cv_journal_fail(const struct cv_journal *journal, const char *what,
                                   struct cleave_error *err)
{
    const int code = sqlite3_errcode(journal->db);
    const int reason = sqlite3_system_errno(journal->db);
    const char *text = sqlite3_errmsg(journal->db);

    if (code == SQLITE_NOMEM)
        return cv_fail_memory(err, "a journal");
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT || code == SQLITE_TOOBIG ||
        code == SQLITE_FORMAT)
        return cv_fail_at(err, CV_FILE(journal->path),
                          "cannot %s: the file is damaged; %s", what, what_to_do);
    if (code == SQLITE_FULL)
        text = "no space left on the disk";
    else if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
        text = "another program is writing to it";
    else if ((code == SQLITE_IOERR || code == SQLITE_CANTOPEN) && reason != 0)
        text = strerror(reason);
    (void)cv_fail_at(err, CV_FILE(journal->path), "cannot %s: %s", what, text);
    /* A full disk is not an error of the user. */
    return code == SQLITE_FULL || code == SQLITE_IOERR ? cv_fail_as(err, CLEAVE_EENGINE)
                                                       : CLEAVE_EINPUT;
}

enum cleave_status cv_journal_fail_damaged(const struct cv_journal *journal,
                                           const char *what, struct cleave_error *err)
{
    return cv_fail_at(err, CV_FILE(journal->path),
                      "the journal is damaged: %s are not as written; %s", what,
                      what_to_do);
}

enum cleave_status cv_journal_execute(struct cv_journal *journal, const char *sql,
                                      struct cleave_error *err)
{
    if (sqlite3_exec(journal->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return cv_journal_fail(journal, "write the journal", err);
    return CLEAVE_OK;
}

enum cleave_status cv_journal_query(struct cv_journal *journal, const char *sql,
                                    sqlite3_stmt **out, struct cleave_error *err)
{
    return sqlite3_prepare_v2(journal->db, sql, -1, out, NULL) == SQLITE_OK
               ? CLEAVE_OK
               : cv_journal_fail(journal, "read the journal", err);
}

/* Run a query that returns one row, for sqlite3_finalize(). */
static enum cleave_status query_row(struct cv_journal *journal, const char *sql,
                                    const char *what, sqlite3_stmt **out,
                                    struct cleave_error *err)
{
    sqlite3_stmt *query = NULL;

    if (sqlite3_prepare_v2(journal->db, sql, -1, &query, NULL) != SQLITE_OK ||
        sqlite3_step(query) != SQLITE_ROW) {
        sqlite3_finalize(query);
        return cv_journal_fail(journal, what, err);
    }
    *out = query;
    return CLEAVE_OK;
}

enum cleave_status cv_journal_ask(struct cv_journal *journal, const char *sql,
                                  int64_t *out, struct cleave_error *err)
{
    sqlite3_stmt *query = NULL;

    CV_TRY(query_row(journal, sql, "read the journal", &query, err));
    *out = sqlite3_column_int64(query, 0);
    sqlite3_finalize(query);
    return CLEAVE_OK;
}

/* A column that is text without a NUL byte, or NULL. */
static const char *text_at(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    return text != NULL && strlen(text) == (size_t)sqlite3_column_bytes(row, column)
               ? text
               : NULL;
}

static bool is_text(sqlite3_stmt *row, int column, const char *text)
{
    const char *there = text_at(row, column);

    return there != NULL && strcmp(there, text) == 0;
}

enum cleave_status cv_journal_end(struct cv_journal *journal, enum cleave_status status,
                                  struct cleave_error *err)
{
    CV_THEN(status, cv_journal_execute(journal, "COMMIT", err));
    if (status != CLEAVE_OK && !sqlite3_get_autocommit(journal->db))
        sqlite3_exec(journal->db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

/* --- statements --------------------------------------------------------------------------- */

/* Types of parameters: k key of the journal, i integer, r real, t text, h hash, b bytes. `sealed`
 * is the table if the row has a seal, which is the last parameter. */
static const struct statement {
    const char *sql, *types, *sealed;
} statements[CV_SQL_STATEMENTS] = {
    [CV_SQL_ADD_RUN] = { "INSERT INTO run VALUES (?,?,?,?,?,?,?,?,?)", "kttiiitt",
                         "run" },
    [CV_SQL_ADD_INPUT] = { "INSERT OR REPLACE INTO input VALUES (?,?,?,?,?,?,?)",
                           "itiiii", "input" },
    [CV_SQL_ADD_CHUNK] = { "INSERT INTO chunk VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
                           "iiiihirrtih", "chunk" },
    [CV_SQL_ADD_PART] = { "INSERT INTO output VALUES (?,?,?)", "iib", NULL },
    [CV_SQL_FORGET_PARTS] = { "DELETE FROM output WHERE chunk = ?", "i", NULL },
    [CV_SQL_FORGET_CHUNK] = { "DELETE FROM chunk WHERE id = ?", "i", NULL },
    [CV_SQL_CHUNKS] = { "SELECT * FROM chunk ORDER BY id", "", NULL },
    [CV_SQL_PARTS] = { "SELECT part, bytes FROM output WHERE chunk = ? ORDER BY part",
                       "i", NULL },
};

enum cleave_status cv_journal_prepare(struct cv_journal *journal,
                                      enum cv_journal_statement which, sqlite3_stmt **out,
                                      struct cleave_error *err)
{
    sqlite3_stmt **statement = &journal->statements[which];

    if (*statement == NULL &&
        sqlite3_prepare_v3(journal->db, statements[which].sql, -1,
                           SQLITE_PREPARE_PERSISTENT, statement, NULL) != SQLITE_OK)
        return cv_journal_fail(journal, "use the journal", err);
    *out = *statement;
    return CLEAVE_OK;
}

static enum cleave_status seal(struct cv_journal *journal,
                               const struct statement *statement,
                               const struct cv_journal_value *values,
                               char out[CV_CONTENT_HASH_TEXT], struct cleave_error *err)
{
    struct cv_packer columns = { NULL, 0, 0, false };
    bool good;

    for (size_t i = 0; statement->types[i] != '\0'; i++)
        switch (statement->types[i]) {
        case 'i':
            cv_pack_number(&columns, (uint64_t)values[i].number);
            break;
        case 'r':
            cv_pack_real(&columns, values[i].real);
            break;
        case 't':
            cv_pack_text(&columns, values[i].text);
            break;
        case 'h':
            cv_pack_number(&columns, values[i].hash.high);
            cv_pack_number(&columns, values[i].hash.low);
            break;
        }
    cv_pack_text(&columns, statement->sealed);
    cv_pack_number(&columns, journal->key);
    good = !columns.failed;
    cv_content_hasher_reset(journal->hasher);
    cv_content_hasher_add_bytes(journal->hasher, columns.bytes, columns.length);
    cv_content_hash_text(cv_content_hasher_finish(journal->hasher), out);
    cv_pack_done(&columns);
    return good ? CLEAVE_OK : cv_fail_memory(err, "the journal");
}

/* Text and bytes are borrowed until the statement is reset. */
static bool bind(sqlite3_stmt *statement, int column, char type,
                 const struct cv_journal_value *value)
{
    char hash[CV_CONTENT_HASH_TEXT];

    switch (type) {
    case 'r':
        return sqlite3_bind_double(statement, column, value->real) == SQLITE_OK;
    case 't':
        return sqlite3_bind_text(statement, column, value->text, -1, SQLITE_STATIC) ==
               SQLITE_OK;
    case 'h':
        cv_content_hash_text(value->hash, hash);
        return sqlite3_bind_text(statement, column, hash, -1, SQLITE_TRANSIENT) ==
               SQLITE_OK;
    case 'b':
        return sqlite3_bind_blob(statement, column, value->bytes, (int)value->number,
                                 SQLITE_STATIC) == SQLITE_OK;
    default:
        return sqlite3_bind_int64(statement, column, value->number) == SQLITE_OK;
    }
}

enum cleave_status cv_journal_write(struct cv_journal *journal,
                                    enum cv_journal_statement which,
                                    const struct cv_journal_value *values,
                                    struct cleave_error *err)
{
    const char *types = statements[which].types;
    char text[CV_CONTENT_HASH_TEXT];
    sqlite3_stmt *statement = NULL;
    enum cleave_status status;
    bool good = true;
    int column = 0;

    CV_TRY(cv_journal_prepare(journal, which, &statement, err));
    for (; good && types[column] != '\0'; column++)
        good = bind(statement, column + 1, types[column], &values[column]);
    if (good && statements[which].sealed != NULL) {
        CV_TRY(seal(journal, &statements[which], values, text, err));
        good = sqlite3_bind_text(statement, column + 1, text, -1, SQLITE_STATIC) ==
               SQLITE_OK;
    }
    status = good && sqlite3_step(statement) == SQLITE_DONE
                 ? CLEAVE_OK
                 : cv_journal_fail(journal, "write the journal", err);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return status;
}

static bool read_value(sqlite3_stmt *row, int column, char type,
                       struct cv_journal_value *out)
{
    const int stored = sqlite3_column_type(row, column);

    switch (type) {
    case 'r':
        out->real = sqlite3_column_double(row, column);
        return stored == SQLITE_FLOAT;
    case 't':
    case 'h':
        out->text = stored == SQLITE_TEXT ? text_at(row, column) : NULL;
        return out->text != NULL &&
               (type == 't' || cv_content_hash_parse(out->text, &out->hash));
    default:
        out->number = sqlite3_column_int64(row, column);
        return stored == SQLITE_INTEGER;
    }
}

enum cleave_status cv_journal_read(struct cv_journal *journal, sqlite3_stmt *row,
                                   enum cv_journal_statement which,
                                   struct cv_journal_value values[CV_JOURNAL_COLUMNS],
                                   bool *good, struct cleave_error *err)
{
    const char *types = statements[which].types;
    char text[CV_CONTENT_HASH_TEXT];
    int column = 0;

    *good = true;
    for (; *good && types[column] != '\0'; column++)
        *good = read_value(row, column, types[column], &values[column]);
    if (!*good)
        return CLEAVE_OK;
    if (types[0] == 'k')
        journal->key = (uint64_t)values[0].number;
    CV_TRY(seal(journal, &statements[which], values, text, err));
    *good = sqlite3_column_type(row, column) == SQLITE_TEXT && is_text(row, column, text);
    return CLEAVE_OK;
}

/* --- tables ------------------------------------------------------------------------------- */

enum { APPLICATION = 0x636c766a /* "clvj" */, VERSION = 4, BUSY_MS = 10000 };
enum { MOST_BYTES = 64 << 20 }; /* largest value: a command line */

struct table {
    const char *name, *sql; /* sql is NULL if SQLite makes the table itself */
};

/* In the order in which they are made. */
static const struct table tables[] = {
    { "run", "CREATE TABLE run (key INTEGER NOT NULL, command TEXT NOT NULL,"
             " splitter TEXT NOT NULL, header INTEGER NOT NULL, pairs INTEGER NOT NULL,"
             " persistent INTEGER NOT NULL, started TEXT NOT NULL, files TEXT NOT NULL,"
             " seal TEXT NOT NULL)" },
    { "input", "CREATE TABLE input (file INTEGER PRIMARY KEY, path TEXT NOT NULL,"
               " device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL,"
               " mtime_ns INTEGER NOT NULL, seal TEXT NOT NULL)" },
    { "chunk",
      "CREATE TABLE chunk (id INTEGER PRIMARY KEY, file INTEGER NOT NULL,"
      " first_byte INTEGER NOT NULL, end_byte INTEGER NOT NULL,"
      " hash TEXT NOT NULL, status INTEGER NOT NULL, seconds REAL NOT NULL,"
      " start_seconds REAL NOT NULL, worker TEXT NOT NULL, output_bytes INTEGER NOT NULL,"
      " output_hash TEXT NOT NULL, seal TEXT NOT NULL)" },
    { "output", "CREATE TABLE output (chunk INTEGER NOT NULL, part INTEGER NOT NULL,"
                " bytes BLOB NOT NULL, PRIMARY KEY (chunk, part))" },
    { "sqlite_autoindex_output_1", NULL },
};

enum { TABLES = sizeof tables / sizeof *tables };

/* --- file --------------------------------------------------------------------------- */

/* A killed run may have left a child that has not reached execve() yet and still holds the lock,
 * so this tries for a second. */
static bool lock_range(int file)
{
    enum { LOOKS = 50, LOOK_NS = 20 * 1000 * 1000 };
    struct flock range = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)1 << 62, .l_len = 1
    };
    const struct timespec pause = { .tv_nsec = LOOK_NS };

    for (int looks = 1; fcntl(file, F_OFD_SETLK, &range) != 0; looks++) {
        if ((errno != EAGAIN && errno != EACCES) || looks == LOOKS)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

static enum cleave_status take_lock(struct cv_journal *journal, struct cleave_error *err)
{
    journal->lock =
        open(journal->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (journal->lock < 0 && errno == ELOOP)
        return cv_fail_at(
            err, CV_FILE(journal->path),
            "expected a journal or a new file, got a symbolic link: name the "
            "file it leads to");
    if (journal->lock < 0)
        return cv_fail_at(err, CV_FILE(journal->path), "cannot open the journal: %s",
                          strerror(errno));
    if (!lock_range(journal->lock))
        return errno == EAGAIN || errno == EACCES
                   ? cv_fail_at(err, CV_FILE(journal->path),
                                "expected a journal that is free, got one that another "
                                "run is using")
                   : cv_fail_at(err, CV_FILE(journal->path),
                                "cannot lock the journal: %s", strerror(errno));
    return CLEAVE_OK;
}

static enum cleave_status look_at_file(struct cv_journal *journal,
                                       struct cleave_error *err)
{
    static const char magic[] = "SQLite format 3";
    char head[sizeof magic];
    struct stat facts;
    ssize_t got;

    if (fstat(journal->lock, &facts) != 0)
        return cv_fail_at(err, CV_FILE(journal->path), "cannot read the journal: %s",
                          strerror(errno));
    CV_TRY(check_owner(journal->path, &facts, err));
    /* A file that becomes a journal gets the mode of one. */
    if (facts.st_size == 0 && (facts.st_mode & 0777) != 0600)
        (void)fchmod(journal->lock, 0600);
    got = pread(journal->lock, head, sizeof head, 0);
    if (got < 0)
        return cv_fail_at(err, CV_FILE(journal->path), "cannot read the journal: %s",
                          strerror(errno));
    if (got > 0 && (got < (ssize_t)sizeof head || memcmp(head, magic, sizeof magic) != 0))
        return cv_fail_at(err, CV_FILE(journal->path),
                          "expected a journal or a new file, got a file of another kind");
    return CLEAVE_OK;
}

/* --- database ----------------------------------------------------------------------- */

/* SQLite runs no code of the file, and limits all sizes. */
static bool restrict_database(sqlite3 *db)
{
    static const int switches[][2] = {
        { SQLITE_DBCONFIG_DEFENSIVE, 1 },      { SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
        { SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 }, { SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
        { SQLITE_DBCONFIG_ENABLE_FKEY, 0 },    { SQLITE_DBCONFIG_DQS_DDL, 0 },
        { SQLITE_DBCONFIG_DQS_DML, 0 },
    };
    static const int limits[][2] = {
        { SQLITE_LIMIT_LENGTH, MOST_BYTES },
        { SQLITE_LIMIT_SQL_LENGTH, 10000 },
        { SQLITE_LIMIT_COLUMN, 20 },
        { SQLITE_LIMIT_EXPR_DEPTH, 10 },
        { SQLITE_LIMIT_COMPOUND_SELECT, 3 },
        { SQLITE_LIMIT_VDBE_OP, 25000 },
        { SQLITE_LIMIT_FUNCTION_ARG, 8 },
        { SQLITE_LIMIT_ATTACHED, 1 },
        { SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50 },
        { SQLITE_LIMIT_VARIABLE_NUMBER, 20 },
        { SQLITE_LIMIT_TRIGGER_DEPTH, 1 },
        { SQLITE_LIMIT_WORKER_THREADS, 0 },
    };

    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        if (sqlite3_db_config(db, switches[i][0], switches[i][1], (int *)NULL) !=
            SQLITE_OK)
            return false;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        sqlite3_limit(db, limits[i][0], limits[i][1]);
    return true;
}

static enum cleave_status open_database(struct cv_journal *journal,
                                        struct cleave_error *err)
{
    /* An absolute path, because some names mean something else to SQLite. */
    char *whole = realpath(journal->path, NULL);
    int opened;

    if (whole == NULL)
        return cv_fail_at(err, CV_FILE(journal->path), "cannot open the journal: %s",
                          strerror(errno));
    opened = sqlite3_open_v2(whole, &journal->db,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    free(whole);
    if (journal->db == NULL)
        return cv_fail_memory(err, "a journal");
    if (opened != SQLITE_OK || !restrict_database(journal->db))
        return cv_journal_fail(journal, "open the journal", err);
    sqlite3_busy_timeout(journal->db, BUSY_MS);
    return cv_journal_execute(journal,
                              "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;"
                              "PRAGMA trusted_schema = OFF",
                              err);
}

/* See the head of this file. */
static enum cleave_status set_writing(struct cv_journal *journal,
                                      struct cleave_error *err)
{
    sqlite3_stmt *query = NULL;
    bool logged;

    CV_TRY(cv_journal_execute(journal, "PRAGMA page_size = 8192", err));
    CV_TRY(
        query_row(journal, "PRAGMA journal_mode = WAL", "open the journal", &query, err));
    logged = is_text(query, 0, "wal");
    sqlite3_finalize(query);
    return cv_journal_execute(journal,
                              logged ? "PRAGMA synchronous = NORMAL;"
                                       "PRAGMA journal_size_limit = 67108864"
                                     : "PRAGMA synchronous = FULL",
                              err);
}

/* --- checks ---------------------------------------------------------------------- */

static enum cleave_status check_tables(struct cv_journal *journal,
                                       struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    sqlite3_stmt *query = NULL;
    size_t there = 0;
    int step = SQLITE_DONE;
    bool same = true;

    CV_TRY(cv_journal_query(journal, "SELECT name, sql FROM sqlite_master", &query, err));
    while (same && (step = sqlite3_step(query)) == SQLITE_ROW) {
        const struct table *table = there < TABLES ? &tables[there++] : NULL;

        same = table != NULL && is_text(query, 0, table->name) &&
               (table->sql != NULL ? is_text(query, 1, table->sql)
                                   : sqlite3_column_type(query, 1) == SQLITE_NULL);
    }
    if (same && step != SQLITE_DONE)
        status = cv_journal_fail(journal, "read the journal", err);
    else if (!same || there != TABLES)
        status =
            cv_fail_at(err, CV_FILE(journal->path),
                       "expected the tables of a journal and nothing else, got others: "
                       "the journal is damaged or not made by cleave; %s",
                       what_to_do);
    sqlite3_finalize(query);
    return status;
}

/* Check the pages of the small tables. Outputs are checked when they are read, by hashes. */
static enum cleave_status check_pages(struct cv_journal *journal,
                                      struct cleave_error *err)
{
    static const char *const checks[] = { "PRAGMA quick_check('run')",
                                          "PRAGMA quick_check('input')",
                                          "PRAGMA quick_check('chunk')" };

    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        sqlite3_stmt *query = NULL;
        bool good;

        CV_TRY(query_row(journal, checks[i], "read the journal", &query, err));
        good = is_text(query, 0, "ok");
        sqlite3_finalize(query);
        if (!good)
            return cv_journal_fail_damaged(journal, "its pages", err);
    }
    return CLEAVE_OK;
}

/* The program that made the database. Works for damaged tables, too. */
static enum cleave_status ask_application(struct cv_journal *journal, int64_t *out,
                                          struct cleave_error *err)
{
    enum cleave_status status;

    sqlite3_db_config(journal->db, SQLITE_DBCONFIG_RESET_DATABASE, 1, (int *)NULL);
    status = cv_journal_ask(journal, "PRAGMA application_id", out, err);
    sqlite3_db_config(journal->db, SQLITE_DBCONFIG_RESET_DATABASE, 0, (int *)NULL);
    return status;
}

/* Check that the database is a journal, or may become one. */
static enum cleave_status identify(struct cv_journal *journal, enum cv_journal_mode mode,
                                   bool *fresh, struct cleave_error *err)
{
    int64_t application = 0, version = 0, tables_there = 0;

    CV_TRY(ask_application(journal, &application, err));
    if (application == 0) /* an empty database */
        CV_TRY(cv_journal_ask(journal, "SELECT count(*) FROM sqlite_master",
                              &tables_there, err));
    *fresh = application == 0 && tables_there == 0;
    if (*fresh)
        return CLEAVE_OK;
    if (application != APPLICATION)
        return cv_fail_at(err, CV_FILE(journal->path),
                          "expected a journal, got a database of another program");
    if (mode == CV_JOURNAL_OVERWRITE)
        return CLEAVE_OK;
    CV_TRY(cv_journal_ask(journal, "PRAGMA user_version", &version, err));
    if (version != VERSION)
        return cv_fail_at(
            err, CV_FILE(journal->path),
            "expected a journal of format %d, got format %" PRId64
            ", which another version of cleave has written: resume it with that "
            "version, or use journal.overwrite",
            VERSION, version);
    CV_TRY(check_tables(journal, err));
    return check_pages(journal, err);
}

/* Works for damaged databases, too. */
static enum cleave_status empty_database(struct cv_journal *journal,
                                         struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;

    sqlite3_db_config(journal->db, SQLITE_DBCONFIG_RESET_DATABASE, 1, (int *)NULL);
    if (sqlite3_exec(journal->db, "VACUUM", NULL, NULL, NULL) != SQLITE_OK)
        status = cv_journal_fail(journal, "empty the journal", err);
    sqlite3_db_config(journal->db, SQLITE_DBCONFIG_RESET_DATABASE, 0, (int *)NULL);
    return status;
}

enum cleave_status cv_journal_open_file(struct cv_journal *journal,
                                        enum cv_journal_mode mode, bool *fresh,
                                        struct cleave_error *err)
{
    CV_TRY(take_lock(journal, err));
    CV_TRY(look_at_file(journal, err));
    CV_TRY(open_database(journal, err));
    CV_TRY(identify(journal, mode, fresh, err));
    if (mode == CV_JOURNAL_OVERWRITE && !*fresh) {
        CV_TRY(empty_database(journal, err));
        *fresh = true;
    }
    return set_writing(journal, err);
}

enum cleave_status cv_journal_make_tables(struct cv_journal *journal, bool drop,
                                          struct cleave_error *err)
{
    if (drop)
        CV_TRY(cv_journal_execute(journal,
                                  "DROP TABLE run; DROP TABLE input; DROP TABLE chunk;"
                                  "DROP TABLE output",
                                  err));
    for (size_t i = 0; i < TABLES; i++)
        if (tables[i].sql != NULL)
            CV_TRY(cv_journal_execute(journal, tables[i].sql, err));
    return cv_journal_execute(
        journal, "PRAGMA application_id = 1668052586; PRAGMA user_version = 4", err);
}
