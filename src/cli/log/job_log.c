/* job_log.c -- a line for every end of a command, with the columns of GNU parallel.
 * SPDX-License-Identifier: MIT */
#include "cli/log/job_log.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/shell_word.h"
#include "cli/common/output.h"

static const char columns[] =
    "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";

/* The lines of an older log, the last of which may have been cut short. */
static int copy_lines(struct cv_job_log *log, FILE *older)
{
    char bytes[8192], shown[CV_ECHO_ROOM], last = '\n';
    size_t got = fread(bytes, 1, sizeof columns - 1, older);

    if (got > 0 &&
        (got < sizeof columns - 1 || memcmp(bytes, columns, sizeof columns - 1) != 0))
        return cv_refuse("--joblog: '%s' is not a job log that --resume could go on "
                         "with: its first line is another",
                         cv_echo(log->out.path, shown));
    while ((got = fread(bytes, 1, sizeof bytes, older)) > 0) {
        fwrite(bytes, 1, got, log->out.file);
        last = bytes[got - 1];
    }
    if (last != '\n')
        fputc('\n', log->out.file);
    return ferror(older)
               ? cv_print_error(CV_EXIT_FAILED, "--joblog: cannot read '%s': %s",
                                cv_echo(log->out.path, shown), strerror(errno))
               : CV_EXIT_DONE;
}

/* What was logged before, if it is in a file. */
static int go_on(struct cv_job_log *log, const char *path)
{
    char shown[CV_ECHO_ROOM];
    struct stat now;
    FILE *older;
    int status;

    if (strcmp(path, "-") == 0 || stat(path, &now) != 0 || !S_ISREG(now.st_mode))
        return CV_EXIT_DONE;
    older = fopen(path, "re");
    if (older == NULL)
        return cv_refuse("--joblog: cannot read '%s': %s", cv_echo(path, shown),
                         strerror(errno));
    status = copy_lines(log, older);
    fclose(older);
    return status;
}

int cv_job_log_open(struct cv_job_log *log, const char *path, bool resumes)
{
    int status;

    *log = (struct cv_job_log){ .failed = CV_EXIT_DONE };
    if (path == NULL)
        return CV_EXIT_DONE;
    status = cv_output_open(&log->out, "--joblog", path, CV_NEW_FILE_SECRET);
    if (status != CV_EXIT_DONE)
        return status;
    fputs(columns, log->out.file);
    status = resumes ? go_on(log, path) : CV_EXIT_DONE;
    if (status != CV_EXIT_DONE) {
        cv_output_drop(&log->out);
        log->out.file = NULL;
    }
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

/* Which part of the input it was, or the command line of an item. */
static void add_command(struct cv_text *out, const struct cleave_attempt *attempt,
                        const struct cv_item_commands *items)
{
    struct cleave_error ignored;

    if (items != NULL) {
        (void)cv_item_commands_run_line(items, attempt->begin,
                                        attempt->end - attempt->begin, attempt->place,
                                        out, &ignored);
        for (size_t i = 0; !out->failed && i < out->length; i++)
            if (out->bytes[i] ==
                '\n') /* a line is an entry; GNU parallel does the same */
                out->bytes[i] = '\0';
        return;
    }
    add_name(out, attempt->input);
    cv_text_add(out, ":%llu-%llu", (unsigned long long)attempt->begin,
                (unsigned long long)attempt->end);
}

void cv_job_log_add(struct cv_job_log *log, const struct cleave_attempt *attempt,
                    const struct cv_item_commands *items)
{
    struct cv_text command = { NULL, 0, 0, false };

    if (log->out.file == NULL || log->failed != CV_EXIT_DONE)
        return;
    add_command(&command, attempt, items);
    fprintf(log->out.file, "%llu\t%s\t%.3f\t%.3f\t%llu\t%llu\t%d\t%d\t",
            (unsigned long long)(items != NULL ? attempt->begin : attempt->chunk) + 1,
            attempt->worker, attempt->start_s, attempt->seconds,
            (unsigned long long)attempt->sent, (unsigned long long)attempt->received,
            attempt->exit_code < 0 ? 0 : attempt->exit_code, attempt->signal);
    if (command.failed || command.bytes == NULL)
        fputc('?', log->out.file);
    else
        fwrite(command.bytes, 1, command.length, log->out.file);
    fputc('\n', log->out.file);
    cv_text_done(&command);
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
