/* verb_run.c -- cleave run. SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <cleave/trace.h>
#include "cli/common/output.h"
#include "cli/common/run_foreign.h"
#include "cli/run/run_command.h"
#include "cli/run/run_fill.h"
#include "cli/run/run_hosts.h"
#include "cli/run/run_results.h"
#include "cli/run/run_items.h"
#include "cli/run/run_mistakes.h"
#include "cli/run/run_mpi.h"
#include "cli/run/run_options.h"
#include "cli/run/run_report.h"
#include "cli/run/run_slurm.h"
#include "cli/common/job_options.h"
#include "run/framed.h"
#include "run/master/run_policy.h"

/* A signal has stopped it. SIGUSR1 is the notice of a time limit: whoever gives it wants to
 * know whether another run would get further. */
static int judge_stop(const struct cleave_execution_result *result, bool journal)
{
    return result->stopped_by == SIGUSR1 && journal && result->chunks > result->failed
               ? CV_EXIT_LATER
               : CV_EXIT_BY_SIGNAL + result->stopped_by;
}

/* Why the run failed, as an exit status. Without a result nothing has run. */
static int judge_failure(const struct cleave_execution *request,
                         enum cleave_status status,
                         const struct cleave_execution_result *result,
                         const struct cleave_error *err)
{
    int code;

    if (status == CLEAVE_ESTOPPED && result != NULL)
        return judge_stop(result, cv_run_can_resume(request->journal.path));
    if (status == CLEAVE_ECLOSED && result != NULL && result->output_closed)
        return CV_EXIT_UNREAD;
    if (result != NULL && result->halted &&
        request->failures.halt_on != CLEAVE_HALT_ON_FAILURES &&
        status == CLEAVE_EENGINE && !result->reduce_failed)
        return result->failed > 0 ? CV_EXIT_FAILED : CV_EXIT_DONE; /* it was wanted */
    if (result != NULL && (result->halted || result->reduce_failed))
        return cv_print_error(CV_EXIT_FAILED, "%s", err->text);
    /* Once it has begun, what stops a run is that the work failed, not that there is no
     * engine: a full disk, a file that was cut meanwhile. */
    code = cv_print_status(err);
    return result != NULL && code == CV_EXIT_ENGINE ? CV_EXIT_FAILED : code;
}

/* How the run ended, as an exit status. */
static int judge(const struct cleave_execution *request, enum cleave_status status,
                 const struct cleave_execution_result *result,
                 const struct cleave_error *err)
{
    if (status != CLEAVE_OK || result == NULL)
        return judge_failure(request, status, result, err);
    if (result->stopped_by != 0 &&
        result->stopped_by != SIGUSR1) /* too late to stop it */
        return CV_EXIT_BY_SIGNAL + result->stopped_by;
    return result->failed > 0 || result->bad_ends > 0 ? CV_EXIT_FAILED : CV_EXIT_DONE;
}

/* --trace keeps all that happens, --serve shows it. */
static int open_trace(const struct cv_call *call, struct cv_run_report *report,
                      struct cleave_execution *execution)
{
    const struct cv_run_options *values = call->values;
    const struct cleave_trace_facts facts = { .engine = "run" };
    struct cleave_error err;
    char url[CV_HTTP_URL_ROOM];
    int status;

    if (values->trace == NULL && values->serve == NULL)
        return CV_EXIT_DONE;
    if (cleave_trace_new(&execution->listener.trace, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    status = cv_trace_call(execution->listener.trace, call);
    if (status == CV_EXIT_DONE)
        status = cv_trace_add_facts(execution->listener.trace, &facts);
    if (status != CV_EXIT_DONE || values->serve == NULL)
        return status;
    report->page =
        (struct cv_live_page){ .trace = execution->listener.trace,
                               .policy = cv_run_policy_name(&execution->policy) };
    if (cv_http_open(values->serve, &report->page.http, url, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    fprintf(stderr, "cleave: the run can be followed at %s\n", url);
    return CV_EXIT_DONE;
}

/* The bound is that of the summary: all workers at their measured speed to the end. */
static int save_trace(const struct cv_run_options *values,
                      const struct cleave_execution *execution,
                      const struct cleave_execution_result *result)
{
    const struct cleave_trace_facts facts = {
        .bound = { result->bound_s > 0 ? "all workers busy" : NULL, result->bound_s },
        .failed = result->failed_bytes,
        .left = result->left_bytes,
    };
    int status = cv_trace_add_facts(execution->listener.trace, &facts);

    if (status != CV_EXIT_DONE || values->trace == NULL)
        return status;
    status = cv_trace_write(values->trace,
                            &(struct cv_trace_context){
                                .trace = execution->listener.trace,
                                .platform = result->platform,
                                .policy = cv_run_policy_name(&execution->policy),
                                .load = result->input_bytes });
    /* It was asked for rightly, as was looked at before: its folder is gone since. */
    return status == CV_EXIT_USAGE ? CV_EXIT_FAILED : status;
}

/* What was asked for makes no sense, and nothing was done: there is nothing to sum up. */
static bool is_refused(int status, const struct cleave_execution_result *result)
{
    return status == CV_EXIT_USAGE && result->chunks == 0 && result->resumed == 0;
}

/* Whether one chunk was done, and all that is behind it failed. */
static bool failed_behind_first(const struct cleave_execution_result *result)
{
    return result->failed + 1 == result->chunks && result->resumed == 0 &&
           result->nfailed_ranges == 1 && result->failed_ranges[0].begin > 0 &&
           (double)result->failed_ranges[0].end >= result->input_bytes;
}

/* What to do about a command that failed, where that can be told. */
static void give_hints(const struct cv_call *call, const struct cv_run_report *report,
                       const struct cleave_execution *execution, enum cleave_status done,
                       const struct cleave_execution_result *result, bool form_told)
{
    const bool items = report->items != NULL, hosts = execution->hosts.count > 0;
    const bool halted = done == CLEAVE_EENGINE && result != NULL && result->halted;
    const bool all = (done == CLEAVE_OK || halted) && result->failed == result->chunks &&
                     result->resumed == 0;

    if (done == CLEAVE_OK || (halted && all && !items))
        cv_run_command_hint(call,
                            &(struct cv_run_outcome){
                                .failed = result->failed,
                                .all = all,
                                .by_one = report->by_one,
                                .halted = halted,
                                .rest = failed_behind_first(result),
                                .chunks = result->chunks + result->resumed,
                                .bytes = result->input_bytes,
                                .hosts = hosts,
                                .items = items,
                                .form_told = form_told,
                                .empty = result->chunks == 0 && result->resumed == 0,
                                .result = result });
    else if (halted && !items && !form_told)
        cv_run_mistakes_form(call);
    else if (done == CLEAVE_EENGINE && hosts)
        cv_run_mistakes_failed(call, items, true);
}

static int execute(const struct cv_call *call, struct cv_run_report *report,
                   struct cleave_execution *execution, struct cv_run_sink *sink)
{
    const struct cv_run_options *values = call->values;
    struct cleave_execution_result *result = NULL;
    struct cleave_error err = { .status = CLEAVE_OK };
    enum cleave_status done;
    int status;
    bool began, form_told;

    status = open_trace(call, report, execution);
    if (status != CV_EXIT_DONE) {
        cleave_trace_free(execution->listener.trace);
        return status;
    }
    if ((report->bar || report->live) && isatty(execution->output.descriptor)) {
        execution->output.before = cv_run_make_room;
        execution->output.context = report;
    }
    form_told = report->items == NULL && cv_run_mistakes_form_early(call);
    done = cleave_execute(execution, &result, &err);
    cv_run_progress_end(report);
    status = judge(execution, done, result, &err);
    if (done == CLEAVE_ESTOPPED && result != NULL)
        cv_run_stopped(result, values, report);
    give_hints(call, report, execution, done, result, form_told);
    /* What goes on from a journal makes a new file. */
    sink->kept = done == CLEAVE_ESTOPPED && cv_run_can_resume(values->journal);
    /* The result first, as it matters most; and all files before the summary, which says with
     * what status it ends. */
    /* Rows say themselves what failed. */
    status = cv_run_sink_close(
        sink, done == CLEAVE_OK && (result->failed == 0 || report->rows != NULL), status);
    status = cv_run_report_close(report, status);
    began = result != NULL && result->platform != NULL;
    if (execution->listener.trace != NULL && began) {
        const int saved = save_trace(values, execution, result);

        status = status == CV_EXIT_DONE ? saved : status;
    }
    cv_run_page_end(report, result, status);
    if (began && (!values->quiet || values->json) && !result->output_closed &&
        !is_refused(status, result)) {
        /* Not before, as it takes seconds for a thousand workers. */
        if (report->declared)
            report->predicted_s = cv_run_predict(execution, call->arena);
        cv_run_summary(result, values, report, status);
    }
    cleave_trace_free(execution->listener.trace);
    cleave_execution_free(result);
    return status;
}

/* Who works: other ranks, hosts, or this machine. */
static int find_crew(const struct cv_call *call, const struct cv_run_mpi *mpi,
                     const struct cv_reach *reach, struct cv_worker_list *out)
{
    const struct cv_run_options *values = call->values;

    struct cleave_error err;

    *out = (struct cv_worker_list){ 0 };
    if (cv_run_slurm_check(values) != CV_EXIT_DONE)
        return CV_EXIT_USAGE;
    if (mpi != NULL && (cv_hosts_asked(values) || values->workers != NULL))
        return cv_refuse("with --mpi the ranks are the workers: expected neither "
                         "--workers nor --hosts");
    if (mpi != NULL && values->pin != NULL)
        return cv_refuse("--pin: with --mpi the launcher does it: mpirun --bind-to core");
    if (mpi == NULL && values->leaders != NULL)
        return cv_refuse("--leaders needs --mpi; of hosts, --via HOST says who leads");
    if (mpi == NULL && values->mpi_library != NULL)
        return cv_refuse("--mpi-library needs --mpi");
    if (mpi != NULL)
        return cv_run_mpi_crew(mpi, values->leaders, call->arena, out);
    if (values->slurm)
        return cv_run_slurm_crew(reach, false, call->arena, out);
    if (!cv_hosts_asked(values))
        return cv_crew_read(values->workers, call->arena, out);
    return cv_crew_find(values, reach, call->arena, out, &err) == CLEAVE_OK
               ? CV_EXIT_DONE
               : cv_print_status(&err);
}

/* All that a run needs. */
struct whole_run {
    struct cleave_execution execution;
    struct cv_run_report report;
    struct cv_run_sink sink;
    struct cv_worker_list workers;
    struct cv_reach reach;
    struct cv_run_items items;
    bool has_items;
};

/* What a run that gets its pieces in frames cannot have. */
static int check_framed(const struct cv_run_options *values, bool has_items)
{
    if (!values->framed)
        return CV_EXIT_DONE;
    if (has_items || values->inputs.count > 0 || values->output != NULL ||
        values->journal != NULL || values->trace != NULL || values->joblog != NULL ||
        values->failed != NULL || values->pairs != NULL || values->fetch != NULL ||
        values->dry_run || values->json || values->mpi || values->serve != NULL)
        return cv_refuse(
            "--framed: pieces come on standard input and answers go to standard output: "
            "expected no items, input, mates, output, journal, log, trace or folder of "
            "what failed, and neither --json, --serve, --dry-run nor --mpi");
    return CV_EXIT_DONE;
}

/* Who works, and on which items if there are some. */
static int prepare(const struct cv_call *call, const struct cv_run_mpi *mpi,
                   struct whole_run *run)
{
    const struct cv_run_options *values = call->values;
    int status;

    run->has_items = cv_run_items_asked(call);
    status = cv_run_mistakes_check(call, run->has_items);
    if (status == CV_EXIT_DONE)
        status = cv_run_command_check(call, values->literal != 0 || values->cat != 0,
                                      run->has_items);
    if (status == CV_EXIT_DONE && !run->has_items)
        status = cv_run_items_missed(values);
    if (status == CV_EXIT_DONE)
        status = cv_run_group_check(values);
    if (status == CV_EXIT_DONE && !run->has_items)
        status = cv_run_lines_check(values);
    if (status == CV_EXIT_DONE)
        status = check_framed(values, run->has_items);
    if (status == CV_EXIT_DONE)
        status = cv_item_lists_check_files(call);
    if (status == CV_EXIT_DONE)
        status = cv_reach_open(&run->reach, call->arena);
    if (status == CV_EXIT_DONE)
        status = cv_reach_lead(&run->reach, values, call->arena);
    if (status == CV_EXIT_DONE)
        status = find_crew(call, mpi, &run->reach, &run->workers);
    if (status == CV_EXIT_DONE)
        status = cv_crew_be_nice(&run->workers, values->nice, call->arena);
    if (status == CV_EXIT_DONE && run->has_items)
        status = cv_run_items_open(call, cv_crew_count(&run->workers), &run->items);
    if (status == CV_EXIT_DONE)
        status = cv_run_report_open(&run->report, values);
    return status;
}

/* Pieces are what somebody else has cut and decoded. */
static int serve_frames(struct whole_run *run)
{
    struct cleave_error err;

    run->execution.input.decode = "none";
    if (isatty(STDIN_FILENO) || isatty(STDOUT_FILENO))
        return cv_refuse("--framed: standard input and output must not be a terminal: "
                         "'cleave run --persistent' speaks to it");
    return cv_framed_serve(&run->execution, STDIN_FILENO, STDOUT_FILENO, &err) ==
                   CLEAVE_OK
               ? CV_EXIT_DONE
               : cv_print_status(&err);
}

/* Run it, or only say what would be done. */
static int carry_out(const struct cv_call *call, struct whole_run *run)
{
    const struct cv_run_options *values = call->values;
    struct cleave_execution *execution = &run->execution;
    const char *file =
        values->hosts != NULL && cv_hosts_are_file(values->hosts) ? values->hosts : NULL;
    int status;

    if (values->framed)
        return serve_frames(run);
    if (values->dry_run)
        return run->has_items ? cv_run_items_show(&run->items)
                              : cv_run_plan(execution, file, call->arena);
    if (!run->has_items && values->inputs.count == 0 && values->fetch == NULL &&
        isatty(STDIN_FILENO) && !values->quiet)
        cv_print_error(
            CV_EXIT_DONE,
            "the input is what you type, to its end (Ctrl-D); of a file: -i FILE");
    run->report.declared = file != NULL;
    if (run->items.rows_file != NULL)
        execution->output.name = run->items.rows_file;
    status = run->items.rows_file != NULL
                 ? cv_run_sink_open(&run->sink, "--results", run->items.rows_file,
                                    &execution->output.descriptor)
                 : cv_run_sink_open(&run->sink, "--output", values->output,
                                    &execution->output.descriptor);
    run->report.result_on_stdout = run->sink.on_stdout;
    if (status == CV_EXIT_DONE)
        status = execute(call, &run->report, execution, &run->sink);
    return cv_run_sink_close(&run->sink, false, status); /* where nothing ran */
}

static int lead(const struct cv_call *call, const struct cv_run_mpi *mpi)
{
    static const char *const pin_words[] = { NULL, "cores", "nodes" };
    const struct cv_run_options *values = call->values;
    enum cleave_pin pin;
    const int pinned = cv_pin_read(values->pin, &pin);
    struct whole_run run = { .execution.output.descriptor = -1,
                             .sink.file.fd = -1,
                             .reach = { .ssh = values->ssh,
                                        .pin = pin_words[pin],
                                        .program = values->program,
                                        .push = values->push != 0,
                                        .push_from = values->push_from,
                                        .connect_timeout_s =
                                            values->connect_timeout_s > 0
                                                ? values->connect_timeout_s
                                                : CLEAVE_HOST_TIMEOUT_S } };
    int status = pinned == CV_EXIT_DONE ? prepare(call, mpi, &run) : pinned;

    if (status == CV_EXIT_DONE) {
        run.report.reach = run.reach;
        status = cv_run_fill(call, &run.workers, &run.report, &run.execution);
        run.execution.workers.pin = pin;
        if (status == CV_EXIT_DONE && run.has_items && !values->dry_run)
            status = cv_run_items_fill(call, &run.items, &run.execution);
        if (status == CV_EXIT_DONE && run.has_items && !values->dry_run)
            status = cv_run_item_sizes(call, &run.items.commands,
                                       cv_crew_count(&run.workers), &run.execution);
        if (status == CV_EXIT_DONE)
            status = cv_leads_check(&run.workers, &run.execution, values);
        run.report.command = run.execution.command;
        run.report.platform = run.workers.platform;
        run.report.workers = &run.workers;
        run.report.items = run.has_items ? &run.items.commands : NULL;
        run.report.rows = run.items.rows_file != NULL ? &run.items.rows : NULL;
        if (status == CV_EXIT_DONE)
            status = carry_out(call, &run);
        status = cv_run_report_close(&run.report, status);
        cleave_platform_free(run.report.again.platform);
    }
    cleave_platform_free(run.workers.platform);
    cv_item_files_done(&run.items);
    cv_run_results_done(&run.items);
    return status;
}

static int run(const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;
    struct cv_run_mpi mpi;
    int status;

    if (!values->mpi)
        return lead(call, NULL);
    status = cv_run_mpi_open(call, values->mpi_library, &mpi);
    if (status != CV_EXIT_DONE || mpi.bridge == NULL)
        return status;
    status = mpi.bridge->rank > 0 ? cv_run_mpi_serve(&mpi, call) : lead(call, &mpi);
    return cv_run_mpi_close(&mpi, status);
}

const struct cv_verb cv_verb_run = {
    .name = "run",
    .summary = "run a command over a big input, shared by several workers",
    .description =
        "Cuts the input at record boundaries, gives each chunk to a command of its own "
        "on standard input, several at a time, and writes their outputs in the order of "
        "the input. How much each worker gets is decided while it runs, from what chunks "
        "have cost so far: chunks grow so that starting commands costs little, shrink at "
        "the end, and what a late worker has not read yet is taken from it, so that all "
        "end together. To a file, the output of a chunk is written only when its command "
        "has succeeded; to a pipe or a terminal, lines of the chunk in front come while "
        "its command runs (--group: whole outputs). That of an item is written in any "
        "case, when its command has ended.",
    .operands = "[--] COMMAND [ARG]... [::: ITEM...]...",
    .max_operands = 100000000,
    .command = true,
    .groups = cv_run_groups,
    .foreign = cv_run_foreign,
    .examples =
        "cleave run --quiet -i examples/plan.c -- wc -l\n"
        "cleave run -q -i examples/unequal.yaml -j 2 --split paragraph -- tr a-z A-Z",
    .presets = &cv_run_presets,
    .values_size = sizeof(struct cv_run_options),
    .checks_files = true, /* rank 0 of --mpi does, where they are */
    .run = run,
    .refused = cv_run_mpi_refused,
};
