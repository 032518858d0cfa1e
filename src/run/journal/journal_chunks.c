/* journal_chunks.c -- finished chunks are added to a journal. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/bisect.h"
#include "run/journal/journal.h"
#include "run/journal/journal_internal.h"

static const char *const texts[CV_SQL_STATEMENTS] = {
    [CV_SQL_BEGIN] = "BEGIN IMMEDIATE",
    [CV_SQL_COMMIT] = "COMMIT",
    [CV_SQL_ADD_CHUNK] = "INSERT INTO chunk VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
    [CV_SQL_ADD_PART] = "INSERT INTO output VALUES (?,?,?)",
    [CV_SQL_FORGET_PARTS] = "DELETE FROM output WHERE chunk = ?",
    [CV_SQL_FORGET_CHUNK] = "DELETE FROM chunk WHERE id = ?",
    [CV_SQL_CHUNKS] = "SELECT * FROM chunk ORDER BY id",
    [CV_SQL_PARTS] = "SELECT part, bytes FROM output WHERE chunk = ? ORDER BY part",
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

enum cleave_status cv_journal_forget(struct cv_journal *journal, int64_t row,
                                     struct cleave_error *err)
{
    static const enum cv_journal_statement both[] = { CV_SQL_FORGET_PARTS,
                                                      CV_SQL_FORGET_CHUNK };

    for (size_t i = 0; i < 2; i++) {
        sqlite3_stmt *statement = NULL;

        CV_TRY(cv_journal_prepare(journal, both[i], &statement, err));
        sqlite3_bind_int64(statement, 1, row);
        CV_TRY(perform(journal, statement, err));
    }
    return CLEAVE_OK;
}

/* What was found to have changed and is done again now. */
static enum cleave_status forget_stale(struct cv_journal *journal,
                                       const struct cv_journal_chunk *chunk,
                                       struct cleave_error *err)
{
    const struct cv_journal_row *rows = journal->rows;
    size_t low;

    /* The first that ends behind where this one begins. */
    CV_BISECT(low, journal->nrows, i,
              rows[i].chunk.file < chunk->file || (rows[i].chunk.file == chunk->file &&
                                                   rows[i].chunk.end <= chunk->begin));
    for (; low < journal->nrows; low++) {
        const struct cv_journal_row *old = &journal->rows[low];

        if (old->chunk.file != chunk->file || old->chunk.begin >= chunk->end)
            break;
        if (old->stale)
            CV_TRY(cv_journal_forget(journal, old->row, err));
    }
    return CLEAVE_OK;
}

static enum cleave_status add_chunk(struct cv_journal *journal,
                                    const struct cv_journal_chunk *chunk,
                                    struct cleave_error *err)
{
    char hashes[3][CV_CONTENT_HASH_TEXT];
    sqlite3_stmt *add = NULL;
    bool bound;

    CV_TRY(cv_journal_prepare(journal, CV_SQL_ADD_CHUNK, &add, err));
    cv_content_hash_text(chunk->hash, hashes[0]);
    cv_content_hash_text(chunk->output_hash, hashes[1]);
    CV_TRY(cv_journal_seal_chunk(journal, journal->next_row, chunk, hashes[2], err));
    bound = sqlite3_bind_int64(add, 1, journal->next_row) == SQLITE_OK &&
            sqlite3_bind_int64(add, 2, (int64_t)chunk->file) == SQLITE_OK &&
            sqlite3_bind_int64(add, 3, (int64_t)chunk->begin) == SQLITE_OK &&
            sqlite3_bind_int64(add, 4, (int64_t)chunk->end) == SQLITE_OK &&
            sqlite3_bind_text(add, 5, hashes[0], -1, SQLITE_STATIC) == SQLITE_OK &&
            sqlite3_bind_int(add, 6, chunk->status) == SQLITE_OK &&
            sqlite3_bind_double(add, 7, chunk->seconds) == SQLITE_OK &&
            sqlite3_bind_double(add, 8, chunk->start_s) == SQLITE_OK &&
            sqlite3_bind_text(add, 9, chunk->worker, -1, SQLITE_STATIC) == SQLITE_OK &&
            sqlite3_bind_int64(add, 10, (int64_t)chunk->output_bytes) == SQLITE_OK &&
            sqlite3_bind_text(add, 11, hashes[1], -1, SQLITE_STATIC) == SQLITE_OK &&
            sqlite3_bind_text(add, 12, hashes[2], -1, SQLITE_STATIC) == SQLITE_OK;
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

/* Returns the hash of what was added, too. */
static enum cleave_status add_output(struct cv_journal *journal, int fd, uint64_t begin,
                                     uint64_t end, struct cv_content_hash *hash,
                                     struct cleave_error *err)
{
    sqlite3_stmt *add = NULL;

    CV_TRY(cv_journal_prepare(journal, CV_SQL_ADD_PART, &add, err));
    if (journal->part == NULL)
        journal->part = malloc(CV_JOURNAL_PART);
    if (journal->part == NULL)
        return cv_fail_memory(err, "a part of an output");
    cv_content_hasher_reset(journal->hasher);
    for (int part = 0; begin < end; part++) {
        const size_t length =
            end - begin < CV_JOURNAL_PART ? (size_t)(end - begin) : CV_JOURNAL_PART;
        const struct cv_part bytes = { .bytes = journal->part, .fd = -1, .end = length };

        CV_TRY(read_part(journal, fd, begin, length, err));
        CV_TRY(cv_content_hasher_add_part(journal->hasher, &bytes, err));
        if (sqlite3_bind_int64(add, 1, journal->next_row) != SQLITE_OK ||
            sqlite3_bind_int(add, 2, part) != SQLITE_OK ||
            sqlite3_bind_blob(add, 3, journal->part, (int)length, SQLITE_STATIC) !=
                SQLITE_OK)
            return cv_journal_fail(journal, "write the journal", err);
        CV_TRY(perform(journal, add, err));
        begin += length;
    }
    *hash = cv_content_hasher_finish(journal->hasher);
    return CLEAVE_OK;
}

static enum cleave_status add_all(struct cv_journal *journal,
                                  const struct cv_journal_chunk *chunk, int fd,
                                  uint64_t begin, uint64_t end, struct cleave_error *err)
{
    struct cv_journal_chunk added = *chunk;

    added.output_bytes = end - begin;
    CV_TRY(perform_plain(journal, CV_SQL_BEGIN, err));
    if (journal->stale)
        CV_TRY(forget_stale(journal, chunk, err));
    CV_TRY(add_output(journal, fd, begin, end, &added.output_hash, err));
    CV_TRY(add_chunk(journal, &added, err));
    CV_TRY(perform_plain(journal, CV_SQL_COMMIT, err));
    journal->next_row++;
    return CLEAVE_OK;
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
