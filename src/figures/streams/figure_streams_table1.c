/* figure_streams_table1.c -- what the published kinds of workers are worth.
 * SPDX-License-Identifier: MIT
 *
 * Millot and Parrot, PPAM 2013, Table 1: ten kinds of workers, 100 of each. For rounds of
 * 100 s: what a worker gives, and what it takes of its master by the published weights,
 * which reckon with the worst worker before it, and by its own messages. */
#include <math.h>

#include "model/stream/stream_costs.h"
#include "figures/common/figure_plot.h"
#include "model/platform/generate.h"

enum { KINDS = CV_PUBLISHED_KINDS };
enum { SPEED, LATENCY, BANDWIDTH, LINK, LOAD, GIVES, RING, OWN, COLUMNS };

static const double TAU_S = 100;

static bool same(const struct cleave_worker *a, const struct cleave_worker *b)
{
    return a->speed_ups == b->speed_ups && a->compute_latency_s == b->compute_latency_s &&
           a->bandwidth_ups == b->bandwidth_ups && a->latency_s == b->latency_s;
}

static enum cleave_status judge(const struct cleave_worker workers[KINDS],
                                const double ring[KINDS], const double own[KINDS],
                                struct cv_figure_result *result, struct cleave_error *err)
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
    CV_TRY(cv_figure_claim(result, different == KINDS, err,
                           "there are ten kinds of workers", "%u: S1 is S5 and S3 is S7",
                           different));
    CV_TRY(cv_figure_claim(
        result, spread > 0.01, err, "the weights of the knapsack tell workers apart",
        "all are %.5f s, within %.0e: S2's latency of 15 ms is the worst before anybody, "
        "so "
        "the knapsack takes the best throughputs; speeds are at most %.0e of bandwidths, "
        "messages are latency",
        ring[0], spread, pure));
    return cv_figure_claim(
        result, all_ring <= TAU_S, err,
        "with rounds of 100 s and no margin one master serves all 1000 workers",
        "%.2f s of 100 by the published weights, %.2f s by own ones: Figure 3 must have "
        "had shorter rounds or a margin",
        all_ring, all_own);
}

static enum cleave_status draw(struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const names[KINDS] = { "S0", "S1", "S2", "S3", "S4",
                                              "S5", "S6", "S7", "S8", "S9" };
    static const struct {
        const char *title, *y_label;
        int first, count;
    } panels[2] = {
        { "What a worker gives", "throughput (units/s)", GIVES, 1 },
        { "What it takes of its master in a round of 100 s", "time of the ports (s)",
          RING, 2 },
    };

    for (int p = 0; p < 2; p++) {
        struct cv_figure_plot *plot;

        CV_TRY(cv_plot_add(result,
                           &(struct cv_figure_plot){ .title = panels[p].title,
                                                     .x_label = "kind of worker",
                                                     .y_label = panels[p].y_label,
                                                     .x_names = names,
                                                     .nx_names = KINDS,
                                                     .log_y = p == 0,
                                                     .y_from = p == 0 ? 0.5 : 0,
                                                     .y_to = p == 0 ? 2000 : 0.035 },
                           &plot, err));
        for (int c = 0; c < panels[p].count; c++) {
            const struct cv_figure_row *row = result->rows;
            struct cv_figure_series *series;

            CV_TRY(cv_plot_series(result, plot,
                                  p == 0   ? NULL
                                  : c == 0 ? "published weight"
                                           : "own messages",
                                  KINDS, false, &series, err));
            series->line = CV_LINE_MARKS;
            for (int i = 0; i < KINDS; i++, row = row->next) {
                series->x[i] = i;
                series->y[i] = row->values[panels[p].first + c];
            }
        }
    }
    return CLEAVE_OK;
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[COLUMNS] = { "units/s",         "latency s",
                                                  "bandwidth",       "link s",
                                                  "load of a round", "gives units/s",
                                                  "ring weight s",   "own weight s" };
    struct cleave_worker workers[KINDS];
    const struct cv_stream_ring ring = {
        .workers = workers, .n = KINDS, .tau_s = TAU_S, .result_ratio = 1
    };
    double weights[KINDS], own[KINDS];
    struct cv_stream_times *times;

    (void)job;
    for (unsigned i = 0; i < KINDS; i++)
        workers[i] = cv_literature_worker(i);
    times = cv_ring_times(&ring, &result->arena);
    if (times == NULL)
        return cv_fail_memory(err, "a figure");
    cv_ring_tight_delays(&ring, times, CV_DELAY_DERIVED, weights);
    cv_ring_own_weights(&ring, times, own);
    result->label = "kind";
    result->columns = columns;
    result->ncolumns = COLUMNS;
    result->note =
        "The first four columns are the table, the others follow for rounds of "
        "100 s, results as large as data.";
    for (int i = 0; i < KINDS; i++) {
        double *values = cv_figure_row(result, "S%d", i);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        values[SPEED] = workers[i].speed_ups;
        values[LATENCY] = workers[i].compute_latency_s;
        values[BANDWIDTH] = workers[i].bandwidth_ups;
        values[LINK] = workers[i].latency_s;
        values[LOAD] = cv_stream_load(&workers[i], TAU_S);
        values[GIVES] = cv_stream_profit(&workers[i], TAU_S);
        values[RING] = weights[i];
        values[OWN] = own[i];
    }
    CV_TRY(judge(workers, weights, own, result, err));
    return draw(result, err);
}

const struct cv_figure cv_figure_streams_table1 = {
    .title = "The published kinds of workers: what they give and what they take",
    .source = "Millot and Parrot, Setting up clusters for several data streams, Table 1",
    .says = "Ten sets of speeds and latencies, 100 workers each, are the platform of all "
            "experiments.",
    .make = make,
};
