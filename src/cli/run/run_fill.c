/* run_fill.c -- what cleave run is told, as the library is asked for it.
 * SPDX-License-Identifier: MIT */
#include "cli/run/run_fill.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/common/output.h"
#include "cli/common/job_options.h"
#include "cli/run/run_command.h"
#include "cli/run/run_hosts.h"
#include "cli/run/run_items.h"
#include "cli/run/run_report.h"
#include "cli/run/run_slurm.h"
#include "cli/run/run_options.h"
#include "run/master/run_policy.h"

/* Variables for commands on hosts: NAME=VALUE, or NAME as it is here. */
static int read_environment(const struct cv_call *call, const char *const **out)
{
    const struct cv_strings *request =
        &((const struct cv_run_options *)call->values)->environment;
    const char **texts = cv_array(call->arena, request->count + 1, sizeof *texts);
    size_t count = 0;

    for (size_t i = 0; texts != NULL && i < request->count; i++) {
        const char *value = getenv(request->items[i]);
        struct cv_text text = { NULL, 0, 0, false };

        if (strchr(request->items[i], '=') != NULL) {
            texts[count++] = request->items[i];
            continue;
        }
        if (value == NULL)
            return cv_refuse("--env: there is no variable '%s'", request->items[i]);
        cv_text_add(&text, "%s=%s", request->items[i], value);
        texts[count] = cv_text_take(&text, call->arena);
        if (texts[count++] == NULL)
            texts = NULL;
    }
    *out = texts;
    return texts != NULL ? CV_EXIT_DONE : cv_no_memory("the variables");
}

static int fill_hosts(const struct cv_call *call, const struct cv_worker_list *workers,
                      struct cv_run_report *report, struct cleave_execution *out)
{
    const struct cv_run_options *values = call->values;

    if (workers->nhosts == 0 && values->hosts_file == NULL && /* which may get some */
        (values->push || values->push_from.count > 0 || values->shared_input ||
         values->ssh != NULL || values->program != NULL ||
         values->work_directory != NULL || values->environment.count > 0))
        return cv_refuse("--ssh, --remote, --push, --shared-input, --workdir and --env "
                         "need --hosts with other machines, or --slurm: here, commands "
                         "have your folder and environment");
    if (workers->nhosts == 0 && values->hosts_file == NULL &&
        (values->transfers.count > 0 || values->transfer || values->returns.count > 0 ||
         values->basefiles.count > 0 || values->cleanup))
        return cv_refuse(
            "--transferfile, --transfer, --return, --basefile and --cleanup need --hosts "
            "with other machines: here, commands see all files");
    out->hosts.list = workers->hosts;
    out->hosts.count = workers->nhosts;
    out->hosts.connect_timeout_s = values->connect_timeout_s;
    if (values->slurm && !(values->connect_timeout_s > 0))
        out->hosts.connect_timeout_s = CV_SLURM_CONNECT_S;
    out->hosts.timeout_s = values->host_timeout_s;
    out->hosts.shared_input = values->shared_input != 0;
    out->hosts.fold = values->mpi != 0;
    out->hosts.work_directory = values->work_directory;
    if (cv_hosts_asked(values) || values->slurm)
        out->hosts.more = cv_run_more_hosts;
    out->hosts.watched = cv_hosts_file(values);
    out->hosts.join_path = values->join_socket;
    out->hosts.notice_s = values->grace_s > 0 ? values->grace_s : -1;
    /* mpirun sees to ranks that die; one that is only slow should not count as such. */
    if (values->mpi && !(out->hosts.timeout_s > 0))
        out->hosts.timeout_s = 60;
    report->options = values;
    report->arena = call->arena;
    return read_environment(call, &out->hosts.environment);
}

/* Who decides, and how. */
static int fill_policy(const struct cv_call *call, struct cleave_execution *out)
{
    const struct cv_run_options *values = call->values;
    const struct cleave_setting *whole;
    const struct cleave_policy *policy;
    struct cv_settings settings;
    struct cleave_error err;
    size_t count;
    int status = cv_settings_open(&settings, &values->params, 1, call->arena);

    if (values->policy != NULL && strcmp(values->policy, "auto") != 0)
        out->policy.name = values->policy;
    out->policy.settings = settings.items;
    out->policy.nsettings = settings.count;
    out->policy.block = values->block;
    if (values->records > 0 && values->block <= 0 && values->policy == NULL)
        out->policy.block = 1; /* the first boundary: a group of records */
    if (status != CV_EXIT_DONE)
        return status;
    /* Now, and not only where there turns out to be something to share. */
    if (!(values->block > 0))
        return cv_run_policy_find(&out->policy, &policy, &err) == CLEAVE_OK
                   ? CV_EXIT_DONE
                   : cv_print_status(&err);
    if (values->block < 1)
        return cv_refuse("--block: expected at least 1 byte, got %g", values->block);
    if (cv_run_policy_find(&out->policy, &policy, NULL) != CLEAVE_OK)
        return cv_refuse("expected --policy or --block, got --policy %s and --block",
                         out->policy.name);
    if (cv_run_policy_settings(&out->policy, call->arena, &whole, &count, &err) !=
        CLEAVE_OK)
        return cv_print_status(&err);
    return CV_EXIT_DONE;
}

/* What is done about failures, and what is remembered. */
static void fill_failing(const struct cv_run_options *values,
                         struct cleave_execution *out)
{
    out->failures.retries = values->retries > 0 ? (uint32_t)values->retries - 1 : 0;
    out->failures.strict = values->retries > 0;
    out->failures.isolate = values->isolate != 0;
    out->journal.path = values->journal;
    out->journal.resume = values->resume != 0;
    out->journal.overwrite = values->overwrite != 0;
    out->failures.directory = values->failed;
}

/* What makes no sense together, or not here. */
static int check(const struct cv_run_options *values, const struct cv_run_report *report)
{
    if (values->progress != NULL && strcmp(values->progress, "plain") != 0)
        return cv_refuse("--progress: expected plain, got '%s'; on a terminal: --bar",
                         values->progress);
    if (values->live && !report->live)
        return cv_refuse("--live: standard error is no terminal; --progress plain writes "
                         "lines for a log");
    if (values->commutative && values->reduce == NULL)
        return cv_refuse("--commutative needs --reduce CMD");
    if ((values->resume || values->overwrite) && values->journal == NULL)
        return cv_refuse("--resume and --overwrite need --journal FILE");
    return CV_EXIT_DONE;
}

static int fill_command(const struct cv_call *call, struct cleave_execution *out)
{
    const struct cv_run_options *values = call->values;
    const char **command =
        cv_array(call->arena, call->noperands + 1, sizeof(const char *));
    int status = CV_EXIT_DONE;

    if (command == NULL)
        return cv_no_memory("the command");
    memcpy(command, call->operands, call->noperands * sizeof *command);
    out->command = command;
    if (values->cat)
        status = cv_run_cat(call, &out->command);
    /* A file is whole when its command begins. */
    out->tell_records = cv_run_command_asks(out->command) || values->cat;
    out->persistent = values->persistent != 0;
    return status;
}

static void fill_input(const struct cv_run_options *values, struct cleave_execution *out)
{
    out->input.files = values->inputs.items;
    out->input.count = values->inputs.count;
    out->input.split = values->split;
    out->input.header = values->header != NULL;
    out->input.header_how = cv_header_how(values->header);
    out->input.records = values->records;
    out->input.together = values->together;
    out->input.pairs = values->pairs;
    out->input.decode = values->decode;
    out->input.fetch = values->fetch;
    out->input.size = values->fetch_size;
    out->input.max_record = cv_record_limit(values->max_record);
}

static void fill_output(const struct cv_run_options *values, struct cleave_execution *out)
{
    out->output.name = cv_run_output_is_file(values) ? values->output : "standard output";
    out->output.header = cv_header_out_how(values);
    out->output.unordered = values->unordered != 0;
    out->output.lines = values->line_buffer != 0;
    out->output.early = cv_run_shows_early(values);
    out->output.memory = (uint64_t)values->memory;
    out->output.directory = values->directory;
    out->reduce.command = values->reduce;
    out->reduce.commutative = values->commutative != 0;
}

static int fill_crew(const struct cv_run_options *values,
                     const struct cv_worker_list *workers, struct cleave_execution *out)
{
    out->workers.platform = workers->platform;
    out->workers.prefixes = workers->prefixes;
    out->workers.guard = values->mpi == 0;
    out->workers.delay_s = values->delay_s;
    out->workers.min_memory = (uint64_t)values->memfree;
    return cv_load_read(values->load, &out->workers.max_load);
}

int cv_run_fill(const struct cv_call *call, const struct cv_worker_list *workers,
                struct cv_run_report *report, struct cleave_execution *out)
{
    const struct cv_run_options *values = call->values;
    int status = check(values, report);

    if (status == CV_EXIT_DONE)
        status = fill_policy(call, out);
    if (status == CV_EXIT_DONE)
        status = cv_halt_read(values->halt, out);
    if (status == CV_EXIT_DONE)
        status = cv_timeout_read(values->timeout,
                                 cv_run_items_asked(call) && workers->nhosts == 0,
                                 &out->failures);
    if (status == CV_EXIT_DONE)
        status = fill_command(call, out);
    if (status == CV_EXIT_DONE)
        status = fill_crew(values, workers, out);
    if (status == CV_EXIT_DONE)
        status = fill_hosts(call, workers, report, out);
    fill_input(values, out);
    fill_output(values, out);
    fill_failing(values, out);
    out->listener.attempted = cv_run_attempted;
    out->listener.progress =
        report->bar || report->live || report->plain || values->serve != NULL
            ? cv_run_progress
            : NULL;
    out->listener.note = cv_run_note;
    out->listener.context = report;
    return status;
}
