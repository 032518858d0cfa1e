/* journal_whose.c -- whose journal it is: the run and its inputs.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fail.h"
#include "base/text.h"
#include "run/journal/journal_internal.h"

/* --- what differs ----------------------------------------------------------------------- */

enum { SHOWN = 160, BEFORE = 60 };

/* Two texts that are too long to be shown are shown from shortly before they differ. */
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
    while (((unsigned char)a[same] & 0xc0) == 0x80) /* not amidst a character */
        same--;
    return same;
}

/* `quote` is "'", or "" for what has quotes of its own. */
static enum cleave_status differs(const struct cv_journal *journal, const char *what,
                                  const char *quote, const char *expected,
                                  const char *got, struct cleave_error *err)
{
    const struct cv_place place = { journal->path, 0, 0, NULL };
    const size_t skip = skip_same(expected, got);
    const char *dots = skip > 0 ? "..." : "";
    char shown[2][SHOWN];

    return cv_fail_at(
        err, &place,
        "the journal belongs to another run: expected %s %s%s%s%s, got %s%s%s%s", what,
        quote, dots,
        cv_shown(expected + skip, strlen(expected + skip), shown[0], sizeof *shown),
        quote, quote, dots,
        cv_shown(got + skip, strlen(got + skip), shown[1], sizeof *shown), quote);
}

/* --- the run ---------------------------------------------------------------------------- */

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

/* Whether columns [from, to) are 0 or 1. */
static bool all_bits(sqlite3_stmt *query, int from, int to)
{
    for (; from < to; from++)
        if (sqlite3_column_int64(query, from) < 0 ||
            sqlite3_column_int64(query, from) > 1)
            return false;
    return true;
}

static enum cleave_status compare_run(struct cv_journal *journal, sqlite3_stmt *query,
                                      const struct cv_journal_run *run,
                                      struct cleave_error *err)
{
    static const char *const yes_no[] = { "no", "yes" };
    char seal[CV_CONTENT_HASH_TEXT];
    struct cv_journal_run then;

    if (!cv_journal_types(query, "ittiiitt") || !all_bits(query, 3, 6))
        return cv_journal_fail_damaged(journal, "the notes about its run", err);
    journal->key = (uint64_t)sqlite3_column_int64(query, 0);
    then = (struct cv_journal_run){ .command = cv_journal_text(query, 1),
                                    .splitter = cv_journal_text(query, 2),
                                    .header = sqlite3_column_int64(query, 3) == 1,
                                    .pairs = sqlite3_column_int64(query, 4) == 1,
                                    .persistent = sqlite3_column_int64(query, 5) == 1 };
    CV_TRY(seal_run(journal, &then, cv_journal_text(query, 6), seal, err));
    if (!cv_journal_is(query, 7, seal))
        return cv_journal_fail_damaged(journal, "the notes about its run", err);
    if (strcmp(then.command, run->command) != 0)
        return differs(journal, "the command", "", then.command, run->command, err);
    if (strcmp(then.splitter, run->splitter) != 0)
        return differs(journal, "the splitter", "'", then.splitter, run->splitter, err);
    if (then.header != run->header)
        return differs(journal, "a header:", "'", yes_no[then.header],
                       yes_no[run->header], err);
    if (then.pairs != run->pairs)
        return differs(journal, "pairs:", "'", yes_no[then.pairs], yes_no[run->pairs],
                       err);
    if (then.persistent != run->persistent)
        return differs(journal, "a command that stays:", "'", yes_no[then.persistent],
                       yes_no[run->persistent], err);
    return CLEAVE_OK;
}

enum cleave_status cv_journal_note_run(struct cv_journal *journal,
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

/* --- its inputs ------------------------------------------------------------------------- */

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

/* An input may have been moved or replaced, but not both: what is in it is compared by
 * hashes later. */
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

enum cleave_status cv_journal_note_inputs(struct cv_journal *journal,
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

/* --- both ------------------------------------------------------------------------------- */

static enum cleave_status compare_inputs(struct cv_journal *journal,
                                         const struct cv_source *source,
                                         struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    sqlite3_stmt *query = NULL;
    int64_t file = 0;
    int step;

    if (sqlite3_prepare_v2(journal->db, "SELECT * FROM input ORDER BY file", -1, &query,
                           NULL) != SQLITE_OK)
        return cv_journal_fail(journal, "read the journal", err);
    while (status == CLEAVE_OK && (step = sqlite3_step(query)) != SQLITE_DONE)
        status = step == SQLITE_ROW ? compare_input(journal, query, file++, source, err)
                                    : cv_journal_fail(journal, "read the journal", err);
    sqlite3_finalize(query);
    return status == CLEAVE_OK && file == 0
               ? cv_journal_fail_damaged(journal, "the notes about its inputs", err)
               : status;
}

enum cleave_status cv_journal_compare(struct cv_journal *journal,
                                      const struct cv_journal_run *run,
                                      const struct cv_source *source,
                                      struct cleave_error *err)
{
    enum cleave_status status;
    sqlite3_stmt *query = NULL;
    int step;

    if (sqlite3_prepare_v2(journal->db, "SELECT * FROM run", -1, &query, NULL) !=
        SQLITE_OK)
        return cv_journal_fail(journal, "read the journal", err);
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
