/* figure_streams_period.c -- CPU efficiency against the length of rounds.
 * SPDX-License-Identifier: MIT
 *
 * Millot and Parrot, PPAM 2013, Figure 5: 1000 workers of Table 1 with the same compute
 * latency each, steady speeds, no care for the end. The length T of the stream and the
 * first posts are not printed: both decide where the best period is. Posts are either
 * spread over a round, or as far apart as the published weights ask for (0.03 s), in as
 * many clusters as that takes. */
#include <math.h>
#include <stdio.h>

#include "figures/common/figure_plot.h"
#include "figures/streams/figure_streams_scene.h"

enum { HORIZONS = 2, STARTS = 2, LATENCIES = 3, PERIODS = 9, WORKERS = 1000 };
enum { QUICK_CURVES = STARTS * LATENCIES, CURVES = HORIZONS * QUICK_CURVES };
enum { FIRST_QUICK = 2 }; /* of the periods */

static const double horizons_s[HORIZONS] = { 1000, 10000 };
static const double latencies_s[LATENCIES] = { 0, 0.01, 0.1 };
static const double periods_s[PERIODS] = { 1, 2, 5, 10, 20, 50, 100, 200, 500 };
static const double SPACING_S = 0.03001;

/* An independent simulation of the same: during the stream, and to the last result; by
 * horizon, then spread and close posts. */
static const double reference[HORIZONS * STARTS][LATENCIES][PERIODS][2] = {
    {
        { { 0.9995, 0.9990 },
          { 0.9990, 0.9980 },
          { 0.9975, 0.9950 },
          { 0.9950, 0.9902 },
          { 0.9900, 0.9806 },
          { 0.9750, 0.9535 },
          { 0.9500, 0.9131 },
          { 0.9001, 0.8463 },
          { 0.7502, 0.7145 } },
        { { 0.9795, 0.9790 },
          { 0.9890, 0.9880 },
          { 0.9935, 0.9911 },
          { 0.9930, 0.9882 },
          { 0.9890, 0.9796 },
          { 0.9746, 0.9531 },
          { 0.9498, 0.9129 },
          { 0.9000, 0.8462 },
          { 0.7502, 0.7145 } },
        { { 0.7996, 0.7992 },
          { 0.8991, 0.8982 },
          { 0.9576, 0.9552 },
          { 0.9751, 0.9704 },
          { 0.9801, 0.9708 },
          { 0.9711, 0.9497 },
          { 0.9481, 0.9113 },
          { 0.8991, 0.8454 },
          { 0.7499, 0.7142 } },
    },
    {
        { { 0.9995, 0.9990 },
          { 0.9991, 0.9981 },
          { 0.9979, 0.9955 },
          { 0.9963, 0.9918 },
          { 0.9925, 0.9839 },
          { 0.9850, 0.9690 },
          { 0.9850, 0.9735 },
          { 0.9850, 0.9756 },
          { 0.9850, 0.9804 } },
        { { 0.9795, 0.9790 },
          { 0.9891, 0.9881 },
          { 0.9939, 0.9915 },
          { 0.9943, 0.9898 },
          { 0.9915, 0.9829 },
          { 0.9846, 0.9686 },
          { 0.9848, 0.9733 },
          { 0.9849, 0.9755 },
          { 0.9849, 0.9803 } },
        { { 0.7996, 0.7992 },
          { 0.8991, 0.8983 },
          { 0.9579, 0.9556 },
          { 0.9763, 0.9720 },
          { 0.9825, 0.9740 },
          { 0.9810, 0.9652 },
          { 0.9830, 0.9715 },
          { 0.9840, 0.9746 },
          { 0.9846, 0.9800 } },
    },
    {
        { { 1.0000, 0.9999 },
          { 0.9999, 0.9998 },
          { 0.9998, 0.9995 },
          { 0.9995, 0.9990 },
          { 0.9990, 0.9980 },
          { 0.9975, 0.9950 },
          { 0.9950, 0.9902 },
          { 0.9900, 0.9806 },
          { 0.9750, 0.9535 } },
        { { 0.9800, 0.9799 },
          { 0.9899, 0.9898 },
          { 0.9958, 0.9955 },
          { 0.9975, 0.9970 },
          { 0.9980, 0.9970 },
          { 0.9971, 0.9946 },
          { 0.9948, 0.9900 },
          { 0.9899, 0.9805 },
          { 0.9750, 0.9535 } },
        { { 0.8000, 0.7999 },
          { 0.8999, 0.8998 },
          { 0.9598, 0.9595 },
          { 0.9795, 0.9790 },
          { 0.9890, 0.9880 },
          { 0.9935, 0.9911 },
          { 0.9930, 0.9882 },
          { 0.9890, 0.9796 },
          { 0.9746, 0.9531 } },
    },
    {
        { { 1.0000, 0.9999 },
          { 0.9999, 0.9998 },
          { 0.9998, 0.9995 },
          { 0.9996, 0.9992 },
          { 0.9993, 0.9983 },
          { 0.9985, 0.9967 },
          { 0.9985, 0.9970 },
          { 0.9985, 0.9971 },
          { 0.9985, 0.9971 } },
        { { 0.9800, 0.9799 },
          { 0.9899, 0.9898 },
          { 0.9958, 0.9955 },
          { 0.9976, 0.9972 },
          { 0.9983, 0.9973 },
          { 0.9981, 0.9963 },
          { 0.9983, 0.9968 },
          { 0.9984, 0.9970 },
          { 0.9985, 0.9971 } },
        { { 0.8000, 0.7999 },
          { 0.8999, 0.8998 },
          { 0.9598, 0.9596 },
          { 0.9796, 0.9792 },
          { 0.9893, 0.9884 },
          { 0.9945, 0.9927 },
          { 0.9965, 0.9950 },
          { 0.9975, 0.9961 },
          { 0.9981, 0.9967 } },
    },
};

/* One curve: a horizon, a way to start and a latency. */
struct curve {
    int horizon, start, latency;
    struct cv_scene_run runs[PERIODS];
};

/* The period with the best efficiency, to the last result or not. */
static double best_period(const struct curve *curve, bool to_end, int first)
{
    int best = first;

    for (int p = first; p < PERIODS; p++) {
        const struct cv_scene_run *a = &curve->runs[p], *b = &curve->runs[best];

        if (to_end ? a->to_end > b->to_end : a->in_stream > b->in_stream)
            best = p;
    }
    return periods_s[best];
}

static double most_off(const struct curve *curves, size_t n, int first)
{
    double off = 0;

    for (size_t i = 0; i < n; i++)
        for (int p = first; p < PERIODS; p++) {
            const double *expected = reference[curves[i].horizon * STARTS +
                                               curves[i].start][curves[i].latency][p];

            off = fmax(off, fabs(curves[i].runs[p].in_stream - expected[0]));
            off = fmax(off, fabs(curves[i].runs[p].to_end - expected[1]));
        }
    return off;
}

/* How far 2 f / tau + tau / (2 T) is from the loss of spread starts, in a stream. */
static double formula_off(const struct curve *curves, size_t n, int first)
{
    double off = 0;

    for (size_t i = 0; i < n; i++)
        for (int p = first; p < PERIODS && curves[i].start == 0; p++) {
            const double loss = 2 * latencies_s[curves[i].latency] / periods_s[p] +
                                periods_s[p] / (2 * horizons_s[curves[i].horizon]);

            off = fmax(off, fabs(1 - curves[i].runs[p].in_stream - loss));
        }
    return off;
}

static enum cleave_status judge(const struct curve *curves, size_t n, int first,
                                struct cv_figure_result *result, struct cleave_error *err)
{
    const double off = most_off(curves, n, first);
    const struct curve *spread = &curves[2], *close = &curves[LATENCIES + 2];

    CV_TRY(cv_figure_claim(result, off <= 6e-4, err,
                           "efficiencies are those of an independent simulation",
                           "at most %.1e apart over %u values", off,
                           (unsigned)n * 2 * (unsigned)(PERIODS - first)));
    CV_TRY(cv_figure_claim(
        result,
        best_period(spread, false, first) == 20 && best_period(spread, true, first) == 20,
        err, "a best period exists",
        "T = 1000 s, f = 0.1 s, posts spread over a round: %g s in the stream, %g s to "
        "the end; 2 sqrt(f T) = 20 s and sqrt(2 f T) = 14.1 s",
        best_period(spread, false, first), best_period(spread, true, first)));
    CV_TRY(cv_figure_claim(
        result, best_period(close, false, first) == periods_s[PERIODS - 1], err,
        "beyond the paper: with first posts as close as ports allow, the start costs the "
        "same for every period, and there is no best one",
        "the longest, %g s, is best in the stream", best_period(close, false, first)));
    return cv_figure_claim(
        result, formula_off(curves, n, first) < 6e-3, err,
        "posts spread over a round lose 2 f / tau + tau / (2 T) in the stream",
        "at most %.1e apart", formula_off(curves, n, first));
}

static void set_up(struct curve *curve, size_t place)
{
    curve->horizon = (int)(place / QUICK_CURVES);
    curve->start = (int)(place / LATENCIES % STARTS);
    curve->latency = (int)(place % LATENCIES);
    for (int p = 0; p < PERIODS; p++)
        curve->runs[p] = (struct cv_scene_run){
            .workers = WORKERS,
            .kind = -1,
            .latency_s = latencies_s[curve->latency],
            .port = CLEAVE_PORT_MULTI, /* no contention */
            .tau_s = periods_s[p],
            .horizon_s = horizons_s[curve->horizon],
            .spacing_s = curve->start == 1 ? SPACING_S : 0,
            .start = "spread",
            .end = "none",
        };
}

/* A panel per horizon and start: the paper does not say which it had. */
static enum cleave_status draw(const struct curve *curves, size_t n, int first,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const titles[HORIZONS * STARTS] = {
        "T = 1000 s, first posts spread over a round",
        "T = 1000 s, first posts as close as published weights ask for",
        "T = 10,000 s, first posts spread over a round",
        "T = 10,000 s, first posts as close as published weights ask for",
    };
    const struct cv_figure_row *row = result->rows;
    struct cv_figure_plot *plot = NULL;

    for (size_t i = 0; i < n; i++, row = row->next) {
        char name[32];

        if (i % LATENCIES == 0)
            CV_TRY(cv_plot_add(result,
                               &(struct cv_figure_plot){
                                   .title = titles[i / LATENCIES],
                                   .x_label = "τ, wanted length of rounds (s)",
                                   .y_label = "CPU efficiency, to the last result",
                                   .log_x = true },
                               &plot, err));
        snprintf(name, sizeof name, "f = %g s", latencies_s[curves[i].latency]);
        CV_TRY(cv_plot_row(result, plot, name, row->values + first,
                           (size_t)(PERIODS - first), periods_s + first, err));
    }
    return CLEAVE_OK;
}

static enum cleave_status fill(const struct curve *curves, size_t n, int first,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct curve *curve = &curves[i];
        double *values =
            cv_figure_row(result, "T %g, f %g, %s", horizons_s[curve->horizon],
                          latencies_s[curve->latency],
                          curve->start == 0 ? "spread" : "close");

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        for (int p = first; p < PERIODS; p++) {
            values[p] = curve->runs[p].to_end;
            values[PERIODS + p] = curve->runs[p].in_stream;
        }
    }
    CV_TRY(draw(curves, n, first, result, err));
    return judge(curves, n, first, result, err);
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[2 * PERIODS] = {
        "tau 1",     "2",         "5",         "10",         "20",         "50",
        "100",       "200",       "500",       "stream 1",   "stream 2",   "stream 5",
        "stream 10", "stream 20", "stream 50", "stream 100", "stream 200", "stream 500",
    };
    const size_t n = job->quick ? QUICK_CURVES : CURVES;
    const int first = job->quick ? FIRST_QUICK : 0;
    struct curve *curves = cv_array(&result->arena, n, sizeof *curves);
    struct cv_scene_run *runs =
        cv_array(&result->arena, n * (size_t)(PERIODS - first), sizeof *runs);
    size_t count = 0;

    if (curves == NULL || runs == NULL)
        return cv_fail_memory(err, "a figure");
    result->label = "stream";
    result->columns = columns;
    result->ncolumns = sizeof columns / sizeof *columns;
    result->nshown = PERIODS;
    result->note = "Part of the time up to the last result that CPUs compute, by the "
                   "period in seconds; during the stream alone: in the CSV file.";
    for (size_t i = 0; i < n; i++) {
        set_up(&curves[i], i);
        for (int p = first; p < PERIODS; p++)
            runs[count++] = curves[i].runs[p];
    }
    CV_TRY(cv_scene_runs(job, runs, count, err));
    count = 0;
    for (size_t i = 0; i < n; i++)
        for (int p = first; p < PERIODS; p++)
            curves[i].runs[p] = runs[count++];
    return fill(curves, n, first, result, err);
}

const struct cv_figure cv_figure_streams_period = {
    .title = "CPU efficiency of a stream against the length of rounds",
    .source = "Millot and Parrot, Setting up clusters for several data streams, Figure 5",
    .says = "A best length of rounds exists, and depends on the latency of computing.",
    .make = make,
};
