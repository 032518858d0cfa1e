/* live_page.c -- --serve: the report of a run while it runs. SPDX-License-Identifier: MIT */
#include "cli/live/live_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "report/page/html_report.h"
#include "run/common/poller.h"

/* Seconds between two pages, at least; and what part of its time the run gives for them. */
static const double PAUSE_S = 1, PART = 0.02;

/* What is on a page. */
struct scene {
    struct cv_trace_file file;
    struct cv_span *under_way;
    size_t count;
    const char *now;
};

static void show(const struct cv_live_page *live, const struct scene *scene, bool last)
{
    struct cv_report_data data = { .file = NULL };
    char *bytes = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&bytes, &length);
    bool whole;

    if (file == NULL)
        return;
    whole = cv_report_data_make_now(&scene->file, scene->under_way, scene->count, &data,
                                    NULL) == CLEAVE_OK &&
            cv_report_data_reduce(&data, NULL) == CLEAVE_OK;
    if (whole)
        cv_report_write(&(struct cv_report){ .measured = &data,
                                             .now = scene->now,
                                             .running = !last },
                        file);
    whole = fclose(file) == 0 && whole;
    cv_report_data_done(&data);
    if (whole)
        cv_http_show(live->http, bytes, length, last);
    else
        free(bytes); /* out of memory: the run matters more */
}

static void open_scene(const struct cv_live_page *live, uint32_t nworkers, double load,
                       const char *now, struct scene *out)
{
    *out = (struct scene){ .now = now };
    cv_arena_init(&out->file.arena);
    /* What is only read of the trace is never changed. */
    out->file.trace = (struct cleave_trace *)live->trace;
    out->file.header = (struct cv_trace_header){
        .task = CLEAVE_TASK_LOAD,
        .policy = live->policy,
        .load = load,
        .port = CLEAVE_PORT_MULTI,
        .names = cv_array(&out->file.arena, nworkers, sizeof(const char *)),
        .nworkers = nworkers,
    };
    out->under_way = cv_array(&out->file.arena, nworkers, sizeof *out->under_way);
}

static bool is_whole(const struct scene *scene)
{
    return scene->file.header.names != NULL && scene->under_way != NULL;
}

/* Who works on what since when. */
static void add_workers(const struct cleave_progress *progress, struct scene *scene)
{
    for (uint32_t w = 0; w < progress->workers; w++) {
        struct cleave_worker_progress worker;

        progress->look(progress->run, w, &worker);
        scene->file.header.names[w] = worker.name;
        if (!isnan(worker.since_s))
            scene->under_way[scene->count++] =
                (struct cv_span){ .kind = CV_SPAN_COMPUTE,
                                  .worker = w,
                                  .units = worker.read,
                                  .start_s = worker.since_s,
                                  .end_s = fmax(progress->elapsed_s, worker.since_s) };
    }
}

void cv_live_page_look(struct cv_live_page *live, const struct cleave_progress *progress,
                       const char *now)
{
    const double from_s = cv_clock_s();
    struct scene scene;

    if (progress->elapsed_s < live->next_s || !cv_http_wanted(live->http))
        return;
    open_scene(live, progress->workers,
               isfinite(progress->total) ? progress->total
                                         : progress->done + progress->read,
               now, &scene);
    if (is_whole(&scene)) {
        add_workers(progress, &scene);
        show(live, &scene, false);
    }
    cv_arena_done(&scene.file.arena);
    live->next_s = progress->elapsed_s + fmax(PAUSE_S, (cv_clock_s() - from_s) / PART);
}

void cv_live_page_close(struct cv_live_page *live,
                        const struct cleave_execution_result *result, const char *now)
{
    const struct cleave_platform *platform = result != NULL ? result->platform : NULL;
    struct scene scene;

    if (live->http != NULL && platform != NULL) {
        const uint32_t count = cleave_platform_nworkers(platform);

        open_scene(live, count, result->input_bytes, now, &scene);
        for (uint32_t w = 0; is_whole(&scene) && w < count; w++)
            scene.file.header.names[w] = cleave_platform_worker_name(platform, w);
        if (is_whole(&scene))
            show(live, &scene, true);
        cv_arena_done(&scene.file.arena);
    }
    cv_http_close(live->http);
    live->http = NULL;
}
