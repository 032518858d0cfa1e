/* figure_streams_scene.c -- the published platform of the streams, and runs on it.
 * SPDX-License-Identifier: MIT */
#include "figures/streams/figure_streams_scene.h"

#include <stdio.h>

#include "model/platform/platform_internal.h"
#include "model/platform/generate.h"
#include "model/stream/stream_costs.h"
#include "sim/stream/stream_run.h"

enum { SETTINGS = 5, SETTING_ROOM = 32 };

/* --- the platform ------------------------------------------------------------------- */

static void make_platform(const struct cv_scene_run *run, struct cv_arena *arena,
                          struct cleave_platform **out)
{
    enum { NAME_ROOM = 16 };
    static const char what[] = "the published platform";
    struct cleave_worker *workers = cv_need(arena, run->workers, sizeof *workers, what);
    struct cv_group *groups = cv_need(arena, run->workers, sizeof *groups, what);
    char *names = cv_need(arena, run->workers, NAME_ROOM, what);
    struct cv_group profiles[CV_PUBLISHED_PROFILES];

    /* Slow workers may need long to finish when the stream ends. */
    CV_MUST(cv_literature_profiles(run->drop, 2 * run->horizon_s + 10000, arena, profiles,
                                   err));
    for (uint32_t i = 0; i < run->workers; i++) {
        const unsigned kind =
            run->kind >= 0 ? (unsigned)run->kind : i % CV_PUBLISHED_KINDS;
        const unsigned profile =
            (run->kind >= 0 ? i : i / CV_PUBLISHED_KINDS) % CV_PUBLISHED_PROFILES;

        workers[i] = cv_literature_worker(kind);
        if (run->latency_s >= 0)
            workers[i].compute_latency_s = run->latency_s;
        groups[i] = profiles[profile];
        groups[i].name = &names[(size_t)i * NAME_ROOM];
        snprintf(&names[(size_t)i * NAME_ROOM], NAME_ROOM, "w%u", i);
    }
    CV_MUST(cv_platform_build(run->port, workers, groups, run->workers, out, NULL, err));
}

/* --- one run ------------------------------------------------------------------------ */

struct settings {
    struct cleave_setting list[SETTINGS];
    char texts[2][SETTING_ROOM];
    size_t count;
};

static void make_settings(const struct cv_scene_run *run, struct settings *out)
{
    out->count = 0;
    if (run->tau_s > 0) {
        snprintf(out->texts[0], SETTING_ROOM, "%.17g", run->tau_s);
        out->list[out->count++] = (struct cleave_setting){ "period", out->texts[0] };
    }
    if (run->first > 0) {
        snprintf(out->texts[1], SETTING_ROOM, "%.17g", run->first);
        out->list[out->count++] = (struct cleave_setting){ "first", out->texts[1] };
    }
    if (run->start != NULL)
        out->list[out->count++] = (struct cleave_setting){ "start", run->start };
    if (run->end != NULL)
        out->list[out->count++] = (struct cleave_setting){ "end", run->end };
    if (run->service != NULL)
        out->list[out->count++] = (struct cleave_setting){ "service", run->service };
}

static double speed_of(const struct cleave_platform *platform)
{
    double sum = 0;

    for (uint32_t w = 0; w < cleave_platform_nworkers(platform); w++)
        sum += cleave_platform_workers(platform)[w].speed_ups;
    return sum;
}

/* First posts as far apart as wanted, in as few clusters as that allows. */
static struct cv_as4dr_given give_starts(const struct cv_scene_run *run,
                                         const struct cleave_platform *platform,
                                         struct cv_arena *arena)
{
    const uint32_t n = run->workers, max = (uint32_t)(run->tau_s / run->spacing_s);
    const uint32_t clusters = max > 0 ? (n + max - 1) / max : n;
    double *theta = cv_need(arena, 3 * (size_t)n, sizeof *theta, "the first posts");
    double *first = theta + n, *start = first + n;

    for (uint32_t w = 0; w < n; w++) {
        const uint32_t place = w / clusters; /* in its cluster */

        theta[w] = 0.5;
        first[w] = cv_stream_load(&cleave_platform_workers(platform)[w], run->tau_s);
        start[w] = place * run->spacing_s;
    }
    return (struct cv_as4dr_given){
        .tau_s = run->tau_s, .theta = theta, .first_load = first, .start_s = start
    };
}

static void drive(struct cv_scene_run *run, const struct cv_stream_run *stream,
                  struct cv_stream_stats *stats)
{
    struct cv_planned planned;
    struct cv_outcome outcome;

    CV_MUST(cv_stream_plan(stream, &planned, err));
    CV_MUST(cv_stream_drive(stream, &planned, NULL, &outcome, err));
    cv_planned_done(&planned);
    CV_MUST(cv_stream_stats_close(stats, err));
    run->in_stream = cv_stream_use(stats, true).useful;
    run->to_end = cv_stream_use(stats, false).useful;
    run->end_s = stats->end_s;
    for (size_t i = 0; i < stats->nrounds && i < CV_SCENE_ROUNDS; i++)
        run->rounds[run->nrounds++] = stats->rounds[i];
}

static void one_run(void *context, const struct cv_turn *turn)
{
    struct cv_scene_run *run = (struct cv_scene_run *)context + turn->number;
    struct cv_arena *arena = turn->arena;
    struct cleave_platform *platform = NULL;
    struct cv_stream_stats stats = { 0 };
    struct cv_as4dr_given given;
    struct settings settings;
    struct cv_stream_run stream;

    if (run->workers == 0)
        return;
    make_platform(run, arena, &platform);
    make_settings(run, &settings);
    stream = (struct cv_stream_run){ .platform = platform,
                                     .declared = cleave_platform_workers(platform),
                                     .settings = settings.list,
                                     .nsettings = settings.count,
                                     .horizon_s = run->horizon_s,
                                     .rest = run->rest_s * speed_of(platform),
                                     .result_ratio = 1,
                                     .watch = &stats.watch };
    CV_MUST(cv_stream_stats_init(&stats, platform, run->horizon_s, 1, 0, run->horizon_s,
                                 arena, err));
    if (run->spacing_s > 0) {
        given = give_starts(run, platform, arena);
        stream.given = &given;
    }
    drive(run, &stream, &stats);
    cv_stream_stats_done(&stats);
    cleave_platform_free(platform);
}

void cv_scene_runs(const struct cv_figure_job *job, struct cv_scene_run *runs,
                   size_t count)
{
    cv_figure_parallel(job, count, 1, one_run, runs);
}
