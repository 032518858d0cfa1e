/* streams_task.c -- the task streams: data streams without an end, and the workers that serve
 * them. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cleave/trace.h>
#include "base/quantity.h"
#include "cli/task/streams_task.h"
#include "model/platform/platform_internal.h"

/* clang-format off */
#define REST_OF_JOB \
    CV_OPTION('M', "--streams", COUNT, "M", streams, \
        "Number of streams, each with its own master. Default 1.", \
        .min = 1, .max = 1e6), \
    CV_OPTION('t', "--period", TEXT, "TIME|auto", period, \
        "How long a round should last. Default auto: the shortest in which the masters " \
        "get 95% of the throughput that rounds without end would give, rounded up to " \
        "two digits."), \
    CV_OPTION(0, "--margin", TEXT, "LAMBDA", margin, \
        "Stretch the delays between workers by this part, because costs are not sure: " \
        "0.1 for 10%. 0.1,far=0.3 sets another error for worker far; this many workers may " \
        "be named. Default 0."), \
    CV_OPTION(0, "--theta", NUMBER, "T", theta, \
        "The part of a round that is sent first; the rest follows while it is " \
        "computed. Default 0.5.", .min = 0.05, .max = 0.95), \
    CV_OPTION(0, "--result-ratio", NUMBER, "D", result_ratio, \
        "Units of result that come back to the master per unit. Default 0: results are " \
        "too small to matter.", .min = 0, .max = 1e9)

static const struct cv_option plan_job_options[] = {
    CV_ROW_PLATFORM(" Each stream has a master with the port that the file says.",
        .required = true),
    REST_OF_JOB,
};

static const struct cv_option job_options[] = {
    CV_ROW_PLATFORM(" Each stream has a master with the port that the file names. On a "
                    "topology it is the view of masters, with workers named as hosts are; by "
                    "default as 'cleave calibrate --topology' measures it."),
    REST_OF_JOB,
};

static const struct cv_option choice_options[] = {
    CV_OPTION(0, "--demand", TEXT, "3,1,1", demand,
        "The wanted shares of the streams, one number each: here the first should get three "
        "fifths of all. They are followed as far as they cost no throughput in all. Default: "
        "equal shares. 'any' sets no shares, so that a stream may get nothing."),
    CV_OPTION(0, "--weights", TEXT, "own|ring", weights,
        "Charge masters for a worker: own, the default, by its own messages, with the best "
        "order of service; ring, as published, after the worst worker, which wastes much."),
    CV_OPTION(0, "--effort", NUMBER, "N", effort,
        "How long to look for better clusters, in seconds of a machine of 2020. Work is "
        "counted, not timed: the same effort gives the same plan anywhere. Default 2.",
        .min = 0.001, .max = 1e6),
};

static const struct cv_option period_options[] = {
    CV_FLAG(0, "--cip", 1, cip,
        "Instead of a choice: the shortest round in which one master can serve the workers "
        "so that no worker waits for a port and none is idle, with the part sent first, the "
        "first load and the delay of each. A worker that starts too slowly for such a round "
        "is left out, with the reason."),
};

static const struct cv_option run_options[] = {
    CV_OPTION('T', "--horizon", SECONDS, "TIME", horizon_s,
        "End the streams at this time. Data sent before is still computed.",
        .required = true),
    CV_OPTION(0, "--rest", SECONDS, "TIME", rest_s,
        "Data that each master still holds when its stream ends: the work of its workers "
        "during this time at declared speeds. Default 0."),
    CV_OPTION(0, "--declared-error", NUMBER, "FACTOR", declared,
        "Plan, and begin, with wrong speeds: those of the platform times this, 0.8 for 20% "
        "too low. Default 1.", .min = 1e-3, .max = 1e3),
    CV_OPTION(0, "--param", REPEAT, "KEY=VALUE", params,
        "Set a parameter of the policy, as 'cleave policies as4dr' lists them: rule, "
        "end, post, service, start and more. May be given several times."),
    CV_OPTION(0, "--window", TEXT, "FROM,TO", window,
        "Also sum up what happens between these two seconds. Default: up to the end of "
        "the streams."),
    CV_ROW_THREADS,
    CV_ROW_ENGINE,
    CV_TOPOLOGY_ROWS,
};

static const struct cv_option plan_output[] = {
    CV_FLAG(0, "--all-workers", 1, all_workers,
        "List all streams and workers; by default the first twenty, and five of those "
        "left out."),
    CV_FLAG(0, "--json", 1, json,
        "Write JSON: period, throughput, bound, clusters, and delay, throughput, cluster "
        "or reason of every worker."),
};

static const struct cv_option simulate_output[] = {
    CV_FLAG(0, "--all-workers", 1, all_workers,
        "List every stream, and what every worker did."),
    CV_FLAG(0, "--json", 1, json,
        "Write JSON: throughput, CPU efficiency, rounds, contentions, idle time."),
    CV_ROW_TRACE("With one stream: write every event and order"),
};

static const struct cv_option_rule rules[] = {
    { 0, "--cip", CV_EXCLUDES, "--streams --period --demand",
      "--cip: is about one stream and all workers; leave out %2" },
    CV_RULES_PLATFORM,
    CV_TOPOLOGY_RULES(" --workers"),
    { .options = NULL },
};
/* clang-format on */

static int read_period(const char *text, double *out_s)
{
    *out_s = 0;
    if (strcmp(text, "auto") == 0)
        return CV_EXIT_DONE;
    if (cv_quantity_parse(text, CV_SECONDS, out_s) != NULL || !(*out_s > 0))
        return cv_refuse(
            "--period: expected a positive time such as 5 or 500ms, or auto, got '%s'",
            CV_ECHO(text));
    return CV_EXIT_DONE;
}

static bool read_number(const char *text, double *out)
{
    return cv_quantity_parse(text, CV_NUMBER, out) == NULL;
}

static int read_demands(const char *text, uint32_t n, struct cv_arena *arena,
                        const double **out)
{
    double *demands = cv_need(arena, n, sizeof *demands, "the demands"), demand;
    char *rest = cv_need_text(arena, text, "the demands");
    uint32_t given = 0;

    for (; rest != NULL; given++) {
        if (!read_number(strsep(&rest, ","), &demand) || !(demand > 0))
            return cv_refuse(
                "--demand: expected positive numbers such as 3,1,1, or any, got '%s'",
                CV_ECHO(text));
        if (given < n)
            demands[given] = demand;
    }
    if (given != n)
        return cv_refuse("--demand: expected one number per stream, %u in all, got %u", n,
                         given);
    *out = demands;
    return CV_EXIT_DONE;
}

/* LAMBDA[,WORKER=LAMBDA]... */
static int read_margins(const char *text, const struct cleave_platform *platform,
                        struct cv_arena *arena, struct cleave_stream_task *task)
{
    const uint32_t n = cleave_platform_nworkers(platform);
    double *margins = cv_need(arena, n, sizeof *margins, "the margins"), margin;
    char *rest = cv_need_text(arena, text, "the margins");

    for (bool first = true; rest != NULL; first = false) {
        char *name = strsep(&rest, ","), *value = strchr(name, '=');
        bool found = first;

        if (value != NULL)
            *value++ = '\0';
        if ((value == NULL) != first || !read_number(first ? name : value, &margin) ||
            !(margin >= 0 && margin <= 1000))
            return cv_refuse("--margin: expected a number from 0 to 1000, and others for "
                             "some workers, such as 0.1,far=0.3, got '%s'",
                             CV_ECHO(text));
        if (first)
            task->margin = margin;
        for (uint32_t w = 0; w < n; w++)
            if (first || strcmp(cleave_platform_worker_name(platform, w), name) == 0) {
                margins[w] = margin;
                found = true;
            }
        if (!found)
            return cv_refuse("--margin: no worker is called '%s'", name);
    }
    task->margins = margins;
    return CV_EXIT_DONE;
}

static int read_choice(const struct cv_task_options *options, struct cv_arena *arena,
                       struct cleave_stream_task *task)
{
    static const char *const words[] = { "own", "ring" };
    int weights;

    CV_DO(cv_word_read("--weights", options->weights, words, 2, &weights));
    if (weights == 1)
        task->weights = CLEAVE_WEIGHTS_RING;
    if (options->demand == NULL)
        return CV_EXIT_DONE;
    if (strcmp(options->demand, "any") == 0) {
        task->shares = CLEAVE_SHARES_ANY;
        return CV_EXIT_DONE;
    }
    return read_demands(options->demand, task->nstreams, arena, &task->demands);
}

static int read_window(const char *text, struct cv_arena *arena, double *out_from_s,
                       double *out_to_s)
{
    char *to = cv_need_text(arena, text, "the window"), *from = strsep(&to, ",");

    if (to == NULL || !read_number(from, out_from_s) || !read_number(to, out_to_s) ||
        !(*out_from_s >= 0) || !(*out_to_s > *out_from_s))
        return cv_refuse("--window: expected two times in seconds, the second the later "
                         "one, such as 100,400, got '%s'",
                         CV_ECHO(text));
    return CV_EXIT_DONE;
}

/* Read everything, and plan. */
static int open_job(struct cv_task_call *task)
{
    static const double work_per_s = 2e8; /* units of work that take about a second */
    const struct cv_task_options *options = task->options;
    struct cv_streams_job *job = task->job;
    struct cleave_stream_task *streams = &job->task;

    if (task->call->verb->run == cv_task_simulate && !(options->horizon_s > 0))
        return cv_refuse("--horizon: expected a positive time, got 0");
    streams->nstreams = (uint32_t)options->streams;
    streams->theta = options->theta;
    streams->result_ratio = options->result_ratio;
    streams->declared_factor = options->declared;
    streams->work = (uint64_t)(options->effort * work_per_s);
    CV_DO(read_period(options->period, &streams->period_s));
    CV_DO(read_choice(options, task->arena, streams));
    CV_DO(cv_topology_open(options->engine, &options->where, task->arena, &job->simgrid));
    CV_DO(cv_task_platform(task, job->simgrid, &job->platform));
    streams->platform = job->platform;
    if (options->margin != NULL)
        CV_DO(read_margins(options->margin, job->platform, task->arena, streams));
    if (!options->cip)
        CV_CALL(cleave_plan_streams(streams, &job->plan, &err));
    return CV_EXIT_DONE;
}

static void close_job(struct cv_task_call *task)
{
    struct cv_streams_job *job = task->job;

    cleave_streams_result_free(job->result);
    cleave_platform_free(job->served);
    cleave_stream_plan_free(job->plan);
    cleave_platform_free(job->platform);
}

/* --cip: the shortest round for all workers of one master; else the plan has been made. */
static int plan(struct cv_task_call *task)
{
    const struct cv_task_options *options = task->options;
    struct cv_streams_job *job = task->job;
    const enum cleave_port port = cleave_platform_port(job->platform);
    const uint32_t n = cleave_platform_nworkers(job->platform);
    struct cleave_worker *workers =
        cv_need(task->arena, n, sizeof *workers, "the period");
    double *theta = cv_need(task->arena, n, sizeof *theta, "the period");
    const struct cv_stream_ring ring = {
        .workers = workers,
        .n = n,
        .result_ratio = port == CLEAVE_PORT_ONE ? 0 : options->result_ratio,
        .theta = theta,
        .margin = job->task.margins,
    };
    struct cleave_error err;

    if (!options->cip)
        return CV_EXIT_DONE;
    if (port == CLEAVE_PORT_MULTI)
        return cv_refuse("--cip: with port: multi links share no port, so that no worker "
                         "has to wait in any round");
    for (uint32_t w = 0; w < n; w++) {
        workers[w] = cv_stream_as_duplex(cleave_platform_workers(job->platform)[w], port,
                                         options->result_ratio);
        theta[w] = options->theta;
    }
    job->cip_workers = cv_need(task->arena, n, sizeof *job->cip_workers, "the period");
    if (cv_stream_cip_served(&ring, 2 / CV_LATENCIES_PER_ROUND, task->arena, &job->cip,
                             job->cip_workers, &job->ncip, &err) != CLEAVE_OK)
        return cv_refuse("--cip: %s", err.text);
    return CV_EXIT_DONE;
}

/* Options that are parameters of the policy as well. */
static int read_settings(struct cv_task_call *task)
{
    struct cv_streams_job *job = task->job;
    const struct cleave_stream_task *streams = &job->task;
    struct cv_settings settings;

    CV_DO(cv_settings_open(&settings, &task->options->params, 3, task->arena));
    CV_DO(cv_settings_number(&settings, "period", streams->period_s));
    if (streams->theta != cv_task_presets.theta)
        CV_DO(cv_settings_number(&settings, "theta", streams->theta));
    CV_DO(cv_settings_number(&settings, "lambda", streams->margin));
    job->job.settings = settings.items;
    job->job.nsettings = settings.count;
    return CV_EXIT_DONE;
}

/* Only streams that got workers are simulated. */
static int find_used(struct cv_task_call *task)
{
    struct cv_streams_job *job = task->job;
    const struct cleave_stream_plan *found = job->plan;
    struct cleave_stream *streams =
        cv_need(task->arena, found->nstreams, sizeof *streams, "the streams");
    uint32_t *of = cv_need(task->arena, found->nstreams, sizeof *of, "the streams");

    for (uint32_t m = 0; m < found->nstreams; m++) {
        if (found->clusters[m].nworkers == 0)
            continue;
        of[job->job.nstreams] = m;
        streams[job->job.nstreams++] = found->clusters[m];
    }
    if (job->job.nstreams == 0)
        return cv_refuse(
            "no worker can serve a stream in rounds of %g s; see 'cleave plan streams'",
            found->period_s);
    job->job.streams = streams;
    job->of = of;
    return CV_EXIT_DONE;
}

static int make_job(struct cv_task_call *task)
{
    const struct cv_task_options *options = task->options;
    struct cv_streams_job *job = task->job;

    job->job = (struct cleave_stream_job){ .platform = job->platform,
                                           .horizon_s = options->horizon_s,
                                           .rest_s = options->rest_s,
                                           .result_ratio = options->result_ratio,
                                           .declared_factor = options->declared,
                                           .threads = (unsigned)options->threads,
                                           .simgrid = job->simgrid,
                                           .trace = task->trace };
    CV_DO(read_settings(task));
    if (options->window != NULL)
        CV_DO(read_window(options->window, task->arena, &job->job.window_from_s,
                          &job->job.window_to_s));
    CV_DO(find_used(task));
    if (task->trace != NULL && job->plan->nstreams > 1)
        return cv_refuse("--trace: expected one stream, got %u", job->plan->nstreams);
    return CV_EXIT_DONE;
}

/* Sums and means over the streams. */
static int sum_up(struct cv_task_call *task)
{
    struct cv_streams_job *job = task->job;
    const struct cleave_streams_result *result = job->result;
    struct cleave_stream_round *rounds;

    for (uint32_t s = 0; s < result->nstreams; s++)
        if (result->streams[s].nrounds > job->nrounds)
            job->nrounds = result->streams[s].nrounds;
    rounds = cv_need(task->arena, job->nrounds, sizeof *rounds, "the rounds");
    for (uint32_t s = 0; s < result->nstreams; s++) {
        const struct cleave_stream_result *stream = &result->streams[s];

        job->idle_s += stream->idle_s;
        job->wait_send_s += stream->wait_send_s;
        job->wait_return_s += stream->wait_return_s;
        job->chunks += stream->chunks;
        job->events += stream->events;
        job->members += stream->members;
        for (size_t i = 0; i < stream->nrounds; i++) {
            rounds[i].time_s += stream->rounds[i].time_s * stream->rounds[i].workers;
            rounds[i].sigma_s += stream->rounds[i].sigma_s * stream->rounds[i].workers;
            rounds[i].workers += stream->rounds[i].workers;
        }
    }
    for (size_t i = 0; i < job->nrounds; i++) {
        rounds[i].time_s /= rounds[i].workers;
        rounds[i].sigma_s /= rounds[i].workers;
    }
    job->rounds = rounds;
    return CV_EXIT_DONE;
}

/* The workers in the order of service, by which the trace numbers them. */
static enum cleave_status find_served(struct cv_task_call *task, struct cleave_error *err)
{
    struct cv_streams_job *job = task->job;
    const struct cleave_stream *first = job->job.streams;
    const uint32_t n = first != NULL ? first->nworkers : 0;
    const uint32_t *members = first != NULL ? first->workers : NULL;
    struct cleave_worker *workers = cv_array(task->arena, n, sizeof *workers);
    struct cv_group *names = cv_array(task->arena, n, sizeof *names);

    if (workers == NULL || names == NULL)
        return cv_fail_memory(err, "the trace");
    for (uint32_t i = 0; i < n; i++) {
        workers[i] = cleave_platform_workers(job->platform)[members[i]];
        names[i].name = cleave_platform_worker_name(job->platform, members[i]);
        names[i].count = 1;
    }
    return cv_platform_build(cleave_platform_port(job->platform), workers, names, n,
                             &job->served, NULL, err);
}

static int simulate(struct cv_task_call *task)
{
    const struct cv_task_options *options = task->options;
    struct cv_streams_job *job = task->job;

    CV_DO(make_job(task));
    CV_CALL(cleave_simulate_streams(&job->job, &job->result, &err));
    if (task->trace != NULL)
        CV_CALL(find_served(task, &err));
    task->facts.engine = cv_engine_used(options->engine, &options->where);
    task->traced = (struct cv_trace_context){ .platform = job->served,
                                              .policy = "as4dr",
                                              .load = job->result->whole.units };
    return sum_up(task);
}

/* clang-format off */
const struct cv_task_kind cv_task_streams = {
    .job_size = sizeof(struct cv_streams_job),
    .open = open_job,
    .close = close_job,
    .planned = &(const struct cv_task_part){ plan, cv_streams_plan_json, cv_streams_plan_text },
    .simulated = &(const struct cv_task_part){ simulate, cv_streams_result_json, cv_streams_result_text },
    .plan = {
        .name = "plan streams",
        .summary = "which machines serve which data stream, and in which order",
        .description =
            "Data streams have no known end. Each has a master, which gives its workers a "
            "chunk per round, in two parts: a worker computes one part while the other "
            "travels. Rounds last about the same time, the period. Chooses the workers of "
            "each stream, and the order in which they are served, so that all streams "
            "together get the most: no worker waits for a port of its master, and a worker "
            "that would give too little for its time is left out, with the reason. A bound "
            "on every choice is printed next to it.",
        .groups = CV_GROUPS(CV_GROUP("Streams", plan_job_options),
                            CV_GROUP("Choice", choice_options),
                            CV_GROUP("Period", period_options),
                            CV_GROUP("Output", plan_output)),
        .examples =
            "cleave plan streams --platform examples/streams.yaml --streams 2\n"
            "cleave plan streams -p examples/streams.yaml -M 3 --period 2 --demand 3,1,1\n"
            "cleave plan streams -p examples/streams.yaml -M 2 -t 2 --weights ring --json\n"
            "cleave plan streams -p examples/streams.yaml --cip --margin 0.1",
        CV_TASK_VERB(cv_task_plan),
    },
    .simulate = {
        .name = "simulate streams",
        .summary = "run data streams on machines whose speeds are wrong or change",
        .description =
            "Chooses the workers of each stream as 'cleave plan streams' does and lets their "
            "masters serve them by policy as4dr until the streams end and the last result "
            "arrives. Loads follow the measured speeds, which corrects wrong declared speeds "
            "(--declared-error) and changing speeds (profiles in the platform file). With "
            "--period auto the period follows, too. Shows throughput, the part of the time "
            "that the CPUs compute, the length of rounds, and how often a worker waited for "
            "a port.",
        .groups = CV_GROUPS(CV_GROUP("Streams", job_options),
                            CV_GROUP("Choice", choice_options),
                            CV_GROUP("Run", run_options),
                            CV_GROUP("Output", simulate_output)),
        .examples = "cleave simulate streams --platform examples/streams.yaml --streams 2 "
                    "--horizon 600\n"
                    "cleave simulate streams -p examples/streams.yaml -M 2 -T 600 --period 2 "
                    "--declared-error 0.5 --json\n"
                    "cleave simulate streams -p examples/streams.yaml -T 600 --rest 10 "
                    "--param end=spread --param service=edf",
        CV_TASK_VERB(cv_task_simulate),
    },
};
/* clang-format on */
