/* stream_json.c -- plans and simulations of streams as JSON on stdout.
 * SPDX-License-Identifier: MIT */
#include "cli/stream/stream_json.h"

#include "cli/common/output.h"
#include "io/json_out.h"

static const char *weights_name(const struct cleave_stream_task *task)
{
    return task->weights == CLEAVE_WEIGHTS_RING ? "ring" : "own";
}

static const char *name_of(const struct cv_stream_case *streams, uint32_t worker)
{
    return cleave_platform_worker_name(streams->platform, worker);
}

static void put_clusters(struct cv_json *json, const struct cv_stream_case *streams)
{
    cv_field_list(json, "clusters");
    for (uint32_t m = 0; m < streams->plan->nstreams; m++) {
        const struct cleave_stream *cluster = &streams->plan->clusters[m];

        cv_json_on_line(json);
        cv_json_list(json);
        for (uint32_t i = 0; i < cluster->nworkers; i++)
            cv_json_text(json, name_of(streams, cluster->workers[i]));
        cv_json_end(json);
    }
    cv_json_end(json);
}

static void put_shares(struct cv_json *json, const struct cv_stream_case *streams)
{
    const struct cleave_stream_plan *plan = streams->plan;

    cv_field_list(json, "shares");
    for (uint32_t m = 0; m < plan->nstreams; m++) {
        const struct cleave_plan_stream *stream = &plan->streams[m];
        const double *demands = streams->task.demands;

        cv_field_line(json, NULL);
        cv_field_number(json, "demand", demands != NULL ? demands[m] : 1);
        cv_field_number(json, "throughput", stream->throughput_ups);
        cv_field_number(json, "wanted", stream->wanted_ups);
        cv_field_count(json, "workers", plan->clusters[m].nworkers);
        cv_field_number(json, "delay_sum", stream->delay_sum_s);
        cv_json_end(json);
    }
    cv_json_end(json);
}

static void put_workers(struct cv_json *json, const struct cv_stream_case *streams)
{
    cv_field_list(json, "workers");
    for (uint32_t w = 0; w < streams->plan->nworkers; w++) {
        const struct cleave_plan_worker *worker = &streams->plan->workers[w];

        cv_field_line(json, NULL);
        cv_field_text(json, "name", name_of(streams, w));
        cv_field_number(json, "delay", worker->delay_s);
        cv_field_number(json, "start", worker->start_s);
        cv_field_number(json, "throughput", worker->throughput_ups);
        cv_field_number(json, "theta", worker->theta);
        if (streams->task.margins != NULL)
            cv_field_number(json, "margin", streams->task.margins[w]);
        cv_json_key(json, "cluster");
        if (worker->stream == UINT32_MAX)
            cv_json_null(json);
        else
            cv_json_count(json, worker->stream);
        cv_field_text(json, "reason", worker->reason);
        cv_json_end(json);
    }
    cv_json_end(json);
}

int cv_stream_plan_json(const struct cv_stream_case *streams)
{
    const struct cleave_stream_plan *plan = streams->plan;
    const double over =
        plan->throughput_ups > 0 ? plan->upper_bound_ups / plan->throughput_ups - 1 : 0;
    struct cv_json json;

    cv_result_open(&json);
    cv_field_number(&json, "period", plan->period_s);
    cv_field_bool(&json, "period_chosen", plan->period_chosen);
    cv_field_count(&json, "streams", plan->nstreams);
    cv_field_number(&json, "margin", streams->task.margin);
    cv_field_number(&json, "theta", streams->task.theta);
    cv_field_number(&json, "result_ratio", streams->task.result_ratio);
    cv_field_text(&json, "weights", weights_name(&streams->task));
    cv_field_number(&json, "throughput", plan->throughput_ups);
    cv_field_number(&json, "upper_bound", plan->upper_bound_ups);
    cv_field_number(&json, "over_bound", over > 0 ? over : 0);
    cv_field_bool(&json, "optimal", plan->optimal);
    cv_field_count(&json, "selected", plan->selected);
    cv_field_number(&json, "least_share", plan->least_share);
    put_clusters(&json, streams);
    put_shares(&json, streams);
    put_workers(&json, streams);
    return cv_result_close(&json);
}

/* --- simulations -------------------------------------------------------------------- */

static void put_use(struct cv_json *json, const struct cleave_stream_use *use)
{
    cv_field_number(json, "throughput", use->throughput_ups);
    cv_field_number(json, "cpu_efficiency", use->useful);
    cv_field_number(json, "busy", use->busy);
}

static void put_stream(struct cv_json *json, const struct cleave_stream_result *stream)
{
    cv_field_count(json, "workers", stream->nworkers);
    put_use(json, &stream->whole);
    cv_field_number(json, "end", stream->end_s);
    cv_field_number(json, "idle_s", stream->idle_s);
    cv_field_count(json, "contentions", stream->contentions);
}

static void put_streams(struct cv_json *json, const struct cv_stream_outcome *outcome)
{
    static const struct cleave_stream_result none = { 0 };
    const struct cleave_streams_result *result = outcome->result;
    uint32_t next = 0;

    cv_field_list(json, "per_stream");
    for (uint32_t m = 0; m < outcome->streams->plan->nstreams; m++) {
        cv_field_line(json, NULL);
        if (next < result->nstreams && outcome->of[next] == m)
            put_stream(json, &result->streams[next++]);
        else
            put_stream(json, &none);
        cv_json_end(json);
    }
    cv_json_end(json);
}

static void put_rounds(struct cv_json *json, const struct cv_stream_outcome *outcome)
{
    cv_field_list(json, "rounds");
    for (size_t i = 0; i < outcome->nrounds; i++) {
        cv_field_line(json, NULL);
        cv_field_number(json, "time", outcome->rounds[i].time_s);
        cv_field_number(json, "mean_sigma", outcome->rounds[i].sigma_s);
        cv_field_count(json, "workers", outcome->rounds[i].workers);
        cv_json_end(json);
    }
    cv_json_end(json);
}

static void put_members(struct cv_json *json, const struct cv_stream_outcome *outcome)
{
    cv_field_list(json, "workers");
    for (uint32_t i = 0; i < outcome->result->nworkers; i++) {
        const struct cleave_stream_worker *worker = &outcome->result->workers[i];

        cv_field_line(json, NULL);
        cv_field_text(json, "name", name_of(outcome->streams, worker->worker));
        cv_field_count(json, "cluster", outcome->of[worker->stream]);
        cv_field_count(json, "rounds", worker->rounds);
        cv_field_number(json, "units", worker->units);
        cv_field_number(json, "useful_s", worker->useful_s);
        cv_field_number(json, "busy_s", worker->busy_s);
        cv_field_number(json, "idle_s", worker->idle_s);
        cv_field_number(json, "end", worker->end_s);
        cv_field_text(json, "reason", worker->left_out);
        cv_json_end(json);
    }
    cv_json_end(json);
}

int cv_stream_outcome_json(const struct cv_stream_outcome *outcome)
{
    const struct cleave_streams_result *result = outcome->result;
    const struct cleave_stream_plan *plan = outcome->streams->plan;
    const struct cleave_stream_job *job = outcome->job;
    struct cv_json json;

    cv_result_open(&json);
    cv_field_number(&json, "period", plan->period_s);
    cv_field_bool(&json, "period_chosen", plan->period_chosen);
    cv_field_count(&json, "streams", plan->nstreams);
    cv_field_number(&json, "horizon", job->horizon_s);
    cv_field_number(&json, "rest_s", job->rest_s);
    cv_field_number(&json, "result_ratio", job->result_ratio);
    cv_field_number(&json, "declared_factor", job->declared_factor);
    cv_field_number(&json, "planned_throughput", plan->throughput_ups);
    cv_field_count(&json, "selected", outcome->members);
    cv_field_number(&json, "units", result->whole.units);
    put_use(&json, &result->whole);
    cv_field_number(&json, "end", result->end_s);
    cv_field_number(&json, "throughput_in_time", result->throughput_ups);
    cv_field_line(&json, "window");
    cv_field_number(&json, "from", job->window_from_s);
    cv_field_number(&json, "to",
                    job->window_to_s > 0 ? job->window_to_s : job->horizon_s);
    put_use(&json, &result->window);
    cv_json_end(&json);
    cv_field_count(&json, "contentions", result->contentions);
    cv_field_number(&json, "wait_send_s", outcome->wait_send_s);
    cv_field_number(&json, "wait_return_s", outcome->wait_return_s);
    cv_field_number(&json, "idle_s", outcome->idle_s);
    cv_field_count(&json, "chunks", outcome->chunks);
    cv_field_count(&json, "events", outcome->events);
    put_rounds(&json, outcome);
    put_streams(&json, outcome);
    put_members(&json, outcome);
    return cv_result_close(&json);
}
