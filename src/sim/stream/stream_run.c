/* stream_run.c -- one stream on an engine. SPDX-License-Identifier: MIT */
#include "sim/stream/stream_run.h"

#include <math.h>
#include <stdlib.h>
#include "base/fail.h"
#include "model/platform/profile.h"
#include "policy/compound/registry.h"
#include "sim/load/native.h"
#include "sim/simgrid/simgrid_engine.h"

enum cleave_status cv_stream_plan(const struct cv_stream_run *stream,
                                  struct cv_planned *planned, struct cleave_error *err)
{
    const struct cleave_view load = { .units_total = INFINITY,
                                      .result_ratio = stream->result_ratio };
    enum cleave_status status;

    CV_TRY(cv_planned_init(planned, &cleave_policy_as4dr, stream->settings,
                           stream->nsettings, stream->platform, stream->declared, &load,
                           NULL, NULL, err));
    ((struct cv_as4dr *)planned->state)->watch = stream->watch;
    if (stream->given == NULL)
        return CLEAVE_OK;
    planned->given = true;
    status = cv_as4dr_give(planned->state, &planned->view, stream->given, &planned->arena,
                           err);
    if (status != CLEAVE_OK)
        cv_planned_done(planned);
    return status;
}

enum cleave_status cv_stream_drive(const struct cv_stream_run *stream,
                                   const struct cv_planned *planned,
                                   struct cleave_trace *trace, struct cv_outcome *out,
                                   struct cleave_error *err)
{
    const struct cv_run run = { .platform = stream->platform,
                                .stream_end_s = stream->horizon_s,
                                .stream_rest = stream->rest };
    const struct cv_simgrid_source source = { .where = stream->simgrid };
    const bool native = stream->simgrid == NULL;

    return cv_driver_run_once(planned, native ? &cv_engine_native : &cv_engine_simgrid,
                              native ? NULL : &source, &run, trace, out, err);
}

/* --- statistics --------------------------------------------------------------------- */

/* Shorter waits are rounding. */
static const double NO_WAIT_S = 1e-9;

static void add_to_window(const struct cv_stream_stats *stats,
                          struct cv_stream_worker_stats *own,
                          const struct cleave_event *event, double pure_from_s)
{
    const double from_s = stats->window_from_s, to_s = stats->window_to_s;
    const double pure_begin_s = fmax(from_s, pure_from_s);
    const double end_s = fmin(to_s, event->time_s);
    struct cleave_profile profile;

    if (event->start_s >= from_s && event->time_s <= to_s) {
        own->window_units += event->units;
        own->window_useful_s += event->time_s - pure_from_s;
        own->window_busy_s += event->time_s - event->start_s;
        return;
    }
    own->window_busy_s += fmax(0, end_s - fmax(from_s, event->start_s));
    if (!(end_s > pure_begin_s))
        return;
    profile = cv_profile_of(stats->platform, event->worker);
    own->window_useful_s += end_s - pure_begin_s;
    own->window_units +=
        cleave_platform_workers(stats->platform)[event->worker].speed_ups *
        cv_profile_work(&profile, pure_begin_s, end_s);
}

static void add_computation(struct cv_stream_stats *stats,
                            const struct cleave_event *event)
{
    const struct cleave_worker *worker =
        &cleave_platform_workers(stats->platform)[event->worker];
    struct cv_stream_worker_stats *own = &stats->workers[event->worker];
    const double pure_from_s = event->start_s + worker->compute_latency_s;

    if (own->busy_s > 0)
        own->idle_s += event->start_s - own->end_s;
    own->end_s = event->time_s;
    own->units += event->units;
    own->busy_s += event->time_s - event->start_s;
    own->useful_s += event->time_s - pure_from_s;
    if (event->time_s > stats->window_from_s && event->start_s < stats->window_to_s)
        add_to_window(stats, own, event, pure_from_s);
}

static void on_event(void *context, const struct cleave_event *event)
{
    struct cv_stream_stats *stats = context;

    if (event->kind == CLEAVE_DONE)
        add_computation(stats, event);
    if (event->kind == (stats->has_results ? CLEAVE_RETURNED : CLEAVE_DONE)) {
        stats->end_s = event->time_s;
        if (event->time_s <= stats->horizon_s)
            stats->units_in_time += event->units;
    }
}

static void on_posted(void *context, uint32_t worker, double time_s, double units)
{
    struct cv_stream_stats *stats = context;

    (void)time_s;
    stats->workers[worker].rounds++;
    stats->workers[worker].last_load = units;
}

static void on_measured(void *context, uint32_t worker, double time_s, double sigma_s)
{
    struct cv_stream_stats *stats = context;
    const uint32_t round = stats->workers[worker].measured++;

    if (!CV_ROOM(stats->rounds, &stats->round_room, (size_t)round + 1)) {
        stats->out_of_memory = true;
        return;
    }
    while (stats->nrounds <= round)
        stats->rounds[stats->nrounds++] = (struct cleave_stream_round){ 0, 0, 0 };
    stats->rounds[round].time_s += time_s;
    stats->rounds[round].sigma_s += sigma_s;
    stats->rounds[round].workers++;
}

static void on_waited(void *context, uint32_t worker, bool back, double wait_s)
{
    struct cv_stream_stats *stats = context;

    (void)worker;
    if (back)
        stats->wait_return_s += wait_s;
    else
        stats->wait_send_s += wait_s;
    stats->contentions += wait_s > NO_WAIT_S;
}

enum cleave_status cv_stream_stats_init(struct cv_stream_stats *stats,
                                        const struct cleave_platform *platform,
                                        double horizon_s, double result_ratio,
                                        double window_from_s, double window_to_s,
                                        struct cv_arena *arena, struct cleave_error *err)
{
    *stats = (struct cv_stream_stats){
        .platform = platform,
        .horizon_s = horizon_s,
        .window_from_s = window_from_s,
        .window_to_s = window_to_s,
        .has_results = result_ratio > 0,
        .workers =
            cv_array(arena, cleave_platform_nworkers(platform), sizeof *stats->workers),
        .watch = { .context = stats,
                   .event = on_event,
                   .posted = on_posted,
                   .measured = on_measured,
                   .waited = on_waited },
    };
    return stats->workers != NULL ? CLEAVE_OK : cv_fail_memory(err, "the statistics");
}

enum cleave_status cv_stream_stats_close(struct cv_stream_stats *stats,
                                         struct cleave_error *err)
{
    if (stats->out_of_memory)
        return cv_fail_memory(err, "the rounds of a stream");
    for (size_t i = 0; i < stats->nrounds; i++) {
        stats->rounds[i].time_s /= stats->rounds[i].workers;
        stats->rounds[i].sigma_s /= stats->rounds[i].workers;
    }
    return CLEAVE_OK;
}

void cv_stream_stats_done(struct cv_stream_stats *stats)
{
    free(stats->rounds);
    stats->rounds = NULL;
    stats->nrounds = stats->round_room = 0;
}

struct cleave_stream_use cv_stream_use(const struct cv_stream_stats *stats, bool window)
{
    const uint32_t n = cleave_platform_nworkers(stats->platform);
    const double length_s =
        window ? stats->window_to_s - stats->window_from_s : stats->end_s;
    struct cleave_stream_use sums = { 0 };
    uint32_t members = 0;

    for (uint32_t w = 0; w < n; w++) {
        const struct cv_stream_worker_stats *own = &stats->workers[w];

        sums.units += window ? own->window_units : own->units;
        sums.useful += window ? own->window_useful_s : own->useful_s;
        sums.busy += window ? own->window_busy_s : own->busy_s;
        members += own->rounds > 0;
    }
    if (!(length_s > 0) || members == 0)
        return (struct cleave_stream_use){ 0 };
    sums.throughput_ups = sums.units / length_s;
    sums.useful /= length_s * members;
    sums.busy /= length_s * members;
    return sums;
}
