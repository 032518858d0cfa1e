/* figure_streams_schedule.c -- steady rounds of a stream on four workers.
 * SPDX-License-Identifier: MIT
 *
 * Millot and Parrot, PPAM 2013, Figure 1: the schedule that AS4DR tends to, without
 * contention. Four workers of different speed, rounds of 10 s, results as large as
 * data. */
#include <math.h>
#include <stdio.h>

#include <cleave/streams.h>
#include <cleave/trace.h>
#include "model/stream/stream_costs.h"
#include "figures/common/figure_plot.h"

enum { WORKERS = 4, MOST_POSTS = 32 };
enum { POSTS, EARLY, STEADY, UNITS, IDLE, COLUMNS };

static const double TAU_S = 10, HORIZON_S = 100, FROM_S = 60, TO_S = 82;
static const double speeds[WORKERS] = { 10, 20, 30, 15 };

static void make_worker(double speed, struct cleave_worker *out)
{
    *out = (struct cleave_worker){ .speed_ups = speed,
                                   .compute_latency_s = 0.1,
                                   .bandwidth_ups = 200,
                                   .latency_s = 0.1,
                                   .return_bandwidth_ups = 200,
                                   .return_latency_s = 0.1 };
}

static enum cleave_status simulate(const char *lambda, struct cleave_trace *trace,
                                   struct cleave_streams_result **out,
                                   struct cleave_error *err)
{
    const struct cleave_setting settings[] = { { "period", "10" },
                                               { "end", "none" },
                                               { "lambda", lambda } };
    struct cleave_worker workers[WORKERS];
    struct cleave_platform *platform;
    struct cleave_stream_job job = { .horizon_s = HORIZON_S,
                                     .result_ratio = 1,
                                     .settings = settings,
                                     .nsettings = sizeof settings / sizeof *settings,
                                     .threads = 1,
                                     .trace = trace };
    enum cleave_status status;

    for (int i = 0; i < WORKERS; i++)
        make_worker(speeds[i], &workers[i]);
    CV_TRY(cleave_platform_new(CLEAVE_PORT_DUPLEX, workers, WORKERS, &platform, err));
    job.platform = platform;
    status = cleave_simulate_streams(&job, out, err);
    cleave_platform_free(platform);
    return status;
}

/* When each worker's rounds are posted: every other chunk is a second part. */
struct posts {
    double at[WORKERS][MOST_POSTS], units[WORKERS];
    unsigned count[WORKERS], chunks[WORKERS];
};

static void note_post(const struct cleave_event *event, struct posts *posts)
{
    const uint32_t w = event->worker;

    if (posts->chunks[w]++ % 2 == 0 && posts->count[w] < MOST_POSTS)
        posts->at[w][posts->count[w]++] = event->start_s;
    posts->units[w] += event->units;
}

static enum cleave_status add_bars(const struct cleave_event *event,
                                   struct cv_figure_plot *plot,
                                   struct cv_figure_result *result,
                                   struct cleave_error *err)
{
    const bool sent = event->kind == CLEAVE_SENT, done = event->kind == CLEAVE_DONE;
    struct cv_bar bar = { .row = done   ? 2 + event->worker
                                 : sent ? 0
                                        : 1,
                          .kind = done   ? 1
                                  : sent ? 0
                                         : 2,
                          .from = fmax(event->start_s, FROM_S),
                          .to = fmin(event->time_s, TO_S) };
    char text[8];

    if (bar.to <= bar.from)
        return CLEAVE_OK;
    snprintf(text, sizeof text, "%u", event->worker);
    if (!done)
        bar.text = text;
    return cv_plot_bar(result, plot, &bar, err);
}

static enum cleave_status read_trace(const struct cleave_trace *trace,
                                     struct posts *posts, struct cv_figure_plot *plot,
                                     struct cv_figure_result *result,
                                     struct cleave_error *err)
{
    for (size_t i = 0; i < cleave_trace_count(trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);
        const struct cleave_event *event = &entry->as.event;

        if (entry->is_order ||
            (event->kind != CLEAVE_SENT && event->kind != CLEAVE_DONE &&
             event->kind != CLEAVE_RETURNED))
            continue;
        if (event->kind == CLEAVE_SENT)
            note_post(event, posts);
        CV_TRY(add_bars(event, plot, result, err));
    }
    return CLEAVE_OK;
}

/* Two workers that verify equations 3 and 4 and yet ask for both ports at once: the least
 * gaps between uses of the ports, negative. */
static enum cleave_status counterexample(struct cv_arena *arena, struct cv_port_gaps *out,
                                         double *sum, struct cleave_error *err)
{
    struct cleave_worker workers[2];
    const struct cv_stream_ring ring = {
        .workers = workers, .n = 2, .tau_s = 10, .result_ratio = 1
    };
    struct cv_stream_times *times;
    double delays[2], starts[2];

    for (int i = 0; i < 2; i++)
        workers[i] = (struct cleave_worker){ .speed_ups = 10,
                                             .bandwidth_ups = 1e4,
                                             .latency_s = i == 0 ? 0.05 : 0.001,
                                             .return_bandwidth_ups = 1e4,
                                             .return_latency_s = i == 0 ? 0.05 : 0.001 };
    times = cv_ring_times(&ring, arena);
    if (times == NULL)
        return cv_fail_memory(err, "a figure");
    cv_ring_delays(&ring, times, CV_DELAY_DERIVED, delays);
    cv_ring_starts(delays, 2, starts);
    *sum = delays[0] + delays[1];
    if (!cv_ring_gaps(&ring, times, starts, NULL, arena, out))
        return cv_fail_memory(err, "a figure");
    return CLEAVE_OK;
}

static enum cleave_status judge(double off, double idle, uint64_t waits, uint64_t chunks,
                                struct cv_figure_result *result, struct cleave_error *err)
{
    struct cleave_streams_result *plain;
    struct cv_port_gaps gaps;
    uint64_t plain_waits;
    double sum = 0;

    CV_TRY(simulate("0", NULL, &plain, err));
    plain_waits = plain->contentions;
    cleave_streams_result_free(plain);
    CV_TRY(counterexample(&result->arena, &gaps, &sum, err));
    CV_TRY(cv_figure_claim(result, off < 1e-3, err,
                           "asymptotically every worker is served once in tau",
                           "steady posts are within %.1e s of 10 s apart", off));
    CV_TRY(cv_figure_claim(result, idle < 1e-9, err,
                           "no worker idles between two parts of its load",
                           "%.1g s of idleness in all", idle));
    CV_TRY(cv_figure_claim(result, plain_waits == 0, err,
                           "the delays of equation 3 prevent contention",
                           "%llu of %llu messages wait for a port; with delays 10 %% "
                           "longer %llu. None of that "
                           "makes a worker idle",
                           (unsigned long long)plain_waits, (unsigned long long)chunks,
                           (unsigned long long)waits));
    return cv_figure_claim(result, gaps.send_s >= 0 && gaps.receive_s >= 0, err,
                           "equation 4 is sufficient against contention",
                           "two workers with link latencies of 50 and 1 ms need %.3f of "
                           "10 s, and both ports "
                           "are asked for twice at once (gaps of %.3f and %.3f s)",
                           sum, gaps.send_s, gaps.receive_s);
}

static enum cleave_status fill(const struct posts *posts,
                               const struct cleave_streams_result *run, double *off,
                               double *idle, struct cv_figure_result *result,
                               struct cleave_error *err)
{
    static const char *const columns[COLUMNS] = { "rounds", "2nd round after s",
                                                  "last round after s", "units",
                                                  "idle s" };

    result->label = "worker";
    result->columns = columns;
    result->ncolumns = COLUMNS;
    result->note =
        "Speeds 10, 20, 30 and 15 units/s, 0.1 s of latency in computing and "
        "links, 200 units/s each way; delays 10 % longer than equation 3 says.";
    for (uint32_t w = 0; w < WORKERS; w++) {
        const unsigned n = posts->count[w];
        double *values = cv_figure_row(result, "%u", w);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        values[POSTS] = n;
        if (n >= 2) {
            values[EARLY] = posts->at[w][1] - posts->at[w][0];
            values[STEADY] = posts->at[w][n - 1] - posts->at[w][n - 2];
        }
        values[UNITS] = posts->units[w];
        for (uint32_t k = 0; k < run->nworkers; k++)
            if (run->workers[k].worker == w)
                values[IDLE] = run->workers[k].idle_s;
        *off = fmax(*off, fabs(values[STEADY] - TAU_S));
        *idle += values[IDLE];
    }
    return CLEAVE_OK;
}

static enum cleave_status make_from(struct cleave_trace *trace,
                                    struct cv_figure_result *result,
                                    struct cleave_error *err)
{
    static const char *const rows[] = { "master sends", "master receives", "worker 0",
                                        "worker 1",     "worker 2",        "worker 3" };
    static const char *const kinds[] = { "data", "computes", "results", NULL };
    struct posts posts = { .count = { 0 } };
    struct cleave_streams_result *run;
    double off = 0, idle = 0;
    enum cleave_status status;
    uint64_t waits, chunks;
    struct cv_figure_plot *plot;

    CV_TRY(cv_plot_add(result,
                       &(struct cv_figure_plot){
                           .kind = CV_PLOT_BARS,
                           .title = "Two steady rounds of 10 s on four workers",
                           .x_label = "time (s)",
                           .x_from = FROM_S,
                           .x_to = TO_S,
                           .row_names = rows,
                           .nrows = WORKERS + 2,
                           .kinds = kinds },
                       &plot, err));
    CV_TRY(simulate("0.1", trace, &run, err));
    waits = run->contentions;
    chunks = 2 * run->streams[0].chunks;
    status = read_trace(trace, &posts, plot, result, err);
    if (status == CLEAVE_OK)
        status = fill(&posts, run, &off, &idle, result, err);
    cleave_streams_result_free(run);
    CV_TRY(status);
    return judge(off, idle, waits, chunks, result, err);
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    struct cleave_trace *trace;
    enum cleave_status status;

    (void)job;
    CV_TRY(cleave_trace_new(&trace, err));
    status = make_from(trace, result, err);
    cleave_trace_free(trace);
    return status;
}

const struct cv_figure cv_figure_streams_schedule = {
    .title = "Steady rounds of a stream on four workers",
    .source = "Millot and Parrot, Setting up clusters for several data streams, Figure 1 "
              "and equations 3 and 4",
    .says = "Workers are served in turn once in tau, without idleness; the delays of "
            "equation 3 prevent contention if they sum to tau at most.",
    .make = make,
};
