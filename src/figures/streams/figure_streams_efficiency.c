/* figure_streams_efficiency.c -- CPU efficiency of streams against the length of rounds.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include "figures/common/figure.h"
#include "figures/streams/figure_streams_scene.h"

/* --- steady speeds ------------------------------------------------------------------ */

/* Millot and Parrot, PPAM 2013, Figure 5: 1000 workers of Table 1 with the same compute
 * latency each, steady speeds, no care for the end. The length T of the stream and the
 * first posts are not printed: both decide where the best period is. Posts are either
 * spread over a round, or as far apart as the published weights ask for (0.03 s), in as
 * many clusters as that takes. */

enum { HORIZONS = 2, STARTS = 2, FIG5_LATENCIES = 3, FIG5_PERIODS = 9, WORKERS = 1000 };
enum { QUICK_CURVES = STARTS * FIG5_LATENCIES, FIG5_CURVES = HORIZONS * QUICK_CURVES };
enum { FIG5_FIRST_QUICK = 2 }; /* index of a period */

static const double horizons_s[HORIZONS] = { 1000, 10000 };
static const double latencies_s_fig5[FIG5_LATENCIES] = { 0, 0.01, 0.1 };
static const double periods_s_fig5[FIG5_PERIODS] = { 1, 2, 5, 10, 20, 50, 100, 200, 500 };
static const double SPACING_S = 0.03001;

/* An independent simulation: for each period, during the stream and to the last result.
 * Rows are by horizon, posts (spread, close) and latency. */
static const double reference_fig5[FIG5_CURVES][2 * FIG5_PERIODS] = {
    { 0.9995, 0.9990, 0.9990, 0.9980, 0.9975, 0.9950, 0.9950, 0.9902, 0.9900, 0.9806,
      0.9750, 0.9535, 0.9500, 0.9131, 0.9001, 0.8463, 0.7502, 0.7145 },
    { 0.9795, 0.9790, 0.9890, 0.9880, 0.9935, 0.9911, 0.9930, 0.9882, 0.9890, 0.9796,
      0.9746, 0.9531, 0.9498, 0.9129, 0.9000, 0.8462, 0.7502, 0.7145 },
    { 0.7996, 0.7992, 0.8991, 0.8982, 0.9576, 0.9552, 0.9751, 0.9704, 0.9801, 0.9708,
      0.9711, 0.9497, 0.9481, 0.9113, 0.8991, 0.8454, 0.7499, 0.7142 },
    { 0.9995, 0.9990, 0.9991, 0.9981, 0.9979, 0.9955, 0.9963, 0.9918, 0.9925, 0.9839,
      0.9850, 0.9690, 0.9850, 0.9735, 0.9850, 0.9756, 0.9850, 0.9804 },
    { 0.9795, 0.9790, 0.9891, 0.9881, 0.9939, 0.9915, 0.9943, 0.9898, 0.9915, 0.9829,
      0.9846, 0.9686, 0.9848, 0.9733, 0.9849, 0.9755, 0.9849, 0.9803 },
    { 0.7996, 0.7992, 0.8991, 0.8983, 0.9579, 0.9556, 0.9763, 0.9720, 0.9825, 0.9740,
      0.9810, 0.9652, 0.9830, 0.9715, 0.9840, 0.9746, 0.9846, 0.9800 },
    { 1.0000, 0.9999, 0.9999, 0.9998, 0.9998, 0.9995, 0.9995, 0.9990, 0.9990, 0.9980,
      0.9975, 0.9950, 0.9950, 0.9902, 0.9900, 0.9806, 0.9750, 0.9535 },
    { 0.9800, 0.9799, 0.9899, 0.9898, 0.9958, 0.9955, 0.9975, 0.9970, 0.9980, 0.9970,
      0.9971, 0.9946, 0.9948, 0.9900, 0.9899, 0.9805, 0.9750, 0.9535 },
    { 0.8000, 0.7999, 0.8999, 0.8998, 0.9598, 0.9595, 0.9795, 0.9790, 0.9890, 0.9880,
      0.9935, 0.9911, 0.9930, 0.9882, 0.9890, 0.9796, 0.9746, 0.9531 },
    { 1.0000, 0.9999, 0.9999, 0.9998, 0.9998, 0.9995, 0.9996, 0.9992, 0.9993, 0.9983,
      0.9985, 0.9967, 0.9985, 0.9970, 0.9985, 0.9971, 0.9985, 0.9971 },
    { 0.9800, 0.9799, 0.9899, 0.9898, 0.9958, 0.9955, 0.9976, 0.9972, 0.9983, 0.9973,
      0.9981, 0.9963, 0.9983, 0.9968, 0.9984, 0.9970, 0.9985, 0.9971 },
    { 0.8000, 0.7999, 0.8999, 0.8998, 0.9598, 0.9596, 0.9796, 0.9792, 0.9893, 0.9884,
      0.9945, 0.9927, 0.9965, 0.9950, 0.9975, 0.9961, 0.9981, 0.9967 }
};

/* Curves are by horizon, way to start and latency. */
static double latency_of(size_t curve)
{
    return latencies_s_fig5[curve % FIG5_LATENCIES];
}

static bool starts_close(size_t curve)
{
    return curve / FIG5_LATENCIES % STARTS == 1;
}

/* The period with the best efficiency; the first values may be missing. */
static double best_period(const double *values, const double *periods_s, int n)
{
    int best = 0;

    for (int p = 1; p < n; p++)
        if (!(values[p] <= values[best]))
            best = p;
    return periods_s[best];
}

/* How far the values are from the reference, and how far 2 f / tau + tau / (2 T) is from the
 * loss of spread starts, in a stream. */
static void measure_fig5(const struct cv_figure_result *result, double *off,
                         double *formula_off)
{
    *off = *formula_off = 0;
    for (size_t i = 0; i < result->nrows; i++)
        for (int p = 0; p < FIG5_PERIODS; p++) {
            const double *expected = &reference_fig5[i][2 * (size_t)p];
            const double to_end = result->rows[i].values[p];
            const double in_stream = result->rows[i].values[FIG5_PERIODS + p];
            const double loss = 2 * latency_of(i) / periods_s_fig5[p] +
                                periods_s_fig5[p] / (2 * horizons_s[i / QUICK_CURVES]);

            *off = fmax(*off, fabs(in_stream - expected[0])); /* not NAN */
            *off = fmax(*off, fabs(to_end - expected[1]));
            if (!starts_close(i))
                *formula_off = fmax(*formula_off, fabs(1 - in_stream - loss));
        }
}

static void judge_fig5(int first, struct cv_figure_result *result)
{
    const double *spread = result->rows[2].values;
    const double *close = result->rows[FIG5_LATENCIES + 2].values;
    const double spread_end_s = best_period(spread, periods_s_fig5, FIG5_PERIODS);
    const double spread_s =
        best_period(spread + FIG5_PERIODS, periods_s_fig5, FIG5_PERIODS);
    const double close_s =
        best_period(close + FIG5_PERIODS, periods_s_fig5, FIG5_PERIODS);
    double off, formula_off;

    measure_fig5(result, &off, &formula_off);
    cv_figure_claim(result, off <= 6e-4,
                    "efficiencies are those of an independent simulation",
                    "at most %.1e apart over %u values", off,
                    (unsigned)result->nrows * 2 * (unsigned)(FIG5_PERIODS - first));
    cv_figure_claim(
        result, spread_s == 20 && spread_end_s == 20, "a best period exists",
        "T = 1000 s, f = 0.1 s, posts spread over a round: %g s in the stream, %g s to "
        "the end; 2 sqrt(f T) = 20 s and sqrt(2 f T) = 14.1 s",
        spread_s, spread_end_s);
    cv_figure_claim(
        result, close_s == periods_s_fig5[FIG5_PERIODS - 1],
        "beyond the paper: with first posts as close as ports allow, the start costs the "
        "same for every period, and there is no best one",
        "the longest, %g s, is best in the stream", close_s);
    cv_figure_claim(
        result, formula_off < 6e-3,
        "posts spread over a round lose 2 f / tau + tau / (2 T) in the stream",
        "at most %.1e apart", formula_off);
}

/* A panel per horizon and start, which the paper does not give. */
static void draw_fig5(struct cv_figure_result *result)
{
    static const char *const titles[HORIZONS * STARTS] = {
        "T = 1000 s, first posts spread over a round",
        "T = 1000 s, first posts as close as published weights ask for",
        "T = 10,000 s, first posts spread over a round",
        "T = 10,000 s, first posts as close as published weights ask for"
    };
    struct cv_figure_plot *plot = NULL;

    for (size_t i = 0; i < result->nrows; i++) {
        char name[32];

        if (i % FIG5_LATENCIES == 0)
            plot = CV_PLOT_ADD(result, .title = titles[i / FIG5_LATENCIES],
                               .x_label = "τ, wanted length of rounds (s)",
                               .y_label = "CPU efficiency, to the last result",
                               .log_x = true);
        snprintf(name, sizeof name, "f = %g s", latency_of(i));
        cv_plot_row(plot, name, result->rows[i].values, FIG5_PERIODS, periods_s_fig5);
    }
}

static void make_fig5(struct cv_figure_result *result)
{
    const size_t n = result->job->quick ? QUICK_CURVES : FIG5_CURVES;
    const int first = result->job->quick ? FIG5_FIRST_QUICK : 0;
    struct cv_scene_run(*runs)[FIG5_PERIODS] = cv_figure_alloc(result, n, sizeof *runs);

    cv_figure_table(result, "stream",
                    "tau 1|2|5|10|20|50|100|200|500|stream 1|stream 2|stream 5|stream 10|"
                    "stream 20|stream 50|stream 100|stream 200|stream 500",
                    "Part of the time up to the last result that CPUs compute, by the "
                    "period in seconds; during the stream alone: in the CSV file.");
    result->nshown = FIG5_PERIODS;
    for (size_t i = 0; i < n; i++)
        for (int p = first; p < FIG5_PERIODS; p++)
            runs[i][p] = (struct cv_scene_run){
                .workers = WORKERS,
                .kind = -1,
                .latency_s = latency_of(i),
                .port = CLEAVE_PORT_MULTI, /* no contention */
                .tau_s = periods_s_fig5[p],
                .horizon_s = horizons_s[i / QUICK_CURVES],
                .spacing_s = starts_close(i) ? SPACING_S : 0,
                .start = "spread",
                .end = "none",
            };
    cv_scene_runs(result->job, &runs[0][0], n * FIG5_PERIODS);
    for (size_t i = 0; i < n; i++) {
        double *values =
            cv_figure_row(result, "T %g, f %g, %s", horizons_s[i / QUICK_CURVES],
                          latency_of(i), starts_close(i) ? "close" : "spread");

        for (int p = first; p < FIG5_PERIODS; p++) {
            values[p] = runs[i][p].to_end;
            values[FIG5_PERIODS + p] = runs[i][p].in_stream;
        }
    }
    draw_fig5(result);
    judge_fig5(first, result);
}

const struct cv_figure cv_figure_streams_period = {
    .title = "CPU efficiency of a stream against the length of rounds",
    .source = "Millot and Parrot, Setting up clusters for several data streams, Figure 5",
    .says = "A best length of rounds exists, and depends on the latency of computing.",
    .make = make_fig5,
};

/* --- CPU efficiency when speeds change ---------------------------------------------- */

/* Millot and Parrot, PPAM 2013, Figure 6: CPU efficiency against the length of rounds for
 * several dynamicities, the part by which speeds drop and come back. A stream of 10,000
 * s, first posts spread over a round, no care for the end. How a master serves workers
 * that are late is not printed; the last rows serve them strictly in turn: a stream of
 * 3000 s on 33 fast workers of one master. */

enum { FIG6_LATENCIES = 2, DROPS = 6, FIG6_PERIODS = 7, TURNS = DROPS, ALL_PERIODS = 8 };
enum { FIG6_CURVES = FIG6_LATENCIES * DROPS, FIG6_FIRST_QUICK = 2 };
enum { TURN_WORKERS = 33, BEST_KIND = 3 };

static const double latencies_s_fig6[FIG6_LATENCIES] = { 0, 0.01 };
static const double drops[DROPS] = { 0, 0.1, 0.3, 0.5, 0.7, 0.9 };
/* Rows in turn use the first seven periods, other rows the last seven. */
static const double periods_s_fig6[ALL_PERIODS] = { 1, 2, 5, 10, 20, 50, 100, 200 };

/* An independent simulation of the same: during the stream, and to the last result. */
static const double reference_fig6[FIG6_CURVES][2 * FIG6_PERIODS] = {
    { 0.9999, 0.9998, 0.9998, 0.9995, 0.9995, 0.9990, 0.9990, 0.9980, 0.9975, 0.9950,
      0.9950, 0.9902, 0.9900, 0.9806 },
    { 0.9999, 0.9998, 0.9998, 0.9995, 0.9995, 0.9991, 0.9990, 0.9979, 0.9975, 0.9952,
      0.9950, 0.9900, 0.9900, 0.9801 },
    { 0.9999, 0.9998, 0.9998, 0.9996, 0.9995, 0.9992, 0.9990, 0.9974, 0.9975, 0.9948,
      0.9950, 0.9897, 0.9900, 0.9741 },
    { 0.9999, 0.9996, 0.9998, 0.9991, 0.9995, 0.9982, 0.9990, 0.9965, 0.9975, 0.9910,
      0.9950, 0.9867, 0.9900, 0.9684 },
    { 0.9999, 0.9992, 0.9998, 0.9980, 0.9995, 0.9961, 0.9990, 0.9958, 0.9975, 0.9912,
      0.9950, 0.9721, 0.9900, 0.9627 },
    { 0.9999, 0.9980, 0.9998, 0.9957, 0.9995, 0.9945, 0.9990, 0.9903, 0.9975, 0.9701,
      0.9950, 0.9651, 0.9900, 0.9567 },
    { 0.9899, 0.9898, 0.9958, 0.9955, 0.9975, 0.9970, 0.9980, 0.9970, 0.9971, 0.9946,
      0.9948, 0.9900, 0.9899, 0.9805 },
    { 0.9899, 0.9898, 0.9958, 0.9955, 0.9975, 0.9971, 0.9980, 0.9969, 0.9971, 0.9948,
      0.9948, 0.9898, 0.9899, 0.9800 },
    { 0.9899, 0.9899, 0.9958, 0.9956, 0.9975, 0.9972, 0.9980, 0.9964, 0.9971, 0.9944,
      0.9948, 0.9892, 0.9899, 0.9740 },
    { 0.9899, 0.9897, 0.9958, 0.9952, 0.9975, 0.9963, 0.9980, 0.9955, 0.9971, 0.9906,
      0.9948, 0.9867, 0.9899, 0.9682 },
    { 0.9900, 0.9893, 0.9959, 0.9941, 0.9976, 0.9941, 0.9981, 0.9952, 0.9972, 0.9905,
      0.9948, 0.9724, 0.9899, 0.9625 },
    { 0.9904, 0.9880, 0.9963, 0.9922, 0.9979, 0.9896, 0.9983, 0.9844, 0.9972, 0.9699,
      0.9949, 0.9649, 0.9899, 0.9564 }
};

/* An independent simulation of service in turn, during the stream. */
static const double in_turn[TURNS][FIG6_PERIODS] = {
    { 0.9798, 0.9897, 0.9952, 0.9964, 0.9958, 0.9915, 0.9836 },
    { 0.9798, 0.9897, 0.9952, 0.9964, 0.9957, 0.9915, 0.9833 },
    { 0.9795, 0.9894, 0.9950, 0.9960, 0.9809, 0.9855, 0.9761 },
    { 0.9658, 0.9632, 0.9315, 0.9093, 0.8910, 0.9001, 0.9044 },
    { 0.9356, 0.9142, 0.8124, 0.7293, 0.6867, 0.7180, 0.7410 },
    { 0.7802, 0.6260, 0.4239, 0.4206, 0.4549, 0.4627, 0.5040 },
};

/* Curves and then those in turn; `first` is the first period that is made. */
static void set_up_fig6(struct cv_scene_run runs[][FIG6_PERIODS], bool quick, int first)
{
    for (int c = quick ? DROPS : 0; c < FIG6_CURVES + TURNS; c++)
        for (int p = first; p < FIG6_PERIODS; p++)
            runs[c][p] =
                c < FIG6_CURVES
                    ? (struct cv_scene_run){ .workers = quick ? 100 : 1000,
                                             .kind = -1,
                                             .latency_s = latencies_s_fig6[c / DROPS],
                                             .drop = drops[c % DROPS],
                                             /* no contention */
                                             .port = CLEAVE_PORT_MULTI,
                                             .tau_s = periods_s_fig6[p + 1],
                                             .horizon_s = 10000,
                                             .start = "spread",
                                             .end = "none" }
                    : (struct cv_scene_run){ .workers = TURN_WORKERS,
                                             .kind = BEST_KIND,
                                             .latency_s = 0.01,
                                             .drop = drops[c % DROPS],
                                             .port = CLEAVE_PORT_DUPLEX,
                                             .tau_s = periods_s_fig6[p],
                                             .horizon_s = 3000,
                                             .start = "spread",
                                             .end = "none",
                                             .service = "rr" };
}

static void fill_fig6(struct cv_scene_run runs[][FIG6_PERIODS], int first_curve,
                      int first, struct cv_figure_result *result)
{
    for (int c = first_curve; c < FIG6_CURVES + TURNS; c++) {
        const bool turn = c >= FIG6_CURVES;
        double *values =
            cv_figure_row(result, "%sf %g, drop %g", turn ? "in turn, " : "",
                          turn ? 0.01 : latencies_s_fig6[c / DROPS], drops[c % DROPS]);

        for (int p = first; p < FIG6_PERIODS; p++) {
            values[turn ? p : p + 1] = turn ? runs[c][p].in_stream : runs[c][p].to_end;
            values[ALL_PERIODS + (turn ? p : p + 1)] = runs[c][p].in_stream;
        }
    }
}

/* The first curves may not be made. */
static const double *curve_values(const struct cv_figure_result *result, int curve)
{
    return result->rows[result->nrows + (size_t)curve - (FIG6_CURVES + TURNS)].values;
}

static void draw_fig6(int first_curve, struct cv_figure_result *result)
{
    static const char *const titles[FIG6_LATENCIES + 1] = {
        "f = 0, served as they come, to the last result",
        "f = 0.01 s, served as they come, to the last result",
        "f = 0.01 s, served strictly in turn, during the stream",
    };
    struct cv_figure_plot *plot = NULL;

    for (int c = first_curve; c < FIG6_CURVES + TURNS; c++) {
        char name[32];

        if (c % DROPS == 0)
            plot = CV_PLOT_ADD(result, .title = titles[c / DROPS],
                               .x_label = "τ, wanted length of rounds (s)",
                               .y_label = "CPU efficiency", .log_x = true);
        snprintf(name, sizeof name, "drop %g", drops[c % DROPS]);
        cv_plot_row(plot, name, curve_values(result, c), ALL_PERIODS, periods_s_fig6);
    }
}

struct distances {
    double stream, end, turn, spread;
};

/* Missing values are NAN, which fmax() ignores. */
static struct distances measure_fig6(const struct cv_figure_result *result, int first)
{
    struct distances far = { 0, 0, 0, 0 };

    for (int c = first; c < FIG6_CURVES; c++)
        for (int p = 0; p < FIG6_PERIODS; p++) {
            const double *expected = &reference_fig6[c][2 * (size_t)p];
            const double *own = curve_values(result, c) + p + 1;
            const double *steady = curve_values(result, c - c % DROPS) + p + 1;

            far.end = fmax(far.end, fabs(own[0] - expected[1]));
            far.stream = fmax(far.stream, fabs(own[ALL_PERIODS] - expected[0]));
            far.spread = fmax(far.spread, fabs(own[ALL_PERIODS] - steady[ALL_PERIODS]));
        }
    for (int c = 0; c < TURNS; c++)
        for (int p = 0; p < FIG6_PERIODS; p++)
            far.turn = fmax(far.turn, fabs(curve_values(result, FIG6_CURVES + c)[p] -
                                           in_turn[c][p]));
    return far;
}

static void judge_fig6(int first_curve, struct cv_figure_result *result)
{
    const struct distances far = measure_fig6(result, first_curve);
    const bool quick = result->job->quick;
    double best_s[DROPS];

    for (int d = 0; d < DROPS; d++)
        best_s[d] = best_period(curve_values(result, FIG6_CURVES - DROPS + d),
                                periods_s_fig6, ALL_PERIODS);
    cv_figure_claim(result, best_s[DROPS - 1] <= best_s[0],
                    "rounds should be shorter for the highest dynamicity than for none",
                    "f = 0.01 s: best to the end %g s when steady, %g, %g, %g, %g "
                    "and %g s for drops of 0.1 to 0.9",
                    best_s[0], best_s[1], best_s[2], best_s[3], best_s[4], best_s[5]);
    cv_figure_claim(result, far.spread < 1e-3,
                    "while the stream lasts dynamicity costs nothing: the next "
                    "data is there half a round ahead",
                    "at most %.1e from the steady curve", far.spread);
    cv_figure_claim(result, far.stream <= (quick ? 1e-3 : 3e-4),
                    "in the stream: as an independent simulation", "at most %.1e apart",
                    far.stream);
    cv_figure_claim(result, far.end <= (quick ? 8e-3 : 4e-3),
                    "to the last result: as an independent simulation, in which "
                    "profiles meet kinds otherwise",
                    "at most %.1e apart", far.end);
    cv_figure_claim(
        result, far.turn <= 0.05, "served strictly in turn one slow worker blocks all",
        "drop 0.9, rounds of 5 s: %.3f instead of %.3f; at most %.3f from an independent "
        "simulation",
        curve_values(result, FIG6_CURVES + TURNS - 1)[2], 0.9957, far.turn);
}

static void make_fig6(struct cv_figure_result *result)
{
    const bool quick = result->job->quick;
    const int first = quick ? FIG6_FIRST_QUICK : 0, first_curve = quick ? DROPS : 0;
    struct cv_scene_run(*runs)[FIG6_PERIODS] =
        cv_figure_alloc(result, (size_t)FIG6_CURVES + TURNS, sizeof *runs);

    cv_figure_table(result, "stream",
                    "tau 1|2|5|10|20|50|100|200|stream 1|stream 2|stream 5|stream 10|"
                    "stream 20|stream 50|stream 100|stream 200",
                    "Part of the time up to the last result that CPUs compute, by the "
                    "period in seconds; for rows in turn, and in the CSV file for all, "
                    "during the stream.");
    result->nshown = ALL_PERIODS;
    set_up_fig6(runs, quick, first);
    cv_scene_runs(result->job, &runs[0][0], (size_t)(FIG6_CURVES + TURNS) * FIG6_PERIODS);
    fill_fig6(runs, first_curve, first, result);
    draw_fig6(first_curve, result);
    judge_fig6(first_curve, result);
}

const struct cv_figure cv_figure_streams_dynamicity = {
    .title = "CPU efficiency of a stream against the length of rounds when speeds change",
    .source = "Millot and Parrot, Setting up clusters for several data streams, Figure 6",
    .says =
        "The higher the dynamicity, the shorter rounds should be; latencies still ask "
        "for long ones.",
    .make = make_fig6,
};
