/* figure_reduce_overlap.c -- when the Fibonacci tree beats the dynamic one.
 * SPDX-License-Identifier: MIT
 *
 * Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Figure 4(a): mean
 * length of fibonacci over that of tree-dyn, for spreads of the costs (rows) and ratios
 * of mean combination to mean transfer (columns). */
#include <math.h>

#include "figures/common/figure_plot.h"
#include "figures/reduce/figure_reduce_cells.h"

enum { SPREADS = CV_CELL_SPREADS, RATIOS = CV_CELL_RATIOS };

/* Where a row passes 1, going from cheap combinations to dear ones; NAN: nowhere. */
static double passes_one(const double *row)
{
    const double *ratios = cv_cell_ratios;

    for (int i = 0; i + 1 < RATIOS && ratios[i] < 1; i++)
        if (row[i] >= 1 && row[i + 1] < 1)
            return ratios[i] +
                   (row[i] - 1) / (row[i] - row[i + 1]) * (ratios[i + 1] - ratios[i]);
    return NAN;
}

static enum cleave_status judge(double table[SPREADS][RATIOS],
                                struct cv_figure_result *result, struct cleave_error *err)
{
    double asymmetry = 0, last = 0;

    for (int i = 0; i < SPREADS; i++) {
        if (cv_cell_spreads[i] <= 1 && !isnan(passes_one(table[i])))
            last = cv_cell_spreads[i];
        for (int j = 0; j < RATIOS && cv_cell_spreads[i] <= 1; j++)
            asymmetry = fmax(asymmetry, fabs(table[i][j] / table[i][RATIOS - 1 - j] - 1));
    }
    CV_TRY(cv_figure_claim(result, fabs(passes_one(table[2]) - 0.5) < 0.1 && last < 1,
                           err,
                           "fibonacci wins from about half the transfer cost on, while "
                           "the spread is limited",
                           "from %.2f (CV 0.01), %.2f (0.1), %.2f (0.3); up to CV %g",
                           passes_one(table[0]), passes_one(table[2]),
                           passes_one(table[4]), last));
    return cv_figure_claim(result, asymmetry < 0.05, err,
                           "exchanging the costs of transfer and combination changes "
                           "nothing",
                           "%.1f %% at most up to CV 1; with a fixed cost per node it "
                           "would not hold",
                           100 * asymmetry);
}

static enum cleave_status draw(struct cv_figure_result *result, struct cleave_error *err)
{
    struct cv_figure_plot *plot;

    CV_TRY(
        cv_plot_add(result,
                    &(struct cv_figure_plot){
                        .kind = CV_PLOT_MAP,
                        .title =
                            "Mean length of fibonacci over that of tree-dyn, 64 nodes; "
                            "below 1 fibonacci wins",
                        .x_label = "mean combination over mean transfer",
                        .y_label = "coefficient of variation of the costs",
                        .column_names = cv_cell_names,
                        .decimals = 2 },
                    &plot, err));
    return cv_plot_map(result, plot, RATIOS, 0, SPREADS, 0, err);
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    double table[SPREADS][RATIOS];

    result->label = "cv";
    result->columns = cv_cell_columns;
    result->ncolumns = RATIOS;
    result->nshown = 8;
    result->note =
        "Mean length of fibonacci over tree-dyn; ratios above 1 are in the CSV "
        "file.";
    for (int i = 0; i < SPREADS; i++) {
        double *values = cv_figure_row(result, "%g", cv_cell_spreads[i]);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        for (int j = 0; j < RATIOS; j++) {
            struct cleave_stats fibonacci, dynamic;

            CV_TRY(cv_cell_run(job, i, j, "fibonacci", &fibonacci, err));
            CV_TRY(cv_cell_run(job, i, j, "tree-dyn", &dynamic, err));
            values[j] = table[i][j] = fibonacci.mean_s / dynamic.mean_s;
            cv_cell_progress(job, i, j);
        }
    }
    CV_TRY(judge(table, result, err));
    return draw(result, err);
}

const struct cv_figure cv_figure_reduce_overlap = {
    .title = "Fibonacci tree over tree-dyn, by spread and by cost of a combination",
    .source = "Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Figure "
              "4(a)",
    .says = "The Fibonacci tree is better where a combination costs more than about half "
            "a transfer and the spread is limited; both costs can be exchanged.",
    .make = make,
};
