/* journal.c -- open a journal. SPDX-License-Identifier: MIT */
#include "run/journal/journal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/journal/journal_internal.h"

/* --- opening ---------------------------------------------------------------------------- */

static enum cleave_status enter(struct cv_journal *journal, enum cv_journal_mode mode,
                                bool fresh, const struct cv_journal_run *run,
                                const struct cv_source *source, struct cleave_error *err)
{
    const struct cv_place place = { journal->path, 0, 0, NULL };
    int64_t chunks = 0;

    if (!fresh) {
        CV_TRY(cv_journal_ask(journal, "SELECT count(*) FROM chunk", &chunks, err));
        if (chunks > 0)
            CV_TRY(cv_journal_compare(journal, run, source, err));
        if (chunks > 0 && mode == CV_JOURNAL_NEW)
            return cv_fail_at(err, &place,
                              "expected a new journal, got one with %" PRId64
                              " finished %s of this run: --resume goes on with it, "
                              "--overwrite forgets it",
                              chunks, chunks == 1 ? "chunk" : "chunks");
        if (chunks == 0)
            CV_TRY(cv_journal_drop_tables(journal, err));
    }
    if (chunks == 0) {
        CV_TRY(cv_journal_make_tables(journal, err));
        CV_TRY(cv_journal_note_run(journal, run, err));
    }
    return cv_journal_note_inputs(journal, source, err);
}

/* Numbers of chunks go on after all that were ever used, even by outputs without a chunk. */
static enum cleave_status find_next_row(struct cv_journal *journal,
                                        struct cleave_error *err)
{
    int64_t last[2] = { 0, 0 };

    CV_TRY(
        cv_journal_ask(journal, "SELECT ifnull(max(id), 0) FROM chunk", &last[0], err));
    CV_TRY(cv_journal_ask(journal, "SELECT ifnull(max(chunk), 0) FROM output", &last[1],
                          err));
    journal->next_row = (last[0] > last[1] ? last[0] : last[1]) + 1;
    return last[0] < 0 || last[1] < 0 || journal->next_row > (int64_t)1 << 60
               ? cv_journal_fail_damaged(journal, "the numbers of its chunks", err)
               : CLEAVE_OK;
}

static enum cleave_status start(struct cv_journal *journal, enum cv_journal_mode mode,
                                const struct cv_journal_run *run,
                                const struct cv_source *source, struct cleave_error *err)
{
    bool fresh;

    CV_TRY(cv_content_hasher_new(&journal->hasher, err));
    CV_TRY(cv_journal_enter_file(journal, mode, &fresh, err));
    CV_TRY(cv_journal_execute(journal, "BEGIN IMMEDIATE", err));
    CV_TRY(enter(journal, mode, fresh, run, source, err));
    CV_TRY(find_next_row(journal, err));
    return cv_journal_execute(journal, "COMMIT", err);
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
    free(journal->path);
    free(journal);
}
