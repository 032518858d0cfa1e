/* resume.c -- begin where an earlier run ended. SPDX-License-Identifier: MIT */
#include "run/master/resume.h"

#include "base/fail.h"
#include "base/text.h"

/* The command line as one text, with bars between the words so that none can be mistaken. */
static bool command_text(const char *const *words, struct cv_text *out)
{
    for (size_t i = 0; words[i] != NULL; i++)
        cv_text_add(out, "%s%s", i == 0 ? "" : "\x1f", words[i]);
    return !out->failed;
}

enum cleave_status cv_resume_open(struct cv_books *books,
                                  const struct cleave_execution *asked,
                                  const struct cv_splitter *splitter,
                                  struct cleave_error *err)
{
    struct cv_text command = { NULL, 0, 0, false };
    struct cv_journal_run run = { .splitter = cv_splitter_text(splitter),
                                  .header = asked->input.header,
                                  .pairs = asked->input.pairs != NULL };
    enum cleave_status status;

    /* One that stays is asked in another way than one that does not. */
    if (asked->persistent)
        cv_text_add(&command, "--persistent\x1f");
    if (!command_text(asked->command, &command)) {
        cv_text_done(&command);
        return cv_fail_memory(err, "the journal");
    }
    run.command = command.bytes;
    status = cv_journal_open(asked->journal.path,
                             asked->journal.resume      ? CV_JOURNAL_RESUME
                             : asked->journal.overwrite ? CV_JOURNAL_OVERWRITE
                                                        : CV_JOURNAL_NEW,
                             &run, books->source, &books->journal, err);
    cv_text_done(&command);
    return status;
}

static enum cleave_status store_bytes(void *context, const void *bytes, size_t length,
                                      struct cleave_error *err)
{
    return cv_store_write(context, bytes, length, err);
}

static enum cleave_status use_old_output(struct cv_real_run *run,
                                         const struct cv_piece *piece, uint64_t id,
                                         struct cleave_error *err)
{
    struct cv_store *store;
    enum cleave_status status;

    CV_TRY(cv_store_open(run->gather, &store, err));
    status = cv_journal_output(run->books.journal, id, store_bytes, store, err);
    if (status != CLEAVE_OK) {
        cv_store_drop(store);
        return status;
    }
    CV_TRY(cv_outlet_add(run->outlet, store, piece, NULL, err));
    CV_TRY(cv_ledger_add(&run->books.ledger, piece->begin, piece->end, err));
    CV_TRY(cv_real_run_relieve(run, err));
    run->books.resumed++;
    return cv_source_finish(run->books.source, piece, err);
}

enum cleave_status cv_resume_known(struct cv_real_run *run, struct cleave_error *err)
{
    const struct cleave_execution *asked = run->asked;

    if (!asked->journal.resume)
        return CLEAVE_OK;
    CV_TRY(cv_journal_tell(run->books.journal, run->books.source, err));
    for (;;) {
        struct cleave_error note;
        struct cv_piece piece;
        enum cv_known state;
        bool same = false;
        uint64_t id;

        CV_TRY(cv_source_known(run->books.source, &state, &piece, &id, err));
        if (state == CV_KNOWN_END)
            return CLEAVE_OK;
        if (state == CV_KNOWN_WAIT) {
            CV_TRY(cv_source_pump(run->books.source, err));
            continue;
        }
        CV_TRY(cv_journal_confirm(run->books.journal, run->books.source, state, &piece,
                                  id, &same, &note, err));
        if (same)
            CV_TRY(use_old_output(run, &piece, id, err));
        else {
            if (asked->tell.note != NULL)
                asked->tell.note(asked->tell.context, note.text);
            if (state == CV_KNOWN_PIECE)
                CV_TRY(cv_source_put_back(run->books.source, &piece, err));
        }
    }
}
