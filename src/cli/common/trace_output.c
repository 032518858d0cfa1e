/* trace_output.c -- what --trace writes, and what a trace should know of its run.
 * SPDX-License-Identifier: MIT */
#include "cli/common/trace_output.h"

#include "base/shell_word.h"
#include "cli/common/output.h"
#include "cli/common/output_file.h"

void cv_command_line(const struct cv_call *call, struct cv_text *out)
{
    cv_text_add(out, "cleave %s", call->verb->name);
    for (int i = 0; i < call->nwords; i++) {
        cv_text_add(out, " ");
        cv_shell_word_add(out, call->words[i]);
    }
}

int cv_trace_add_facts(struct cleave_trace *trace, const struct cleave_trace_facts *facts)
{
    struct cleave_error err;

    if (trace != NULL && cleave_trace_describe(trace, facts, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    return CV_EXIT_DONE;
}

int cv_trace_call(struct cleave_trace *trace, const struct cv_call *call)
{
    struct cv_text line = { NULL, 0, 0, false };
    int status;

    if (trace == NULL)
        return CV_EXIT_DONE;
    cv_command_line(call, &line);
    status = line.failed ? cv_print_error(CV_EXIT_FAILED, "out of memory for the trace")
                         : cv_trace_add_facts(trace, &(struct cleave_trace_facts){
                                                         .command = line.bytes });
    cv_text_done(&line);
    return status;
}

int cv_trace_plan_facts(struct cleave_trace *trace, const struct cleave_job *job)
{
    struct cleave_job plain = *job;
    struct cleave_schedule *schedule;
    struct cleave_error err;
    int status;

    plain.trace = NULL;
    plain.simgrid = NULL; /* who is left out follows from the declared costs */
    if (cleave_plan_load(&plain, &schedule, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    status = cv_trace_add_facts(trace, &(struct cleave_trace_facts){
                                           .picked = schedule->picked,
                                           .why = schedule->why,
                                           .left_out = schedule->left_out,
                                           .nleft_out = schedule->nleft_out });
    cleave_schedule_free(schedule);
    return status;
}

int cv_trace_write(const char *path, const struct cv_trace_context *context)
{
    struct cv_output_file out;
    struct cleave_error err;
    bool failed;
    /* It holds the command line, which may hold what is nobody's business. */
    const int status = cv_output_open(&out, "--trace", path, CV_NEW_FILE_SECRET);

    if (status != CV_EXIT_DONE)
        return status;
    failed =
        cv_trace_export(context, cv_trace_format_of(path), out.file, &err) != CLEAVE_OK;
    if (failed)
        cv_print_error(CV_EXIT_FAILED, "--trace: %s", err.text);
    return cv_output_close(&out, failed);
}
