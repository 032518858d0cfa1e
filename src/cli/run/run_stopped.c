/* run_stopped.c -- what a run that a signal stopped has done, and how to go on.
 * SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "base/signal_name.h"
#include "cli/common/output.h"
#include "cli/run/run_report.h"
#include "report/terminal/table.h"

bool cv_run_can_resume(const char *journal)
{
    return journal != NULL && access(journal, F_OK) == 0;
}

void cv_run_stopped(const struct cleave_execution_result *result,
                    const struct cv_run_options *values,
                    const struct cv_run_report *report)
{
    const bool items = report->items != NULL;
    const uint64_t done = result->chunks - result->failed + result->resumed;
    const double ended = result->input_bytes + result->resumed_bytes;
    const double total = ended + result->left_bytes;
    char name[CV_SIGNAL_ROOM], chunks[CV_COUNTED_ROOM];
    char bytes[CV_NUMBER_ROOM], all[CV_NUMBER_ROOM];
    struct cv_text line = { NULL, 0, 0, false };

    if (result->platform == NULL) {
        cv_print_error(CV_EXIT_FAILED, "stopped by %s before anything was begun",
                       cv_signal_name(result->stopped_by, name));
        return;
    }
    cv_text_add(&line, "stopped by %s: %s done", cv_signal_name(result->stopped_by, name),
                cv_counted(done, items ? "command" : "chunk", chunks));
    if (!items)
        cv_text_add(&line, ", %s", cv_show_units(ended - result->failed_bytes, bytes));
    if (!result->left_unread)
        cv_text_add(&line, " of %s", cv_show_units(total, all));
    cv_text_add(&line, "%s. ", items ? "" : " bytes");
    if (values->journal != NULL && !cv_run_can_resume(values->journal))
        cv_text_add(&line, "The journal that held them was removed meanwhile: none of it "
                           "is kept for another run");
    else if (values->journal != NULL)
        cv_text_add(&line, "The journal holds them: the same command with --resume goes "
                           "on from there");
    else
        cv_text_add(&line,
                    "None of it is kept for another run; --journal FILE would have "
                    "done so");
    if (!line.failed)
        cv_print_error(CV_EXIT_FAILED, "%s", line.bytes);
    cv_text_done(&line);
}
