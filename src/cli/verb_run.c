/* verb_run.c -- cleave run. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cleave/trace.h>
#include "base/text.h"
#include "cli/output.h"
#include "cli/run_options.h"
#include "cli/run_report.h"
#include "cli/settings.h"

/* A command killed by signal S is reported by shells as 128 + S; so are we. */
enum { BY_SIGNAL = 128 };

static int open_output(const char *path, int *out)
{
    *out = STDOUT_FILENO;
    if (path == NULL)
        return CV_EXIT_DONE;
    *out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (*out < 0)
        return cv_complain(CV_EXIT_USAGE, "%s: cannot write: %s", path, strerror(errno));
    return CV_EXIT_DONE;
}

/* What is asked for, from the options. */
static int fill(const struct cv_call *call, const struct cv_crew *crew,
                struct cv_run_report *report, struct cleave_execution *out)
{
    const struct cv_run_options *values = call->values;
    const char **command =
        cv_array(call->arena, call->noperands + 1, sizeof(const char *));
    struct cv_settings settings;
    int status;

    if (command == NULL)
        return cv_complain(CV_EXIT_FAILED, "out of memory for the command");
    if (call->noperands == 0)
        return cv_complain(CV_EXIT_USAGE,
                           "expected a command: cleave run -i FILE -- COMMAND [ARG]...");
    if (values->progress != NULL && strcmp(values->progress, "plain") != 0)
        return cv_complain(CV_EXIT_USAGE, "--progress: expected plain, got '%s'",
                           values->progress);
    if (values->hosts != NULL && values->workers != NULL)
        return cv_complain(CV_EXIT_USAGE, "expected --workers or --hosts, got both");
    if (values->commutative && values->reduce == NULL)
        return cv_complain(CV_EXIT_USAGE, "--commutative needs --reduce CMD");
    if ((values->resume || values->overwrite) && values->journal == NULL)
        return cv_complain(CV_EXIT_USAGE, "--resume and --overwrite need --journal FILE");
    memcpy(command, call->operands, call->noperands * sizeof *command);
    status = cv_settings_open(&settings, &values->params, 0, call->arena);
    if (status == CV_EXIT_DONE)
        status = cv_halt_read(values->halt, out);
    out->command = command;
    out->inputs = values->inputs.items;
    out->ninputs = values->inputs.count;
    out->output_name = values->output != NULL ? values->output : "standard output";
    out->split = values->split;
    out->header = values->header != 0;
    out->pairs = values->pairs;
    out->persistent = values->persistent != 0;
    out->platform = crew->platform;
    out->prefixes = crew->prefixes;
    if (values->policy != NULL && strcmp(values->policy, "auto") != 0)
        out->policy = values->policy;
    out->settings = settings.items;
    out->nsettings = settings.count;
    out->block = values->block;
    out->unordered = values->unordered != 0;
    out->reduce = values->reduce;
    out->commutative = values->commutative != 0;
    out->memory = (uint64_t)values->memory;
    out->directory = values->directory;
    out->retries = (uint32_t)values->retries;
    out->timeout_s = values->timeout_s;
    out->journal = values->journal;
    out->resume = values->resume != 0;
    out->overwrite = values->overwrite != 0;
    out->failed_directory = values->failed;
    out->attempted = cv_run_attempted;
    out->progress = report->bar || report->plain ? cv_run_progress : NULL;
    out->note = cv_run_note;
    out->context = report;
    return status;
}

/* How the run ended, as an exit status. */
static int judge(enum cleave_status status, const struct cleave_execution_result *result,
                 const struct cleave_error *err)
{
    if (result != NULL && result->stopped_by != 0)
        return BY_SIGNAL + result->stopped_by;
    if (result != NULL && result->output_closed)
        return BY_SIGNAL + 13; /* SIGPIPE */
    if (result != NULL && (result->halted || result->reduce_failed))
        return cv_complain(CV_EXIT_FAILED, "%s", err->text);
    /* Once it has begun, what stops a run is that the work failed, not that there is no
     * engine: a full disk, a file that was cut meanwhile. */
    if (status != CLEAVE_OK) {
        const int code = cv_complain_error(err);

        return result != NULL && code == CV_EXIT_ENGINE ? CV_EXIT_FAILED : code;
    }
    return result->failed > 0 || result->bad_ends > 0 ? CV_EXIT_FAILED : CV_EXIT_DONE;
}

static int save_trace(const char *path, const struct cleave_execution *execution,
                      double bytes)
{
    FILE *file = cv_open_output("--trace", path, true);
    struct cleave_error err;
    bool failed;

    if (file == NULL)
        return CV_EXIT_USAGE;
    failed = cleave_trace_save(execution->trace, execution->platform,
                               execution->policy != NULL ? execution->policy : "learn",
                               bytes, file, &err) != CLEAVE_OK;
    if (failed)
        cv_complain(CV_EXIT_FAILED, "--trace: %s", err.text);
    return cv_close_output("--trace", path, file, failed);
}

static int execute(const struct cv_call *call, struct cv_run_report *report,
                   struct cleave_execution *execution)
{
    const struct cv_run_options *values = call->values;
    struct cleave_execution_result *result = NULL;
    struct cleave_error err = { .status = CLEAVE_OK };
    enum cleave_status done;
    int status;

    if (values->trace != NULL && cleave_trace_new(&execution->trace, &err) != CLEAVE_OK)
        return cv_complain_error(&err);
    done = cleave_execute(execution, &result, &err);
    cv_run_progress_end(report);
    status = judge(done, result, &err);
    if (result != NULL && !values->quiet && !result->output_closed)
        cv_run_summary(result, values, report);
    if (values->trace != NULL && result != NULL) {
        const int saved = save_trace(values->trace, execution, result->input_bytes);

        status = status == CV_EXIT_DONE ? saved : status;
    }
    cleave_trace_free(execution->trace);
    cleave_execution_free(result);
    return status;
}

static int run(const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;
    struct cleave_execution execution = { .output = -1 };
    struct cv_run_report report;
    struct cv_crew crew;
    int status = values->hosts != NULL
                     ? cv_crew_load(values->hosts, call->arena, &crew)
                     : cv_crew_read(values->workers, call->arena, &crew);

    if (status == CV_EXIT_DONE)
        status = cv_run_report_open(&report, values);
    if (status != CV_EXIT_DONE) {
        cleave_platform_free(crew.platform);
        return status;
    }
    status = fill(call, &crew, &report, &execution);
    if (status == CV_EXIT_DONE && values->dry_run) {
        status = cv_run_plan(&execution);
        cleave_platform_free(crew.platform);
        return cv_run_report_close(&report, status);
    }
    if (status == CV_EXIT_DONE && values->hosts != NULL)
        report.predicted_s = cv_run_predict(&execution);
    if (status == CV_EXIT_DONE)
        status = open_output(values->output, &execution.output);
    if (status == CV_EXIT_DONE)
        status = execute(call, &report, &execution);
    if (values->output != NULL && execution.output >= 0 && close(execution.output) != 0 &&
        status == CV_EXIT_DONE)
        status = cv_complain(CV_EXIT_FAILED, "%s: cannot write: %s", values->output,
                             strerror(errno));
    status = cv_run_report_close(&report, status);
    cleave_platform_free(crew.platform);
    return status;
}

const struct cv_verb cv_verb_run = {
    .name = "run",
    .summary = "run a command over a big input, shared by several workers",
    .description =
        "Cuts the input at record boundaries, gives each chunk to a command of its own "
        "on "
        "standard input, several at a time, and writes their outputs in the order of the "
        "input. How much each worker gets is decided while it runs, from what chunks "
        "have "
        "cost so far: chunks grow so that starting commands costs little, shrink at the "
        "end, and what a late worker has not read yet is taken from it, so that all end "
        "together. An output is written only when its command has succeeded.",
    .operands = "-- COMMAND [ARG]...",
    .max_operands = 100000,
    .groups = cv_run_groups,
    .examples =
        "cleave run --quiet -i examples/plan.c -- wc -l\n"
        "cleave run -q -i examples/unequal.yaml -j 2 --split paragraph -- tr a-z A-Z",
    .presets = &cv_run_presets,
    .values_size = sizeof(struct cv_run_options),
    .run = run,
};
