/* verb_calibrate.c -- cleave calibrate. SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cleave/execute.h>
#include <cleave/platform.h>
#include "base/compare.h"
#include "cli/common/job_options.h"
#include "cli/run/run_parts.h"
#include "io/platform_file.h"
#include "model/platform/platform_internal.h"
#include "run/common/machine.h"
#include "run/common/time_fit.h"

struct cv_measured {
    char *worker; /* owned */
    double units, seconds;
};

struct cv_spread {
    struct cv_measured *items; /* owned                                    */
    size_t count, room;
    bool failed; /* memory was short */
};

/* Eight of ten measurements should be within this factor. */
static const double WIDE = 1.5;

enum { FEW = 3 }; /* measurements whose spread says nothing */

static void spread_done(struct cv_spread *spread)
{
    for (size_t i = 0; i < spread->count; i++)
        free(spread->items[i].worker);
    free(spread->items);
    *spread = (struct cv_spread){ .items = NULL };
}

/* Fits cleave_listener.attempted; failed commands do not count. */
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

/* Fit a line by least squares: units per second, and the latency. */
static double spread_fit(const struct cv_spread *spread, double *out_latency_s)
{
    struct cv_time_fit sums = { 0 };
    double parallel, mean, slope;

    for (size_t i = 0; i < spread->count; i++)
        cv_time_fit_add(&sums, spread->items[i].units, spread->items[i].seconds);
    parallel = sums.n * sums.units2 - sums.units * sums.units;
    mean = sums.time_s / sums.units;
    slope =
        parallel > 0 ? (sums.n * sums.cross - sums.units * sums.time_s) / parallel : mean;
    slope = fmin(mean, fmax(slope, mean / 1000));
    *out_latency_s = fmax(0, (sums.time_s - slope * sums.units) / sums.n);
    return 1 / slope;
}

static double quantile(const double *sorted, size_t count, double part)
{
    return sorted[(size_t)(part * (double)(count - 1) + 0.5)];
}

/* Add a line to the file with the deviation of the workers' measurements from these
 * costs, and warn if they differ much. The first of `names` represents all. */
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
            cv_print_note(
                "%s: measurements differ by a factor of %.1f, 8 of 10 of them: was the "
                "machine busy? Measure again when it is not, or take a larger sample",
                names[0], parallel);
    }
    free(parts);
}

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
        "A sample of the input; cleave measures the time of the command for parts of it."),
    CV_OPTION(0, "--split", TEXT, "HOW", split,
        "Cut the input between records, as in 'cleave run'. Default auto.",
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
        "Write a platform of N workers. Default: one per core that this process may use.", .min = 1, .max = 4096),
    CV_OPTION(0, "--hosts", TEXT, "FILE", hosts,
        "Measure the workers and hosts of this platform file, and their links, and write it "
        "with the measured values."),
    CV_OPTION(0, "--ssh", TEXT, "WORDS", ssh,
        "How to reach hosts with ssh:, as in 'cleave run'."),
    CV_OPTION(0, "--remote", TEXT, "PROGRAM", program,
        "Path of cleave on the hosts, as in 'cleave run'."),
    CV_FLAG(0, "--push", 1, push, "Take a copy of cleave to hosts that lack it."),
    CV_OPTION(0, "--push-from", REPEAT, "PATH", push_from,
        "Directory of copies for other processors for --push, as in 'cleave run'."),
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

static const struct cv_option_rule rules[] = {
    { 0, "--workers", CV_EXCLUDES, "--hosts", "expected --workers or --hosts, got both" },
    { 0, "--input --topology", CV_ONE_OF, "", "--input FILE is required" },
    CV_TOPOLOGY_RULES(""),
    { .options = NULL },
};
/* clang-format on */

static int calibrate_topology(const struct values *values, struct cv_arena *arena)
{
    const struct cv_topology_options *where = &values->where;
    const struct cleave_simgrid *found;
    struct cleave_platform *platform;
    struct cleave_simgrid simgrid;
    char comment[600];
    int status;

    CV_DO(cv_topology_open(NULL, where, arena, &found));
    simgrid = *found;
    if (values->workers > 0)
        simgrid.nworkers = (uint32_t)values->workers;
    CV_DO(cv_topology_platform(where, &simgrid, &platform));
    snprintf(comment, sizeof comment,
             "Each worker alone as a master on %s sees it,\nmeasured in simulation by "
             "SimGrid. A unit is %g bytes and %g flops.",
             CV_ECHO(where->file), where->unit_bytes > 0 ? where->unit_bytes : 1e6,
             where->unit_flops > 0 ? where->unit_flops : 1e9);
    status =
        cv_platform_save(platform, NULL, comment, values->output, values->force != 0);
    cleave_platform_free(platform);
    return status;
}

/* Run the command over the sample, without output. */
static int run_sample(const struct values *values, struct cleave_execution *execution,
                      struct cleave_execution_result **out)
{
    struct cleave_error err;
    int status = CV_EXIT_DONE;

    execution->input =
        (struct cleave_input){ .files = values->inputs.items,
                               .count = values->inputs.count,
                               .split = values->split != NULL ? values->split : "auto",
                               .header = values->header != NULL,
                               .header_how = cv_header_how(values->header),
                               .decode = values->decode,
                               .max_record = cv_record_limit(values->max_record) };
    execution->handle_signals = true;
    execution->output.name = "/dev/null";
    execution->output.descriptor = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (execution->output.descriptor < 0)
        return cv_print_error(CV_EXIT_FAILED, "cannot open /dev/null");
    if (cleave_execute(execution, out, &err) != CLEAVE_OK) {
        status = cv_print_status(&err);
        if (err.status == CLEAVE_ESTOPPED && *out != NULL)
            status = CV_EXIT_BY_SIGNAL + (*out)->stopped_by;
    } else if ((*out)->failed > 0)
        status = cv_print_error(CV_EXIT_FAILED, "the command failed on the sample");
    close(execution->output.descriptor);
    return status;
}

/* Measure one worker in chunks of `block`. */
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

/* Write the platform; it and `spread` are released. */
static int save_take(const struct values *values, struct cleave_platform *platform,
                     const struct cv_host_fields *hosts, double bytes,
                     struct cv_text *spread)
{
    struct cv_text comment = { NULL, 0, 0, false };
    int status;

    cv_text_add(&comment, CV_MEASURED_MARK " on %.0f bytes; units are bytes.%s", bytes,
                spread->bytes != NULL ? spread->bytes : "");
    status = cv_platform_save(platform, hosts, comment.failed ? "" : comment.bytes,
                              values->output, values->force != 0);
    cv_text_done(spread);
    cv_text_done(&comment);
    cleave_platform_free(platform);
    return status;
}

static int write_platform(const struct cv_call *call, const struct cleave_worker *worker,
                          double bytes, const struct cv_spread *spread)
{
    const struct values *values = call->values;
    /* One worker was measured for all. */
    static const char *const names[] = { "w0" };
    struct cv_text text = { NULL, 0, 0, false };
    const uint32_t n =
        values->workers > 0 ? (uint32_t)values->workers : (uint32_t)cv_usable_cores();
    struct cleave_worker *workers =
        cv_need(call->arena, n, sizeof *workers, "the workers");
    struct cleave_platform *platform;

    for (uint32_t i = 0; i < n; i++)
        workers[i] = *worker;
    CV_CALL(cleave_platform_new(CLEAVE_PORT_MULTI, workers, n, &platform, &err));
    spread_tell(spread, names, 1, worker, &text);
    return save_take(values, platform, NULL, bytes, &text);
}

static void note(void *context, const char *text)
{
    (void)context;
    cv_print_line(text);
}

/* Means of a rate and of its latency. */
struct mean {
    double count, rate_ups, latency_s;
};

static void add_to_mean(struct mean *mean, double rate_ups, double latency_s)
{
    if (!(rate_ups > 0))
        return;
    mean->count++;
    mean->rate_ups += rate_ups;
    mean->latency_s += latency_s;
}

/* Costs that were not measured stay. */
static void put_mean(const struct mean *mean, double *rate_ups, double *latency_s)
{
    if (mean->count > 0) {
        *rate_ups = mean->rate_ups / mean->count;
        *latency_s = mean->latency_s / mean->count;
    }
}

/* Mean costs of the workers of a group. */
static struct cleave_worker average(const struct cleave_execution_result *result,
                                    uint32_t first, uint32_t count,
                                    struct cleave_worker costs)
{
    struct mean compute = { 0, 0, 0 }, link = compute, back = compute;

    for (uint32_t w = first; w < first + count && w < result->nworkers; w++) {
        const struct cleave_worker_result *worker = &result->workers[w];

        add_to_mean(&compute, worker->speed_ups, worker->latency_s);
        add_to_mean(&link, worker->bandwidth_ups, worker->link_latency_s);
        add_to_mean(&back, worker->return_bandwidth_ups, worker->return_latency_s);
    }
    put_mean(&compute, &costs.speed_ups, &costs.compute_latency_s);
    put_mean(&link, &costs.bandwidth_ups, &costs.latency_s);
    put_mean(&back, &costs.return_bandwidth_ups, &costs.return_latency_s);
    return costs;
}

/* The platform file with measured costs; slots become a count. */
static int write_measured(const struct cv_call *call,
                          const struct cv_worker_list *workers,
                          const struct cleave_execution_result *result,
                          const struct cv_spread *spread)
{
    const struct cleave_platform *was = workers->platform;
    struct cleave_worker *kinds =
        cv_need(call->arena, was->ngroups, sizeof *kinds, "the workers");
    struct cv_group *groups =
        cv_need(call->arena, was->ngroups, sizeof *groups, "the workers");
    struct cv_host_fields *hosts =
        cv_need(call->arena, was->ngroups, sizeof *hosts, "the workers");
    const char **names =
        cv_need(call->arena, result->nworkers + 1, sizeof *names, "the workers");
    struct cv_text text = { NULL, 0, 0, false };
    struct cleave_platform *platform;
    struct cleave_error err;
    uint32_t n = 0;

    for (uint32_t g = 0; g < was->ngroups; g++) {
        const struct cv_group *group = &was->groups[g];
        bool seen = false;

        for (uint32_t i = 0; i < group->count; i++)
            seen = seen || result->workers[group->first + i].chunks > 0;
        if (!seen) {
            cv_print_note("%s: left out, it did nothing", group->name);
            continue;
        }
        groups[n] = *group;
        hosts[n] = workers->fields[g];
        hosts[n].slots = hosts[n].slots > 0 ? 1 : 0;
        if (hosts[n].gpus > 0)
            groups[n].count /= hosts[n].gpus;
        kinds[n] =
            average(result, group->first, group->count, was->workers[group->first]);
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

/* All hosts at the same time, in chunks that grow. */
static int measure_hosts(const struct cv_call *call, const char *const *command)
{
    const struct values *values = call->values;
    struct cleave_execution_result *result = NULL;
    struct cv_reach reach = { .arena = call->arena,
                              .ssh = values->ssh,
                              .program = values->program,
                              .push = values->push != 0,
                              .push_from = values->push_from,
                              .connect_timeout_s = CLEAVE_HOST_TIMEOUT_S };
    struct cv_worker_list workers = { .platform = NULL };
    struct cv_spread spread = { .items = NULL };
    int status;

    CV_DO(cv_reach_open(&reach));
    CV_DO(cv_crew_load(values->hosts, &reach, &workers));
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

/* A first run warms up and gives the size of the sample. */
static int measure_here(const struct cv_call *call, const char *const *command,
                        struct cv_spread *spread, struct cv_spread *pipe)
{
    static const char *const sink[] = { "sh", "-c", "cat >/dev/null", NULL };
    struct cleave_worker worker = { .latency_s = 0 };
    double whole = 0, unused_s;

    CV_DO(measure(call, command, 1e18, spread));
    for (size_t i = 0; i < spread->count; i++)
        whole += spread->items[i].units;
    if (!(whole > 0))
        return cv_refuse("expected a sample with at least one record");
    spread_done(spread);
    for (int part = 1; part <= 16; part *= 4)
        CV_DO(measure(call, command, ceil(whole / part), spread));
    CV_DO(measure(call, sink, ceil(whole), pipe));
    CV_DO(measure(call, sink, ceil(whole / 4), pipe));
    if (spread->failed || pipe->failed)
        return cv_no_memory("the measurements");
    worker.speed_ups = spread_fit(spread, &worker.compute_latency_s);
    worker.bandwidth_ups = fmax(spread_fit(pipe, &unused_s), worker.speed_ups);
    worker.return_bandwidth_ups = worker.bandwidth_ups;
    return write_platform(call, &worker, whole, spread);
}

static int run(const struct cv_call *call)
{
    const struct values *values = call->values;
    struct cv_call shaped = *call;
    const char **command;
    struct cv_spread spread = { .items = NULL }, pipe = spread;
    const unsigned cores = cv_usable_cores();
    double load;
    int status;

    if (values->where.file != NULL)
        return calibrate_topology(values, call->arena);
    CV_DO(cv_run_command_check(call, true, false));
    CV_DO(cv_command_shape(&shaped, false, values->hosts != NULL));
    command = cv_call_words(&shaped, shaped.noperands);
    if (getloadavg(&load, 1) != 1)
        load = 0;
    status = values->hosts != NULL ? measure_hosts(call, command)
                                   : measure_here(call, command, &spread, &pipe);
    spread_done(&spread);
    spread_done(&pipe);
    if (status == CV_EXIT_DONE && load > cores)
        cv_print_note("this machine was busy: load average %.1f on %u core%s. The "
                      "measured values may be too slow",
                      load, cores, cores == 1 ? "" : "s");
    return status;
}

const struct cv_verb cv_verb_calibrate = {
    .name = "calibrate",
    .summary = "measure a command on a sample, write a platform file",
    .is_first = true,
    .description =
        "Runs the command on a sample of its input, in full and in parts, and writes a "
        "platform file with the measured costs: the start of the command "
        "(compute_latency), its bytes per second (speed) and the bytes per second that "
        "reach it (bandwidth). With --hosts it measures the hosts of a platform file and "
        "their links. 'cleave plan load' and 'cleave run --hosts' take the file. "
        "Comments in it show how far measurements were from its costs; if they differ "
        "much, or this machine is busy, cleave warns. With --topology nothing is run: "
        "SimGrid computes the costs that a master on that topology sees of each worker.",
    .operands = "[--] COMMAND [ARG]...",
    .max_operands = 100000,
    .command = true,
    .groups = CV_GROUPS(CV_GROUP("Measuring", options),
                        CV_GROUP("Instead of a command: a topology", topology_options)),
    .rules = rules,
    .examples = "cleave calibrate -i examples/unequal.yaml -- wc -l\n"
                "cleave calibrate --topology examples/two-sites.xml --workers 16",
    .values_size = sizeof(struct values),
    .run = run,
};
