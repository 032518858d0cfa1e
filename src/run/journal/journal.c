/* journal.c -- a journal: its run and its inputs. SPDX-License-Identifier: MIT */
#include "run/journal/journal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/fail.h"
#include "base/text.h"
#include "run/journal/command_files.h"
#include "run/journal/journal_internal.h"

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
        err, CV_FILE(journal->path),
        "the journal belongs to another run: expected %s %s%s%s%s, got %s%s%s%s", what,
        quote, dots,
        cv_shown(expected + skip, strlen(expected + skip), shown[0], sizeof *shown),
        quote, quote, dots,
        cv_shown(got + skip, strlen(got + skip), shown[1], sizeof *shown), quote);
}

/* --- run ---------------------------------------------------------------------------- */

static enum cleave_status compare_run(struct cv_journal *journal, sqlite3_stmt *query,
                                      const struct cv_journal_run *run,
                                      struct cleave_error *err)
{
    static const char *const names[] = { "a header:", "pairs:", "a persistent command:" };
    static const char *const words[] = { "no", "yes", "written once" };
    const int64_t now[] = { run->header, run->pairs, run->persistent };
    struct cv_journal_value then[CV_JOURNAL_COLUMNS];
    const char *changed;
    size_t length;
    bool good;

    CV_TRY(cv_journal_read(journal, query, CV_SQL_ADD_RUN, then, &good, err));
    for (size_t i = 0; good && i < 3; i++)
        good = then[3 + i].number >= 0 &&
               then[3 + i].number <= (i == 0 ? CV_HEADER_ONCE : 1);
    if (!good)
        return cv_journal_fail_damaged(journal, "the notes about its run", err);
    if (strcmp(then[1].text, run->command) != 0)
        return differs(journal, "the command", "", then[1].text, run->command, err);
    if (strcmp(then[2].text, run->splitter) != 0)
        return differs(journal, "the splitter", "'", then[2].text, run->splitter, err);
    for (size_t i = 0; i < 3; i++)
        if (then[3 + i].number != now[i])
            return differs(journal, names[i], "'", words[then[3 + i].number],
                           words[now[i]], err);
    if (run->files != NULL &&
        cv_command_files_differ(then[7].text, run->files, &changed, &length)) {
        journal->changed = strndup(changed, length);
        if (journal->changed == NULL)
            return cv_fail_memory(err, "a journal");
    }
    return CLEAVE_OK;
}

const char *cv_journal_changed(const struct cv_journal *journal)
{
    return journal->changed;
}

static enum cleave_status note_run(struct cv_journal *journal,
                                   const struct cv_journal_run *run,
                                   struct cleave_error *err)
{
    const time_t now = time(NULL);
    char started[32] = "";
    struct tm parts;

    if (gmtime_r(&now, &parts) != NULL)
        strftime(started, sizeof started, "%Y-%m-%d %H:%M:%S", &parts);
    sqlite3_randomness(sizeof journal->key, &journal->key);
    return cv_journal_write(journal, CV_SQL_ADD_RUN,
                            (const struct cv_journal_value[]){
                                { .number = (int64_t)journal->key },
                                { .text = run->command },
                                { .text = run->splitter },
                                { .number = run->header },
                                { .number = run->pairs },
                                { .number = run->persistent },
                                { .text = started },
                                { .text = run->files != NULL ? run->files : "" } },
                            err);
}

/* --- inputs ------------------------------------------------------------------------- */

/* An input may have been moved or replaced, but not both. Its contents are compared later, by
 * hashes. */
static enum cleave_status compare_input(struct cv_journal *journal, sqlite3_stmt *query,
                                        int64_t file, const struct cv_source *source,
                                        struct cleave_error *err)
{
    struct cv_journal_value then[CV_JOURNAL_COLUMNS];
    struct cv_input now;
    bool good;

    CV_TRY(cv_journal_read(journal, query, CV_SQL_ADD_INPUT, then, &good, err));
    if (!good || then[0].number != file)
        return cv_journal_fail_damaged(journal, "the notes about its inputs", err);
    if ((size_t)file >= cv_source_inputs(source))
        return differs(journal, "the input", "'", then[1].text, "nothing", err);
    now = cv_source_input(source, (size_t)file);
    if (strcmp(then[1].text, now.path) == 0 ||
        ((uint64_t)then[2].number == now.device && (uint64_t)then[3].number == now.inode))
        return CLEAVE_OK;
    return differs(journal, "the input", "'", then[1].text, now.path, err);
}

static enum cleave_status note_inputs(struct cv_journal *journal,
                                      const struct cv_source *source,
                                      struct cleave_error *err)
{
    for (size_t i = 0; i < cv_source_inputs(source); i++) {
        const struct cv_input input = cv_source_input(source, i);

        CV_TRY(cv_journal_write(journal, CV_SQL_ADD_INPUT,
                                (const struct cv_journal_value[]){
                                    { .number = (int64_t)i },
                                    { .text = input.path },
                                    { .number = (int64_t)input.device },
                                    { .number = (int64_t)input.inode },
                                    { .number = input.size },
                                    { .number = input.mtime_ns } },
                                err));
    }
    return CLEAVE_OK;
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
        return cv_fail_at(err, CV_FILE(journal->path),
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
    free(journal->changed);
    free(journal->path);
    free(journal);
}
