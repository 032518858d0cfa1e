/* chunk_failure.c -- what happens when a command fails. SPDX-License-Identifier: MIT */
#include "run/master/chunk_failure.h"

#include "run/master/attempt_report.h"
#include "run/master/failed_input.h"

static void halt_if_asked(struct cv_real_run *run)
{
    const struct cleave_execution *execution = run->asked;
    const double over = (double)run->books.chunks + 1;
    const bool many = (execution->failing.halt_fails > 0 &&
                       run->books.failed >= execution->failing.halt_fails) ||
                      (execution->failing.halt_share > 0 && over >= 3 &&
                       (double)run->books.failed >= execution->failing.halt_share * over);

    if (execution->failing.halt == CLEAVE_HALT_NEVER || !many)
        return;
    run->halted = true;
    if (execution->failing.halt == CLEAVE_HALT_NOW)
        cv_desks_stop(&run->desks);
}

static void drop_output(struct cv_errand *errand)
{
    if (errand->slot.store != NULL)
        cv_store_drop(errand->slot.store);
    errand->slot.store = NULL;
}

/* Its bytes are settled: there is no output of them. */
static enum cleave_status give_up(struct cv_real_run *run, const struct cv_errand *errand,
                                  struct cleave_error *err)
{
    struct cv_books *books = &run->books;
    const struct cv_piece piece = errand->slot.piece;

    books->failed++;
    cv_note_failure(&run->failures, run->asked, books->source, errand);
    if (run->asked->failing.directory != NULL)
        CV_TRY(cv_failed_input_keep(run->asked->failing.directory, &run->asked->input,
                                    &piece, err));
    halt_if_asked(run);
    CV_TRY(cv_outlet_skip(run->outlet, piece.begin, piece.end, err));
    CV_TRY(cv_ledger_fail(&books->ledger, piece.begin, piece.end, err));
    CV_TRY(cv_source_finish(books->source, &piece, err));
    return cv_blame_clear(&run->blame, piece.begin, piece.end, err);
}

enum cleave_status cv_chunk_failed(struct cv_real_run *run, struct cv_errand *errand,
                                   enum cv_slot_end end, bool *out_given_up,
                                   struct cleave_error *err)
{
    struct cv_books *books = &run->books;
    const struct cv_piece piece = errand->slot.piece;

    *out_given_up = false;
    drop_output(errand);
    if (end == CV_SLOT_STOPPED) {
        books->running--;
        return cv_source_put_back(books->source, &piece, err);
    }
    if (!cv_attempt_last(run->asked, errand) && !run->halted && run->stopped_by == 0) {
        errand->attempt++;
        books->retries++;
        return cv_slot_start(&errand->slot, &piece, err);
    }
    CV_TRY(give_up(run, errand, err));
    *out_given_up = true;
    return CLEAVE_OK;
}

enum cleave_status cv_chunk_guilty(struct cv_real_run *run, struct cv_errand *errand,
                                   uint32_t hosts, struct cleave_error *err)
{
    static const char *const faults[] = { "was lost with its host",
                                          "was lost 3 times with the only host",
                                          "was lost 3 times, with both hosts",
                                          "was lost with 3 hosts" };

    drop_output(errand);
    errand->slot.fault = faults[hosts <= CV_BLAME_LOSSES ? hosts : CV_BLAME_LOSSES];
    return give_up(run, errand, err);
}
