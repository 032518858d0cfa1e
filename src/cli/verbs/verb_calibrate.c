/* verb_calibrate.c -- cleave calibrate. SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cleave/execute.h>
#include <cleave/platform.h>
#include "base/arena.h"
#include "base/compare.h"
#include "base/text.h"
#include "cli/common/job_options.h"
#include "cli/common/output.h"
#include "cli/run/run_command.h"
#include "cli/run/run_options.h"
#include "io/platform_file.h"
#include "model/platform/platform_internal.h"
#include "run/common/machine.h"

struct cv_measured {
    char *worker; /* owned */
    double units, seconds;
};

struct cv_spread {
    struct cv_measured *items; /* owned                                    */
    size_t count, room;
    bool failed; /* there was no memory for one: nothing is said          */
};

/* --- how far measurements are from the costs that were made of them ---------------- */

/* Eight of ten measurements should lie within such a factor. */
static const double WIDE = 1.5;

enum { FEW = 3 }; /* measurements that differ by chance as likely as not */

static void spread_init(struct cv_spread *spread)
{
    *spread = (struct cv_spread){ .items = NULL };
}

static void spread_done(struct cv_spread *spread)
{
    for (size_t i = 0; i < spread->count; i++)
        free(spread->items[i].worker);
    free(spread->items);
    spread_init(spread);
}

/* What a command took; failed ones do not count. Fits cleave_listener.attempted. */
static void spread_attempted(void *context, const struct cleave_attempt *attempt)
{
    struct cv_spread *spread = context;
    char *worker;

    if (attempt->exit_code != 0 || attempt->end <= attempt->begin)
        return;
    worker = CV_ROOM(spread->items, &spread->room, spread->count + 1)
                 ? strdup(attempt->worker)
                 : NULL;
    if (worker == NULL) {
        spread->failed = true;
        return;
    }
    spread->items[spread->count++] =
        (struct cv_measured){ worker, (double)(attempt->end - attempt->begin),
                              attempt->compute_s };
}

/* The units of all measurements. */
static double spread_units(const struct cv_spread *spread)
{
    double units = 0;

    for (size_t i = 0; i < spread->count; i++)
        units += spread->items[i].units;
    return units;
}

/* The line through all of them, by least squares: units in a second, and what is lost before
 * the first. There must be some. */
static double spread_fit(const struct cv_spread *spread, double *out_latency_s)
{
    double n = 0, units = 0, time_s = 0, units2 = 0, cross = 0, parallel, mean, slope;

    for (size_t i = 0; i < spread->count; i++) {
        const struct cv_measured *one = &spread->items[i];

        n += 1;
        units += one->units;
        time_s += one->seconds;
        units2 += one->units * one->units;
        cross += one->units * one->seconds;
    }
    parallel = n * units2 - units * units;
    mean = time_s / units;
    slope = parallel > 0 ? (n * cross - units * time_s) / parallel : mean;
    slope = fmin(mean, fmax(slope, mean / 1000));
    *out_latency_s = fmax(0, (time_s - slope * units) / n);
    return 1 / slope;
}

/* Of sorted numbers, the one that such a part of them is not above. */
static double quantile(const double *sorted, size_t count, double part)
{
    return sorted[(size_t)(part * (double)(count - 1) + 0.5)];
}

/* Say how far from these costs the measurements of workers are, as a line for the file, and
 * warn if they differ so much that the costs are worth little. `names`: of the workers; the
 * first one stands for all of them. */
static void spread_tell(const struct cv_spread *spread, const char *const *names,
                        size_t nnames, const struct cleave_worker *costs,
                        struct cv_text *comment)
{
    double *parts = calloc(spread->count + 1, sizeof *parts);
    size_t count = 0;
    double parallel;

    for (size_t i = 0; parts != NULL && !spread->failed && i < spread->count; i++)
        if (cv_is_one_of(spread->items[i].worker, names, nnames))
            parts[count++] =
                spread->items[i].seconds /
                (costs->compute_latency_s + spread->items[i].units / costs->speed_ups);
    if (count > 0) {
        qsort(parts, count, sizeof *parts, cv_compare_doubles);
        cv_text_add(
            comment,
            "\n%s: %s took %.2f to %.2f of what these costs say, in the median %.2f.",
            names[0], CV_COUNTED(count, "measurement"), parts[0], parts[count - 1],
            quantile(parts, count, 0.5));
        parallel = quantile(parts, count, 0.9) / quantile(parts, count, 0.1);
        if (count > FEW && parallel > WIDE)
            cv_print_error(
                CV_EXIT_DONE,
                "%s: measurements differ by a factor of %.1f, 8 of 10 of them: was the "
                "machine busy? Measure again when it is not, or take a larger sample",
                names[0], parallel);
    }
    free(parts);
}

/* How many processes wanted to run on this machine of late. Warn, once something has been
 * measured, if those were more than it has cores. */
static double spread_load(void)
{
    double load;

    return getloadavg(&load, 1) == 1 ? load : 0;
}

static void spread_warn_busy(double load)
{
    const unsigned cores = cv_usable_cores();

    if (load > cores)
        cv_print_error(CV_EXIT_DONE,
                       "this machine was busy: load average %.1f on %u core%s. What was "
                       "measured may be too slow",
                       load, cores, cores == 1 ? "" : "s");
}

/* --- cleave calibrate --topology --------------------------------------------------- */

static int write_star(const struct cleave_platform *platform,
                      const struct cv_topology_options *options, const char *output,
                      bool force)
{
    char comment[600];
    struct cv_output_file out;
    struct cleave_error err;
    bool failed;
    const int status = cv_output_open(&out, "--output", output != NULL ? output : "-",
                                      force ? 0 : CV_NEW_FILE_ONLY);

    if (status != CV_EXIT_DONE)
        return status;
    snprintf(comment, sizeof comment,
             "What a master on %s sees of each worker by itself,\n"
             "measured in simulation by SimGrid. A unit is %g bytes and %g flops.",
             CV_ECHO(options->file), options->unit_bytes > 0 ? options->unit_bytes : 1e6,
             options->unit_flops > 0 ? options->unit_flops : 1e9);
    failed = cv_platform_write(platform, NULL, comment, out.file, &err) != CLEAVE_OK;
    if (failed && out.file != stdout) /* which is told when stdout is closed */
        cv_print_error(CV_EXIT_FAILED, "--output: %s", err.text);
    return cv_output_close(&out, failed);
}

/* Measure and write the platform file of so many workers (0: all hosts) to `output`, NULL
 * for standard output; an older file is replaced only with `force`. Returns an exit status. */
static int calibrate_topology(const struct cv_topology_options *options, uint64_t workers,
                              const char *output, bool force, struct cv_arena *arena)
{
    const struct cleave_simgrid *found = NULL;
    struct cleave_platform *platform = NULL;
    struct cleave_simgrid simgrid;
    int status = cv_topology_open(NULL, options, arena, &found);

    if (status != CV_EXIT_DONE)
        return status;
    simgrid = *found;
    if (workers > 0 && simgrid.workers != NULL)
        return cv_refuse("--workers and --worker-hosts cannot both say who takes part");
    if (workers > 0)
        simgrid.nworkers = (uint32_t)workers;
    status = cv_topology_platform(options, &simgrid, &platform);
    if (status == CV_EXIT_DONE)
        status = write_star(platform, options, output, force);
    cleave_platform_free(platform);
    return status;
}

/* --- cleave calibrate -------------------------------------------------------------- */

struct values {
    struct cv_strings inputs;
    const char *split, *output, *hosts, *ssh, *program, *decode;
    double max_record;
    uint64_t workers;
    const char *header;
    int push, force;
    struct cv_strings push_from;
    struct cv_topology_options where;
};

#define CV_VALUES struct values

/* clang-format off */
static const struct cv_option options[] = {
    CV_OPTION('i', "--input", REPEAT, "FILE", inputs,
        "A sample of the input; what is measured is the time the command takes for parts "
        "of it."),
    CV_OPTION(0, "--split", TEXT, "HOW", split,
        "Where the input may be cut, as in 'cleave run'. Default lines.",
        .add_words = cv_split_words),
    CV_OPTION(0, "--header", MAYBE, "[N]", header,
        "Give the first record of the input, or the first N, or all lines at the start "
        "that begin with '#' or the like, to every command, before its chunk."),
    CV_OPTION(0, "--max-record", UNITS, "SIZE", max_record,
        "A record of more bytes is an error. Default 1 GiB."),
    CV_OPTION(0, "--decode", TEXT, "HOW", decode,
        "How a sample is decoded, as in 'cleave run': auto (default), none or a form.",
        .add_words = cv_decode_words),
    CV_OPTION('j', "--workers", COUNT, "N", workers,
        "Write a platform of so many workers. Default: one per core that this process "
        "may use.", .min = 1, .max = 4096),
    CV_OPTION(0, "--hosts", TEXT, "FILE", hosts,
        "Measure the workers and hosts of this platform file, and their links, and write "
        "it with what was measured."),
    CV_OPTION(0, "--ssh", TEXT, "WORDS", ssh,
        "How to reach hosts with ssh:, as in 'cleave run'."),
    CV_OPTION(0, "--remote", TEXT, "PROGRAM", program,
        "Where cleave is on the hosts, as in 'cleave run'."),
    CV_FLAG(0, "--push", 1, push, "Take a copy of cleave to hosts that lack it."),
    CV_OPTION(0, "--push-from", REPEAT, "PATH", push_from,
        "Where --push finds copies for other processors, as in 'cleave run'."),
    CV_OPTION('o', "--output", TEXT, "FILE", output,
        "Where to write the platform file. A file that exists is kept. Default: standard "
        "output.", .file = CV_FILE_KEPT),
    CV_FLAG(0, "--force", 1, force, "Replace the file if it exists."),
};

static const struct cv_option topology_options[] = {
    CV_TOPOLOGY_OPTION,
    CV_TOPOLOGY_MASTER,
    CV_TOPOLOGY_HOSTS,
    CV_TOPOLOGY_PORT,
    CV_TOPOLOGY_UNITS,
};
/* clang-format on */

static const struct cv_option_group option_groups[] = {
    CV_GROUP("Measuring", options),
    CV_GROUP("Instead of a command: a topology", topology_options),
    CV_GROUPS_END,
};

/* Why a measurement failed, and the exit status of it. */
static int complain(const struct cleave_error *err,
                    const struct cleave_execution_result *result)
{
    const int status = cv_print_status(err);

    return err->status == CLEAVE_ESTOPPED && result != NULL
               ? CV_EXIT_BY_SIGNAL + result->stopped_by
               : status;
}

/* The command over the whole sample, what it writes thrown away; the execution says who works. */
static int run_sample(const struct values *values, struct cleave_execution *execution,
                      struct cleave_execution_result **out)
{
    struct cleave_error err;
    int status = CV_EXIT_DONE;

    execution->input =
        (struct cleave_input){ .files = values->inputs.items,
                               .count = values->inputs.count,
                               .split = values->split,
                               .header = values->header != NULL,
                               .header_how = cv_header_how(values->header),
                               .decode = values->decode,
                               .max_record = cv_record_limit(values->max_record) };
    execution->output.name = "/dev/null";
    execution->output.descriptor = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (execution->output.descriptor < 0)
        return cv_print_error(CV_EXIT_FAILED, "cannot open /dev/null");
    if (cleave_execute(execution, out, &err) != CLEAVE_OK)
        status = complain(&err, *out);
    else if ((*out)->failed > 0)
        status = cv_print_error(CV_EXIT_FAILED, "the command failed on the sample");
    close(execution->output.descriptor);
    return status;
}

/* One worker, in chunks of a size; all that they took is added. */
static int measure(const struct cv_call *call, const char *const *command, double block,
                   struct cv_spread *spread)
{
    struct cleave_execution execution = {
        .command = command,
        .workers.count = 1,
        .policy.block = block,
        .listener.attempted = spread_attempted,
        .listener.context = spread,
    };
    struct cleave_execution_result *result = NULL;
    const int status = run_sample(call->values, &execution, &result);

    cleave_execution_free(result);
    return status;
}

/* Write the platform and let go of it, and of what is to be said of its spread. */
static int save_take(const struct values *values, struct cleave_platform *platform,
                     const struct cv_host_fields *hosts, double bytes,
                     struct cv_text *spread)
{
    struct cleave_error err;
    struct cv_text comment = { NULL, 0, 0, false };
    struct cv_output_file out;
    bool failed;
    int status;

    cv_text_add(&comment, CV_MEASURED_MARK " on %.0f bytes; units are bytes.%s", bytes,
                spread->bytes != NULL ? spread->bytes : "");
    cv_text_done(spread);
    status =
        cv_output_open(&out, "--output", values->output != NULL ? values->output : "-",
                       values->force ? 0 : CV_NEW_FILE_ONLY);
    if (status != CV_EXIT_DONE) {
        cleave_platform_free(platform);
        cv_text_done(&comment);
        return status;
    }
    failed = cv_platform_write(platform, hosts, comment.failed ? "" : comment.bytes,
                               out.file, &err) != CLEAVE_OK;
    cleave_platform_free(platform);
    cv_text_done(&comment);
    if (failed && out.file != stdout) /* which is told when stdout is closed */
        cv_print_error(CV_EXIT_FAILED, "--output: %s", err.text);
    return cv_output_close(&out, failed);
}

static int write_platform(const struct values *values, const struct cleave_worker *worker,
                          double bytes, const struct cv_spread *spread)
{
    /* What measures is one worker, which stands for all of them. */
    static const char *const names[] = { "w0" };
    struct cv_text text = { NULL, 0, 0, false };
    const uint32_t n =
        values->workers > 0 ? (uint32_t)values->workers : (uint32_t)cv_usable_cores();
    struct cleave_worker *workers = calloc(n, sizeof *workers);
    struct cleave_platform *platform = NULL;
    struct cleave_error err;
    bool failed;

    if (workers == NULL)
        return cv_no_memory("the workers");
    for (uint32_t i = 0; i < n; i++)
        workers[i] = *worker;
    failed =
        cleave_platform_new(CLEAVE_PORT_MULTI, workers, n, &platform, &err) != CLEAVE_OK;
    free(workers);
    if (failed)
        return cv_print_status(&err);
    spread_tell(spread, names, 1, worker, &text);
    return save_take(values, platform, NULL, bytes, &text);
}

/* --- hosts -------------------------------------------------------------------------------- */

static void note(void *context, const char *text)
{
    (void)context;
    cv_print_line(text);
}

/* Costs of the workers of a group on average: what was not measured stays as it was. */
static struct cleave_worker average(const struct cleave_execution_result *result,
                                    uint32_t first, uint32_t count,
                                    const struct cleave_worker *before)
{
    struct cleave_worker sum = { .speed_ups = 0 };
    double compute = 0, link = 0, back = 0;

    for (uint32_t w = first; w < first + count && w < result->nworkers; w++) {
        const struct cleave_worker_result *worker = &result->workers[w];

        if (worker->speed_ups > 0) {
            compute++;
            sum.speed_ups += worker->speed_ups;
            sum.compute_latency_s += worker->latency_s;
        }
        if (worker->bandwidth_ups > 0) {
            link++;
            sum.bandwidth_ups += worker->bandwidth_ups;
            sum.latency_s += worker->link_latency_s;
        }
        if (worker->return_bandwidth_ups > 0) {
            back++;
            sum.return_bandwidth_ups += worker->return_bandwidth_ups;
            sum.return_latency_s += worker->return_latency_s;
        }
    }
    return (struct cleave_worker){
        .speed_ups = compute > 0 ? sum.speed_ups / compute : before->speed_ups,
        .compute_latency_s =
            compute > 0 ? sum.compute_latency_s / compute : before->compute_latency_s,
        .bandwidth_ups = link > 0 ? sum.bandwidth_ups / link : before->bandwidth_ups,
        .latency_s = link > 0 ? sum.latency_s / link : before->latency_s,
        .return_bandwidth_ups =
            back > 0 ? sum.return_bandwidth_ups / back : before->return_bandwidth_ups,
        .return_latency_s =
            back > 0 ? sum.return_latency_s / back : before->return_latency_s,
    };
}

/* The file again, with the costs that were measured; slots become a count. */
static int write_measured(const struct cv_call *call,
                          const struct cv_worker_list *workers,
                          const struct cleave_execution_result *result,
                          const struct cv_spread *spread)
{
    const struct cleave_platform *was = workers->platform;
    struct cleave_worker *kinds = cv_array(call->arena, was->ngroups, sizeof *kinds);
    struct cv_group *groups = cv_array(call->arena, was->ngroups, sizeof *groups);
    struct cv_host_fields *hosts = cv_array(call->arena, was->ngroups, sizeof *hosts);
    const char **names = cv_array(call->arena, result->nworkers + 1, sizeof *names);
    struct cv_text text = { NULL, 0, 0, false };
    struct cleave_platform *platform;
    struct cleave_error err;
    uint32_t n = 0;

    if (kinds == NULL || groups == NULL || names == NULL)
        return cv_no_memory("the workers");
    for (uint32_t g = 0; g < was->ngroups; g++) {
        const struct cv_group *group = &was->groups[g];
        bool seen = false;

        for (uint32_t i = 0; i < group->count; i++)
            seen = seen || result->workers[group->first + i].chunks > 0;
        if (!seen) {
            cv_print_error(CV_EXIT_DONE, "%s: left out, it did nothing", group->name);
            continue;
        }
        groups[n] = *group;
        hosts[n] = workers->fields[g];
        hosts[n].slots = hosts[n].slots > 0 ? 1 : 0;
        if (hosts[n].gpus > 0)
            groups[n].count /= hosts[n].gpus;
        kinds[n] =
            average(result, group->first, group->count, &was->workers[group->first]);
        for (uint32_t i = 0; i < group->count; i++)
            names[i] = result->workers[group->first + i].name;
        spread_tell(spread, names, group->count, &kinds[n++], &text);
    }
    if (cv_platform_build(was->port, kinds, groups, n, &platform, NULL, &err) !=
        CLEAVE_OK) {
        cv_text_done(&text);
        return cv_print_status(&err);
    }
    return save_take(call->values, platform, hosts, result->input_bytes, &text);
}

/* All of them at the same time, over the whole sample: chunks grow from small to large, and
 * a line is fitted to what they took. */
static int measure_hosts(const struct cv_call *call, const char *const *command)
{
    const struct values *values = call->values;
    struct cleave_execution_result *result = NULL;
    struct cv_reach reach = { .ssh = values->ssh,
                              .program = values->program,
                              .push = values->push != 0,
                              .push_from = values->push_from,
                              .connect_timeout_s = CLEAVE_HOST_TIMEOUT_S };
    struct cv_worker_list workers = { .platform = NULL };
    struct cv_spread spread;
    int status = cv_reach_open(&reach, call->arena);

    if (status == CV_EXIT_DONE)
        status = cv_crew_load(values->hosts, &reach, call->arena, &workers);
    if (status != CV_EXIT_DONE)
        return status;
    spread_init(&spread);
    struct cleave_execution execution = {
        .command = command,
        .workers.platform = workers.platform,
        .workers.prefixes = workers.prefixes,
        .hosts.list = workers.hosts,
        .hosts.count = workers.nhosts,
        .listener.note = note,
        .listener.attempted = spread_attempted,
        .listener.context = &spread,
    };

    status = run_sample(values, &execution, &result);
    if (status == CV_EXIT_DONE && result != NULL)
        status = write_measured(call, &workers, result, &spread);
    cleave_execution_free(result);
    cleave_platform_free(workers.platform);
    spread_done(&spread);
    return status;
}

/* --- this machine ------------------------------------------------------------------------- */

/* Once to warm up and to learn how large the sample is, then in parts and whole. */
static int measure_here(const struct cv_call *call, const char *const *command,
                        struct cv_spread *spread, struct cv_spread *pipe)
{
    static const char *const sink[] = { "sh", "-c", "cat >/dev/null", NULL };
    struct cleave_worker worker = { .latency_s = 0 };
    double whole, unused_s;
    int status = measure(call, command, 1e18, spread);

    whole = spread_units(spread);
    if (status == CV_EXIT_DONE && !(whole > 0))
        status = cv_refuse("expected a sample with at least one record");
    spread_done(spread);
    for (int part = 1; part <= 16 && status == CV_EXIT_DONE; part *= 4)
        status = measure(call, command, ceil(whole / part), spread);
    if (status == CV_EXIT_DONE)
        status = measure(call, sink, ceil(whole), pipe);
    if (status == CV_EXIT_DONE)
        status = measure(call, sink, ceil(whole / 4), pipe);
    if (status != CV_EXIT_DONE)
        return status;
    if (spread->failed || pipe->failed)
        return cv_no_memory("the measurements");
    worker.speed_ups = spread_fit(spread, &worker.compute_latency_s);
    worker.bandwidth_ups = fmax(spread_fit(pipe, &unused_s), worker.speed_ups);
    worker.return_bandwidth_ups = worker.bandwidth_ups;
    return write_platform(call->values, &worker, whole, spread);
}

static int run(const struct cv_call *call)
{
    const struct values *values = call->values;
    const char **command =
        cv_array(call->arena, call->noperands + 1, sizeof(const char *));
    struct cv_spread spread, pipe;
    double load;
    int status;

    if (values->where.file != NULL)
        return calibrate_topology(&values->where, values->workers, values->output,
                                  values->force != 0, call->arena);
    if (command == NULL)
        return cv_no_memory("the command");
    if (values->inputs.count == 0)
        return cv_refuse("--input FILE is required");
    status = cv_run_command_check(call, true, false);
    if (status != CV_EXIT_DONE)
        return status;
    memcpy(command, call->operands, call->noperands * sizeof *command);
    if (values->hosts != NULL && values->workers > 0)
        return cv_refuse("expected --workers or --hosts, got both");
    load = spread_load();
    spread_init(&spread);
    spread_init(&pipe);
    status = values->hosts != NULL ? measure_hosts(call, command)
                                   : measure_here(call, command, &spread, &pipe);
    spread_done(&spread);
    spread_done(&pipe);
    if (status == CV_EXIT_DONE)
        spread_warn_busy(load);
    return status;
}

const struct cv_verb cv_verb_calibrate = {
    .name = "calibrate",
    .summary = "measure a command on a sample, write a platform file",
    .description =
        "Runs the command on a sample of its input, whole and in parts, and writes a "
        "platform file with what it measured: how long the command takes to start "
        "(compute_latency), how many bytes it does in a second (speed) and how fast "
        "bytes get to it (bandwidth). With --hosts it measures the hosts of a platform "
        "file and their links. 'cleave plan load' and 'cleave run --hosts' take the "
        "file. Comments in it say how far measurements were from its costs; where they "
        "differ much, or this machine is busy, a warning says so. With --topology "
        "nothing is run: SimGrid says what a master on that topology sees of each "
        "worker.",
    .operands = "[--] COMMAND [ARG]...",
    .max_operands = 100000,
    .command = true,
    .groups = option_groups,
    .examples = "cleave calibrate -i examples/unequal.yaml -- wc -l\n"
                "cleave calibrate --topology examples/two-sites.xml --workers 16",
    .values_size = sizeof(struct values),
    .run = run,
};
