/* figure_umr_fig5.c -- how many rounds UMR takes, against both latencies.
 * SPDX-License-Identifier: MIT
 *
 * Yang and Casanova, multi-round algorithms, Figure 5: N = R = 5, 2000 units, speed 1, so
 * that N S = B. Equation 9 as printed has an N too many under the root for this case:
 * setting the derivatives of the expected time to zero gives
 *
 *     M = sqrt(2 W / (B (3 alpha + N beta))). */
#include <math.h>

#include "policy/static/umr.h"
#include "figures/common/figure_plot.h"

enum { MOST = 10, BETAS = MOST + 1, WORKERS = 5 };

static const double LOAD = 2000, RATIO = 5;

static double real_rounds(double alpha, double beta)
{
    const struct cleave_worker worker = { .speed_ups = 1,
                                          .compute_latency_s = alpha,
                                          .bandwidth_ups = RATIO,
                                          .latency_s = beta };
    struct cv_umr_sums sums = { 0 };
    struct cv_umr_line line = { 1, 0 };

    for (int i = 0; i < WORKERS; i++)
        sums = cv_umr_add(&sums, &worker, &line);
    return cv_umr_real_rounds(&sums, LOAD);
}

static double printed_rounds(double alpha, double beta)
{
    return sqrt(2 * WORKERS * LOAD / (RATIO * (3 * alpha + WORKERS * beta)));
}

static double whole(double rounds)
{
    return ceil(rounds - 1e-9);
}

static enum cleave_status judge(struct cv_figure_result *result, struct cleave_error *err)
{
    double min = INFINITY, max = 0, half = whole(real_rounds(0.5, 0));
    unsigned rises = 0;

    for (int a = 1; a <= MOST; a++)
        for (int b = 1; b <= MOST; b++) {
            const double rounds = whole(real_rounds(a, b));

            min = fmin(min, rounds);
            max = fmax(max, rounds);
            rises += real_rounds(a, b) >= real_rounds(a - 1, b) ||
                     real_rounds(a, b) >= real_rounds(a, b - 1);
        }
    CV_TRY(cv_figure_claim(result, min == 4 && max == 10, err,
                           "UMR takes between 4 and 10 rounds",
                           "%.0f to %.0f for latencies from 1 to 10 s, rounded up", min,
                           max));
    CV_TRY(
        cv_figure_claim(result, half <= 10, err, "latencies vary between 0 and 10",
                        "from 1 on: at 0.5 and 0 s there are %.0f rounds already, at 0 "
                        "and 0 without end",
                        half));
    CV_TRY(cv_figure_claim(result, rises == 0, err,
                           "there are fewer rounds when either latency grows",
                           "%u of %d steps go the other way", rises, MOST * MOST));
    return cv_figure_claim(
        result, fabs(printed_rounds(1, 1) / real_rounds(1, 1) - 1) < 1e-9, err,
        "equation 9 for N S = B has 2 N W under the root",
        "it would give %.1f to %.1f rounds where the figure has %.1f to %.1f; 2 W is "
        "right",
        printed_rounds(MOST, MOST), printed_rounds(1, 1), real_rounds(MOST, MOST),
        real_rounds(1, 1));
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[2 * BETAS] = {
        "beta 0", "1",      "2",      "3",      "4",      "5",      "6",      "7",
        "8",      "9",      "10",     "real 0", "real 1", "real 2", "real 3", "real 4",
        "real 5", "real 6", "real 7", "real 8", "real 9", "real 10"
    };
    static const char *const betas[BETAS] = { "0", "1", "2", "3", "4", "5",
                                              "6", "7", "8", "9", "10" };
    struct cv_figure_plot *plot;

    (void)job;
    result->label = "alpha";
    result->columns = columns;
    result->ncolumns = sizeof columns / sizeof *columns;
    result->nshown = BETAS;
    result->note = "Rounds, rounded up, by the latency of computing (rows) and that of a "
                   "message (columns), in seconds; before rounding: in the CSV file.";
    for (int a = 0; a <= MOST; a++) {
        double *values = cv_figure_row(result, "%d", a);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        for (int b = 0; b <= MOST; b++) {
            const double rounds = real_rounds(a, b);

            values[b] = isfinite(rounds) ? whole(rounds) : NAN;
            values[BETAS + b] = isfinite(rounds) ? rounds : NAN;
        }
    }
    CV_TRY(cv_plot_add(result,
                       &(struct cv_figure_plot){
                           .kind = CV_PLOT_MAP,
                           .title = "Rounds of UMR (N = R = 5, 2000 units)",
                           .x_label = "β, latency of a message (s)",
                           .y_label = "α, latency of computing (s)",
                           .column_names = betas },
                       &plot, err));
    CV_TRY(cv_plot_map(result, plot, BETAS, 0, BETAS, 0, err));
    return judge(result, err);
}

const struct cv_figure cv_figure_umr_fig5 = {
    .title = "Rounds of UMR against the latencies of computing and of messages",
    .source = "Yang and Casanova, Multi-round algorithms, Figure 5 and section 6.2.1",
    .says = "Between 4 and 10 rounds, fewer when either latency grows.",
    .make = make,
};
