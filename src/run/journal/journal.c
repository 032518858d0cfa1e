/* journal.c -- a journal: its run, its inputs, and seals of its rows.
 * SPDX-License-Identifier: MIT */
#include "run/journal/journal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/fail.h"
#include "base/text.h"
#include "run/journal/journal_internal.h"

/* --- seals -------------------------------------------------------------------------------- */

enum cleave_status cv_journal_seal(struct cv_journal *journal, const char *table,
                                   struct cv_packer *columns,
                                   char out[CV_CONTENT_HASH_TEXT],
                                   struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    struct cv_part all;

    cv_pack_text(columns, table);
    cv_pack_number(columns, journal->key);
    all = (struct cv_part){ .bytes = columns->bytes, .fd = -1, .end = columns->length };
    if (columns->failed) {
        status = cv_fail_memory(err, "the journal");
    } else {
        cv_content_hasher_reset(journal->hasher);
        status = cv_content_hasher_add_part(journal->hasher, &all, err);
        cv_content_hash_text(cv_content_hasher_finish(journal->hasher), out);
    }
    cv_pack_done(columns);
    return status;
}

/* --- differences -------------------------------------------------------------------------- */

enum { SHOWN = 160, BEFORE = 60 };

/* Bytes to omit at the beginning of two long texts, so that messages show their difference. */
static size_t skip_same(const char *a, const char *b)
{
    size_t same = 0;

    if (strlen(a) < SHOWN && strlen(b) < SHOWN)
        return 0;
    while (a[same] != '\0' && a[same] == b[same])
        same++;
    if (same <= BEFORE)
        return 0;
    same -= BEFORE;
    while (((unsigned char)a[same] & 0xc0) == 0x80) /* not within a UTF-8 character */
        same--;
    return same;
}

/* `quote` is "'", or "" for a text that is quoted already. */
static enum cleave_status differs(const struct cv_journal *journal, const char *what,
                                  const char *quote, const char *expected,
                                  const char *got, struct cleave_error *err)
{
    const size_t skip = skip_same(expected, got);
    const char *dots = skip > 0 ? "..." : "";
    char shown[2][SHOWN];

    return cv_fail_at(
        err, &journal->place,
        "the journal belongs to another run: expected %s %s%s%s%s, got %s%s%s%s", what,
        quote, dots,
        cv_shown(expected + skip, strlen(expected + skip), shown[0], sizeof *shown),
        quote, quote, dots,
        cv_shown(got + skip, strlen(got + skip), shown[1], sizeof *shown), quote);
}

/* --- run ---------------------------------------------------------------------------- */

static enum cleave_status seal_run(struct cv_journal *journal,
                                   const struct cv_journal_run *run, const char *started,
                                   char out[CV_CONTENT_HASH_TEXT],
                                   struct cleave_error *err)
{
    struct cv_packer columns = { NULL, 0, 0, false };

    cv_pack_text(&columns, run->command);
    cv_pack_text(&columns, run->splitter);
    cv_pack_number(&columns, run->header);
    cv_pack_number(&columns, run->pairs);
    cv_pack_number(&columns, run->persistent);
    cv_pack_text(&columns, started);
    return cv_journal_seal(journal, "run", &columns, out, err);
}

static enum cleave_status compare_run(struct cv_journal *journal, sqlite3_stmt *query,
                                      const struct cv_journal_run *run,
                                      struct cleave_error *err)
{
    static const char *const names[] = { "a header:", "pairs:", "a persistent command:" };
    static const char *const yes_no[] = { "no", "yes" };
    const bool now[] = { run->header, run->pairs, run->persistent };
    char seal[CV_CONTENT_HASH_TEXT];
    struct cv_journal_run then;
    bool flags[3], good = cv_journal_types(query, "ittiiitt");

    for (int i = 0; good && i < 3; i++) {
        flags[i] = sqlite3_column_int64(query, 3 + i) == 1;
        good = flags[i] || sqlite3_column_int64(query, 3 + i) == 0;
    }
    if (!good)
        return cv_journal_fail_damaged(journal, "the notes about its run", err);
    journal->key = (uint64_t)sqlite3_column_int64(query, 0);
    then = (struct cv_journal_run){ cv_journal_text(query, 1), cv_journal_text(query, 2),
                                    flags[0], flags[1], flags[2] };
    CV_TRY(seal_run(journal, &then, cv_journal_text(query, 6), seal, err));
    if (!cv_journal_is(query, 7, seal))
        return cv_journal_fail_damaged(journal, "the notes about its run", err);
    if (strcmp(then.command, run->command) != 0)
        return differs(journal, "the command", "", then.command, run->command, err);
    if (strcmp(then.splitter, run->splitter) != 0)
        return differs(journal, "the splitter", "'", then.splitter, run->splitter, err);
    for (size_t i = 0; i < 3; i++)
        if (flags[i] != now[i])
            return differs(journal, names[i], "'", yes_no[flags[i]], yes_no[now[i]], err);
    return CLEAVE_OK;
}

static enum cleave_status note_run(struct cv_journal *journal,
                                   const struct cv_journal_run *run,
                                   struct cleave_error *err)
{
    const time_t now = time(NULL);
    char started[32] = "", seal[CV_CONTENT_HASH_TEXT];
    sqlite3_stmt *add = NULL;
    struct tm parts;
    bool good;

    if (gmtime_r(&now, &parts) != NULL)
        strftime(started, sizeof started, "%Y-%m-%d %H:%M:%S", &parts);
    sqlite3_randomness(sizeof journal->key, &journal->key);
    CV_TRY(seal_run(journal, run, started, seal, err));
    good = sqlite3_prepare_v2(journal->db, "INSERT INTO run VALUES (?,?,?,?,?,?,?,?)", -1,
                              &add, NULL) == SQLITE_OK &&
           sqlite3_bind_int64(add, 1, (int64_t)journal->key) == SQLITE_OK &&
           sqlite3_bind_text(add, 2, run->command, -1, SQLITE_STATIC) == SQLITE_OK &&
           sqlite3_bind_text(add, 3, run->splitter, -1, SQLITE_STATIC) == SQLITE_OK &&
           sqlite3_bind_int(add, 4, run->header) == SQLITE_OK &&
           sqlite3_bind_int(add, 5, run->pairs) == SQLITE_OK &&
           sqlite3_bind_int(add, 6, run->persistent) == SQLITE_OK &&
           sqlite3_bind_text(add, 7, started, -1, SQLITE_STATIC) == SQLITE_OK &&
           sqlite3_bind_text(add, 8, seal, -1, SQLITE_STATIC) == SQLITE_OK &&
           sqlite3_step(add) == SQLITE_DONE;
    sqlite3_finalize(add);
    return good ? CLEAVE_OK : cv_journal_fail(journal, "write the journal", err);
}

/* --- inputs ------------------------------------------------------------------------- */

static enum cleave_status seal_input(struct cv_journal *journal, int64_t file,
                                     const struct cv_input *input,
                                     char out[CV_CONTENT_HASH_TEXT],
                                     struct cleave_error *err)
{
    struct cv_packer columns = { NULL, 0, 0, false };

    cv_pack_number(&columns, (uint64_t)file);
    cv_pack_text(&columns, input->path);
    cv_pack_number(&columns, input->device);
    cv_pack_number(&columns, input->inode);
    cv_pack_number(&columns, (uint64_t)input->size);
    cv_pack_number(&columns, (uint64_t)input->mtime_ns);
    return cv_journal_seal(journal, "input", &columns, out, err);
}

/* An input may have been moved or replaced, but not both. Its contents are compared later, by
 * hashes. */
static enum cleave_status compare_input(struct cv_journal *journal, sqlite3_stmt *query,
                                        int64_t file, const struct cv_source *source,
                                        struct cleave_error *err)
{
    char seal[CV_CONTENT_HASH_TEXT];
    struct cv_input then, now;

    if (!cv_journal_types(query, "itiiiit") || sqlite3_column_int64(query, 0) != file)
        return cv_journal_fail_damaged(journal, "the notes about its inputs", err);
    then = (struct cv_input){ .path = cv_journal_text(query, 1),
                              .device = (uint64_t)sqlite3_column_int64(query, 2),
                              .inode = (uint64_t)sqlite3_column_int64(query, 3),
                              .size = sqlite3_column_int64(query, 4),
                              .mtime_ns = sqlite3_column_int64(query, 5) };
    CV_TRY(seal_input(journal, file, &then, seal, err));
    if (!cv_journal_is(query, 6, seal))
        return cv_journal_fail_damaged(journal, "the notes about its inputs", err);
    if ((size_t)file >= cv_source_inputs(source))
        return differs(journal, "the input", "'", then.path, "nothing", err);
    now = cv_source_input(source, (size_t)file);
    if (strcmp(then.path, now.path) == 0 ||
        (then.device == now.device && then.inode == now.inode))
        return CLEAVE_OK;
    return differs(journal, "the input", "'", then.path, now.path, err);
}

static enum cleave_status note_input(struct cv_journal *journal, sqlite3_stmt *add,
                                     size_t file, const struct cv_input *input,
                                     struct cleave_error *err)
{
    char seal[CV_CONTENT_HASH_TEXT];
    bool good;

    CV_TRY(seal_input(journal, (int64_t)file, input, seal, err));
    good = sqlite3_bind_int64(add, 1, (int64_t)file) == SQLITE_OK &&
           sqlite3_bind_text(add, 2, input->path, -1, SQLITE_STATIC) == SQLITE_OK &&
           sqlite3_bind_int64(add, 3, (int64_t)input->device) == SQLITE_OK &&
           sqlite3_bind_int64(add, 4, (int64_t)input->inode) == SQLITE_OK &&
           sqlite3_bind_int64(add, 5, input->size) == SQLITE_OK &&
           sqlite3_bind_int64(add, 6, input->mtime_ns) == SQLITE_OK &&
           sqlite3_bind_text(add, 7, seal, -1, SQLITE_STATIC) == SQLITE_OK &&
           sqlite3_step(add) == SQLITE_DONE && sqlite3_reset(add) == SQLITE_OK;
    return good ? CLEAVE_OK : cv_journal_fail(journal, "write the journal", err);
}

static enum cleave_status note_inputs(struct cv_journal *journal,
                                      const struct cv_source *source,
                                      struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    sqlite3_stmt *add = NULL;

    if (sqlite3_prepare_v2(journal->db,
                           "INSERT OR REPLACE INTO input VALUES (?,?,?,?,?,?,?)", -1,
                           &add, NULL) != SQLITE_OK)
        return cv_journal_fail(journal, "write the journal", err);
    for (size_t i = 0; status == CLEAVE_OK && i < cv_source_inputs(source); i++) {
        const struct cv_input input = cv_source_input(source, i);

        status = note_input(journal, add, i, &input, err);
    }
    sqlite3_finalize(add);
    return status;
}

static enum cleave_status compare_inputs(struct cv_journal *journal,
                                         const struct cv_source *source,
                                         struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    sqlite3_stmt *query = NULL;
    int64_t file = 0;
    int step;

    CV_TRY(cv_journal_query(journal, "SELECT * FROM input ORDER BY file", &query, err));
    while (status == CLEAVE_OK && (step = sqlite3_step(query)) != SQLITE_DONE)
        status = step == SQLITE_ROW ? compare_input(journal, query, file++, source, err)
                                    : cv_journal_fail(journal, "read the journal", err);
    sqlite3_finalize(query);
    return status == CLEAVE_OK && file == 0
               ? cv_journal_fail_damaged(journal, "the notes about its inputs", err)
               : status;
}

static enum cleave_status compare(struct cv_journal *journal,
                                  const struct cv_journal_run *run,
                                  const struct cv_source *source,
                                  struct cleave_error *err)
{
    enum cleave_status status;
    sqlite3_stmt *query = NULL;
    int step;

    CV_TRY(cv_journal_query(journal, "SELECT * FROM run", &query, err));
    step = sqlite3_step(query);
    status = step == SQLITE_ROW ? compare_run(journal, query, run, err)
             : step == SQLITE_DONE
                 ? cv_journal_fail_damaged(journal, "the notes about its run", err)
                 : cv_journal_fail(journal, "read the journal", err);
    if (status == CLEAVE_OK && sqlite3_step(query) != SQLITE_DONE)
        status = cv_journal_fail_damaged(journal, "the notes about its run", err);
    sqlite3_finalize(query);
    return status == CLEAVE_OK ? compare_inputs(journal, source, err) : status;
}

/* --- opening ------------------------------------------------------------------------------ */

/* Within a transaction. */
static enum cleave_status enter(struct cv_journal *journal, enum cv_journal_mode mode,
                                bool fresh, const struct cv_journal_run *run,
                                const struct cv_source *source, struct cleave_error *err)
{
    int64_t chunks = 0, last_chunk, last_output;

    if (!fresh)
        CV_TRY(cv_journal_ask(journal, "SELECT count(*) FROM chunk", &chunks, err));
    if (chunks > 0)
        CV_TRY(compare(journal, run, source, err));
    if (chunks > 0 && mode == CV_JOURNAL_NEW)
        return cv_fail_at(err, &journal->place,
                          "expected a new journal, got one with %" PRId64
                          " finished %s of this run: journal.resume continues it, "
                          "journal.overwrite empties it",
                          chunks, chunks == 1 ? "chunk" : "chunks");
    if (chunks == 0) {
        CV_TRY(cv_journal_make_tables(journal, !fresh, err));
        CV_TRY(note_run(journal, run, err));
    }
    CV_TRY(note_inputs(journal, source, err));
    /* A new id is higher than used ids, also those of outputs without a chunk. */
    CV_TRY(cv_journal_ask(journal, "SELECT ifnull(max(id), 0) FROM chunk", &last_chunk,
                          err));
    CV_TRY(cv_journal_ask(journal, "SELECT ifnull(max(chunk), 0) FROM output",
                          &last_output, err));
    journal->next_row = (last_chunk > last_output ? last_chunk : last_output) + 1;
    return last_chunk < 0 || last_output < 0 || journal->next_row > (int64_t)1 << 60
               ? cv_journal_fail_damaged(journal, "the numbers of its chunks", err)
               : CLEAVE_OK;
}

static enum cleave_status start(struct cv_journal *journal, enum cv_journal_mode mode,
                                const struct cv_journal_run *run,
                                const struct cv_source *source, struct cleave_error *err)
{
    bool fresh;

    CV_TRY(cv_content_hasher_new(&journal->hasher, err));
    CV_TRY(cv_journal_open_file(journal, mode, &fresh, err));
    CV_TRY(cv_journal_execute(journal, "BEGIN IMMEDIATE", err));
    return cv_journal_end(journal, enter(journal, mode, fresh, run, source, err), err);
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
    journal->place = (struct cv_place){ journal->path, 0, 0, NULL };
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
    cv_content_hasher_free(journal->hasher);
    free(journal->rows);
    free(journal->part);
    free(journal->path);
    free(journal);
}
