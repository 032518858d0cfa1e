/* job_log.c -- a line for every end of a command, with the columns of GNU parallel.
 * SPDX-License-Identifier: MIT */
#include "cli/run/job_log.h"

#include <string.h>
#include "base/shell_word.h"
#include "cli/kit/output.h"

int cv_job_log_open(struct cv_job_log *log, const char *path)
{
    int status;

    *log = (struct cv_job_log){ .failed = CV_EXIT_DONE };
    if (path == NULL)
        return CV_EXIT_DONE;
    status = cv_output_open(&log->out, "--joblog", path, CV_NEW_FILE_SECRET);
    if (status == CV_EXIT_DONE)
        fputs(
            "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n",
            log->out.file);
    return status;
}

/* A name may hold tabs and line ends, which would make columns and lines. One that does is
 * written as a shell would take it, and so is one that looks like that. */
static void add_name(struct cv_text *out, const char *name)
{
    if (cv_printable(name, strlen(name), true) && name[0] != '$' && name[0] != '\'')
        cv_text_add(out, "%s", name);
    else
        cv_shell_word_add(out, name);
}

void cv_job_log_add(struct cv_job_log *log, const struct cleave_attempt *attempt)
{
    struct cv_text input = { NULL, 0, 0, false };

    if (log->out.file == NULL || log->failed != CV_EXIT_DONE)
        return;
    add_name(&input, attempt->input);
    fprintf(log->out.file, "%llu\t%s\t%.3f\t%.3f\t%llu\t%llu\t%d\t%d\t%s:%llu-%llu\n",
            (unsigned long long)attempt->chunk + 1, attempt->worker, attempt->start_s,
            attempt->seconds, (unsigned long long)attempt->sent,
            (unsigned long long)attempt->received,
            attempt->exit_code < 0 ? 0 : attempt->exit_code, attempt->signal,
            input.failed ? "?" : input.bytes, (unsigned long long)attempt->begin,
            (unsigned long long)attempt->end);
    cv_text_done(&input);
    /* Line by line, so that it can be followed: the log has its name from the first one
     * on. One that cannot be written is told at once, and once. */
    log->failed = cv_output_place(&log->out);
}

int cv_job_log_close(struct cv_job_log *log, int status)
{
    const bool began = log->out.made.beside == NULL;
    int closed = log->failed;

    if (log->out.file == NULL)
        return status;
    /* A run that failed before any command ended has nothing to log. */
    if (closed == CV_EXIT_DONE && (began || status == CV_EXIT_DONE))
        closed = cv_output_close(&log->out, false);
    else
        cv_output_drop(&log->out);
    log->out.file = NULL;
    return status == CV_EXIT_DONE ? closed : status;
}
