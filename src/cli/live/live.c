/* live.c -- what every worker does, while it does it. SPDX-License-Identifier: MIT */
#include "cli/live/live.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "report/page/html_report.h"
#include "run/common/poller.h"

void cv_run_add_bytes(struct cv_text *text, double bytes)
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };
    size_t unit = 0;

    for (; unit + 1 < sizeof units / sizeof *units && bytes >= 1e3; unit++)
        bytes /= 1e3;
    cv_text_add(text, "%.*f %s", unit > 0 ? 1 : 0, bytes, units[unit]);
}

/* What a worker does or waits for, in the words of who looks at it. */
static const char *state_text(enum cleave_worker_state state, bool items)
{
    switch (state) {
    case CLEAVE_WORKER_BUSY:
        return "works";
    case CLEAVE_WORKER_ABSENT:
        return "waits: its host is not there";
    case CLEAVE_WORKER_RESTS:
        return "waits: others did what it failed with";
    case CLEAVE_WORKER_HELD:
        return "waits for --delay, --load or --memfree";
    case CLEAVE_WORKER_STARVES:
        return items ? "waits for items" : "waits for input";
    case CLEAVE_WORKER_UNASKED:
        return "waits: the policy gives it nothing now";
    case CLEAVE_WORKER_OVER:
        return "waits for the others: all is given out";
    }
    return "";
}

/* As wide as the longest name, within reason. */
static int name_columns(const struct cleave_progress *progress, unsigned rows)
{
    size_t max = sizeof "worker" - 1;

    for (uint32_t w = 0; w < rows; w++) {
        struct cleave_worker_progress worker;

        progress->look(progress->run, w, &worker);
        if (strlen(worker.name) > max)
            max = strlen(worker.name);
    }
    return max < 24 ? (int)max : 24;
}

/* Bytes and rate, of items neither. */
static void add_amounts(const struct cleave_worker_progress *worker, struct cv_text *out)
{
    struct cv_text bytes = { NULL, 0, 0, false };

    cv_run_add_bytes(&bytes, worker->units + worker->read);
    cv_text_add(out, "  %9s", bytes.bytes != NULL ? bytes.bytes : "");
    cv_text_done(&bytes);
    if (worker->busy_s > 0 && worker->units > 0) {
        const double rate = worker->units / worker->busy_s / 1e6;

        /* A slow one is not one that stands still. */
        cv_text_add(out, rate < 0.1 ? "  %8.3g" : "  %8.1f", rate);
    } else {
        cv_text_add(out, "  %8s", "-");
    }
}

/* Add a line, cut where the screen ends. */
static void add_line(struct cv_text *line, unsigned width, struct cv_text *out)
{
    if (!line->failed)
        cv_text_add(out, "\n%.*s\033[K", (int)width, line->bytes);
    out->failed = out->failed || line->failed;
    cv_text_done(line);
}

static void add_worker(const struct cleave_worker_progress *worker, bool items,
                       int columns, unsigned width, struct cv_text *out)
{
    struct cv_text line = { NULL, 0, 0, false };

    cv_text_add(&line, "  %-*.*s  %6llu", columns, columns, worker->name,
                (unsigned long long)worker->chunks);
    if (!items)
        add_amounts(worker, &line);
    cv_text_add(&line, "  %s", state_text(worker->state, items));
    if (worker->failures > 0)
        cv_text_add(&line, ", %llu failed", (unsigned long long)worker->failures);
    add_line(&line, width, out);
}

unsigned cv_run_live_rows(const struct cleave_progress *progress, bool items,
                          unsigned max, unsigned width, struct cv_text *out)
{
    const bool fits = progress->workers + 1 <= max;
    const unsigned shown = fits ? progress->workers : max >= 3 ? max - 2 : 0;
    const int columns = name_columns(progress, shown);
    struct cv_text line = { NULL, 0, 0, false };

    if (shown == 0)
        return 0;
    cv_text_add(&line, "  %-*s  %6s", columns, "worker", items ? "done" : "chunks");
    if (!items)
        cv_text_add(&line, "  %9s  %8s", "bytes", "MB/s");
    add_line(&line, width, out);
    for (uint32_t w = 0; w < shown; w++) {
        struct cleave_worker_progress worker;

        progress->look(progress->run, w, &worker);
        add_worker(&worker, items, columns, width, out);
    }
    if (!fits) {
        line = (struct cv_text){ NULL, 0, 0, false };
        cv_text_add(&line, "  and %u more", progress->workers - shown);
        add_line(&line, width, out);
    }
    return 1 + shown + !fits;
}

/* --- --serve: the report of a run while it runs ------------------------------------ */

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
