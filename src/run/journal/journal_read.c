/* journal_read.c -- the finished chunks of an earlier run. SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/journal/journal.h"
#include "run/journal/journal_internal.h"

/* --- rows ------------------------------------------------------------------------------- */

/* *good is false if the row is not as it was written. */
static enum cleave_status read_row(struct cv_journal *journal, sqlite3_stmt *query,
                                   struct cv_journal_row *out, bool *good,
                                   struct cleave_error *err)
{
    struct cv_journal_chunk *chunk = &out->chunk;
    char seal[CV_CONTENT_HASH_TEXT];
    const char *worker;

    *out = (struct cv_journal_row){ .row = sqlite3_column_int64(query, 0) };
    *good = cv_journal_types(query, "iiiitirrtitt") &&
            cv_content_hash_parse(cv_journal_text(query, 4), &chunk->hash) &&
            cv_content_hash_parse(cv_journal_text(query, 10), &chunk->output_hash);
    if (!*good)
        return CLEAVE_OK;
    chunk->file = (size_t)sqlite3_column_int64(query, 1);
    chunk->begin = (uint64_t)sqlite3_column_int64(query, 2);
    chunk->end = (uint64_t)sqlite3_column_int64(query, 3);
    chunk->status = sqlite3_column_int(query, 5);
    chunk->seconds = sqlite3_column_double(query, 6);
    chunk->start_s = sqlite3_column_double(query, 7);
    chunk->output_bytes = (uint64_t)sqlite3_column_int64(query, 9);
    worker = cv_journal_text(query, 8);
    *good = strlen(worker) < sizeof chunk->worker && chunk->begin < chunk->end &&
            chunk->end <= INT64_MAX && chunk->output_bytes <= INT64_MAX &&
            sqlite3_column_int64(query, 5) == chunk->status;
    if (!*good)
        return CLEAVE_OK;
    strcpy(chunk->worker, worker);
    CV_TRY(cv_journal_seal_chunk(journal, out->row, chunk, seal, err));
    *good = cv_journal_is(query, 11, seal);
    return CLEAVE_OK;
}

static enum cleave_status keep_row(struct cv_journal *journal,
                                   const struct cv_journal_row *row,
                                   struct cleave_error *err)
{
    if (!CV_ROOM(journal->rows, &journal->row_room, journal->nrows + 1))
        return cv_fail_memory(err, "the finished chunks of a journal");
    journal->rows[journal->nrows++] = *row;
    return CLEAVE_OK;
}

/* Read all rows; the damaged ones are marked as stale. */
static enum cleave_status read_rows(struct cv_journal *journal, struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    sqlite3_stmt *query = NULL;
    int step;

    CV_TRY(cv_journal_prepare(journal, CV_SQL_CHUNKS, &query, err));
    while (status == CLEAVE_OK && (step = sqlite3_step(query)) != SQLITE_DONE) {
        struct cv_journal_row row;
        bool good = false;

        status = step == SQLITE_ROW ? read_row(journal, query, &row, &good, err)
                                    : cv_journal_fail(journal, "read the journal", err);
        if (status != CLEAVE_OK)
            break;
        row.stale = !good;
        status = keep_row(journal, &row, err);
    }
    sqlite3_reset(query);
    return status;
}

static int by_place(const void *a, const void *b)
{
    const struct cv_journal_row *first = a, *second = b;
    const struct cv_journal_chunk *x = &first->chunk, *y = &second->chunk;

    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return first->row < second->row ? -1 : first->row > second->row;
}

/* A byte is done once: of two chunks that share one, neither is believed. */
static void find_overlaps(struct cv_journal_row *rows, size_t n)
{
    size_t longest = 0; /* the one that reaches farthest so far */

    for (size_t i = 1; i < n; i++) {
        const struct cv_journal_chunk *last = &rows[longest].chunk;

        if (rows[i].chunk.file == last->file && rows[i].chunk.begin < last->end)
            rows[i].stale = rows[longest].stale = true;
        if (rows[i].chunk.file != last->file || rows[i].chunk.end > last->end)
            longest = i;
    }
}

/* Take those that are stale from the list and from the database. */
static enum cleave_status drop_damaged(struct cv_journal *journal,
                                       struct cleave_error *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < journal->nrows; i++) {
        if (journal->rows[i].stale) {
            CV_TRY(cv_journal_forget(journal, journal->rows[i].row, err));
            journal->damaged++;
        } else {
            journal->rows[kept] = journal->rows[i];
            journal->rows[kept].chunk.id = kept;
            kept++;
        }
    }
    journal->nrows = kept;
    return CLEAVE_OK;
}

static void set_damaged_aside(struct cv_journal *journal, size_t *good)
{
    *good = 0;
    for (size_t i = 0; i < journal->nrows; i++) {
        const struct cv_journal_row row = journal->rows[i];

        if (row.stale)
            continue;
        journal->rows[i] = journal->rows[*good];
        journal->rows[(*good)++] = row;
    }
}

static enum cleave_status read_all(struct cv_journal *journal, struct cleave_error *err)
{
    enum cleave_status status;
    size_t good;

    journal->nrows = journal->given = 0;
    journal->stale = false;
    CV_TRY(read_rows(journal, err));
    journal->total = journal->nrows;
    set_damaged_aside(journal, &good); /* their places say nothing */
    if (good > 1)
        qsort(journal->rows, good, sizeof *journal->rows, by_place);
    find_overlaps(journal->rows, good);
    CV_TRY(cv_journal_execute(journal, "BEGIN IMMEDIATE", err));
    status = drop_damaged(journal, err);
    if (status == CLEAVE_OK)
        status = cv_journal_execute(journal, "COMMIT", err);
    if (status != CLEAVE_OK && !sqlite3_get_autocommit(journal->db))
        sqlite3_exec(journal->db, "ROLLBACK", NULL, NULL, NULL);
    journal->read = status == CLEAVE_OK;
    return status;
}

void cv_journal_rewind(struct cv_journal *journal)
{
    journal->read = false;
}

enum cleave_status cv_journal_next(struct cv_journal *journal, bool *found,
                                   struct cv_journal_chunk *out, struct cleave_error *err)
{
    if (!journal->read)
        CV_TRY(read_all(journal, err));
    *found = journal->given < journal->nrows;
    if (*found)
        *out = journal->rows[journal->given++].chunk;
    return CLEAVE_OK;
}

uint64_t cv_journal_damaged(const struct cv_journal *journal, uint64_t *of)
{
    *of = journal->total;
    return journal->damaged;
}

/* --- outputs ---------------------------------------------------------------------------- */

static void mark_stale(struct cv_journal *journal, uint64_t id)
{
    journal->rows[id].stale = true;
    journal->stale = true;
}

/* Whether a row is the next part of an output of which `left` bytes are to come. */
static bool next_part(sqlite3_stmt *row, int64_t number, uint64_t left)
{
    const size_t length = (size_t)sqlite3_column_bytes(row, 1);

    return cv_journal_types(row, "ib") && sqlite3_column_int64(row, 0) == number &&
           length > 0 && length <= CV_JOURNAL_PART && length <= left;
}

enum cleave_status cv_journal_output(struct cv_journal *journal, uint64_t id,
                                     cv_journal_sink *sink, void *context, bool *whole,
                                     struct cleave_error *err)
{
    const struct cv_journal_row *row = &journal->rows[id];
    uint64_t left = row->chunk.output_bytes;
    enum cleave_status status = CLEAVE_OK;
    sqlite3_stmt *parts = NULL;
    int step = SQLITE_DONE;

    *whole = true;
    CV_TRY(cv_journal_prepare(journal, CV_SQL_PARTS, &parts, err));
    sqlite3_bind_int64(parts, 1, row->row);
    cv_content_hasher_reset(journal->hasher);
    for (int64_t number = 0; status == CLEAVE_OK && *whole; number++) {
        struct cv_part part = { .fd = -1 };

        step = sqlite3_step(parts);
        if (step != SQLITE_ROW)
            break;
        *whole = next_part(parts, number, left);
        if (!*whole)
            break;
        part.bytes = sqlite3_column_blob(parts, 1);
        part.end = (uint64_t)sqlite3_column_bytes(parts, 1);
        left -= part.end;
        status = part.bytes == NULL
                     ? cv_fail_memory(err, "a part of an output")
                     : cv_content_hasher_add_part(journal->hasher, &part, err);
        if (status == CLEAVE_OK)
            status = sink(context, part.bytes, (size_t)part.end, err);
    }
    if (status == CLEAVE_OK && *whole && step != SQLITE_DONE)
        status = cv_journal_fail(journal, "read the journal", err);
    sqlite3_reset(parts);
    CV_TRY(status);
    *whole = *whole && left == 0 &&
             cv_content_hash_equal(cv_content_hasher_finish(journal->hasher),
                                   row->chunk.output_hash);
    if (!*whole) {
        mark_stale(journal, id);
        journal->damaged++;
    }
    return CLEAVE_OK;
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
    return CLEAVE_OK;
}

enum cleave_status cv_journal_confirm(struct cv_journal *journal,
                                      struct cv_source *source, enum cv_known state,
                                      const struct cv_piece *piece, uint64_t id,
                                      bool *same, struct cleave_error *note,
                                      struct cleave_error *err)
{
    const struct cv_place place = { piece->name, 0, 0, NULL };
    const struct cv_content_hash then = journal->rows[id].chunk.hash;
    const struct cv_range was = piece->body;
    struct cv_content_hash now;

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
    if (!*same)
        mark_stale(journal, id);
    return CLEAVE_OK;
}
