/* verb_report.c -- cleave report. SPDX-License-Identifier: MIT */
#include "cli/common/output.h"
#include "cli/common/output_file.h"
#include "cli/common/verb.h"
#include "io/input.h"
#include "io/trace_export.h"
#include "report/page/html_report.h"

struct report_options {
    const char *predicted, *output;
    int force;
};

#define FIELD(name) offsetof(struct report_options, name)

/* clang-format off */
static const struct cv_option options[] = {
    { .name = "--predicted", .kind = CV_OPTION_TEXT, .argument = "TRACE",
      .offset = FIELD(predicted),
      .help = "Lay this trace beside it: that of the plan or of the simulation of the same "
              "job. Differences are listed per worker." },
    { .name = "--output", .letter = 'o', .kind = CV_OPTION_TEXT, .argument = "FILE",
      .offset = FIELD(output), .required = true,
      .file = CV_FILE_KEPT,
      .help = "Write the page to this file; - is standard output." },
    { .name = "--force", .letter = 'f', .value = 1, .offset = FIELD(force),
      .help = "Replace the file if it exists." },
    { .name = NULL },
};
/* clang-format on */

static const struct cv_option_group groups[] = { { "Page", options }, { NULL, NULL } };

/* A trace that was read, and what it comes to. */
struct context {
    struct cv_trace_file file;
    struct cv_report_data data;
};

static int read_story(const char *path, struct context *out)
{
    struct cleave_error err;
    char shown[CV_ECHO_ROOM];

    if (cv_trace_format_of(path) != CV_TRACE_OWN)
        return cv_print_error(CV_EXIT_USAGE,
                              "%s: a trace for other viewers cannot be read back; give "
                              "--trace a name with another ending",
                              cv_echo(path, shown));
    if (cv_trace_file_load(path, true, &out->file, &err) != CLEAVE_OK ||
        cv_report_data_make(&out->file, &out->data, &err) != CLEAVE_OK ||
        cv_report_data_reduce(&out->data, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    return CV_EXIT_DONE;
}

static int write_page(const struct cv_report *report, const struct report_options *values)
{
    struct cv_output_file out;
    const int status = cv_output_open(&out, "--output", values->output,
                                      values->force ? 0 : CV_NEW_FILE_ONLY);

    if (status != CV_EXIT_DONE)
        return status;
    cv_report_write(report, out.file);
    return cv_output_close(&out, false);
}

static int run(const struct cv_call *call)
{
    const struct report_options *values = call->values;
    struct context measured = { .data = { .file = NULL } };
    struct context predicted = { .data = { .file = NULL } };
    struct cv_report report = { .measured = &measured.data };
    struct cleave_error err;
    int status;

    if (call->noperands == 0)
        return cv_print_error(CV_EXIT_USAGE,
                              "expected the file of a trace, as --trace writes it");
    status = read_story(call->operands[0], &measured);
    report.measured_name = cv_input_name(call->operands[0]);
    if (status == CV_EXIT_DONE && values->predicted != NULL) {
        status = read_story(values->predicted, &predicted);
        report.predicted = &predicted.data;
        report.predicted_name = cv_input_name(values->predicted);
    }
    if (status == CV_EXIT_DONE && values->predicted != NULL &&
        cv_report_data_match(&measured.data, &predicted.data, report.predicted_name,
                             &err) != CLEAVE_OK)
        status = cv_print_status(&err);
    if (status == CV_EXIT_DONE)
        status = write_page(&report, values);
    cv_report_data_done(&measured.data);
    cv_report_data_done(&predicted.data);
    cv_trace_file_done(&measured.file);
    cv_trace_file_done(&predicted.file);
    return status;
}

const struct cv_verb cv_verb_report = {
    .name = "report",
    .summary = "a page that shows what happened in a trace",
    .description =
        "Makes one page of a trace that plan, simulate or run wrote with --trace: a "
        "chart of who did what when that can be zoomed, how busy every worker was, the "
        "bound, who was left out and why, and the command that does it again. With "
        "--predicted it shows what was planned beside what happened. The page needs no "
        "other file and no network, and can be printed.",
    .operands = "TRACE",
    .operand_files = true,
    .max_operands = 1,
    .groups = groups,
    .examples =
        "cleave plan load -p examples/unequal.yaml -l 2000 --trace plan.jsonl\n"
        "cleave report plan.jsonl -o plan.html\n"
        "cleave simulate load -p examples/unequal.yaml -l 2000 --error 0.2 --trace "
        "run.jsonl\n"
        "cleave report run.jsonl --predicted plan.jsonl -o run.html",
    .values_size = sizeof(struct report_options),
    .run = run,
};
