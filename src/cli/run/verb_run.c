/* verb_run.c -- cleave run: from options to a request, and from its result to an exit status.
 * SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cleave/trace.h>
#include "base/file_target.h"
#include "base/quantity.h"
#include "base/write_all.h"
#include "cli/common/job_options.h"
#include "cli/run/run_parts.h"
#include "run/common/machine.h"
#include "run/execute/framed.h"
#include "run/input/record_weight.h"
#include "run/pieces/packed_sink.h"
#include "run/master/run_policy.h"

/* The result. A file gets its name only if no output is missing, like a target of make.
 * Partial results are kept next to it. */
struct sink {
    const char *option; /* for messages */
    const char *path; /* borrowed; NULL: standard output                               */
    struct cv_new_file file;
    bool kept;      /* a journal has all outputs: no partial file is kept */
    bool on_stdout; /* outputs go to standard output, under any name */
    struct cv_packed_sink *packed; /* owned: compresses for the file; or NULL */
    struct cv_part_files *parts;   /* owned: a file for each chunk; or NULL */
};

struct whole_run {
    struct cv_call
        shaped; /* what was typed, and what it means: the words of a shell, a list */
    const struct cv_call *call;          /* `shaped` */
    struct cv_run_options shaped_values; /* its values */
    const struct cv_run_options *values;
    const struct cv_run_mpi *mpi; /* NULL: not among ranks */
    struct cleave_execution request;
    struct cv_run_report report;
    struct sink sink;
    struct cv_worker_list workers;
    struct cv_reach reach;
    struct cv_run_items items;
    bool has_items;

    /* the end */
    enum cleave_status done;
    struct cleave_execution_result *result; /* owned; NULL: nothing was run */
    struct cleave_error err;
};

static int cannot_write(const struct sink *sink, int status,
                        const struct cleave_error *err)
{
    return cv_print_error(status, "%s: cannot write '%s': %s", sink->option,
                          CV_ECHO(sink->path), err->text);
}

static bool names_file(const char *path)
{
    return path != NULL && strcmp(path, "-") != 0;
}

bool cv_run_output_is_file(const struct cv_run_options *values)
{
    return names_file(values->output);
}

/* `path` NULL and "-" are standard output. */
static int sink_open(struct sink *sink, const char *option, const char *path,
                     int *out_descriptor)
{
    struct cleave_error err;

    *sink = (struct sink){ .option = option, .file.fd = -1, .on_stdout = true };
    *out_descriptor = STDOUT_FILENO;
    if (!names_file(path))
        return CV_EXIT_DONE;
    sink->path = path;
    if (cv_pack_format_check(path, &err) != CLEAVE_OK)
        return cannot_write(sink, CV_EXIT_USAGE, &err);
    if (cv_new_file_open(path, 0, &sink->file, &err) != CLEAVE_OK)
        return cannot_write(sink, CV_EXIT_USAGE, &err);
    CV_DO(cv_output_clear(&sink->file, option, strcmp(option, "--results") == 0));
    *out_descriptor = sink->file.fd;
    sink->on_stdout = sink->file.copy_of == STDOUT_FILENO;
    return CV_EXIT_DONE;
}

/* A file whose name ends in .gz or the like is compressed. */
static int sink_pack(struct sink *sink, bool direct, int *descriptor)
{
    const struct cv_pack_format *format =
        sink->path != NULL ? cv_pack_format_find(sink->path) : NULL;

    if (format == NULL)
        return CV_EXIT_DONE;
    if (direct)
        return cv_refuse("--ungroup: commands cannot write to '%s' themselves, which is "
                         "compressed; --line-buffer writes each line as it comes",
                         CV_ECHO(sink->path));
    CV_CALL(cv_packed_sink_open(format, sink->file.fd, cv_usable_cores(), &sink->packed,
                                descriptor, &err));
    return CV_EXIT_DONE;
}

/* Complete a compressed file. Returns `status`, or the status of a failed write. */
static int sink_end_pack(struct sink *sink, bool whole, int status, bool *out_failed)
{
    struct cleave_error err;

    *out_failed = false;
    if (sink->packed == NULL)
        return status;
    *out_failed = cv_packed_sink_close(sink->packed, whole, &err) != CLEAVE_OK;
    sink->packed = NULL;
    return *out_failed ? cannot_write(sink, CV_EXIT_FAILED, &err) : status;
}

/* Give the file its name if it is complete; else print where the partial file is.
 * Returns `status`, or the status of a failed write. Does nothing the second time. */
static int sink_close(struct sink *sink, bool whole, int status)
{
    struct cleave_error err;

    if (sink->file.fd < 0)
        return status;
    if (whole && sink->file.beside != NULL &&
        cv_new_file_place(&sink->file, &err) != CLEAVE_OK) {
        status = cannot_write(sink, CV_EXIT_FAILED, &err);
        whole = false;
    }
    if (!whole && sink->file.beside != NULL) {
        if (sink->kept || cv_new_file_size(&sink->file) == 0) {
            cv_new_file_drop(&sink->file);
            return status;
        }
        cv_print_note("'%s' %s: %s", CV_ECHO(sink->path),
                      sink->file.replaces ? "is unchanged; the incomplete new file is"
                                          : "was not made; the incomplete file is",
                      sink->file.beside);
    }
    if (cv_new_file_close(&sink->file, &err) != CLEAVE_OK && status == CV_EXIT_DONE)
        status = cannot_write(sink, CV_EXIT_FAILED, &err);
    return status;
}

/* --- before the run ----------------------------------------------------------------------- */

static int check(struct whole_run *run)
{
    const struct cv_run_options *values = run->values;
    const bool items = run->has_items;
    unsigned situation = items ? CV_RUN_ITEMS : CV_RUN_CHUNKS;

    CV_DO(cv_run_mistakes_check(run->call, items));
    CV_DO(cv_run_command_check(run->call, values->literal || values->cat, items));
    if (!items && !values->cat)
        CV_DO(cv_command_shape(&run->shaped, values->quote != 0,
                               cv_hosts_asked(values) || values->mpi || values->slurm));
    if (run->values->hosts != NULL && cv_hosts_are_file(run->values->hosts))
        situation |= CV_RUN_PLATFORM;
    CV_DO(cv_run_rules_check(run->call, situation));
    if (values->directory != NULL && access(values->directory, W_OK | X_OK) != 0)
        return cv_refuse("--tmpdir: cannot write to '%s': %s", CV_ECHO(values->directory),
                         strerror(errno));
    return cv_item_lists_check_files(run->call);
}

static int open_reach(struct whole_run *run)
{
    static const char *const pin_words[] = { NULL, "cores", "nodes" };
    const struct cv_run_options *values = run->values;

    CV_DO(cv_pin_read(values->pin, &run->request.workers.pin));
    run->reach = (struct cv_reach){ .arena = run->call->arena,
                                    .ssh = values->ssh,
                                    .pin = pin_words[run->request.workers.pin],
                                    .program = values->program,
                                    .push = values->push != 0,
                                    .push_from = values->push_from,
                                    .connect_timeout_s = values->connect_timeout_s > 0
                                                             ? values->connect_timeout_s
                                                             : CLEAVE_HOST_TIMEOUT_S };
    CV_DO(cv_reach_open(&run->reach));
    return cv_reach_lead(&run->reach, run->call);
}

static int find_workers(struct whole_run *run)
{
    const struct cv_run_options *values = run->values;
    struct cv_arena *arena = run->call->arena;

    CV_DO(cv_run_slurm_check(values));
    if (run->mpi != NULL)
        return cv_run_mpi_crew(run->mpi, values->leaders, arena, &run->workers);
    if (values->slurm)
        return cv_run_slurm_crew(&run->reach, false, &run->workers);
    if (!cv_hosts_asked(values))
        return cv_crew_read(values->workers, arena, &run->workers);
    CV_CALL(cv_crew_find(values, &run->reach, &run->workers, &err));
    return CV_EXIT_DONE;
}

static int open_report(struct whole_run *run)
{
    const struct cv_run_options *values = run->values;

    CV_DO(cv_crew_be_nice(&run->workers, values->nice, run->call->arena));
    if (run->has_items)
        CV_DO(cv_run_items_open(run->call, cv_crew_count(&run->workers), &run->items));
    run->items.shown = values->verbose == CV_SHOW_STDERR ? &run->report : NULL;
    run->report = (struct cv_run_report){
        .options = values,
        .workers = &run->workers,
        .reach = &run->reach,
        .ok = &run->request.failures.ok,
        .items = run->has_items ? &run->items.commands : NULL,
        .rows = run->items.rows_file != NULL ? &run->items.rows : NULL,
        .failures.arena = values->trace != NULL ? run->call->arena : NULL,
    };
    return cv_run_report_open(&run->report);
}

/* -N with --weight: the weights say who gets a chunk, not how large it is. */
static bool has_exact_chunks(const struct whole_run *run)
{
    const struct cv_run_options *values = run->values;

    return !run->has_items && values->weight != NULL && values->records > 0 &&
           values->block <= 0 && values->policy == NULL;
}

static int fill_policy(struct whole_run *run)
{
    /* Less than a record: the engine gives each order its N records. */
    static const struct cleave_setting smallest = { "most", "1" };
    const struct cv_run_options *values = run->values;
    const bool limited = !run->has_items && values->limits.count > 0;
    struct cleave_policy_options *out = &run->request.policy;
    const struct cleave_setting *whole;
    const struct cleave_policy *policy;
    struct cv_settings settings;
    size_t count;

    CV_DO(cv_settings_open(&settings, &values->params, 1, run->call->arena));
    if (values->policy != NULL && strcmp(values->policy, "auto") != 0)
        out->name = values->policy;
    out->settings = settings.items;
    out->nsettings = settings.count;
    out->block = values->block;
    if (values->records > 0 && limited && values->weight != NULL)
        return cv_refuse(
            "with --limit and --weight a chunk ends where a key is in use or by "
            "its weight: expected --block, got --records");
    if (has_exact_chunks(run)) {
        out->name = "learn";
        out->settings = &smallest;
        out->nsettings = 1;
    } else if (values->records > 0 && values->block <= 0 && values->policy == NULL)
        out->block = limited ? (double)values->records
                             : 1; /* the first boundary: a group of records */
    else if (values->records > 0 && limited)
        return cv_refuse("with --limit a chunk ends where a key is in use: expected "
                         "--records or %s, got both",
                         values->policy != NULL ? "--policy" : "--block");
    /* Checked even if there is no input. */
    if (!(values->block > 0)) {
        CV_CALL(cv_run_policy_find(out, &policy, &err));
        return CV_EXIT_DONE;
    }
    if (values->block < 1)
        return cv_refuse("--block: expected at least 1 byte, got %g", values->block);
    if (cv_run_policy_find(out, &policy, NULL) != CLEAVE_OK)
        return cv_refuse("expected --policy or --block, got --policy %s and --block",
                         out->name);
    CV_CALL(cv_run_policy_settings(out, run->call->arena, &whole, &count, &err));
    return CV_EXIT_DONE;
}

/* A share of the median needs items on this machine. */
static int read_timeout(const char *text, bool items_here,
                        struct cleave_failure_options *out)
{
    const size_t length = text != NULL ? strlen(text) : 0;
    char *rest = NULL;
    double value = 0;

    if (text == NULL)
        return CV_EXIT_DONE;
    if (length > 1 && text[length - 1] == '%') {
        value = strtod(text, &rest);
        if (!isdigit((unsigned char)text[0]) || rest != text + length - 1 || value <= 100)
            return cv_refuse(
                "--timeout: expected more than 100%% of the median, got '%s'",
                CV_ECHO(text));
        if (!items_here)
            return cv_refuse("--timeout %s is for items on this machine, whose commands "
                             "can be compared: expected a time such as 500ms or 2min",
                             text);
        out->timeout_share = value / 100;
        return CV_EXIT_DONE;
    }
    if (cv_quantity_parse(text, CV_DURATION, &value) != NULL || !(value >= 0))
        return cv_refuse("--timeout: expected a time of 0 or more such as 0.5, 500ms, "
                         "2min or 1h30m, or 200%%, got '%s'",
                         CV_ECHO(text));
    out->timeout_s = value;
    return CV_EXIT_DONE;
}

/* Read "soon,fail=" and the like; returns the number after it, or NULL. */
static const char *read_halt_words(const char *text, struct cleave_failure_options *out)
{
    static const struct {
        const char *word;
        enum cleave_halt_on what;
    } counted[] = { { "fail=", CLEAVE_HALT_ON_FAILURES },
                    { "success=", CLEAVE_HALT_ON_SUCCESSES },
                    { "done=", CLEAVE_HALT_ON_ENDS },
                    { "later=", CLEAVE_HALT_ON_LATER } };
    const bool now = strncmp(text, "now,", 4) == 0;

    if (!now && strncmp(text, "soon,", 5) != 0)
        return NULL;
    text += now ? 4 : 5;
    out->halt = now ? CLEAVE_HALT_NOW : CLEAVE_HALT_SOON;
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        if (strncmp(text, counted[i].word, strlen(counted[i].word)) == 0) {
            out->halt_on = counted[i].what;
            return text + strlen(counted[i].word);
        }
    return NULL;
}

int cv_halt_read(const char *text, struct cleave_failure_options *out)
{
    unsigned long long number = 0;
    const char *digits = NULL;
    char *rest = NULL;
    bool share;

    if (text == NULL)
        return CV_EXIT_DONE;
    /* Old forms of GNU parallel. */
    text = strcmp(text, "0") == 0   ? "never"
           : strcmp(text, "1") == 0 ? "soon,fail=1"
           : strcmp(text, "2") == 0 ? "now,fail=1"
                                    : text;
    if (strcmp(text, "never") == 0) {
        out->halt = CLEAVE_HALT_NEVER;
        return CV_EXIT_DONE;
    }
    digits = read_halt_words(text, out);
    errno = 0;
    if (digits != NULL && isdigit((unsigned char)*digits))
        number = strtoull(digits, &rest, 10);
    share = rest != NULL && strcmp(rest, "%") == 0;
    if (rest == NULL || errno != 0 || number < 1 || (!share && *rest != '\0') ||
        (share && (number > 100 || out->halt_on == CLEAVE_HALT_ON_LATER)))
        return cv_refuse("--halt: expected never, now,fail=N, soon,fail=N or N%%, or "
                         "success=, done= or later= instead of fail=, got '%s'",
                         text);
    if (share)
        out->halt_share = (double)number / 100;
    else
        out->halt_fails = number;
    return CV_EXIT_DONE;
}

static int read_load(const char *text, double *out)
{
    char *rest = NULL;
    double number;

    *out = 0;
    if (text == NULL)
        return CV_EXIT_DONE;
    number = strtod(text, &rest);
    if (rest != text && strcmp(rest, "%") == 0) {
        number *= cv_usable_cores() / 100.0;
        rest++;
    }
    if (rest == text || *rest != '\0' || !(number > 0) || number > 1e9)
        return cv_refuse(
            "--load: expected a number above 0, or N%% of the cores, got '%s'",
            CV_ECHO(text));
    *out = number;
    return CV_EXIT_DONE;
}

static int fill_failures(struct whole_run *run)
{
    const struct cv_run_options *values = run->values;
    struct cleave_execution *out = &run->request;

    CV_DO(cv_halt_read(values->halt, &out->failures));
    CV_DO(cv_ok_read(run->call, &out->failures.ok));
    CV_DO(cv_later_read(values->later, &out->failures.later));
    CV_DO(cv_backups_read(values->backups, &out->policy.backups));
    CV_DO(read_timeout(values->timeout, run->has_items && run->workers.nhosts == 0,
                       &out->failures));
    out->failures.retries = values->retries > 0 ? (uint32_t)values->retries - 1 : 0;
    out->failures.strict = values->retries > 0;
    out->failures.isolate = values->isolate != 0;
    out->failures.directory = values->failed;
    out->journal = (struct cleave_journal){ .path = values->journal,
                                            .resume = values->resume != 0,
                                            .overwrite = values->overwrite != 0 };
    return CV_EXIT_DONE;
}

/* Whether the command reads variables about its chunk, or lists all variables. */
static bool asks_for_chunk(const char *const *words)
{
    const char *program = words[0] != NULL ? cv_file_name(words[0]) : NULL;

    if (program != NULL &&
        (strcmp(program, "env") == 0 || strcmp(program, "printenv") == 0))
        return true;
    /* Variables of the worker do not depend on the chunk. */
    for (; *words != NULL; words++)
        for (const char *at = *words; (at = strstr(at, "CLEAVE")) != NULL; at++)
            if (strncmp(at, "CLEAVE_WORKER", 13) != 0 &&
                strncmp(at, "CLEAVE_SLOT", 11) != 0)
                return true;
    return false;
}

/* The shell runs where the command runs. $1 is the line; {} in it becomes the file.
 * TMPDIR must not have characters that are special to a shell. */

static const char script[] =
    "f=$(mktemp \"${TMPDIR:-/tmp}/cleave-cat.XXXXXXXXXX\") || exit 125\n"
    "trap 'rm -f \"$f\"' EXIT\n"
    "trap 'exit 143' TERM\n"
    "trap 'exit 130' INT\n"
    "trap 'exit 129' HUP\n"
    "case $f in *[!A-Za-z0-9/._-]*)\n"
    "    echo \"cleave: --cat: expected a TMPDIR of letters, digits, '/', '.', '_' and "
    "'-', got '$TMPDIR'\" >&2; exit 125 ;;\n"
    "esac\n"
    "cat >\"$f\" || exit 125\n"
    "left=$1 line=\n"
    "while case $left in *'{}'*) true ;; *) false ;; esac; do\n"
    "    line=$line${left%%'{}'*}$f left=${left#*'{}'}\n"
    "done\n"
    "eval \"$line$left\" </dev/null\n";

/* --cat: replace the words by those of a shell that puts a chunk into a file and runs the
 * command with its name for {}. */
static int wrap_cat(const struct whole_run *run, const char *const **words)
{
    const struct cv_call *call = run->call;
    const char **made = cv_need(call->arena, 6, sizeof *made, "the command");
    struct cv_text line = { NULL, 0, 0, false };
    bool has_signs;

    if (call->noperands == 1 && !run->values->quote)
        cv_text_add(&line, "%s", call->operands[0]);
    else
        CV_DO(cv_command_line_add(cv_call_words(call, call->noperands),
                                  run->values->quote != 0, &line, &has_signs));
    if (!line.failed && line.bytes != NULL && strstr(line.bytes, "{}") == NULL)
        cv_text_add(&line, " {}");
    made[0] = "/bin/sh";
    made[1] = "-c";
    made[2] = script;
    made[3] = "cleave-cat";
    made[4] = cv_text_take(&line, call->arena);
    *words = made;
    return made[4] != NULL ? CV_EXIT_DONE : cv_no_memory("the command");
}

static int fill_command(struct whole_run *run)
{
    const struct cv_run_options *values = run->values;
    const struct cv_call *call = run->call;
    struct cleave_execution *out = &run->request;

    out->command = cv_call_words(call, call->noperands);
    if (values->cat)
        CV_DO(wrap_cat(run, &out->command));
    /* The file of --cat is complete when its command begins. */
    out->tell_records = asks_for_chunk(out->command) || values->cat;
    out->persistent = values->persistent != 0;
    out->window = (uint32_t)values->window;
    out->workers.platform = run->workers.platform;
    out->workers.prefixes = run->workers.prefixes;
    out->workers.rates = run->workers.rates;
    out->workers.nrates = run->workers.nrates;
    if (out->workers.nrates > 0 && values->fetch != NULL)
        return cv_refuse("--workers: a rate counts records, which --fetch does not know; "
                         "expected files or a pipe");
    if (cv_crew_has_weights(&out->workers) && values->weight == NULL)
        return cv_refuse(
            "--workers: 'w' in a rate counts weights; expected --weight COLUMN "
            "or --weight COMMAND");
    out->workers.unguarded = values->mpi != 0;
    out->handle_signals = true;
    out->workers.delay_s = values->delay_s;
    out->workers.min_memory = (uint64_t)values->memfree;
    return read_load(values->load, &out->workers.max_load);
}

/* NAME=VALUE, which commands on this machine get too, or NAME,... with the values they have here. */
static int read_environment(const struct cv_call *call, const struct cv_strings *names,
                            const char *const **out)
{
    struct cv_words texts = { .arena = call->arena };

    for (size_t i = 0; i < names->count; i++) {
        const bool given = strchr(names->items[i], '=') != NULL;

        if (given &&
            putenv(cv_need_text(call->arena, names->items[i], "the variables")) != 0)
            return cv_refuse("--env: expected NAME=VALUE, got '%s'",
                             CV_ECHO(names->items[i]));
        if (given)
            cv_words_add(&texts, names->items[i]);
        for (const char *at = given ? NULL : names->items[i], *end; at != NULL;
             at = *end == ',' ? end + 1 : NULL) {
            const char *name, *value;

            end = at + strcspn(at, ",");
            name = cv_arena_print(call->arena, "%.*s", (int)(end - at), at);
            value = name != NULL ? getenv(name) : NULL;
            if (name != NULL && value == NULL)
                return cv_refuse("--env: there is no variable '%s'", CV_ECHO(name));
            cv_words_add(&texts, name == NULL
                                     ? NULL
                                     : cv_arena_print(call->arena, "%s=%s", name, value));
        }
    }
    *out = cv_words_done(&texts);
    return *out != NULL ? CV_EXIT_DONE : cv_no_memory("the variables");
}

static int fill_hosts(struct whole_run *run)
{
    const struct cv_run_options *values = run->values;
    struct cleave_host_list *out = &run->request.hosts;

    if (run->workers.nhosts == 0)
        CV_DO(cv_run_rules_check(run->call, CV_RUN_LOCAL));
    out->list = run->workers.hosts;
    out->count = run->workers.nhosts;
    out->connect_timeout_s = values->connect_timeout_s;
    if (values->slurm && !(values->connect_timeout_s > 0))
        out->connect_timeout_s = CV_SLURM_CONNECT_S;
    out->timeout_s = values->host_timeout_s;
    out->shared_input = values->shared_input != 0;
    out->fold = values->mpi != 0;
    out->work_directory = values->work_directory;
    if (cv_hosts_asked(values) || values->slurm)
        out->more = cv_run_more_hosts;
    out->watched = cv_hosts_file(values);
    out->join_path = values->join_socket;
    out->listen = values->listen;
    out->key = values->key;
    out->notice_s = values->grace_s > 0 ? values->grace_s : -1;
    /* mpirun handles ranks that die; a slow rank is not lost. */
    if (values->mpi && !(out->timeout_s > 0))
        out->timeout_s = 60;
    return read_environment(run->call, &values->environment, &out->environment);
}

/* Lines of the first chunk are written before its end unless an option needs complete
 * outputs, or they go to a file. */
static bool shows_early(const struct whole_run *run)
{
    const struct cv_run_options *values = run->values;
    struct stat out;

    return !cv_option_given(run->call, "--group --line-buffer --unordered --isolate "
                                       "--journal --reduce --persistent") &&
           (values->header_out == NULL || strcmp(values->header_out, "0") == 0) &&
           values->retries <= 1 && !cv_run_output_is_file(values) &&
           fstat(STDOUT_FILENO, &out) == 0 && !S_ISREG(out.st_mode);
}

/* How the header of outputs is found: --header-out, else by the command for the header alone,
 * else not at all. A reduction gets whole outputs if the header was asked for. */
static void fill_output_header(const struct whole_run *run, struct cleave_output *out)
{
    const struct cv_run_options *values = run->values;

    if (run->has_items || cv_part_files_asked(values))
        return;
    if (values->header_out == NULL)
        out->header_once = values->header == NULL || values->reduce == NULL;
    else if (strcmp(values->header_out, "0") != 0)
        out->header = cv_header_how(
            values->header_out[0] == '\0' && values->header != NULL ? values->header
                                                                    : values->header_out);
}

static int fill_streams(struct whole_run *run)
{
    const struct cv_run_options *values = run->values;
    const struct cv_run_report *report = &run->report;
    struct cleave_execution *out = &run->request;

    out->input = (struct cleave_input){
        .files = values->inputs.items,
        .count = values->inputs.count,
        .split = values->split != NULL || values->framed || run->has_items ? values->split
                                                                           : "auto",
        .no_header = values->no_header != 0,
        .header = cv_run_has_header(values),
        .header_how = cv_header_how(values->header),
        /* Limits count records, so that a block is records. */
        .records = values->limits.count > 0 ? 0 : values->records,
        .together = values->together,
        .pairs = values->pairs,
        .decode = values->decode,
        .fetch = values->fetch,
        .size = values->fetch_size,
        .weight = run->has_items ? NULL : values->weight,
        .weight_default = run->has_items ? 0 : values->weight_default,
        .exact = has_exact_chunks(run),
        .max_record = cv_record_limit(values->max_record),
    };
    if (!run->has_items)
        CV_DO(cv_run_limits_read(run->call, &out->input));
    out->output.name = cv_run_output_is_file(values) ? values->output : "standard output";
    fill_output_header(run, &out->output);
    out->output.unordered = values->unordered != 0;
    out->output.lines = values->line_buffer != 0;
    out->output.early = shows_early(run);
    out->output.memory = (uint64_t)values->memory;
    out->output.directory = values->directory;
    out->reduce.command = values->reduce;
    out->reduce.commutative = values->commutative != 0;
    out->listener.attempted = cv_run_attempted;
    out->listener.note = cv_run_note;
    out->listener.chose = values->quiet ? NULL : cv_run_note;
    out->listener.errors = cv_run_errors;
    out->listener.context = &run->report;
    if (report->how != CV_PROGRESS_NONE || values->serve != NULL)
        out->listener.progress = cv_run_progress;
    return CV_EXIT_DONE;
}

static int check_leaders(const struct whole_run *run)
{
    const struct cv_run_options *values = run->values;
    const char *what = run->request.items.words != NULL   ? "items"
                       : run->request.input.pairs != NULL ? "--pairs"
                       : run->request.tell_records && !values->cat
                           ? "a command that reads its chunk number (CLEAVE_CHUNK, ..); "
                             "each leader counts separately"
                       : values->window > 0       ? "--window"
                       : values->limits.count > 0 ? "--limit"
                                                  : NULL;
    const char *request = values->leaders != NULL ? "--leaders"
                          : values->via.count > 0 ? "--via"
                                                  : "via:";

    for (size_t i = 0; what != NULL && i < run->workers.nhosts; i++)
        if (run->workers.hosts[i].leads)
            return cv_refuse("host '%s' leads others (%s), which it cannot with %s: "
                             "leave %s out, so that all are reached from here",
                             run->workers.hosts[i].name, request, what, request);
    return CV_EXIT_DONE;
}

static int fill_items(struct whole_run *run)
{
    if (run->has_items && !run->values->dry_run)
        CV_DO(cv_run_items_fill(run->call, &run->items, cv_crew_count(&run->workers),
                                &run->request));
    run->report.command = run->request.command;
    return check_leaders(run);
}

/* Pieces of --framed are already cut and decoded. */
static int serve_frames(struct whole_run *run)
{
    run->request.input.decode = "none";
    if (isatty(STDIN_FILENO) || isatty(STDOUT_FILENO))
        return cv_refuse("--framed: standard input and output must not be a terminal: "
                         "'cleave run --persistent' speaks to it");
    CV_CALL(cv_framed_serve(&run->request, STDIN_FILENO, STDOUT_FILENO, &err));
    return CV_EXIT_DONE;
}

/* --- after the run ------------------------------------------------------------------------ */

static int judge_failure(const struct whole_run *run)
{
    const struct cleave_execution_result *result = run->result;
    int code;

    if (result == NULL)
        return cv_print_status(&run->err);
    /* SIGUSR1 announces a time limit: the status then tells whether another run would
     * get further. */
    if (run->done == CLEAVE_ESTOPPED)
        return result->stopped_by == SIGUSR1 && cv_run_can_resume(run->values->journal) &&
                       result->chunks > result->failed
                   ? CV_EXIT_LATER
                   : CV_EXIT_BY_SIGNAL + result->stopped_by;
    if (run->done == CLEAVE_ECLOSED && result->output_closed)
        return CV_EXIT_UNREAD;
    if (result->halted && run->request.failures.halt_on != CLEAVE_HALT_ON_FAILURES &&
        run->request.failures.halt_on != CLEAVE_HALT_ON_LATER &&
        run->done == CLEAVE_EENGINE && !result->reduce_failed)
        return result->failed > 0 ? CV_EXIT_FAILED : CV_EXIT_DONE; /* as asked for */
    if (result->halted || result->reduce_failed)
        return cv_print_error(CV_EXIT_FAILED, "%s", run->err.text);
    /* A run that has begun failed in its work, not for a missing engine: a full disk,
     * a truncated file. */
    code = cv_print_status(&run->err);
    return code == CV_EXIT_ENGINE ? CV_EXIT_FAILED : code;
}

static int judge(const struct whole_run *run)
{
    const struct cleave_execution_result *result = run->result;

    if (run->done != CLEAVE_OK || result == NULL)
        return judge_failure(run);
    if (result->stopped_by != 0 &&
        result->stopped_by != SIGUSR1) /* too late to stop it */
        return CV_EXIT_BY_SIGNAL + result->stopped_by;
    /* As grep: 1 if no command had status 0, of those before a resume either. */
    return result->failed > 0 || result->bad_ends > 0 ||
                   (run->report.ended_ok && !run->report.ended_0 && result->resumed == 0)
               ? CV_EXIT_FAILED
               : CV_EXIT_DONE;
}

static void give_hints(const struct whole_run *run)
{
    const struct cleave_execution_result *result = run->result;
    const bool items = run->has_items, hosts = run->request.hosts.count > 0;
    const bool halted = run->done == CLEAVE_EENGINE && result != NULL && result->halted;
    const bool all = (run->done == CLEAVE_OK || halted) &&
                     result->failed == result->chunks && result->resumed == 0;

    if (run->done == CLEAVE_OK || (halted && all && !items))
        cv_run_command_hint(run->call, result,
                            &(struct cv_run_outcome){ .all = all,
                                                      .halted = halted,
                                                      .hosts = hosts,
                                                      .items = items });
    else if (halted && !items)
        cv_run_mistakes_form(run->call);
    else if (run->done == CLEAVE_EENGINE && hosts)
        cv_run_mistakes_failed(run->call, items, true);
}

static bool has_begun(const struct whole_run *run)
{
    return run->result != NULL && run->result->platform != NULL;
}

/* Units that commands did, also if their output was not written. */
static double done_units(const struct cleave_execution_result *result)
{
    double units = 0;

    if (result->weight > 0)
        return result->weight;
    if (result->unwritten == 0)
        return result->input_bytes;
    for (uint32_t w = 0; w < result->nworkers; w++)
        units += result->workers[w].units;
    return units;
}

static int write_trace(struct whole_run *run)
{
    const struct cleave_execution_result *result = run->result;
    struct cleave_trace *trace = run->request.listener.trace;
    double *starts_s = cv_array(run->call->arena, result->nworkers, sizeof *starts_s);
    const struct cleave_trace_facts facts = {
        .bound = { result->bound_s > 0 ? "all workers busy" : NULL, result->bound_s },
        .failed = result->failed_bytes,
        .left = result->left_bytes - result->unwritten_bytes,
        .failures = run->report.failures.items,
        .nfailures = run->report.failures.count,
        .starts_s = starts_s,
        .nstarts = isnan(result->starts_s) ? 0 : result->nworkers,
    };
    int status;

    if (starts_s == NULL)
        return cv_no_memory("the trace");
    for (uint32_t w = 0; w < result->nworkers; w++)
        starts_s[w] = result->workers[w].starts_s;
    status = cv_trace_add_facts(trace, &facts);
    if (status != CV_EXIT_DONE || run->values->trace == NULL)
        return status;
    status = cv_trace_write(run->values->trace,
                            &(struct cv_trace_context){
                                .trace = trace,
                                .platform = result->platform,
                                .policy = cv_run_policy_name(&run->request.policy),
                                .load = done_units(result) });
    /* The name was checked before the run: its directory was removed since then. */
    return status == CV_EXIT_USAGE ? CV_EXIT_FAILED : status;
}

/* A request that was refused at the start has no summary, and a short run that did all of its
 * work only if it was asked for. */
static void show_summary(struct whole_run *run, int status)
{
    static const double SHORT_S = 0.5;
    const struct cv_run_options *values = run->values;
    const struct cleave_execution_result *result = run->result;
    const bool refused = status == CV_EXIT_USAGE && has_begun(run) &&
                         result->chunks == 0 && result->resumed == 0;
    const bool asked = values->json || values->summary || values->verbose;

    if (!has_begun(run) || result->output_closed || refused ||
        (values->quiet && !values->json && !values->summary) ||
        (!asked && result->seconds < SHORT_S && result->failed == 0 &&
         result->nleft_ranges == 0 && !result->left_unread))
        return;
    /* This takes seconds for a thousand workers. */
    if (run->report.declared)
        run->report.predicted_s =
            result->connect_s + cv_run_predict(&run->request, run->call->arena);
    cv_run_summary(result, &run->report, status);
}

/* --- the run ------------------------------------------------------------------------------ */

static int open_trace(struct whole_run *run)
{
    const struct cv_run_options *values = run->values;
    const struct cleave_trace_facts facts = { .engine = "run" };
    struct cleave_trace **trace = &run->request.listener.trace;
    char url[CV_HTTP_URL_ROOM];

    if (values->trace == NULL && values->serve == NULL)
        return CV_EXIT_DONE;
    CV_CALL(cleave_trace_new(trace, &err));
    CV_DO(cv_trace_call(*trace, run->call));
    CV_DO(cv_trace_add_facts(*trace, &facts));
    if (values->serve == NULL)
        return CV_EXIT_DONE;
    run->report.page =
        (struct cv_live_page){ .trace = *trace,
                               .policy = cv_run_policy_name(&run->request.policy) };
    CV_CALL(cv_http_open(values->serve, &run->report.page.http, url, &err));
    cv_print_note("the run can be followed at %s", url);
    return CV_EXIT_DONE;
}

/* Whether the input, or a list of items, is standard input, and that is a terminal. */
static bool is_typed(const struct whole_run *run)
{
    const struct cv_run_options *values = run->values;
    const bool lists = run->has_items && !values->each;

    return isatty(STDIN_FILENO) &&
           (lists ? cv_is_one_of("-", values->item_files.items, values->item_files.count)
                  : values->inputs.count == 0 && values->fetch == NULL);
}

static int open_sink(struct whole_run *run)
{
    const struct cv_run_options *values = run->values;
    struct cleave_output *output = &run->request.output;

    if (is_typed(run) && !run->has_items && !values->quiet)
        cv_print_note(
            "the input is what you type, to its end (Ctrl-D); of a file: -i FILE");
    if (run->report.unasked &&
        (is_typed(run) || (values->ungroup && isatty(STDOUT_FILENO))))
        run->report.how = CV_PROGRESS_NONE;
    if (run->items.rows_file != NULL)
        output->name = run->items.rows_file;
    if (cv_part_files_asked(values))
        return cv_part_files_open(values, run->call->arena, &run->sink.parts, output);
    CV_DO(run->items.rows_file != NULL
              ? sink_open(&run->sink, "--results", run->items.rows_file,
                          &output->descriptor)
              : sink_open(&run->sink, "--output", values->output, &output->descriptor));
    if (run->items.rows_file == NULL)
        CV_DO(sink_pack(&run->sink, values->ungroup != 0, &output->descriptor));
    run->report.result_on_stdout = run->sink.on_stdout;
    if (isatty(output->descriptor)) {
        output->before = cv_run_progress_give_way;
        output->context = &run->report;
    }
    return CV_EXIT_DONE;
}

/* The result is closed first, as it matters most, and all files before the summary,
 * which shows the exit status. */
static int execute(struct whole_run *run)
{
    bool pack_failed;
    int status;

    run->done = cleave_execute(&run->request, &run->result, &run->err);
    cv_run_progress_end(&run->report);
    status = sink_end_pack(&run->sink, run->done == CLEAVE_OK && run->result->failed == 0,
                           CV_EXIT_DONE, &pack_failed);
    if (!pack_failed)
        status = judge(run);
    if (run->done == CLEAVE_ESTOPPED && run->result != NULL)
        cv_run_stopped(run->result, &run->report);
    give_hints(run);
    if (run->done == CLEAVE_OK && !run->has_items &&
        run->result->chunks + run->result->resumed == 0)
        status = cv_run_check_empty(run->call);
    /* A run that continues from a journal makes a new file. Rows of results name failed
     * items themselves. */
    run->sink.kept =
        run->done == CLEAVE_ESTOPPED && cv_run_can_resume(run->values->journal);
    status =
        sink_close(&run->sink,
                   run->done == CLEAVE_OK && !pack_failed && status != CV_EXIT_USAGE &&
                       (run->result->failed == 0 || run->report.rows != NULL),
                   status);
    status = cv_part_files_close(run->sink.parts,
                                 run->done == CLEAVE_OK && run->result->failed == 0,
                                 run->values->resume != 0, status);
    run->sink.parts = NULL;
    status = cv_job_log_close(&run->report.log, status);
    if (run->request.listener.trace != NULL && has_begun(run)) {
        const int saved = write_trace(run);

        status = status == CV_EXIT_DONE ? saved : status;
    }
    cv_run_page_end(&run->report, run->result, status);
    show_summary(run, status);
    return status;
}

/* A command weighs all records before the run: a pipe becomes a file. */
static int spool_pipe(const struct whole_run *run)
{
    const struct cv_run_options *values = run->values;
    const char *directory = cv_run_directory(values);
    const bool piped =
        values->inputs.count == 0 ||
        (values->inputs.count == 1 && strcmp(values->inputs.items[0], "-") == 0);
    char bytes[65536];
    struct stat now;
    ssize_t got = 0;
    int file, wrong = 0;

    if (run->has_items || !piped || values->weight == NULL ||
        !cv_weight_is_command(values->weight, values->split) ||
        fstat(STDIN_FILENO, &now) != 0 || S_ISREG(now.st_mode))
        return CV_EXIT_DONE;
    file = cv_nameless_file_open(directory);
    while (file >= 0 && wrong == 0 &&
           (got = TEMP_FAILURE_RETRY(read(STDIN_FILENO, bytes, sizeof bytes))) > 0)
        wrong = cv_write_all(file, bytes, (size_t)got);
    if (file < 0 || got < 0 ||
        (wrong == 0 && (lseek(file, 0, SEEK_SET) != 0 || dup2(file, STDIN_FILENO) < 0)))
        wrong = errno;
    if (file >= 0)
        close(file);
    return wrong == 0 ? CV_EXIT_DONE
                      : cv_print_error(CV_EXIT_FAILED,
                                       "--weight: cannot keep standard input in '%s': %s",
                                       CV_ECHO(directory), strerror(wrong));
}

static int carry_out(struct whole_run *run)
{
    const struct cv_run_options *values = run->values;
    const char *file =
        values->hosts != NULL && cv_hosts_are_file(values->hosts) ? values->hosts : NULL;

    run->report.declared = file != NULL;
    if (values->framed)
        return serve_frames(run);
    if (values->dry_run)
        return run->has_items ? cv_run_items_show(&run->items)
                              : cv_run_plan(&run->request, file, run->call->arena);
    if (values->verbose && !run->has_items) {
        struct cv_text line = { NULL, 0, 0, false };

        cv_shell_words_add(&line, run->request.command);
        cv_text_add(&line, "\n");
        cv_print_raw(&line);
    }
    CV_DO(spool_pipe(run));
    CV_DO(open_sink(run));
    CV_DO(open_trace(run));
    return execute(run);
}

/* -N and -L of chunks: N records, and a multiple of N. */
static void set_records(const struct cv_run_options *typed, struct cv_run_options *out)
{
    if (typed->max_replace_args != CV_ARGS_ONE) {
        out->records = typed->max_replace_args;
        return;
    }
    out->records = typed->max_lines;
    if (typed->max_lines == 0 || typed->block > 0 || typed->policy != NULL)
        return;
    out->policy = "auto";
    if (!typed->quiet)
        cv_print_note("-L %" PRIu64
                      ": a chunk has a multiple of this many lines; --block "
                      "sets its size, -N its lines",
                      typed->max_lines);
}

/* A call of GNU parallel may rely on options of this variable. */
static void note_parallel(void)
{
    const char *options = getenv("PARALLEL");

    if (options != NULL && options[strspn(options, " ")] != '\0')
        cv_print_note("$PARALLEL is not read; if its options are meant, type them: %s",
                      CV_ECHO(options));
}

static int lead(const struct cv_call *call, const struct cv_run_mpi *mpi)
{
    static int (*const steps[])(struct whole_run * run) = {
        check,        open_reach, find_workers, open_report, fill_policy, fill_failures,
        fill_command, fill_hosts, fill_streams, fill_items,  carry_out,
    };
    static const char *standard_input = "-";
    const struct cv_run_options *typed = call->values;
    struct whole_run run = { .shaped = *call,
                             .call = &run.shaped,
                             .shaped_values = *typed,
                             .values = &run.shaped_values,
                             .mpi = mpi,
                             .request.output.descriptor = -1,
                             .sink.file.fd = -1,
                             .has_items = cv_run_items_asked(call) };
    int status = CV_EXIT_DONE;

    run.shaped.values = run.values;
    if (typed->pipepart && !typed->each) {
        if (typed->inputs.count == 0)
            run.shaped_values.inputs = typed->item_files.count > 0
                                           ? typed->item_files
                                           : (struct cv_strings){ &standard_input, 1 };
        run.shaped_values.item_files = (struct cv_strings){ .count = 0 };
        run.has_items = cv_run_items_asked(run.call);
    } else if (!run.has_items && cv_run_lists_stdin(call)) {
        run.has_items = true;
        if (typed->split != NULL)
            run.shaped_values.each = 1;
        else
            run.shaped_values.item_files = (struct cv_strings){ &standard_input, 1 };
    }
    status = cv_record_ends_read(call, &run.shaped_values.split);
    if (!run.has_items && typed->records == 0)
        set_records(typed, &run.shaped_values);
    if ((run.has_items || typed->pipepart) && !typed->quiet)
        note_parallel();
    for (size_t i = 0; i < sizeof steps / sizeof *steps && status == CV_EXIT_DONE; i++)
        status = steps[i](&run);
    if (run.sink.packed != NULL) /* nothing was run */
        (void)sink_end_pack(&run.sink, false, status, &(bool){ false });
    status = sink_close(&run.sink, false, status); /* if nothing was run */
    status = cv_part_files_close(run.sink.parts, false, false, status);
    status = cv_job_log_close(&run.report.log, status);
    cleave_trace_free(run.request.listener.trace);
    cleave_execution_free(run.result);
    cleave_platform_free(run.report.again.platform);
    cleave_platform_free(run.workers.platform);
    cv_run_items_done(&run.items);
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
    if (status == CV_EXIT_DONE)
        status = mpi.bridge->rank > 0 ? cv_run_mpi_serve(&mpi, call) : lead(call, &mpi);
    return cv_run_mpi_close(&mpi, status);
}

const struct cv_verb cv_verb_run = {
    .name = "run",
    .summary = "run a command over a big input, shared by several workers",
    .description =
        "Cuts the input at record boundaries, runs a separate command on each chunk "
        "(standard input), several at a time, and writes their outputs in input order. "
        "The run sizes chunks from the costs measured so far: chunks grow so that "
        "starting commands costs little, and shrink at the end. A faster worker takes "
        "the unread part of a late worker's chunk, so that all end together. To a file, "
        "cleave writes the output of a chunk only when its command has succeeded; to a "
        "pipe or a terminal, lines of the first unfinished chunk come while its command "
        "runs (--group: complete outputs). The output of an item is always written, when "
        "its command has ended.",
    .operands = "[--] COMMAND [ARG]... [::: ITEM...]...",
    .max_operands = 100000000,
    .command = true,
    .is_first = true,
    .groups = cv_run_groups,
    .foreign = cv_run_foreign,
    .examples =
        "cleave run -q -i examples/plan.c --reduce sum wc -l\n"
        "cleave run -q -i examples/unequal.yaml --split paragraph -- tr a-z A-Z\n"
        "cleave run -q -j 2 wc -l ::: examples/*.c\n"
        "cleave run -q -a examples/files.txt echo {} {.}.out\n"
        "cleave run -q -i examples/plan.c -o plan.gz -- tr a-z A-Z\n"
        "cleave run -q -i examples/plan.c --journal plan.db --retries 3 -- cat -s",
    .presets = &cv_run_presets,
    .values_size = sizeof(struct cv_run_options),
    .checks_files = true, /* rank 0 of --mpi does, where they are */
    .run = run,
    .refused = cv_run_mpi_refused,
};
