/* figure_streams_efficiency.c -- CPU efficiency against the length of rounds.
 * SPDX-License-Identifier: MIT
 *
 * Millot and Parrot, PPAM 2013, Figure 5: 1000 workers of Table 1 with the same compute
 * latency each, steady speeds, no care for the end. The length T of the stream and the
 * first posts are not printed: both decide where the best period is. Posts are either
 * spread over a round, or as far apart as the published weights ask for (0.03 s), in as
 * many clusters as that takes. */
#include <math.h>
#include <stdio.h>
#include "figures/common/figure.h"
#include "figures/streams/figure_streams_scene.h"

enum {
    HORIZONS = 2,
    STARTS = 2,
    PERIOD_LATENCIES = 3,
    PERIOD_PERIODS = 9,
    WORKERS = 1000
};
enum {
    QUICK_CURVES = STARTS * PERIOD_LATENCIES,
    PERIOD_CURVES = HORIZONS * QUICK_CURVES
};
enum { PERIOD_FIRST_QUICK = 2 }; /* of the periods */

static const double horizons_s[HORIZONS] = { 1000, 10000 };
static const double latencies_s_period[PERIOD_LATENCIES] = { 0, 0.01, 0.1 };
static const double periods_s_period[PERIOD_PERIODS] = { 1,  2,   5,   10, 20,
                                                         50, 100, 200, 500 };
static const double SPACING_S = 0.03001;

/* An independent simulation of the same: during the stream, and to the last result; by
 * horizon, then spread and close posts. */
static const double reference_period[HORIZONS * STARTS][PERIOD_LATENCIES][PERIOD_PERIODS]
                                    [2] = {
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
    struct cv_scene_run runs[PERIOD_PERIODS];
};

/* The period with the best efficiency, to the last result or not. */
static double best_period_period(const struct curve *curve, bool to_end, int first)
{
    int best = first;

    for (int p = first; p < PERIOD_PERIODS; p++) {
        const struct cv_scene_run *a = &curve->runs[p], *b = &curve->runs[best];

        if (to_end ? a->to_end > b->to_end : a->in_stream > b->in_stream)
            best = p;
    }
    return periods_s_period[best];
}

static double most_off(const struct curve *curves, size_t n, int first)
{
    double off = 0;

    for (size_t i = 0; i < n; i++)
        for (int p = first; p < PERIOD_PERIODS; p++) {
            const double *expected =
                reference_period[curves[i].horizon * STARTS + curves[i].start]
                                [curves[i].latency][p];

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
        for (int p = first; p < PERIOD_PERIODS && curves[i].start == 0; p++) {
            const double loss =
                2 * latencies_s_period[curves[i].latency] / periods_s_period[p] +
                periods_s_period[p] / (2 * horizons_s[curves[i].horizon]);

            off = fmax(off, fabs(1 - curves[i].runs[p].in_stream - loss));
        }
    return off;
}

static enum cleave_status judge_period(const struct curve *curves, size_t n, int first,
                                       struct cv_figure_result *result,
                                       struct cleave_error *err)
{
    const double off = most_off(curves, n, first);
    const struct curve *spread = &curves[2], *close = &curves[PERIOD_LATENCIES + 2];

    CV_TRY(cv_figure_claim(result, off <= 6e-4, err,
                           "efficiencies are those of an independent simulation",
                           "at most %.1e apart over %u values", off,
                           (unsigned)n * 2 * (unsigned)(PERIOD_PERIODS - first)));
    CV_TRY(cv_figure_claim(
        result,
        best_period_period(spread, false, first) == 20 &&
            best_period_period(spread, true, first) == 20,
        err, "a best period exists",
        "T = 1000 s, f = 0.1 s, posts spread over a round: %g s in the stream, %g s to "
        "the end; 2 sqrt(f T) = 20 s and sqrt(2 f T) = 14.1 s",
        best_period_period(spread, false, first),
        best_period_period(spread, true, first)));
    CV_TRY(cv_figure_claim(
        result,
        best_period_period(close, false, first) == periods_s_period[PERIOD_PERIODS - 1],
        err,
        "beyond the paper: with first posts as close as ports allow, the start costs the "
        "same for every period, and there is no best one",
        "the longest, %g s, is best in the stream",
        best_period_period(close, false, first)));
    return cv_figure_claim(
        result, formula_off(curves, n, first) < 6e-3, err,
        "posts spread over a round lose 2 f / tau + tau / (2 T) in the stream",
        "at most %.1e apart", formula_off(curves, n, first));
}

static void set_up_period(struct curve *curve, size_t place)
{
    curve->horizon = (int)(place / QUICK_CURVES);
    curve->start = (int)(place / PERIOD_LATENCIES % STARTS);
    curve->latency = (int)(place % PERIOD_LATENCIES);
    for (int p = 0; p < PERIOD_PERIODS; p++)
        curve->runs[p] = (struct cv_scene_run){
            .workers = WORKERS,
            .kind = -1,
            .latency_s = latencies_s_period[curve->latency],
            .port = CLEAVE_PORT_MULTI, /* no contention */
            .tau_s = periods_s_period[p],
            .horizon_s = horizons_s[curve->horizon],
            .spacing_s = curve->start == 1 ? SPACING_S : 0,
            .start = "spread",
            .end = "none",
        };
}

/* A panel per horizon and start: the paper does not say which it had. */
static enum cleave_status draw_period(const struct curve *curves, size_t n, int first,
                                      struct cv_figure_result *result,
                                      struct cleave_error *err)
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

        if (i % PERIOD_LATENCIES == 0)
            CV_TRY(cv_plot_add(result,
                               &(struct cv_figure_plot){
                                   .title = titles[i / PERIOD_LATENCIES],
                                   .x_label = "τ, wanted length of rounds (s)",
                                   .y_label = "CPU efficiency, to the last result",
                                   .log_x = true },
                               &plot, err));
        snprintf(name, sizeof name, "f = %g s", latencies_s_period[curves[i].latency]);
        CV_TRY(cv_plot_row(result, plot, name, row->values + first,
                           (size_t)(PERIOD_PERIODS - first), periods_s_period + first,
                           err));
    }
    return CLEAVE_OK;
}

static enum cleave_status fill_period(const struct curve *curves, size_t n, int first,
                                      struct cv_figure_result *result,
                                      struct cleave_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct curve *curve = &curves[i];
        double *values =
            cv_figure_row(result, "T %g, f %g, %s", horizons_s[curve->horizon],
                          latencies_s_period[curve->latency],
                          curve->start == 0 ? "spread" : "close");

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        for (int p = first; p < PERIOD_PERIODS; p++) {
            values[p] = curve->runs[p].to_end;
            values[PERIOD_PERIODS + p] = curve->runs[p].in_stream;
        }
    }
    CV_TRY(draw_period(curves, n, first, result, err));
    return judge_period(curves, n, first, result, err);
}

static enum cleave_status make_period(const struct cv_figure_job *job,
                                      struct cv_figure_result *result,
                                      struct cleave_error *err)
{
    static const char *const columns[2 * PERIOD_PERIODS] = {
        "tau 1",     "2",         "5",         "10",         "20",         "50",
        "100",       "200",       "500",       "stream 1",   "stream 2",   "stream 5",
        "stream 10", "stream 20", "stream 50", "stream 100", "stream 200", "stream 500",
    };
    const size_t n = job->quick ? QUICK_CURVES : PERIOD_CURVES;
    const int first = job->quick ? PERIOD_FIRST_QUICK : 0;
    struct curve *curves = cv_array(&result->arena, n, sizeof *curves);
    struct cv_scene_run *runs =
        cv_array(&result->arena, n * (size_t)(PERIOD_PERIODS - first), sizeof *runs);
    size_t count = 0;

    if (curves == NULL || runs == NULL)
        return cv_fail_memory(err, "a figure");
    result->label = "stream";
    result->columns = columns;
    result->ncolumns = sizeof columns / sizeof *columns;
    result->nshown = PERIOD_PERIODS;
    result->note = "Part of the time up to the last result that CPUs compute, by the "
                   "period in seconds; during the stream alone: in the CSV file.";
    for (size_t i = 0; i < n; i++) {
        set_up_period(&curves[i], i);
        for (int p = first; p < PERIOD_PERIODS; p++)
            runs[count++] = curves[i].runs[p];
    }
    CV_TRY(cv_scene_runs(job, runs, count, err));
    count = 0;
    for (size_t i = 0; i < n; i++)
        for (int p = first; p < PERIOD_PERIODS; p++)
            curves[i].runs[p] = runs[count++];
    return fill_period(curves, n, first, result, err);
}

const struct cv_figure cv_figure_streams_period = {
    .title = "CPU efficiency of a stream against the length of rounds",
    .source = "Millot and Parrot, Setting up clusters for several data streams, Figure 5",
    .says = "A best length of rounds exists, and depends on the latency of computing.",
    .make = make_period,
};

/* --- CPU efficiency when speeds change --------------------------------------------- */

/* Millot and Parrot, PPAM 2013, Figure 6: CPU efficiency against the length of rounds for
 * several dynamicities, the part by which speeds drop and come back. A stream of 10,000
 * s, first posts spread over a round, no care for the end. How a master serves workers
 * that are late is not printed; the last rows serve them strictly in turn: a stream of
 * 3000 s on 33 fast workers of one master. */

enum {
    DYNAMICITY_LATENCIES = 2,
    DROPS = 6,
    DYNAMICITY_PERIODS = 7,
    TURNS = DROPS,
    ALL_PERIODS = 8
};
enum {
    DYNAMICITY_CURVES = DYNAMICITY_LATENCIES * DROPS,
    DYNAMICITY_FIRST_QUICK = 2,
    TURN_WORKERS = 33,
    BEST_KIND = 3
};

static const double latencies_s_dynamicity[DYNAMICITY_LATENCIES] = { 0, 0.01 };
static const double drops[DROPS] = { 0, 0.1, 0.3, 0.5, 0.7, 0.9 };
/* Rows in turn have the first seven, the others the last seven. */
static const double periods_s_dynamicity[ALL_PERIODS] = { 1, 2, 5, 10, 20, 50, 100, 200 };

/* An independent simulation of the same: during the stream, and to the last result. */
static const double reference_dynamicity[DYNAMICITY_LATENCIES][DROPS][DYNAMICITY_PERIODS]
                                        [2] = {
                                            {
                                                { { 0.9999, 0.9998 },
                                                  { 0.9998, 0.9995 },
                                                  { 0.9995, 0.9990 },
                                                  { 0.9990, 0.9980 },
                                                  { 0.9975, 0.9950 },
                                                  { 0.9950, 0.9902 },
                                                  { 0.9900, 0.9806 } },
                                                { { 0.9999, 0.9998 },
                                                  { 0.9998, 0.9995 },
                                                  { 0.9995, 0.9991 },
                                                  { 0.9990, 0.9979 },
                                                  { 0.9975, 0.9952 },
                                                  { 0.9950, 0.9900 },
                                                  { 0.9900, 0.9801 } },
                                                { { 0.9999, 0.9998 },
                                                  { 0.9998, 0.9996 },
                                                  { 0.9995, 0.9992 },
                                                  { 0.9990, 0.9974 },
                                                  { 0.9975, 0.9948 },
                                                  { 0.9950, 0.9897 },
                                                  { 0.9900, 0.9741 } },
                                                { { 0.9999, 0.9996 },
                                                  { 0.9998, 0.9991 },
                                                  { 0.9995, 0.9982 },
                                                  { 0.9990, 0.9965 },
                                                  { 0.9975, 0.9910 },
                                                  { 0.9950, 0.9867 },
                                                  { 0.9900, 0.9684 } },
                                                { { 0.9999, 0.9992 },
                                                  { 0.9998, 0.9980 },
                                                  { 0.9995, 0.9961 },
                                                  { 0.9990, 0.9958 },
                                                  { 0.9975, 0.9912 },
                                                  { 0.9950, 0.9721 },
                                                  { 0.9900, 0.9627 } },
                                                { { 0.9999, 0.9980 },
                                                  { 0.9998, 0.9957 },
                                                  { 0.9995, 0.9945 },
                                                  { 0.9990, 0.9903 },
                                                  { 0.9975, 0.9701 },
                                                  { 0.9950, 0.9651 },
                                                  { 0.9900, 0.9567 } },
                                            },
                                            {
                                                { { 0.9899, 0.9898 },
                                                  { 0.9958, 0.9955 },
                                                  { 0.9975, 0.9970 },
                                                  { 0.9980, 0.9970 },
                                                  { 0.9971, 0.9946 },
                                                  { 0.9948, 0.9900 },
                                                  { 0.9899, 0.9805 } },
                                                { { 0.9899, 0.9898 },
                                                  { 0.9958, 0.9955 },
                                                  { 0.9975, 0.9971 },
                                                  { 0.9980, 0.9969 },
                                                  { 0.9971, 0.9948 },
                                                  { 0.9948, 0.9898 },
                                                  { 0.9899, 0.9800 } },
                                                { { 0.9899, 0.9899 },
                                                  { 0.9958, 0.9956 },
                                                  { 0.9975, 0.9972 },
                                                  { 0.9980, 0.9964 },
                                                  { 0.9971, 0.9944 },
                                                  { 0.9948, 0.9892 },
                                                  { 0.9899, 0.9740 } },
                                                { { 0.9899, 0.9897 },
                                                  { 0.9958, 0.9952 },
                                                  { 0.9975, 0.9963 },
                                                  { 0.9980, 0.9955 },
                                                  { 0.9971, 0.9906 },
                                                  { 0.9948, 0.9867 },
                                                  { 0.9899, 0.9682 } },
                                                { { 0.9900, 0.9893 },
                                                  { 0.9959, 0.9941 },
                                                  { 0.9976, 0.9941 },
                                                  { 0.9981, 0.9952 },
                                                  { 0.9972, 0.9905 },
                                                  { 0.9948, 0.9724 },
                                                  { 0.9899, 0.9625 } },
                                                { { 0.9904, 0.9880 },
                                                  { 0.9963, 0.9922 },
                                                  { 0.9979, 0.9896 },
                                                  { 0.9983, 0.9844 },
                                                  { 0.9972, 0.9699 },
                                                  { 0.9949, 0.9649 },
                                                  { 0.9899, 0.9564 } },
                                            },
                                        };

/* The same in turn, during the stream. */
static const double in_turn[TURNS][DYNAMICITY_PERIODS] = {
    { 0.9798, 0.9897, 0.9952, 0.9964, 0.9958, 0.9915, 0.9836 },
    { 0.9798, 0.9897, 0.9952, 0.9964, 0.9957, 0.9915, 0.9833 },
    { 0.9795, 0.9894, 0.9950, 0.9960, 0.9809, 0.9855, 0.9761 },
    { 0.9658, 0.9632, 0.9315, 0.9093, 0.8910, 0.9001, 0.9044 },
    { 0.9356, 0.9142, 0.8124, 0.7293, 0.6867, 0.7180, 0.7410 },
    { 0.7802, 0.6260, 0.4239, 0.4206, 0.4549, 0.4627, 0.5040 },
};

struct scene {
    struct cv_scene_run curves[DYNAMICITY_CURVES][DYNAMICITY_PERIODS],
        turns[TURNS][DYNAMICITY_PERIODS];
    int first_curve, first_period; /* what is made */
};

static void set_up_dynamicity(struct scene *scene, bool quick)
{
    scene->first_curve = quick ? DROPS : 0;
    scene->first_period = quick ? DYNAMICITY_FIRST_QUICK : 0;
    for (int c = 0; c < DYNAMICITY_CURVES; c++)
        for (int p = 0; p < DYNAMICITY_PERIODS; p++)
            scene->curves[c][p] = (struct cv_scene_run){
                .workers = quick ? 100 : 1000,
                .kind = -1,
                .latency_s = latencies_s_dynamicity[c / DROPS],
                .drop = drops[c % DROPS],
                .port = CLEAVE_PORT_MULTI, /* no contention */
                .tau_s = periods_s_dynamicity[p + 1],
                .horizon_s = 10000,
                .start = "spread",
                .end = "none",
            };
    for (int c = 0; c < TURNS; c++)
        for (int p = 0; p < DYNAMICITY_PERIODS; p++)
            scene->turns[c][p] = (struct cv_scene_run){
                .workers = TURN_WORKERS,
                .kind = BEST_KIND,
                .latency_s = 0.01,
                .drop = drops[c],
                .port = CLEAVE_PORT_DUPLEX,
                .tau_s = periods_s_dynamicity[p],
                .horizon_s = 3000,
                .start = "spread",
                .end = "none",
                .service = "rr",
            };
}

/* Put the runs that are made one after the other, or back. */
static size_t gather(struct scene *scene, struct cv_scene_run *list, bool back)
{
    size_t n = 0;

    for (int c = scene->first_curve; c < DYNAMICITY_CURVES + TURNS; c++)
        for (int p = scene->first_period; p < DYNAMICITY_PERIODS; p++) {
            struct cv_scene_run *run = c < DYNAMICITY_CURVES
                                           ? &scene->curves[c][p]
                                           : &scene->turns[c - DYNAMICITY_CURVES][p];

            if (back)
                *run = list[n++];
            else
                list[n++] = *run;
        }
    return n;
}

static enum cleave_status fill_dynamicity(const struct scene *scene,
                                          struct cv_figure_result *result,
                                          struct cleave_error *err)
{
    for (int c = scene->first_curve; c < DYNAMICITY_CURVES + TURNS; c++) {
        const bool turn = c >= DYNAMICITY_CURVES;
        double *values = cv_figure_row(result, "%sf %g, drop %g", turn ? "in turn, " : "",
                                       turn ? 0.01 : latencies_s_dynamicity[c / DROPS],
                                       drops[c % DROPS]);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        for (int p = scene->first_period; p < DYNAMICITY_PERIODS; p++) {
            const struct cv_scene_run *run =
                turn ? &scene->turns[c - DYNAMICITY_CURVES][p] : &scene->curves[c][p];

            values[turn ? p : p + 1] = turn ? run->in_stream : run->to_end;
            values[ALL_PERIODS + (turn ? p : p + 1)] = run->in_stream;
        }
    }
    return CLEAVE_OK;
}

static enum cleave_status draw_dynamicity(const struct scene *scene,
                                          struct cv_figure_result *result,
                                          struct cleave_error *err)
{
    static const char *const titles[DYNAMICITY_LATENCIES + 1] = {
        "f = 0, served as they come, to the last result",
        "f = 0.01 s, served as they come, to the last result",
        "f = 0.01 s, served strictly in turn, during the stream",
    };
    const struct cv_figure_row *row = result->rows;
    struct cv_figure_plot *plot = NULL;

    for (int c = scene->first_curve; c < DYNAMICITY_CURVES + TURNS;
         c++, row = row->next) {
        const int first = scene->first_period + (c < DYNAMICITY_CURVES ? 1 : 0);
        char name[32];

        if (c % DROPS == 0)
            CV_TRY(cv_plot_add(result,
                               &(struct cv_figure_plot){
                                   .title = titles[c / DROPS],
                                   .x_label = "τ, wanted length of rounds (s)",
                                   .y_label = "CPU efficiency",
                                   .log_x = true },
                               &plot, err));
        snprintf(name, sizeof name, "drop %g", drops[c % DROPS]);
        CV_TRY(cv_plot_row(result, plot, name, row->values + first,
                           (size_t)(DYNAMICITY_PERIODS - scene->first_period),
                           periods_s_dynamicity + first, err));
    }
    return CLEAVE_OK;
}

/* The period with the best efficiency to the last result. */
static double best_period_dynamicity(const struct scene *scene, int curve)
{
    int best = scene->first_period;

    for (int p = best; p < DYNAMICITY_PERIODS; p++)
        if (scene->curves[curve][p].to_end > scene->curves[curve][best].to_end)
            best = p;
    return periods_s_dynamicity[best + 1];
}

struct distances {
    double stream, end, turn, spread;
};

static struct distances measure(const struct scene *scene)
{
    struct distances far = { 0, 0, 0, 0 };

    for (int c = scene->first_curve; c < DYNAMICITY_CURVES; c++)
        for (int p = scene->first_period; p < DYNAMICITY_PERIODS; p++) {
            const double *expected = reference_dynamicity[c / DROPS][c % DROPS][p];
            const struct cv_scene_run *run = &scene->curves[c][p];
            const struct cv_scene_run *steady = &scene->curves[c - c % DROPS][p];

            far.stream = fmax(far.stream, fabs(run->in_stream - expected[0]));
            far.end = fmax(far.end, fabs(run->to_end - expected[1]));
            far.spread = fmax(far.spread, fabs(run->in_stream - steady->in_stream));
        }
    for (int c = 0; c < TURNS; c++)
        for (int p = scene->first_period; p < DYNAMICITY_PERIODS; p++)
            far.turn = fmax(far.turn, fabs(scene->turns[c][p].in_stream - in_turn[c][p]));
    return far;
}

static enum cleave_status judge_dynamicity(const struct scene *scene, bool quick,
                                           struct cv_figure_result *result,
                                           struct cleave_error *err)
{
    const struct distances far = measure(scene);
    const int steady = DYNAMICITY_CURVES - DROPS, worst = DYNAMICITY_CURVES - 1;

    CV_TRY(cv_figure_claim(
        result,
        best_period_dynamicity(scene, worst) <= best_period_dynamicity(scene, steady),
        err, "rounds should be shorter for the highest dynamicity than for none",
        "f = 0.01 s: best to the end %g s when steady, %g, %g, %g, %g "
        "and %g s for drops of 0.1 to 0.9",
        best_period_dynamicity(scene, steady), best_period_dynamicity(scene, steady + 1),
        best_period_dynamicity(scene, steady + 2),
        best_period_dynamicity(scene, steady + 3),
        best_period_dynamicity(scene, steady + 4), best_period_dynamicity(scene, worst)));
    CV_TRY(cv_figure_claim(result, far.spread < 1e-3, err,
                           "while the stream lasts dynamicity costs nothing: the next "
                           "data is there half a round ahead",
                           "at most %.1e from the steady curve", far.spread));
    CV_TRY(cv_figure_claim(result, far.stream <= (quick ? 1e-3 : 3e-4), err,
                           "in the stream: as an independent simulation",
                           "at most %.1e apart", far.stream));
    CV_TRY(cv_figure_claim(result, far.end <= (quick ? 8e-3 : 4e-3), err,
                           "to the last result: as an independent simulation, in which "
                           "profiles meet kinds otherwise",
                           "at most %.1e apart", far.end));
    return cv_figure_claim(
        result, far.turn <= 0.05, err,
        "served strictly in turn one slow worker blocks all",
        "drop 0.9, rounds of 5 s: %.3f instead of %.3f; at most %.3f from an independent "
        "simulation",
        scene->turns[TURNS - 1][2].in_stream, 0.9957, far.turn);
}

static enum cleave_status make_dynamicity(const struct cv_figure_job *job,
                                          struct cv_figure_result *result,
                                          struct cleave_error *err)
{
    static const char *const columns[2 * ALL_PERIODS] = {
        "tau 1",     "2",         "5",          "10",         "20",       "50",
        "100",       "200",       "stream 1",   "stream 2",   "stream 5", "stream 10",
        "stream 20", "stream 50", "stream 100", "stream 200",
    };
    struct scene *scene = cv_array(&result->arena, 1, sizeof *scene);
    struct cv_scene_run *list =
        cv_array(&result->arena, (size_t)(DYNAMICITY_CURVES + TURNS) * DYNAMICITY_PERIODS,
                 sizeof *list);

    if (scene == NULL || list == NULL)
        return cv_fail_memory(err, "a figure");
    result->label = "stream";
    result->columns = columns;
    result->ncolumns = sizeof columns / sizeof *columns;
    result->nshown = ALL_PERIODS;
    result->note = "Part of the time up to the last result that CPUs compute, by the "
                   "period in seconds; for rows in turn, and in the CSV file for all, "
                   "during the stream.";
    set_up_dynamicity(scene, job->quick);
    CV_TRY(cv_scene_runs(job, list, gather(scene, list, false), err));
    gather(scene, list, true);
    CV_TRY(fill_dynamicity(scene, result, err));
    CV_TRY(draw_dynamicity(scene, result, err));
    return judge_dynamicity(scene, job->quick, result, err);
}

const struct cv_figure cv_figure_streams_dynamicity = {
    .title = "CPU efficiency of a stream against the length of rounds when speeds change",
    .source = "Millot and Parrot, Setting up clusters for several data streams, Figure 6",
    .says =
        "The higher the dynamicity, the shorter rounds should be; latencies still ask "
        "for long ones.",
    .make = make_dynamicity,
};
