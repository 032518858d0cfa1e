/* figure_umr_table1.c -- what R the applications of the paper have.
 * SPDX-License-Identifier: MIT
 *
 * Yang and Casanova, multi-round algorithms, Table 1: R is the time to compute over the
 * time to send the input of four applications over a "100 Mb" network. The sizes and
 * times are theirs; which rate they divided by is what can be checked. */
#include <math.h>

#include "figures/common/figure_plot.h"

enum { APPLICATIONS = 4 };
enum { SIZE, TIME, PRINTED, TEN, TWELVE, COLUMNS };

static const struct {
    const char *name;
    double size_mb, time_s, ratio;
} applications[APPLICATIONS] = {
    { "HMMER", 802, 534, 6.7 },
    { "MPEG", 716.8, 2494, 34.8 },
    { "VFleet", 87.5, 600, 68 },
    { "Data Mining", 400, 3150, 78 },
};

static enum cleave_status draw(struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const names[] = { "HMMER", "MPEG", "VFleet", "Data Mining" };
    static const struct {
        const char *name;
        int column;
    } curves[] = { { "as printed", PRINTED },
                   { "10 MB/s", TEN },
                   { "12.5 MB/s", TWELVE } };
    struct cv_figure_plot *plot;

    CV_TRY(
        cv_plot_add(result,
                    &(struct cv_figure_plot){ .x_label = "application",
                                              .y_label = "R: compute time over send time",
                                              .x_names = names,
                                              .nx_names = APPLICATIONS },
                    &plot, err));
    for (int i = 0; i < 3; i++) {
        const struct cv_figure_row *row = result->rows;
        struct cv_figure_series *series;

        CV_TRY(cv_plot_series(result, plot, curves[i].name, APPLICATIONS, false, &series,
                              err));
        series->line = CV_LINE_MARKS;
        for (int k = 0; k < APPLICATIONS; k++, row = row->next) {
            series->x[k] = k + 0.12 * (i - 1); /* side by side */
            series->y[k] = row->values[curves[i].column];
        }
    }
    return CLEAVE_OK;
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[COLUMNS] = { "input MB", "time s", "R, paper",
                                                  "R, 10 MB/s", "R, 12.5 MB/s" };
    double off = 0, min = INFINITY;

    (void)job;
    result->label = "application";
    result->columns = columns;
    result->ncolumns = COLUMNS;
    for (int i = 0; i < APPLICATIONS; i++) {
        double *values = cv_figure_row(result, "%s", applications[i].name);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        values[SIZE] = applications[i].size_mb;
        values[TIME] = applications[i].time_s;
        values[PRINTED] = applications[i].ratio;
        values[TEN] = 10 * applications[i].time_s / applications[i].size_mb;
        values[TWELVE] = 12.5 * applications[i].time_s / applications[i].size_mb;
        off = fmax(off, fabs(values[TEN] - values[PRINTED]));
        min = fmin(min, values[TWELVE] / values[PRINTED]);
    }
    CV_TRY(cv_figure_claim(result, off < 1, err,
                           "R is the time to compute over the time to send",
                           "within %.2f of every printed value at 10 MB/s", off));
    CV_TRY(cv_figure_claim(result, min < 1.05, err, "the network is one of 100 Mb",
                           "100 Mbit/s are 12.5 MB/s, for which R would be %.0f %% "
                           "larger; the table is for 10 MB/s",
                           100 * (min - 1)));
    return draw(result, err);
}

const struct cv_figure cv_figure_umr_table1 = {
    .title = "Compute time over send time of four applications",
    .source = "Yang and Casanova, Multi-round algorithms, Table 1",
    .says = "Divisible applications have R from 6.7 to 78 on a 100 Mb network.",
    .make = make,
};
