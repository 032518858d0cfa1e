/* streams_show.c -- plans and simulations of streams as text and JSON.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include "cli/task/streams_task.h"

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

void cv_streams_plan_json(struct cv_task_call *task, struct cv_json *json)
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

void cv_streams_result_json(struct cv_task_call *task, struct cv_json *json)
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

void cv_streams_plan_text(struct cv_task_call *task, struct cv_screen *screen,
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

void cv_streams_result_text(struct cv_task_call *task, struct cv_screen *screen,
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
