/* streams_task.c -- the task streams: data streams without an end, and the workers that serve
 * them. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cleave/stream_plan.h>
#include <cleave/streams.h>
#include "base/quantity.h"
#include "cli/task/task.h"
#include "model/platform/platform_internal.h"
#include "model/stream/stream_costs.h"

/* The job of the task streams. */
struct cv_streams_job {
    struct cleave_platform *platform; /* owned */
    struct cleave_stream_task task;
    struct cleave_stream_plan *plan;      /* owned; NULL with --cip */
    struct cv_cip cip;                    /* with --cip: of cip_workers   */
    uint32_t *cip_workers, ncip;          /* the workers that are not left out */
    const struct cleave_simgrid *simgrid; /* NULL: the native engine; in the arena */

    /* simulate */
    struct cleave_stream_job job;
    struct cleave_streams_result *result; /* owned */
    /* per stream of the result: its number in the plan */
    const uint32_t *of;
    struct cleave_platform *served; /* owned: workers of a trace, as they are served */
    const struct cleave_stream_round *rounds; /* rounds of all streams together */
    size_t nrounds;
    double idle_s, wait_send_s, wait_return_s;
    uint64_t chunks, events;
    uint32_t members;
};

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

/* --- how jobs are shown ------------------------------------------------------------- */

static const char *name_of(const struct cv_streams_job *job, uint32_t worker)
{
    return cleave_platform_worker_name(job->platform, worker);
}

static void put_clusters(struct cv_json *json, const struct cv_streams_job *job)
{
    cv_field_list(json, "clusters");
    for (uint32_t m = 0; m < job->plan->nstreams; m++) {
        const struct cleave_stream *cluster = &job->plan->clusters[m];

        cv_json_on_line(json);
        cv_json_list(json);
        for (uint32_t i = 0; i < cluster->nworkers; i++)
            cv_json_text(json, name_of(job, cluster->workers[i]));
        cv_json_end(json);
    }
    cv_json_end(json);
}

static void put_shares(struct cv_json *json, const struct cv_streams_job *job)
{
    const struct cleave_stream_plan *plan = job->plan;

    cv_field_list(json, "shares");
    for (uint32_t m = 0; m < plan->nstreams; m++) {
        const struct cleave_plan_stream *stream = &plan->streams[m];
        const double *demands = job->task.demands;

        cv_fields(json, "{demand %g, throughput %g, wanted %g, workers %u, delay_sum %g}",
                  demands != NULL ? demands[m] : 1, stream->throughput_ups,
                  stream->wanted_ups, plan->clusters[m].nworkers, stream->delay_sum_s);
    }
    cv_json_end(json);
}

static void put_workers(struct cv_json *json, const struct cv_streams_job *job)
{
    cv_field_list(json, "workers");
    for (uint32_t w = 0; w < job->plan->nworkers; w++) {
        const struct cleave_plan_worker *worker = &job->plan->workers[w];

        cv_fields(json, "{name %s, delay %g, start %g, throughput %g, theta %g",
                  name_of(job, w), worker->delay_s, worker->start_s,
                  worker->throughput_ups, worker->theta);
        if (job->task.margins != NULL)
            cv_field_number(json, "margin", job->task.margins[w]);
        cv_fields(json, "cluster %g, reason %s}",
                  worker->stream == UINT32_MAX ? NAN : (double)worker->stream,
                  worker->reason);
    }
    cv_json_end(json);
}

/* The period and the number of streams, which both results begin with. */
static void put_head(struct cv_json *json, const struct cleave_stream_plan *plan)
{
    cv_fields(json, "period %g, period_chosen %d, streams %u", plan->period_s,
              plan->period_chosen, plan->nstreams);
}

/* Whether --cip leaves a worker out, and why; *next is the first that is served from it on. */
static bool cip_leaves_out(const struct cv_streams_job *job, uint32_t worker,
                           uint32_t *next, char *why, size_t room)
{
    if (*next < job->ncip && job->cip_workers[*next] == worker) {
        ++*next;
        return false;
    }
    snprintf(why, room,
             "its two latencies of computing take %.6g s, a round of the others lasts "
             "%.6g s",
             2 * cleave_platform_workers(job->platform)[worker].compute_latency_s,
             job->cip.tau_s);
    return true;
}

/* --cip: the shortest round for the workers of one master. */
static void cip_json(const struct cv_streams_job *job, struct cv_json *json)
{
    const struct cv_cip *cip = &job->cip;
    uint32_t next = 0;
    char why[200];

    cv_fields(json, "period %g, least_period %g", cip->tau_s, cip->least_tau_s);
    cv_field_list(json, "workers");
    for (uint32_t w = 0; w < cleave_platform_nworkers(job->platform); w++) {
        const bool left_out = cip_leaves_out(job, w, &next, why, sizeof why);

        cv_fields(json, "{name %s, theta %g, first_load %g, delay %g, reason %s}",
                  name_of(job, w), left_out ? NAN : cip->theta[next - 1],
                  left_out ? NAN : cip->first_load[next - 1],
                  left_out ? NAN : cip->delay[next - 1], left_out ? why : NULL);
    }
    cv_json_end(json);
}

static void plan_json(struct cv_task_call *task, struct cv_json *json)
{
    const struct cv_streams_job *job = task->job;
    const struct cleave_stream_plan *plan = job->plan;
    double over;

    if (task->options->cip) {
        cip_json(job, json);
        return;
    }
    over =
        plan->throughput_ups > 0 ? plan->upper_bound_ups / plan->throughput_ups - 1 : 0;
    put_head(json, plan);
    cv_fields(json,
              "margin %g, theta %g, result_ratio %g, weights %s, throughput %g, "
              "upper_bound %g, over_bound %g, optimal %d, selected %u, least_share %g",
              job->task.margin, job->task.theta, job->task.result_ratio,
              job->task.weights == CLEAVE_WEIGHTS_RING ? "ring" : "own",
              plan->throughput_ups, plan->upper_bound_ups, over > 0 ? over : 0,
              plan->optimal, plan->selected, plan->least_share);
    put_clusters(json, job);
    put_shares(json, job);
    put_workers(json, job);
}

static void put_use(struct cv_json *json, const struct cleave_stream_use *use)
{
    cv_fields(json, "throughput %g, cpu_efficiency %g, busy %g", use->throughput_ups,
              use->useful, use->busy);
}

static void put_stream(struct cv_json *json, const struct cleave_stream_result *stream)
{
    cv_fields(json, "{workers %u", stream->nworkers);
    put_use(json, &stream->whole);
    cv_fields(json, "end %g, idle_s %g, contentions %llu}", stream->end_s, stream->idle_s,
              (unsigned long long)stream->contentions);
}

static void put_streams(struct cv_json *json, const struct cv_streams_job *job)
{
    static const struct cleave_stream_result none = { 0 };
    const struct cleave_streams_result *result = job->result;
    uint32_t next = 0;

    cv_field_list(json, "per_stream");
    for (uint32_t m = 0; m < job->plan->nstreams; m++)
        put_stream(json, next < result->nstreams && job->of[next] == m
                             ? &result->streams[next++]
                             : &none);
    cv_json_end(json);
}

static void put_rounds(struct cv_json *json, const struct cv_streams_job *job)
{
    cv_field_list(json, "rounds");
    for (size_t i = 0; i < job->nrounds; i++)
        cv_fields(json, "{time %g, mean_sigma %g, workers %u}", job->rounds[i].time_s,
                  job->rounds[i].sigma_s, job->rounds[i].workers);
    cv_json_end(json);
}

static void put_members(struct cv_json *json, const struct cv_streams_job *job)
{
    cv_field_list(json, "workers");
    for (uint32_t i = 0; i < job->result->nworkers; i++) {
        const struct cleave_stream_worker *worker = &job->result->workers[i];

        cv_fields(json,
                  "{name %s, cluster %u, rounds %u, units %g, useful_s %g, busy_s %g, "
                  "idle_s %g, end %g, reason %s}",
                  name_of(job, worker->worker), job->of[worker->stream], worker->rounds,
                  worker->units, worker->useful_s, worker->busy_s, worker->idle_s,
                  worker->end_s, worker->left_out);
    }
    cv_json_end(json);
}

static void result_json(struct cv_task_call *task, struct cv_json *json)
{
    const struct cv_streams_job *job = task->job;
    const struct cleave_streams_result *result = job->result;
    const struct cleave_stream_plan *plan = job->plan;

    put_head(json, plan);
    cv_fields(json,
              "horizon %g, rest_s %g, result_ratio %g, declared_factor %g, "
              "planned_throughput %g, selected %u, units %g",
              job->job.horizon_s, job->job.rest_s, job->job.result_ratio,
              job->job.declared_factor, plan->throughput_ups, job->members,
              result->whole.units);
    put_use(json, &result->whole);
    cv_fields(json, "end %g, throughput_in_time %g, window {from %g, to %g",
              result->end_s, result->throughput_ups, job->job.window_from_s,
              job->job.window_to_s > 0 ? job->job.window_to_s : job->job.horizon_s);
    put_use(json, &result->window);
    cv_fields(json,
              "} contentions %llu, wait_send_s %g, wait_return_s %g, idle_s %g, "
              "chunks %llu, events %llu",
              (unsigned long long)result->contentions, job->wait_send_s,
              job->wait_return_s, job->idle_s, (unsigned long long)job->chunks,
              (unsigned long long)job->events);
    put_rounds(json, job);
    put_streams(json, job);
    put_members(json, job);
}

/* How much is shown unless all is asked for. */
enum { WORKERS_SHOWN = 20, STREAMS_SHOWN = 20, LEFT_OUT_SHOWN = 5, ROUNDS_SHOWN = 6 };

static void add_headline(const struct cv_streams_job *job, double horizon_s,
                         const struct cv_screen *screen, struct cv_text *out)
{
    const struct cleave_stream_plan *plan = job->plan;

    cv_text_add(out, "%s%s on %s", CV_BOLD(screen), CV_COUNTED(plan->nstreams, "stream"),
                CV_COUNTED(plan->nworkers, "worker"));
    if (job->task.result_ratio > 0)
        cv_text_add(out, ", %.6g of result per unit", job->task.result_ratio);
    if (horizon_s > 0)
        cv_text_add(out, ", for %.6g s", horizon_s);
    cv_text_add(out, "%s\n", CV_PLAIN(screen));
}

static void add_totals(const struct cv_streams_job *job, struct cv_text *out)
{
    const struct cleave_stream_plan *plan = job->plan;
    const double below =
        plan->upper_bound_ups > 0 ? 1 - plan->throughput_ups / plan->upper_bound_ups : 0;

    cv_text_add(out, "rounds      of %.6g s%s\n", plan->period_s,
                plan->period_chosen ? ", chosen" : "");
    cv_text_add(out, "throughput  %s units/s", CV_SHOW_UNITS(plan->throughput_ups));
    if (plan->optimal)
        cv_text_add(out, ", which no clusters can beat%s\n",
                    job->task.weights == CLEAVE_WEIGHTS_RING ? " with these weights"
                                                             : "");
    else
        cv_text_add(out, ", %.3g%% below the bound\n", 100 * below);
    cv_text_add(out, "bound       %s units/s%s\n", CV_SHOW_UNITS(plan->upper_bound_ups),
                job->task.weights == CLEAVE_WEIGHTS_RING ? ", for the published weights"
                                                         : "");
    cv_text_add(out, "used        %u of %s\n", plan->selected,
                CV_COUNTED(plan->nworkers, "worker"));
}

static void add_streams(const struct cv_streams_job *job, bool all,
                        const struct cv_screen *screen, struct cv_text *out)
{
    const struct cleave_stream_plan *plan = job->plan;
    const uint32_t shown =
        all || plan->nstreams < STREAMS_SHOWN ? plan->nstreams : STREAMS_SHOWN;
    struct cv_table table;

    cv_table_init(&table,
                  "+stream|+workers|~units/s|%of its share|#delays s|%of a round");
    for (uint32_t m = 0; m < shown; m++) {
        const struct cleave_plan_stream *stream = &plan->streams[m];

        cv_table_add(&table, "%u %u %g %g %g %g", m, plan->clusters[m].nworkers,
                     stream->throughput_ups,
                     stream->wanted_ups > 0 ? stream->throughput_ups / stream->wanted_ups
                                            : NAN,
                     stream->delay_sum_s, stream->delay_sum_s / plan->period_s);
    }
    cv_add_table(&table, screen, out);
    cv_add_hidden(plan->nstreams - shown, "more stream", out);
}

static void add_workers(const struct cv_streams_job *job, bool all,
                        const struct cv_screen *screen, struct cv_text *out)
{
    const struct cleave_stream_plan *plan = job->plan;
    struct cv_table table;
    uint32_t shown = 0;

    if (plan->selected == 0)
        return;
    cv_table_init(&table, "+stream|+served|worker|~units/s|#delay s|#first post s");
    for (uint32_t m = 0; m < plan->nstreams; m++)
        for (uint32_t i = 0; i < plan->clusters[m].nworkers; i++) {
            const uint32_t w = plan->clusters[m].workers[i];

            if (!all && shown >= WORKERS_SHOWN)
                break;
            shown++;
            cv_table_add(&table, "%u %u %s %g %g %g", m, i + 1, name_of(job, w),
                         plan->workers[w].throughput_ups, plan->workers[w].delay_s,
                         plan->workers[w].start_s);
        }
    cv_add_table(&table, screen, out);
    cv_add_hidden(plan->selected - shown, "more worker", out);
}

static void add_left_out(const struct cv_streams_job *job, bool all,
                         const struct cv_screen *screen, struct cv_text *out)
{
    const struct cleave_stream_plan *plan = job->plan;
    const uint32_t left = plan->nworkers - plan->selected;
    struct cv_table table;
    uint32_t shown = 0;

    if (left == 0)
        return;
    cv_table_init(&table, "left out|why");
    for (uint32_t w = 0; w < plan->nworkers && (all || shown < LEFT_OUT_SHOWN); w++) {
        if (plan->workers[w].reason == NULL)
            continue;
        shown++;
        cv_table_add(&table, "%s %s", name_of(job, w), plan->workers[w].reason);
    }
    cv_add_table(&table, screen, out);
    cv_add_hidden(left - shown, "more worker", out);
}

static void cip_text(const struct cv_streams_job *job, const struct cv_screen *screen,
                     struct cv_text *out)
{
    const uint32_t n = cleave_platform_nworkers(job->platform);
    const struct cv_cip *cip = &job->cip;
    struct cv_table table, left_out;
    uint32_t next = 0;
    char why[200];

    cv_text_add(out, "one stream, %u of %s\n", job->ncip, CV_COUNTED(n, "worker"));
    cv_text_add(out, "period    %s s, the shortest without waiting\n",
                CV_SHOW_NUMBER(cip->tau_s));
    cv_text_add(out, "ports     would do with %s s\n", CV_SHOW_NUMBER(cip->least_tau_s));
    cv_table_init(&table, "worker|%sent first|~first load|#delay s");
    cv_table_init(&left_out, "left out|why");
    for (uint32_t w = 0; w < n; w++)
        if (cip_leaves_out(job, w, &next, why, sizeof why))
            cv_table_add(&left_out, "%s %s", name_of(job, w), why);
        else
            cv_table_add(&table, "%s %g %g %g", name_of(job, w), cip->theta[next - 1],
                         cip->first_load[next - 1], cip->delay[next - 1]);
    cv_add_table(&table, screen, out);
    if (job->ncip < n)
        cv_add_table(&left_out, screen, out);
    else
        cv_table_done(&left_out);
}

static void plan_text(struct cv_task_call *task, struct cv_screen *screen,
                      struct cv_text *out)
{
    const struct cv_streams_job *job = task->job;
    const bool all = task->options->all_workers != 0;

    if (task->options->cip) {
        cip_text(job, screen, out);
        return;
    }
    add_headline(job, 0, screen, out);
    add_totals(job, out);
    add_streams(job, all, screen, out);
    add_workers(job, all, screen, out);
    add_left_out(job, all, screen, out);
}

static void add_outcome(const struct cv_streams_job *job, struct cv_text *out)
{
    const struct cleave_streams_result *result = job->result;
    const struct cleave_stream_plan *plan = job->plan;

    cv_text_add(out, "rounds      of %.6g s%s\n", plan->period_s,
                plan->period_chosen ? " for the choice of workers, then as measured"
                                    : "");
    cv_text_add(out, "throughput  %s units/s to the last result after %s s; planned %s\n",
                CV_SHOW_UNITS(result->whole.throughput_ups),
                CV_SHOW_NUMBER(result->end_s), CV_SHOW_UNITS(plan->throughput_ups));
    cv_text_add(out, "CPU         %.2f%% computing, %.2f%% with latencies\n",
                100 * result->whole.useful, 100 * result->whole.busy);
    cv_text_add(out, "window      %.6g to %.6g s: %s units/s, ", job->job.window_from_s,
                job->job.window_to_s > 0 ? job->job.window_to_s : job->job.horizon_s,
                CV_SHOW_UNITS(result->window.throughput_ups));
    cv_text_add(out, "%.2f%% computing, %.2f%% with latencies\n",
                100 * result->window.useful, 100 * result->window.busy);
    cv_text_add(out, "waited      %llu requests, %s s to send and %s s to return\n",
                (unsigned long long)result->contentions, CV_SHOW_NUMBER(job->wait_send_s),
                CV_SHOW_NUMBER(job->wait_return_s));
    cv_text_add(out, "idle        %s s of all workers between computations\n",
                CV_SHOW_NUMBER(job->idle_s));
}

static void add_results(const struct cv_streams_job *job, bool all,
                        const struct cv_screen *screen, struct cv_text *out)
{
    const struct cleave_streams_result *result = job->result;
    const uint32_t shown =
        all || result->nstreams < STREAMS_SHOWN ? result->nstreams : STREAMS_SHOWN;
    struct cv_table table;

    cv_table_init(&table,
                  "+stream|+workers|~units/s|%computing|%busy|#idle s|+waited|#ends s");
    for (uint32_t m = 0; m < shown; m++) {
        const struct cleave_stream_result *stream = &result->streams[m];

        cv_table_add(&table, "%u %u %g %g %g %g %g %g", job->of[m], stream->nworkers,
                     stream->whole.throughput_ups, stream->whole.useful,
                     stream->whole.busy, stream->idle_s, (double)stream->contentions,
                     stream->end_s);
    }
    cv_add_table(&table, screen, out);
    cv_add_hidden(result->nstreams - shown, "more stream", out);
}

static void add_members(const struct cv_streams_job *job, const struct cv_screen *screen,
                        struct cv_text *out)
{
    struct cv_table table;

    cv_table_init(&table, "+stream|worker|+rounds|~units|#computing s|#idle s|#ends s");
    for (uint32_t i = 0; i < job->result->nworkers; i++) {
        const struct cleave_stream_worker *worker = &job->result->workers[i];

        cv_table_add(&table, "%u %s %u %g %g %g %g", job->of[worker->stream],
                     name_of(job, worker->worker), worker->rounds, worker->units,
                     worker->useful_s, worker->idle_s, worker->end_s);
    }
    cv_add_table(&table, screen, out);
}

static void add_rounds(const struct cv_streams_job *job, const struct cv_screen *screen,
                       struct cv_text *out)
{
    struct cv_table table;

    if (job->nrounds == 0)
        return;
    cv_table_init(&table, "+round|+workers|#known after s|#mean length s");
    for (size_t i = 0; i < job->nrounds; i++) {
        const struct cleave_stream_round *round = &job->rounds[i];

        if (i < ROUNDS_SHOWN || i + 1 == job->nrounds)
            cv_table_add(&table, "%g %u %g %g", (double)i + 1, round->workers,
                         round->time_s, round->sigma_s);
    }
    cv_add_table(&table, screen, out);
}

static void result_text(struct cv_task_call *task, struct cv_screen *screen,
                        struct cv_text *out)
{
    const struct cv_streams_job *job = task->job;
    const bool all = task->options->all_workers != 0;

    add_headline(job, job->job.horizon_s, screen, out);
    add_outcome(job, out);
    add_results(job, all, screen, out);
    if (all)
        add_members(job, screen, out);
    add_rounds(job, screen, out);
}

/* --- jobs --------------------------------------------------------------------------- */

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
    .planned = &(const struct cv_task_part){ plan, plan_json, plan_text },
    .simulated = &(const struct cv_task_part){ simulate, result_json, result_text },
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
