/* figure_streams_rounds.c -- rounds of streams: schedule, convergence and automatic
 * period. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <cleave/streams.h>
#include <cleave/trace.h>
#include "figures/common/figure.h"
#include "figures/streams/figure_streams_scene.h"
#include "model/stream/stream_costs.h"

/* --- schedule ----------------------------------------------------------------------- */

/* Millot and Parrot, PPAM 2013, Figure 1: the schedule that AS4DR tends to, without
 * contention. Four workers of different speed, rounds of 10 s, results as large as
 * data. */

enum { WORKERS = 4, MOST_POSTS = 32 };
enum { POSTS, EARLY, STEADY, UNITS, IDLE };

static const double SCHEDULE_TAU_S = 10, SCHEDULE_HORIZON_S = 100, FROM_S = 60, TO_S = 82;
static const double speeds[WORKERS] = { 10, 20, 30, 15 };

static struct cleave_worker make_worker(double speed)
{
    return (struct cleave_worker){ .speed_ups = speed,
                                   .compute_latency_s = 0.1,
                                   .bandwidth_ups = 200,
                                   .latency_s = 0.1,
                                   .return_bandwidth_ups = 200,
                                   .return_latency_s = 0.1 };
}

static void simulate(const char *lambda, struct cleave_trace *trace,
                     struct cleave_streams_result **out)
{
    const struct cleave_setting settings[] = { { "period", "10" },
                                               { "end", "none" },
                                               { "lambda", lambda } };
    struct cleave_worker workers[WORKERS];
    struct cleave_platform *platform;
    struct cleave_stream_job job = { .horizon_s = SCHEDULE_HORIZON_S,
                                     .result_ratio = 1,
                                     .settings = settings,
                                     .nsettings = sizeof settings / sizeof *settings,
                                     .threads = 1,
                                     .trace = trace };

    for (int i = 0; i < WORKERS; i++)
        workers[i] = make_worker(speeds[i]);
    CV_MUST(cleave_platform_new(CLEAVE_PORT_DUPLEX, workers, WORKERS, &platform, err));
    job.platform = platform;
    CV_MUST(cleave_simulate_streams(&job, out, err));
    cleave_platform_free(platform);
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

static void add_bars(const struct cleave_event *event, struct cv_figure_plot *plot)
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
        return;
    snprintf(text, sizeof text, "%u", event->worker);
    if (!done)
        bar.text = text;
    cv_plot_bar(plot, &bar);
}

static void read_trace(const struct cleave_trace *trace, struct posts *posts,
                       struct cv_figure_plot *plot)
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
        add_bars(event, plot);
    }
}

/* Two workers that verify equations 3 and 4 and yet ask for both ports at once: the least
 * gaps between uses of the ports, negative. */
static void counterexample(struct cv_arena *arena, struct cv_port_gaps *out, double *sum)
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
        cv_figure_no_memory("a figure");
    cv_ring_delays(&ring, times, delays);
    cv_ring_starts(delays, 2, starts);
    *sum = delays[0] + delays[1];
    if (!cv_ring_gaps(&ring, times, starts, NULL, arena, out))
        cv_figure_no_memory("a figure");
}

static void judge_schedule(double off, double idle, uint64_t waits, uint64_t chunks,
                           struct cv_figure_result *result)
{
    struct cleave_streams_result *plain;
    struct cv_port_gaps gaps;
    uint64_t plain_waits;
    double sum = 0;

    simulate("0", NULL, &plain);
    plain_waits = plain->contentions;
    cleave_streams_result_free(plain);
    counterexample(&result->arena, &gaps, &sum);
    cv_figure_claim(result, off < 1e-3,
                    "asymptotically every worker is served once in tau",
                    "steady posts are within %.1e s of 10 s apart", off);
    cv_figure_claim(result, idle < 1e-9, "no worker idles between two parts of its load",
                    "%.1g s of idleness in all", idle);
    cv_figure_claim(result, plain_waits == 0,
                    "the delays of equation 3 prevent contention",
                    "%llu of %llu messages wait for a port; with delays 10 %% "
                    "longer %llu. None of that "
                    "makes a worker idle",
                    (unsigned long long)plain_waits, (unsigned long long)chunks,
                    (unsigned long long)waits);
    cv_figure_claim(result, gaps.send_s >= 0 && gaps.receive_s >= 0,
                    "equation 4 is sufficient against contention",
                    "two workers with link latencies of 50 and 1 ms need %.3f of "
                    "10 s, and both ports "
                    "are asked for twice at once (gaps of %.3f and %.3f s)",
                    sum, gaps.send_s, gaps.receive_s);
}

static void fill(const struct posts *posts, const struct cleave_streams_result *run,
                 double *off, double *idle, struct cv_figure_result *result)
{
    cv_figure_table(
        result, "worker", "rounds|2nd round after s|last round after s|units|idle s",
        "Speeds 10, 20, 30 and 15 units/s, 0.1 s of latency in computing and "
        "links, 200 units/s each way; delays 10 % longer than equation 3 says.");
    for (uint32_t w = 0; w < WORKERS; w++) {
        const unsigned n = posts->count[w];
        double *values = cv_figure_row(result, "%u", w);

        values[POSTS] = n;
        if (n >= 2) {
            values[EARLY] = posts->at[w][1] - posts->at[w][0];
            values[STEADY] = posts->at[w][n - 1] - posts->at[w][n - 2];
        }
        values[UNITS] = posts->units[w];
        for (uint32_t k = 0; k < run->nworkers; k++)
            if (run->workers[k].worker == w)
                values[IDLE] = run->workers[k].idle_s;
        *off = fmax(*off, fabs(values[STEADY] - SCHEDULE_TAU_S));
        *idle += values[IDLE];
    }
}

static void make_from(struct cleave_trace *trace, struct cv_figure_result *result)
{
    struct posts posts = { .count = { 0 } };
    struct cleave_streams_result *run;
    double off = 0, idle = 0;
    uint64_t waits, chunks;
    struct cv_figure_plot *plot =
        CV_PLOT_ADD(result, .kind = CV_PLOT_BARS,
                    .title = "Two steady rounds of 10 s on four workers",
                    .x_label = "time (s)", .x_from = FROM_S, .x_to = TO_S,
                    .bar_rows = "master sends|master receives|worker 0|worker 1|"
                                "worker 2|worker 3",
                    .kinds = "data|computes|results");

    simulate("0.1", trace, &run);
    waits = run->contentions;
    chunks = 2 * run->streams[0].chunks;
    read_trace(trace, &posts, plot);
    fill(&posts, run, &off, &idle, result);
    cleave_streams_result_free(run);
    judge_schedule(off, idle, waits, chunks, result);
}

static void make_schedule(struct cv_figure_result *result)
{
    struct cleave_trace *trace;

    CV_MUST(cleave_trace_new(&trace, err));
    make_from(trace, result);
    cleave_trace_free(trace);
}

const struct cv_figure cv_figure_streams_schedule = {
    .title = "Steady rounds of a stream on four workers",
    .source = "Millot and Parrot, Setting up clusters for several data streams, Figure 1 "
              "and equations 3 and 4",
    .says = "Workers are served in turn once in tau, without idleness; the delays of "
            "equation 3 prevent contention if they sum to tau at most.",
    .make = make_schedule,
};

/* --- convergence of rounds ---------------------------------------------------------- */

/* Millot and Parrot, PPAM 2013, Figure 4: rounds of 100 s are wanted, but the first loads
 * are a fifth of the right ones; mean length of the rounds of 1000 workers of Table 1,
 * all with the same compute latency. */

enum { LATENCIES = 3, ROUNDS = 6 };

static const double CONVERGENCE_TAU_S = 100, CONVERGENCE_HORIZON_S = 560;
static const double latencies_s[LATENCIES] = { 0.1, 0.5, 0.9 };
/* An independent simulation of the same, to four decimals. */
static const double reference_convergence[LATENCIES][ROUNDS] = {
    { 20.1600, 99.2079, 99.9984, 100, 100, 100 },
    { 20.8000, 96.1923, 99.9604, 99.9996, 100, 100 },
    { 21.4400, 93.4045, 99.8729, 99.9977, 100, 100 },
};

/* The error of 1 / load of round 2 over that of round 1; speeds cancel out. */
static double factor(const struct cv_scene_run *run)
{
    const double f = run->latency_s, wanted = 1 / (CONVERGENCE_TAU_S - 2 * f);
    const double first = 1 / (run->rounds[0].sigma_s - 2 * f) - wanted;
    const double second = 1 / (run->rounds[1].sigma_s - 2 * f) - wanted;

    return second / first;
}

static void judge_convergence(const struct cv_scene_run runs[LATENCIES],
                              struct cv_figure_result *result)
{
    double off = 0, factor_off = 0;
    bool ordered = true;

    for (int i = 0; i < LATENCIES; i++) {
        const double expected = 2 * latencies_s[i] / CONVERGENCE_TAU_S;

        for (int r = 0; r < ROUNDS; r++)
            off =
                fmax(off, fabs(runs[i].rounds[r].sigma_s - reference_convergence[i][r]));
        factor_off = fmax(factor_off, fabs(factor(&runs[i]) / expected - 1));
        ordered &= i == 0 || runs[i].rounds[1].sigma_s < runs[i - 1].rounds[1].sigma_s;
    }
    cv_figure_claim(result, ordered,
                    "the smaller the latency, the faster rounds converge",
                    "round 2: %.2f, %.2f and %.2f s", runs[0].rounds[1].sigma_s,
                    runs[1].rounds[1].sigma_s, runs[2].rounds[1].sigma_s);
    cv_figure_claim(result, off <= 6e-5,
                    "the lengths are those of an independent simulation",
                    "at most %.1e s apart", off);
    cv_figure_claim(result, factor_off < 1e-6,
                    "the error of 1 / load shrinks by exactly 2 f / tau in a round",
                    "%.5f, %.5f and %.5f for 2 f / tau of 0.002, 0.010 and 0.018",
                    factor(&runs[0]), factor(&runs[1]), factor(&runs[2]));
}

static void draw_convergence(const struct cv_scene_run runs[LATENCIES],
                             struct cv_figure_result *result)
{
    static const char *const names[LATENCIES] = { "f = 0.1 s", "f = 0.5 s", "f = 0.9 s" };
    struct cv_figure_plot *plot =
        CV_PLOT_ADD(result, .x_label = "mean time at which it is known (s)",
                    .y_label = "mean length of a round (s)", .y_from = 0, .y_to = 110);

    for (int i = 0; i < LATENCIES; i++) {
        struct cv_figure_series *series = cv_plot_series(plot, names[i], ROUNDS, false);

        for (int r = 0; r < ROUNDS; r++) {
            series->x[r] = runs[i].rounds[r].time_s;
            series->y[r] = runs[i].rounds[r].sigma_s;
        }
    }
}

static void make_convergence(struct cv_figure_result *result)
{
    struct cv_scene_run runs[LATENCIES];

    cv_figure_table(result, "round",
                    "f 0.1: after s|f 0.1: length s|f 0.5: after s|f 0.5: length s|"
                    "f 0.9: after s|f 0.9: length s",
                    "Mean time at which the master knows the length, and mean length; "
                    "rounds of 100 s are wanted, first loads are a fifth of that.");
    for (int i = 0; i < LATENCIES; i++)
        runs[i] = (struct cv_scene_run){ .workers = result->job->quick ? 100 : 1000,
                                         .kind = -1,
                                         .latency_s = latencies_s[i],
                                         .port = CLEAVE_PORT_DUPLEX,
                                         .tau_s = CONVERGENCE_TAU_S,
                                         .horizon_s = CONVERGENCE_HORIZON_S,
                                         .end = "none",
                                         .first = 0.2 };
    cv_scene_runs(result->job, runs, LATENCIES);
    for (int r = 0; r < ROUNDS; r++) {
        double *values = cv_figure_row(result, "%d", r + 1);

        for (int i = 0; i < LATENCIES; i++) {
            *values++ = runs[i].rounds[r].time_s;
            *values++ = runs[i].rounds[r].sigma_s;
        }
    }
    draw_convergence(runs, result);
    judge_convergence(runs, result);
}

const struct cv_figure cv_figure_streams_convergence = {
    .title = "Length of the first rounds when first loads are wrong",
    .source = "Millot and Parrot, Setting up clusters for several data streams, Figure 4",
    .says = "Rounds converge to the wanted length, the faster the smaller the latency of "
            "computing.",
    .make = make_convergence,
};

/* --- automatic period and tapered end ----------------------------------------------- */

/* Beyond the paper: one stream on 100 workers of Table 1 with changing speeds. Rounds of
 * 100 s and no care for the end, as published, against an automatic period, with and
 * without shorter rounds at the end. */

enum { HORIZONS = 2, DROPS = 4, ROWS = HORIZONS * DROPS };
enum { PUBLISHED, CLOSE, AUTO, TAPER, WAYS, GAIN = WAYS };

static const double horizons_s[HORIZONS] = { 500, 2000 };
static const double drops[DROPS] = { 0, 0.3, 0.6, 0.9 };
/* An independent simulation: rounds of 100 s, and the automatic period with a taper. */
static const double reference_auto[ROWS][2] = {
    { 0.8470, 0.9849 }, { 0.7923, 0.9850 }, { 0.7579, 0.9802 }, { 0.6534, 0.9518 },
    { 0.9534, 0.9936 }, { 0.9515, 0.9935 }, { 0.9124, 0.9936 }, { 0.8530, 0.9635 },
};
/* Work left when the stream ends, in seconds of all workers: about a round, sqrt(8 f
 * T). */
static const double rests_s[HORIZONS] = { 10, 20 };

static void set_up(struct cv_scene_run runs[ROWS][WAYS])
{
    for (int i = 0; i < ROWS; i++)
        for (int way = 0; way < WAYS; way++)
            runs[i][way] = (struct cv_scene_run){
                .workers = 100,
                .kind = -1,
                .latency_s = -1,
                .drop = drops[i % DROPS],
                .port = CLEAVE_PORT_DUPLEX,
                .tau_s = way <= CLOSE ? 100 : 0,
                .horizon_s = horizons_s[i / DROPS],
                .rest_s = way == TAPER ? rests_s[i / DROPS] : 0,
                .start = way == PUBLISHED ? "spread" : "close",
                .end = way == TAPER ? "taper" : "none",
            };
}

static void judge_auto(struct cv_scene_run runs[ROWS][WAYS],
                       struct cv_figure_result *result)
{
    double min = INFINITY, least_alone = INFINITY, below = -INFINITY;

    for (int i = 0; i < ROWS; i++) {
        below = fmax(below, reference_auto[i][1] - runs[i][TAPER].to_end);
        if (horizons_s[i / DROPS] < 2000)
            continue;
        min = fmin(min, runs[i][TAPER].to_end - runs[i][PUBLISHED].to_end);
        least_alone = fmin(least_alone, runs[i][AUTO].to_end - runs[i][PUBLISHED].to_end);
    }
    cv_figure_claim(
        result, min >= 0.03,
        "automatic period and taper: at least 3 points of CPU efficiency over rounds of "
        "100 s with posts spread as in streams-fig5, T = 2000 s, every dynamicity",
        "%+.1f points at least; %+.1f by the period alone", 100 * min, 100 * least_alone);
    cv_figure_claim(result, below <= 0.01,
                    "automatic period and taper reach an independent simulation",
                    "at most %.2f points below it", 100 * below);
}

static void make_auto(struct cv_figure_result *result)
{
    static const char *const titles[HORIZONS] = { "T = 500 s", "T = 2000 s" };
    struct cv_scene_run runs[ROWS][WAYS];

    cv_figure_table(result, "stream",
                    "tau 100|tau 100, close|auto|auto, taper|gain, points",
                    "Part of the time up to the last result that CPUs compute. tau 100: "
                    "first posts spread over a round; close: as soon as ports allow.");
    set_up(runs);
    cv_scene_runs(result->job, &runs[0][0], (size_t)ROWS * WAYS);
    for (int i = 0; i < ROWS; i++) {
        double *values = cv_figure_row(result, "T %g, drop %g", horizons_s[i / DROPS],
                                       drops[i % DROPS]);

        for (int way = 0; way < WAYS; way++)
            values[way] = runs[i][way].to_end;
        values[GAIN] = 100 * (values[TAPER] - values[PUBLISHED]);
    }
    for (size_t h = 0; h < HORIZONS; h++)
        CV_PLOT_ADD(result, .title = titles[h], .x_label = "dynamicity: speeds drop by",
                    .y_label = "CPU efficiency, to the last result", .y_from = 0.6,
                    .y_to = 1, .first_row = h * DROPS, .nrows = DROPS, .x = drops,
                    CV_CURVES({ .name = "rounds of 100 s, posts spread" },
                              { .name = "rounds of 100 s, posts close", .column = CLOSE },
                              { .name = "automatic", .column = AUTO },
                              { .name = "automatic, tapered end", .column = TAPER }));
    judge_auto(runs, result);
}

const struct cv_figure cv_figure_streams_auto = {
    .title = "CPU efficiency with an automatic period and a tapered end",
    .source = "Beyond the papers: what Millot and Parrot leave open",
    .says =
        "The length of rounds is set by experience, and nothing is done about the end "
        "of the stream.",
    .make = make_auto,
};
