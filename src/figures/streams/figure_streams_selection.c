/* figure_streams_selection.c -- selection of workers for several streams.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cleave/stream_plan.h>
#include "figures/common/figure.h"
#include "model/platform/generate.h"
#include "model/stream/stream_costs.h"

/* --- throughput against the number of streams --------------------------------------- */

/* Millot and Parrot, PPAM 2013, Figure 3: 100 workers of each kind of Table 1, results as
 * large as data. Neither the period nor the number of streams is printed; with rounds of
 * 100 s and no margin one master serves all workers, so the figure used shorter rounds or
 * large margins, as here. */

enum { WORKERS = 1000 };
enum { USED, UNITS, BOUND, PLANNED }; /* of a plan */
enum { RING_USED, RING_UNITS, OWN_USED = PLANNED, OWN_UNITS, OWN_BOUND, GAIN };

/* A point of the figure, and the results of an independent solver for it: the optimum of
 * the published weights, throughput of a good order of service, a bound for any order. */
struct point {
    double tau_s, margin;
    uint32_t streams;
    bool quick;
    double ring, ordered, bound;
};

static const struct point points[] = {
    { 100, 9, 1, true, 213251.4, 231368.0, 231374.3 },
    { 100, 9, 2, true, 231578.0, 232218.0, 232218.0 },
    { 100, 9, 3, false, 232217.0, 232218.0, 232218.0 },
    { 100, 9, 4, false, 232218.0, 232218.0, 232218.0 },
    { 10, 0, 1, true, 212814.0, 230729.9, 230735.6 },
    { 10, 0, 2, true, 230839.8, 231479.5, 231479.5 },
    { 10, 0, 3, false, 231478.5, 231479.5, 231479.5 },
    { 10, 0, 4, false, 231479.5, 231479.5, 231479.5 },
    { 5, 0, 1, true, 165336.0, 221197.8, 221327.9 },
    { 5, 0, 2, true, 212232.0, 229909.7, 229921.0 },
    { 5, 0, 3, false, 228168.0, 230626.2, 230628.4 },
    { 5, 0, 4, true, 229999.7, 230659.1, 230659.1 },
    { 5, 0, 5, false, 230489.5, 230659.1, 230659.1 },
    { 5, 0, 6, false, 230655.1, 230659.1, 230659.1 },
    { 5, 0, 7, false, 230659.1, 230659.1, 230659.1 },
    { 2, 0, 1, true, 65340.0, 98460.0, 98990.2 },
    { 2, 0, 2, true, 130680.0, 196920.0, 197980.4 },
    { 2, 0, 3, true, 196020.0, 223724.0, 223892.4 },
    { 2, 0, 4, false, 204336.0, 226676.9, 226696.9 },
    { 2, 0, 5, false, 210600.0, 227439.4, 227463.9 },
    { 2, 0, 6, false, 216540.0, 228013.8, 228018.5 },
    { 2, 0, 7, false, 222480.0, 228112.6, 228118.2 },
    { 2, 0, 8, true, 226180.0, 228197.7, 228197.7 },
    { 2, 0, 10, false, 227499.3, 228197.7, 228197.7 },
    { 2, 0, 12, false, 227990.8, 228197.7, 228197.7 },
    { 2, 0, 14, false, 228122.5, 228197.7, 228197.7 },
    { 2, 0, 16, true, 228197.7, 228197.7, 228197.7 },
    { 1, 0, 1, true, 32340.0, 48420.0, 48997.6 },
    { 1, 0, 2, true, 64680.0, 96840.0, 97995.2 },
    { 1, 0, 3, true, 97020.0, 145260.0, 146992.8 },
    { 1, 0, 4, true, 129360.0, 193680.0, 195990.4 },
    { 1, 0, 5, false, 161700.0, 214650.0, 214929.8 },
    { 1, 0, 6, false, 194040.0, 219466.0, 219827.4 },
    { 1, 0, 7, false, 199038.0, 222063.9, 222098.6 },
    { 1, 0, 8, true, 202272.0, 222558.8, 222598.4 },
    { 1, 0, 12, false, 213480.0, 223908.6, 223917.4 },
    { 1, 0, 16, true, 222079.9, 224095.4, 224095.4 },
    { 1, 0, 20, false, 223398.6, 224095.4, 224095.4 },
    { 1, 0, 24, false, 223889.6, 224095.4, 224095.4 },
    { 1, 0, 28, false, 224020.9, 224095.4, 224095.4 },
    { 1, 0, 32, true, 224095.4, 224095.4, 224095.4 },
};

enum { POINTS = sizeof points / sizeof *points };

struct summary {
    double ring_off;     /* most relative difference from the solver's optimum     */
    double own_below;    /* most that own weights lack to the good order           */
    double bound_over;   /* most that the bound exceeds the solver's               */
    double least_scarce; /* least gain where a stream gets only the best kind      */
    double most_gain;
    unsigned scarce, unproved, down;
    unsigned larger;    /* steps of one stream that add more than the one before   */
    double step_before; /* gain of the last stream; INFINITY: nothing to compare */
    uint32_t streams_before;
    uint32_t all_ring[2], all_own[2]; /* least streams for all, rounds of 2 and 1 s */
    double ring_before, own_before;
};

/* Fill the columns of a plan; returns whether it is proved to be optimal. */
static bool plan(const struct cleave_platform *platform, const struct point *point,
                 enum cleave_stream_weights weights, double values[PLANNED])
{
    const struct cleave_stream_task task = { .platform = platform,
                                             .nstreams = point->streams,
                                             .period_s = point->tau_s,
                                             .margin = point->margin,
                                             .result_ratio = 1,
                                             .weights = weights,
                                             .shares = CLEAVE_SHARES_ANY };
    struct cleave_stream_plan *made;
    bool optimal;

    CV_MUST(cleave_plan_streams(&task, &made, err));
    values[USED] = made->selected;
    values[UNITS] = made->throughput_ups;
    values[BOUND] = made->upper_bound_ups;
    optimal = made->optimal;
    cleave_stream_plan_free(made);
    return optimal;
}

static void note_all(const struct point *point, double used, uint32_t out[2])
{
    const int place = point->tau_s == 2 ? 0 : 1;

    if (point->tau_s <= 2 && used == WORKERS && out[place] == 0)
        out[place] = point->streams;
}

static void sum_up(const struct point *point, const double *values, bool ring_optimal,
                   struct summary *sum)
{
    if (point->streams == 1) {
        sum->ring_before = sum->own_before = 0;
        sum->step_before = INFINITY;
        sum->streams_before = 0;
    }
    if (point->streams > sum->streams_before) {
        const double step = (values[RING_UNITS] - sum->ring_before) /
                            (point->streams - sum->streams_before);

        sum->larger += step > sum->step_before * (1 + 1e-9) + 1e-6;
        sum->step_before = step;
        sum->streams_before = point->streams;
    }
    sum->down += values[RING_UNITS] < sum->ring_before * (1 - 1e-9) ||
                 values[OWN_UNITS] < sum->own_before * (1 - 1e-9);
    sum->ring_before = values[RING_UNITS];
    sum->own_before = values[OWN_UNITS];
    sum->unproved += !ring_optimal;
    sum->ring_off = fmax(sum->ring_off, fabs(values[RING_UNITS] / point->ring - 1));
    sum->own_below = fmax(sum->own_below, 1 - values[OWN_UNITS] / point->ordered);
    sum->bound_over = fmax(sum->bound_over, values[OWN_BOUND] / point->bound - 1);
    sum->most_gain = fmax(sum->most_gain, values[GAIN]);
    if (point->tau_s * point->streams <= 4 && point->tau_s <= 2) {
        sum->least_scarce = fmin(sum->least_scarce, values[GAIN]);
        sum->scarce++;
    }
    note_all(point, values[RING_USED], sum->all_ring);
    note_all(point, values[OWN_USED], sum->all_own);
}

static void judge_selection(const struct summary *sum, struct cv_figure_result *result)
{
    cv_figure_claim(result, sum->down == 0,
                    "more streams never get less in all, up to all workers",
                    "%u points go down", sum->down);
    cv_figure_claim(result, sum->larger == 0,
                    "the best workers come first: each stream adds less than the "
                    "one before",
                    "%u steps add more, published weights", sum->larger);
    cv_figure_claim(
        result, sum->ring_off < 1e-6 && sum->unproved == 0,
        "published weights: the optimum, as an independent exact solver finds it",
        "at most %.1e off (printed digits), %u not proved", sum->ring_off, sum->unproved);
    cv_figure_claim(
        result, sum->own_below < 5e-4,
        "own weights and the best order reach the independent solution",
        "at most %.4f %% below it; the bound is at most %.4f %% above its bound",
        100 * fmax(0, sum->own_below), 100 * fmax(0, sum->bound_over));
    cv_figure_claim(
        result, sum->least_scarce >= 40,
        "beyond the paper: where masters are scarce (rounds of 1 and 2 s, only the best "
        "kind served) the order gives at least 40 % more",
        "%+.1f %% at least over %u points, %+.1f %% at most of all", sum->least_scarce,
        sum->scarce, sum->most_gain);
    cv_figure_claim(result, sum->all_own[0] == 8 && sum->all_own[1] == 16,
                    "beyond the paper: half as many masters serve all 1000 workers",
                    "rounds of 2 s: %u instead of %u; of 1 s: %u instead of %u",
                    sum->all_own[0], sum->all_ring[0], sum->all_own[1], sum->all_ring[1]);
}

/* A panel per period, whose points follow each other. */
static void draw_selection(struct cv_figure_result *result)
{
    static const struct {
        const char *title, *label; /* how labels of its rows begin */
        double max;
    } panels[] = { { "Rounds of 1 s", "1 s, ", 33 },
                   { "Rounds of 2 s", "2 s, ", 17 },
                   { "Rounds of 5 s", "5 s, ", 8 },
                   { "Rounds of 10 s", "10 s, ", 5 } };
    double *streams = cv_figure_alloc(result, POINTS, sizeof *streams);

    for (size_t p = 0; p < sizeof panels / sizeof *panels; p++) {
        const size_t length = strlen(panels[p].label);
        size_t first = 0, n = 0;

        while (strncmp(result->rows[first].label, panels[p].label, length) != 0)
            first++;
        for (; first + n < result->nrows; n++) {
            const char *label = result->rows[first + n].label;

            if (strncmp(label, panels[p].label, length) != 0)
                break;
            streams[n] = strtod(label + length, NULL);
        }
        CV_PLOT_ADD(result, .title = panels[p].title, .x_label = "streams",
                    .y_label = "throughput (units/s)", .x_to = panels[p].max, .y_from = 0,
                    .y_to = 250000, .first_row = first, .nrows = n, .x = streams,
                    CV_CURVES({ .name = "published weights", .column = RING_UNITS },
                              { .name = "own weights and order", .column = OWN_UNITS },
                              { "no order can exceed", OWN_BOUND, CV_LINE_PLAIN, 0 }));
    }
}

static void fill(const struct cv_figure_job *job, const struct cleave_platform *platform,
                 struct cv_figure_result *result)
{
    struct summary sum = { .least_scarce = INFINITY, .own_below = -INFINITY };

    for (size_t i = 0; i < POINTS; i++) {
        const struct point *point = &points[i];
        bool ring_optimal;
        double *values;

        if (job->quick && !point->quick)
            continue;
        values = point->margin > 0
                     ? cv_figure_row(result, "%g s, margin %g, %u", point->tau_s,
                                     point->margin, point->streams)
                     : cv_figure_row(result, "%g s, %u", point->tau_s, point->streams);
        ring_optimal = plan(platform, point, CLEAVE_WEIGHTS_RING, &values[RING_USED]);
        plan(platform, point, CLEAVE_WEIGHTS_OWN, &values[OWN_USED]);
        values[GAIN] = 100 * (values[OWN_UNITS] / values[RING_UNITS] - 1);
        if (fabs(values[GAIN]) < 1e-9)
            values[GAIN] = 0;
        sum_up(point, values, ring_optimal, &sum);
        cv_figure_progress(job, i + 1, POINTS);
    }
    draw_selection(result);
    judge_selection(&sum, result);
}

static void make_selection(struct cv_figure_result *result)
{
    struct cleave_worker workers[WORKERS];
    struct cleave_platform *platform;

    cv_figure_table(
        result, "round, streams",
        "ring: workers|ring: units/s|ring: bound|own: workers|own: units/s|own: bound|"
        "gain %",
        "100 workers of each of ten kinds, results as large as data. ring: the "
        "published weights; own: own weights and the best order of service.");
    for (unsigned i = 0; i < WORKERS; i++)
        workers[i] = cv_literature_worker(i / (WORKERS / CV_PUBLISHED_KINDS));
    CV_MUST(cleave_platform_new(CLEAVE_PORT_DUPLEX, workers, WORKERS, &platform, err));
    fill(result->job, platform, result);
    cleave_platform_free(platform);
}

const struct cv_figure cv_figure_streams_selection = {
    .title = "Throughput of several streams against their number",
    .source = "Millot and Parrot, Setting up clusters for several data streams, Figure 3",
    .says = "The best workers are chosen first, so each further stream adds less, until "
            "all workers serve.",
    .make = make_selection,
};

/* --- Table 1 ------------------------------------------------------------------------ */

/* Millot and Parrot, PPAM 2013, Table 1: ten kinds of workers, 100 of each. For rounds of
 * 100 s: the throughput of a worker, and the time that its master needs for it, by the
 * published weights, which assume the worst predecessor, and by its own messages. */

enum { KINDS = CV_PUBLISHED_KINDS };
enum { SPEED, LATENCY, BANDWIDTH, LINK, LOAD, GIVES, RING, OWN };

static const double TAU_S = 100;

static bool same(const struct cleave_worker *a, const struct cleave_worker *b)
{
    return a->speed_ups == b->speed_ups && a->compute_latency_s == b->compute_latency_s &&
           a->bandwidth_ups == b->bandwidth_ups && a->latency_s == b->latency_s;
}

static void judge_table1(const struct cleave_worker workers[KINDS],
                         const double ring[KINDS], const double own[KINDS],
                         struct cv_figure_result *result)
{
    double pure = 0, all_ring = 0, all_own = 0, spread = 0;
    unsigned different = KINDS;

    for (int i = 0; i < KINDS; i++) {
        for (int k = 0; k < i; k++)
            if (same(&workers[i], &workers[k])) {
                different--;
                break;
            }
        pure = fmax(pure, workers[i].speed_ups / workers[i].bandwidth_ups);
        all_ring += 100 * ring[i];
        all_own += 100 * own[i];
        spread = fmax(spread, fabs(ring[i] / ring[0] - 1));
    }
    cv_figure_claim(result, different == KINDS, "there are ten kinds of workers",
                    "%u: S1 is S5 and S3 is S7", different);
    cv_figure_claim(result, spread > 0.01,
                    "the weights of the knapsack tell workers apart",
                    "all are %.5f s, within %.0e: S2's latency of 15 ms is the worst in "
                    "every order, so the knapsack takes the best throughputs; speeds are "
                    "at most %.0e of bandwidths, messages are latency",
                    ring[0], spread, pure);
    cv_figure_claim(
        result, all_ring <= TAU_S,
        "with rounds of 100 s and no margin one master serves all 1000 workers",
        "%.2f s of 100 by the published weights, %.2f s by own ones: Figure 3 must have "
        "had shorter rounds or a margin",
        all_ring, all_own);
}

static void make_table1(struct cv_figure_result *result)
{
    struct cleave_worker workers[KINDS];
    const struct cv_stream_ring ring = {
        .workers = workers, .n = KINDS, .tau_s = TAU_S, .result_ratio = 1
    };
    double weights[KINDS], own[KINDS];
    struct cv_stream_times *times;

    for (unsigned i = 0; i < KINDS; i++)
        workers[i] = cv_literature_worker(i);
    times = cv_ring_times(&ring, &result->arena);
    if (times == NULL)
        cv_figure_no_memory("a figure");
    cv_ring_tight_delays(&ring, times, weights);
    cv_ring_own_weights(&ring, times, own);
    cv_figure_table(
        result, "kind",
        "units/s|latency s|bandwidth|link s|load of a round|gives units/s|ring weight s|"
        "own weight s",
        "The first four columns are the table, the other columns follow for rounds of "
        "100 s, results as large as data.");
    for (int i = 0; i < KINDS; i++) {
        double *values = cv_figure_row(result, "S%d", i);

        values[SPEED] = workers[i].speed_ups;
        values[LATENCY] = workers[i].compute_latency_s;
        values[BANDWIDTH] = workers[i].bandwidth_ups;
        values[LINK] = workers[i].latency_s;
        values[LOAD] = cv_stream_load(&workers[i], TAU_S);
        values[GIVES] = cv_stream_profit(&workers[i], TAU_S);
        values[RING] = weights[i];
        values[OWN] = own[i];
    }
    judge_table1(workers, weights, own, result);
    CV_PLOT_ADD(result, .title = "What a worker gives", .x_label = "kind of worker",
                .y_label = "throughput (units/s)", .labels = true, .log_y = true,
                .y_from = 0.5, .y_to = 2000,
                CV_CURVES({ NULL, GIVES, CV_LINE_MARKS, 0 }));
    CV_PLOT_ADD(result, .title = "Its time on the master in a round of 100 s",
                .x_label = "kind of worker", .y_label = "time of the ports (s)",
                .labels = true, .y_from = 0, .y_to = 0.035,
                CV_CURVES({ "published weight", RING, CV_LINE_MARKS, 0 },
                          { "own messages", OWN, CV_LINE_MARKS, 0 }));
}

const struct cv_figure cv_figure_streams_table1 = {
    .title = "The published kinds of workers: their throughput and their cost",
    .source = "Millot and Parrot, Setting up clusters for several data streams, Table 1",
    .says = "Ten sets of speeds and latencies, 100 workers each, are the platform of all "
            "experiments.",
    .make = make_table1,
};
