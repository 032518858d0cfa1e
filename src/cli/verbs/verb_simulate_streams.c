/* verb_simulate_streams.c -- cleave simulate streams. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <cleave/trace.h>
#include "cli/common/output.h"
#include "cli/common/job_options.h"
#include "cli/stream/stream_show.h"
#include "cli/stream/stream_options.h"
#include "model/platform/platform_internal.h"

#define FIELD(name) offsetof(struct cv_stream_options, name)
#define WHERE(name) FIELD(where.name)

/* clang-format off */
static const struct cv_option run_options[] = {
    { .name = "--horizon", .letter = 'T', .kind = CV_OPTION_SECONDS, .argument = "TIME",
      .offset = FIELD(horizon_s), .required = true,
      .help = "When the streams end. What was sent by then is still computed." },
    { .name = "--rest", .kind = CV_OPTION_SECONDS, .argument = "TIME",
      .offset = FIELD(rest_s),
      .help = "What each master still holds when its stream ends: as much as its workers "
              "do in this time at declared speeds. Default 0." },
    { .name = "--declared-error", .kind = CV_OPTION_NUMBER, .argument = "FACTOR",
      .offset = FIELD(declared), .min = 1e-3, .max = 1e3,
      .help = "Plan, and begin, with speeds that are wrong: those of the platform times "
              "this, 0.8 for 20% too low. Default 1." },
    { .name = "--param", .kind = CV_OPTION_REPEAT, .argument = "KEY=VALUE",
      .offset = FIELD(params),
      .help = "Set a parameter of the policy, as 'cleave policies as4dr' lists them: "
              "rule, end, post, service, start and more. May be given several times." },
    { .name = "--window", .kind = CV_OPTION_TEXT, .argument = "FROM,TO",
      .offset = FIELD(window),
      .help = "Also sum up what happens between these two seconds. Default: up to the "
              "end of the streams." },
    CV_ROW_THREADS(FIELD),
    CV_ROW_ENGINE(FIELD),
    CV_TOPOLOGY_ROWS(WHERE),
    { .name = NULL },
};

static const struct cv_option output_options[] = {
    { .name = "--all-workers", .value = 1, .offset = FIELD(all_workers),
      .help = "List every stream, and what every worker did." },
    { .name = "--json", .value = 1, .offset = FIELD(json),
      .help = "Write JSON: throughput, CPU efficiency, rounds, contentions, idle time." },
    CV_ROW_TRACE(FIELD, "With one stream: write every event and order"),
    { .name = NULL },
};
/* clang-format on */

static const struct cv_option_group groups[] = {
    { "Streams", cv_simulated_stream_options },
    { "Choice", cv_stream_choice_options },
    { "Run", run_options },
    { "Output", output_options },
    { NULL, NULL },
};

/* --- what is asked for -------------------------------------------------------------- */

/* Options that are parameters of the policy, too. */
static int read_settings(const struct cv_stream_options *values,
                         const struct cleave_stream_task *task, struct cv_arena *arena,
                         struct cleave_stream_job *job)
{
    struct cv_settings settings;
    char text[40];
    int status = cv_settings_open(&settings, &values->params, 3, arena);

    if (status == CV_EXIT_DONE && task->period_s > 0) {
        snprintf(text, sizeof text, "period=%.17g", task->period_s);
        status = cv_settings_add(&settings, text, arena);
    }
    if (status == CV_EXIT_DONE && task->theta != cv_stream_presets.theta) {
        snprintf(text, sizeof text, "theta=%.17g", task->theta);
        status = cv_settings_add(&settings, text, arena);
    }
    if (status == CV_EXIT_DONE && task->margin > 0) {
        snprintf(text, sizeof text, "lambda=%.17g", task->margin);
        status = cv_settings_add(&settings, text, arena);
    }
    job->settings = settings.items;
    job->nsettings = settings.count;
    return status;
}

/* The streams that got workers. */
static int used_streams(const struct cleave_stream_plan *plan, struct cv_arena *arena,
                        struct cleave_stream_job *job, uint32_t **out_of)
{
    struct cleave_stream *streams = cv_array(arena, plan->nstreams, sizeof *streams);
    uint32_t *of = cv_array(arena, plan->nstreams, sizeof *of);

    if (streams == NULL || of == NULL)
        return cv_no_memory("the streams");
    for (uint32_t m = 0; m < plan->nstreams; m++) {
        if (plan->clusters[m].nworkers == 0)
            continue;
        of[job->nstreams] = m;
        streams[job->nstreams++] = plan->clusters[m];
    }
    if (job->nstreams == 0)
        return cv_refuse(
            "no worker can serve a stream in rounds of %g s; see 'cleave plan streams'",
            plan->period_s);
    job->streams = streams;
    *out_of = of;
    return CV_EXIT_DONE;
}

static int make_job(const struct cv_stream_options *values,
                    const struct cv_stream_case *streams, struct cv_arena *arena,
                    struct cleave_stream_job *job, uint32_t **out_of)
{
    struct cleave_error err;
    int status;

    *job = (struct cleave_stream_job){ .platform = streams->platform,
                                       .horizon_s = values->horizon_s,
                                       .rest_s = values->rest_s,
                                       .result_ratio = values->result_ratio,
                                       .declared_factor = values->declared,
                                       .threads = (unsigned)values->threads,
                                       .simgrid = streams->simgrid };
    status = read_settings(values, &streams->task, arena, job);
    if (status == CV_EXIT_DONE && values->window != NULL)
        status = cv_stream_window(values->window, &job->window_from_s, &job->window_to_s);
    if (status == CV_EXIT_DONE)
        status = used_streams(streams->plan, arena, job, out_of);
    if (status != CV_EXIT_DONE || values->trace == NULL)
        return status;
    if (streams->plan->nstreams > 1)
        return cv_refuse("--trace: expected one stream, got %u", streams->plan->nstreams);
    if (cleave_trace_new(&job->trace, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    return CV_EXIT_DONE;
}

/* --- what came out ------------------------------------------------------------------ */

/* Sums and means over the streams. */
static int sum_up(struct cv_stream_outcome *outcome, struct cv_arena *arena)
{
    const struct cleave_streams_result *result = outcome->result;
    struct cleave_stream_round *rounds;

    for (uint32_t s = 0; s < result->nstreams; s++)
        if (result->streams[s].nrounds > outcome->nrounds)
            outcome->nrounds = result->streams[s].nrounds;
    rounds = cv_array(arena, outcome->nrounds, sizeof *rounds);
    if (rounds == NULL)
        return cv_no_memory("the rounds");
    for (uint32_t s = 0; s < result->nstreams; s++) {
        const struct cleave_stream_result *stream = &result->streams[s];

        outcome->idle_s += stream->idle_s;
        outcome->wait_send_s += stream->wait_send_s;
        outcome->wait_return_s += stream->wait_return_s;
        outcome->chunks += stream->chunks;
        outcome->events += stream->events;
        outcome->members += stream->members;
        for (size_t i = 0; i < stream->nrounds; i++) {
            rounds[i].time_s += stream->rounds[i].time_s * stream->rounds[i].workers;
            rounds[i].sigma_s += stream->rounds[i].sigma_s * stream->rounds[i].workers;
            rounds[i].workers += stream->rounds[i].workers;
        }
    }
    for (size_t i = 0; i < outcome->nrounds; i++) {
        rounds[i].time_s /= rounds[i].workers;
        rounds[i].sigma_s /= rounds[i].workers;
    }
    outcome->rounds = rounds;
    return CV_EXIT_DONE;
}

/* The workers in the order of service, by which the trace numbers them. */
static enum cleave_status served_platform(const struct cleave_stream_job *job,
                                          struct cv_arena *arena,
                                          struct cleave_platform **out,
                                          struct cleave_error *err)
{
    const uint32_t n = job->streams[0].nworkers, *members = job->streams[0].workers;
    struct cleave_worker *workers = cv_array(arena, n, sizeof *workers);
    struct cv_group *names = cv_array(arena, n, sizeof *names);

    if (workers == NULL || names == NULL)
        return cv_fail_memory(err, "the trace");
    for (uint32_t i = 0; i < n; i++) {
        workers[i] = cleave_platform_workers(job->platform)[members[i]];
        names[i].name = cleave_platform_worker_name(job->platform, members[i]);
        names[i].count = 1;
    }
    return cv_platform_build(cleave_platform_port(job->platform), workers, names, n, out,
                             NULL, err);
}

static int save_trace(const struct cv_call *call, const struct cleave_stream_job *job,
                      double units)
{
    const struct cv_stream_options *values = call->values;
    struct cleave_platform *platform = NULL;
    struct cleave_error err;
    int status;

    if (served_platform(job, call->arena, &platform, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    status = cv_trace_call(job->trace, call);
    if (status == CV_EXIT_DONE)
        status = cv_trace_add_facts(job->trace,
                                    &(struct cleave_trace_facts){
                                        .engine = cv_engine_used(values->engine,
                                                                 &values->where) });
    if (status == CV_EXIT_DONE)
        status = cv_trace_write(values->trace,
                                &(struct cv_trace_context){ .trace = job->trace,
                                                            .platform = platform,
                                                            .policy = "as4dr",
                                                            .load = units });
    cleave_platform_free(platform);
    return status;
}

static int show(struct cv_stream_outcome *outcome, struct cv_arena *arena)
{
    const struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false };
    int status = sum_up(outcome, arena);

    if (status != CV_EXIT_DONE)
        return status;
    if (outcome->options->json)
        return cv_stream_outcome_json(outcome);
    cv_stream_outcome_text(outcome, &screen, &text);
    return cv_print_take(&text);
}

static int simulate(const struct cv_call *call, const struct cv_stream_case *streams)
{
    const struct cv_stream_options *values = call->values;
    struct cleave_streams_result *result = NULL;
    struct cleave_stream_job job = { 0 };
    struct cleave_error err;
    uint32_t *of = NULL;
    int status = make_job(values, streams, call->arena, &job, &of);

    if (status == CV_EXIT_DONE &&
        cleave_simulate_streams(&job, &result, &err) != CLEAVE_OK)
        status = cv_print_status(&err);
    if (status == CV_EXIT_DONE) {
        struct cv_stream_outcome outcome = {
            .streams = streams, .options = values, .job = &job, .result = result, .of = of
        };

        status = show(&outcome, call->arena);
    }
    if (status == CV_EXIT_DONE && job.trace != NULL)
        status = save_trace(call, &job, result->whole.units);
    cleave_streams_result_free(result);
    cleave_trace_free(job.trace);
    return status;
}

static int run(const struct cv_call *call)
{
    const struct cv_stream_options *values = call->values;
    struct cv_stream_case streams = { 0 };
    int status = CV_EXIT_DONE;

    if (!(values->horizon_s > 0))
        status = cv_refuse("--horizon: expected a positive time, got 0");
    if (status == CV_EXIT_DONE)
        status = cv_stream_case_open(values, call->arena, &streams);
    if (status == CV_EXIT_DONE)
        status = simulate(call, &streams);
    cv_stream_case_close(&streams);
    return status;
}

const struct cv_verb cv_verb_simulate_streams = {
    .name = "simulate streams",
    .summary = "run data streams on machines whose speeds are wrong or change",
    .description =
        "Chooses the workers of each stream as 'cleave plan streams' does and lets their "
        "masters serve them by policy as4dr until the streams end and the last result is "
        "there: loads follow the speeds that are measured, so wrong declared speeds "
        "(--declared-error) and speeds that change (profiles in the platform file) are "
        "made up for. With --period auto the period follows, too. Shows throughput, the "
        "part of the time that the CPUs compute, how long rounds were, and how often a "
        "port had to be waited for.",
    .groups = groups,
    .examples = "cleave simulate streams --platform examples/streams.yaml --streams 2 "
                "--horizon 600\n"
                "cleave simulate streams -p examples/streams.yaml -M 2 -T 600 --period 2 "
                "--declared-error 0.5 --json\n"
                "cleave simulate streams -p examples/streams.yaml -T 600 --rest 10 "
                "--param end=spread --param service=edf",
    .presets = &cv_stream_presets,
    .values_size = sizeof(struct cv_stream_options),
    .run = run,
};
