/* figure_streams_convergence.c -- how fast rounds get the length that is wanted.
 * SPDX-License-Identifier: MIT
 *
 * Millot and Parrot, PPAM 2013, Figure 4: rounds of 100 s are wanted, but the first loads
 * are a fifth of what they should be; mean length of the rounds of 1000 workers of
 * Table 1, all with the same compute latency. */
#include <math.h>

#include "figures/common/figure_plot.h"
#include "figures/streams/figure_streams_scene.h"

enum { LATENCIES = 3, ROUNDS = 6 };

static const double TAU_S = 100, HORIZON_S = 560;
static const double latencies_s[LATENCIES] = { 0.1, 0.5, 0.9 };
/* An independent simulation of the same, to four decimals. */
static const double reference[LATENCIES][ROUNDS] = {
    { 20.1600, 99.2079, 99.9984, 100, 100, 100 },
    { 20.8000, 96.1923, 99.9604, 99.9996, 100, 100 },
    { 21.4400, 93.4045, 99.8729, 99.9977, 100, 100 },
};

/* The error of 1 / load of round 2 over that of round 1; speeds cancel out. */
static double factor(const struct cv_scene_run *run)
{
    const double f = run->latency_s, wanted = 1 / (TAU_S - 2 * f);
    const double first = 1 / (run->rounds[0].sigma_s - 2 * f) - wanted;
    const double second = 1 / (run->rounds[1].sigma_s - 2 * f) - wanted;

    return second / first;
}

static enum cleave_status judge(const struct cv_scene_run runs[LATENCIES],
                                struct cv_figure_result *result, struct cleave_error *err)
{
    double off = 0, factor_off = 0;
    bool ordered = true;

    for (int i = 0; i < LATENCIES; i++) {
        const double expected = 2 * latencies_s[i] / TAU_S;

        for (int r = 0; r < ROUNDS; r++)
            off = fmax(off, fabs(runs[i].rounds[r].sigma_s - reference[i][r]));
        factor_off = fmax(factor_off, fabs(factor(&runs[i]) / expected - 1));
        ordered &= i == 0 || runs[i].rounds[1].sigma_s < runs[i - 1].rounds[1].sigma_s;
    }
    CV_TRY(cv_figure_claim(result, ordered, err,
                           "the smaller the latency, the faster rounds converge",
                           "round 2: %.2f, %.2f and %.2f s", runs[0].rounds[1].sigma_s,
                           runs[1].rounds[1].sigma_s, runs[2].rounds[1].sigma_s));
    CV_TRY(cv_figure_claim(result, off <= 6e-5, err,
                           "the lengths are those of an independent simulation",
                           "at most %.1e s apart", off));
    return cv_figure_claim(
        result, factor_off < 1e-6, err,
        "the error of 1 / load shrinks by exactly 2 f / tau in a round",
        "%.5f, %.5f and %.5f for 2 f / tau of 0.002, 0.010 and 0.018", factor(&runs[0]),
        factor(&runs[1]), factor(&runs[2]));
}

static enum cleave_status draw(const struct cv_scene_run runs[LATENCIES],
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const names[LATENCIES] = { "f = 0.1 s", "f = 0.5 s", "f = 0.9 s" };
    struct cv_figure_plot *plot;

    CV_TRY(cv_plot_add(result,
                       &(struct cv_figure_plot){ .x_label =
                                                     "mean time at which it is known (s)",
                                                 .y_label = "mean length of a round (s)",
                                                 .y_from = 0,
                                                 .y_to = 110 },
                       &plot, err));
    for (int i = 0; i < LATENCIES; i++) {
        struct cv_figure_series *series;

        CV_TRY(cv_plot_series(result, plot, names[i], ROUNDS, false, &series, err));
        for (int r = 0; r < ROUNDS; r++) {
            series->x[r] = runs[i].rounds[r].time_s;
            series->y[r] = runs[i].rounds[r].sigma_s;
        }
    }
    return CLEAVE_OK;
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[] = { "f 0.1: after s", "f 0.1: length s",
                                           "f 0.5: after s", "f 0.5: length s",
                                           "f 0.9: after s", "f 0.9: length s" };
    struct cv_scene_run runs[LATENCIES];

    result->label = "round";
    result->columns = columns;
    result->ncolumns = sizeof columns / sizeof *columns;
    result->note = "Mean time at which the master knows the length, and mean length; "
                   "rounds of 100 s are wanted, first loads are a fifth of that.";
    for (int i = 0; i < LATENCIES; i++)
        runs[i] = (struct cv_scene_run){ .workers = job->quick ? 100 : 1000,
                                         .kind = -1,
                                         .latency_s = latencies_s[i],
                                         .port = CLEAVE_PORT_DUPLEX,
                                         .tau_s = TAU_S,
                                         .horizon_s = HORIZON_S,
                                         .end = "none",
                                         .first = 0.2 };
    CV_TRY(cv_scene_runs(job, runs, LATENCIES, err));
    for (int r = 0; r < ROUNDS; r++) {
        double *values = cv_figure_row(result, "%d", r + 1);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        for (int i = 0; i < LATENCIES; i++) {
            *values++ = runs[i].rounds[r].time_s;
            *values++ = runs[i].rounds[r].sigma_s;
        }
    }
    CV_TRY(draw(runs, result, err));
    return judge(runs, result, err);
}

const struct cv_figure cv_figure_streams_convergence = {
    .title = "Length of the first rounds when first loads are wrong",
    .source = "Millot and Parrot, Setting up clusters for several data streams, Figure 4",
    .says = "Rounds converge to the wanted length, the faster the smaller the latency of "
            "computing.",
    .make = make,
};
