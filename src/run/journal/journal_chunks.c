/* journal_chunks.c -- the finished chunks of a journal. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/journal/journal.h"
#include "run/journal/journal_inner.h"

enum { PART = 1 << 20 };

static const char *const texts[CV_SQL_STATEMENTS] = {
    [CV_SQL_BEGIN] = "BEGIN IMMEDIATE",
    [CV_SQL_COMMIT] = "COMMIT",
    [CV_SQL_ADD_CHUNK] =
        "INSERT INTO chunk (file, first_byte, end_byte, hash, status,"
        " seconds, worker, output_bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    [CV_SQL_ADD_PART] = "INSERT INTO output (chunk, part, bytes) VALUES (?, ?, ?)",
    [CV_SQL_FORGET_PARTS] = "DELETE FROM output WHERE chunk IN (SELECT id FROM chunk"
                            " WHERE file = ? AND first_byte < ? AND end_byte > ?)",
    [CV_SQL_FORGET_CHUNKS] = "DELETE FROM chunk"
                             " WHERE file = ? AND first_byte < ? AND end_byte > ?",
    [CV_SQL_NEXT] =
        "SELECT id, file, first_byte, end_byte, hash, status, seconds, worker,"
        " output_bytes FROM chunk WHERE (file, first_byte) > (?, ?)"
        " ORDER BY file, first_byte LIMIT 1",
    [CV_SQL_CHUNK] = "SELECT hash, output_bytes FROM chunk WHERE id = ?",
    [CV_SQL_PARTS] = "SELECT bytes FROM output WHERE chunk = ? ORDER BY part",
};

enum cleave_status cv_journal_prepare(struct cv_journal *journal,
                                      enum cv_journal_statement which, sqlite3_stmt **out,
                                      struct cleave_error *err)
{
    sqlite3_stmt **statement = &journal->statements[which];

    if (*statement == NULL &&
        sqlite3_prepare_v3(journal->db, texts[which], -1, SQLITE_PREPARE_PERSISTENT,
                           statement, NULL) != SQLITE_OK)
        return cv_journal_fail(journal, "use the journal", err);
    *out = *statement;
    return CLEAVE_OK;
}

/* Run a statement that gives no rows. */
static enum cleave_status perform(struct cv_journal *journal, sqlite3_stmt *statement,
                                  struct cleave_error *err)
{
    const bool good = sqlite3_step(statement) == SQLITE_DONE;
    const enum cleave_status status =
        good ? CLEAVE_OK : cv_journal_fail(journal, "write the journal", err);

    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return status;
}

static enum cleave_status perform_plain(struct cv_journal *journal,
                                        enum cv_journal_statement which,
                                        struct cleave_error *err)
{
    sqlite3_stmt *statement = NULL;

    CV_TRY(cv_journal_prepare(journal, which, &statement, err));
    return perform(journal, statement, err);
}

/* --- adding ----------------------------------------------------------------------------- */

/* What was found to have changed and is done again now. */
static enum cleave_status forget(struct cv_journal *journal,
                                 const struct cv_journal_chunk *chunk,
                                 enum cv_journal_statement which,
                                 struct cleave_error *err)
{
    sqlite3_stmt *statement = NULL;

    CV_TRY(cv_journal_prepare(journal, which, &statement, err));
    sqlite3_bind_int64(statement, 1, (int64_t)chunk->file);
    sqlite3_bind_int64(statement, 2, (int64_t)chunk->end);
    sqlite3_bind_int64(statement, 3, (int64_t)chunk->begin);
    return perform(journal, statement, err);
}

static enum cleave_status add_chunk(struct cv_journal *journal,
                                    const struct cv_journal_chunk *chunk, uint64_t output,
                                    struct cleave_error *err)
{
    char hash[CV_CONTENT_HASH_TEXT];
    sqlite3_stmt *add = NULL;
    bool bound;

    CV_TRY(cv_journal_prepare(journal, CV_SQL_ADD_CHUNK, &add, err));
    cv_content_hash_text(chunk->hash, hash);
    bound = sqlite3_bind_int64(add, 1, (int64_t)chunk->file) == SQLITE_OK &&
            sqlite3_bind_int64(add, 2, (int64_t)chunk->begin) == SQLITE_OK &&
            sqlite3_bind_int64(add, 3, (int64_t)chunk->end) == SQLITE_OK &&
            sqlite3_bind_text(add, 4, hash, -1, SQLITE_STATIC) == SQLITE_OK &&
            sqlite3_bind_int(add, 5, chunk->status) == SQLITE_OK &&
            sqlite3_bind_double(add, 6, chunk->seconds) == SQLITE_OK &&
            sqlite3_bind_text(add, 7, chunk->worker, -1, SQLITE_STATIC) == SQLITE_OK &&
            sqlite3_bind_int64(add, 8, (int64_t)output) == SQLITE_OK;
    return bound ? perform(journal, add, err)
                 : cv_journal_fail(journal, "write the journal", err);
}

static enum cleave_status read_part(struct cv_journal *journal, int fd, uint64_t at,
                                    size_t length, struct cleave_error *err)
{
    for (size_t held = 0; held < length;) {
        const ssize_t got =
            pread(fd, journal->part + held, length - held, (off_t)(at + held));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return cv_fail(err, CLEAVE_EENGINE,
                           "cannot read an output at byte %" PRIu64 ": %s", at + held,
                           got < 0 ? strerror(errno) : "it ends there");
        held += (size_t)got;
    }
    return CLEAVE_OK;
}

static enum cleave_status add_output(struct cv_journal *journal, int64_t id, int fd,
                                     uint64_t begin, uint64_t end,
                                     struct cleave_error *err)
{
    sqlite3_stmt *add = NULL;

    CV_TRY(cv_journal_prepare(journal, CV_SQL_ADD_PART, &add, err));
    if (journal->part == NULL)
        journal->part = malloc(PART);
    if (journal->part == NULL)
        return cv_fail_memory(err, "a part of an output");
    for (int part = 0; begin < end; part++) {
        const size_t length = end - begin < PART ? (size_t)(end - begin) : PART;

        CV_TRY(read_part(journal, fd, begin, length, err));
        if (sqlite3_bind_int64(add, 1, id) != SQLITE_OK ||
            sqlite3_bind_int(add, 2, part) != SQLITE_OK ||
            sqlite3_bind_blob(add, 3, journal->part, (int)length, SQLITE_STATIC) !=
                SQLITE_OK)
            return cv_journal_fail(journal, "write the journal", err);
        CV_TRY(perform(journal, add, err));
        begin += length;
    }
    return CLEAVE_OK;
}

static enum cleave_status add_all(struct cv_journal *journal,
                                  const struct cv_journal_chunk *chunk, int fd,
                                  uint64_t begin, uint64_t end, struct cleave_error *err)
{
    CV_TRY(perform_plain(journal, CV_SQL_BEGIN, err));
    if (journal->stale) {
        CV_TRY(forget(journal, chunk, CV_SQL_FORGET_PARTS, err));
        CV_TRY(forget(journal, chunk, CV_SQL_FORGET_CHUNKS, err));
    }
    CV_TRY(add_chunk(journal, chunk, end - begin, err));
    CV_TRY(
        add_output(journal, sqlite3_last_insert_rowid(journal->db), fd, begin, end, err));
    return perform_plain(journal, CV_SQL_COMMIT, err);
}

enum cleave_status cv_journal_add(struct cv_journal *journal,
                                  const struct cv_journal_chunk *chunk, int fd,
                                  uint64_t begin, uint64_t end, struct cleave_error *err)
{
    const enum cleave_status status = add_all(journal, chunk, fd, begin, end, err);

    if (status != CLEAVE_OK && !sqlite3_get_autocommit(journal->db))
        sqlite3_exec(journal->db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

/* --- reading ---------------------------------------------------------------------------- */

static enum cleave_status damaged(const struct cv_journal *journal, uint64_t id,
                                  struct cleave_error *err)
{
    const struct cv_place place = { journal->path, 0, 0, NULL };

    return cv_fail_at(err, &place,
                      "expected chunk %" PRIu64 " with its hash and its output, got one "
                      "that is not complete: the journal is damaged",
                      id);
}

void cv_journal_rewind(struct cv_journal *journal)
{
    journal->begun = false;
}

/* False if the hash is none. */
static bool read_chunk(sqlite3_stmt *row, struct cv_journal_chunk *out)
{
    const char *hash = (const char *)sqlite3_column_text(row, 4);
    const char *worker = (const char *)sqlite3_column_text(row, 7);

    *out = (struct cv_journal_chunk){
        .id = (uint64_t)sqlite3_column_int64(row, 0),
        .file = (size_t)sqlite3_column_int64(row, 1),
        .begin = (uint64_t)sqlite3_column_int64(row, 2),
        .end = (uint64_t)sqlite3_column_int64(row, 3),
        .status = sqlite3_column_int(row, 5),
        .seconds = sqlite3_column_double(row, 6),
        .output_bytes = (uint64_t)sqlite3_column_int64(row, 8),
    };
    if (worker != NULL)
        memcpy(out->worker, worker, strnlen(worker, sizeof out->worker - 1));
    return hash != NULL && cv_content_hash_parse(hash, &out->hash);
}

enum cleave_status cv_journal_next(struct cv_journal *journal, bool *found,
                                   struct cv_journal_chunk *out, struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    struct cv_journal_chunk chunk;
    sqlite3_stmt *next = NULL;
    int step;

    CV_TRY(cv_journal_prepare(journal, CV_SQL_NEXT, &next, err));
    sqlite3_bind_int64(next, 1, journal->begun ? (int64_t)journal->last_file : -1);
    sqlite3_bind_int64(next, 2, journal->begun ? (int64_t)journal->last_begin : 0);
    step = sqlite3_step(next);
    if (step == SQLITE_ROW && !read_chunk(next, &chunk))
        status = damaged(journal, chunk.id, err);
    else if (step != SQLITE_ROW && step != SQLITE_DONE)
        status = cv_journal_fail(journal, "read the journal", err);
    sqlite3_reset(next);
    CV_TRY(status);
    *found = step == SQLITE_ROW;
    if (*found) {
        journal->begun = true;
        journal->last_file = chunk.file;
        journal->last_begin = chunk.begin;
        *out = chunk;
    }
    return CLEAVE_OK;
}

/* The hash of a chunk and how long its output is. */
static enum cleave_status look_up(struct cv_journal *journal, uint64_t id,
                                  struct cv_content_hash *hash, uint64_t *output,
                                  struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    const char *text = NULL;
    sqlite3_stmt *chunk = NULL;
    int step;

    CV_TRY(cv_journal_prepare(journal, CV_SQL_CHUNK, &chunk, err));
    sqlite3_bind_int64(chunk, 1, (int64_t)id);
    step = sqlite3_step(chunk);
    if (step == SQLITE_ROW)
        text = (const char *)sqlite3_column_text(chunk, 0);
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        status = cv_journal_fail(journal, "read the journal", err);
    else if (text == NULL || !cv_content_hash_parse(text, hash))
        status = damaged(journal, id, err);
    else
        *output = (uint64_t)sqlite3_column_int64(chunk, 1);
    sqlite3_reset(chunk);
    return status;
}

enum cleave_status cv_journal_output(struct cv_journal *journal, uint64_t id,
                                     cv_journal_sink *sink, void *context,
                                     struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    struct cv_content_hash hash;
    uint64_t expected = 0, got = 0;
    sqlite3_stmt *parts = NULL;
    int step = SQLITE_DONE;

    CV_TRY(look_up(journal, id, &hash, &expected, err));
    CV_TRY(cv_journal_prepare(journal, CV_SQL_PARTS, &parts, err));
    sqlite3_bind_int64(parts, 1, (int64_t)id);
    while (status == CLEAVE_OK && (step = sqlite3_step(parts)) == SQLITE_ROW) {
        const void *bytes = sqlite3_column_blob(parts, 0);
        const size_t length = (size_t)sqlite3_column_bytes(parts, 0);

        got += length;
        status = bytes == NULL || got > expected ? damaged(journal, id, err)
                                                 : sink(context, bytes, length, err);
    }
    if (status == CLEAVE_OK && step != SQLITE_DONE)
        status = cv_journal_fail(journal, "read the journal", err);
    sqlite3_reset(parts);
    CV_TRY(status);
    return got == expected ? CLEAVE_OK : damaged(journal, id, err);
}

/* --- resuming --------------------------------------------------------------------------- */

enum cleave_status cv_journal_tell(struct cv_journal *journal, struct cv_source *source,
                                   struct cleave_error *err)
{
    struct cv_journal_chunk chunk;
    bool found;

    cv_journal_rewind(journal);
    CV_TRY(cv_journal_next(journal, &found, &chunk, err));
    while (found) {
        CV_TRY(cv_source_know(source, chunk.file, chunk.begin, chunk.end, chunk.id, err));
        CV_TRY(cv_journal_next(journal, &found, &chunk, err));
    }
    cv_journal_rewind(journal);
    return CLEAVE_OK;
}

enum cleave_status cv_journal_confirm(struct cv_journal *journal,
                                      struct cv_source *source, enum cv_known state,
                                      const struct cv_piece *piece, uint64_t id,
                                      bool *same, struct cleave_error *note,
                                      struct cleave_error *err)
{
    const struct cv_place place = { piece->name, 0, 0, NULL };
    struct cv_content_hash then = { 0, 0 }, now;
    const struct cv_range was = piece->body;
    uint64_t output = 0;

    CV_TRY(look_up(journal, id, &then, &output, err));
    if (state == CV_KNOWN_PIECE) {
        CV_TRY(cv_source_hash(source, piece, &now, err));
        *same = cv_content_hash_equal(then, now);
        if (!*same)
            cv_fail_at(note, &place,
                       "bytes %" PRIu64 " to %" PRIu64 " have changed since they were "
                       "done: expected hash %016" PRIx64 "%016" PRIx64 ", got %016" PRIx64
                       "%016" PRIx64,
                       was.begin, was.end, then.high, then.low, now.high, now.low);
    } else {
        *same = false;
        cv_fail_at(note, &place,
                   "bytes %" PRIu64 " to %" PRIu64 " were done, but do not begin and end "
                   "with a record any more: the file has changed or, after a last record "
                   "that was cut short, grown",
                   was.begin, was.end);
    }
    journal->stale = journal->stale || !*same;
    return CLEAVE_OK;
}
