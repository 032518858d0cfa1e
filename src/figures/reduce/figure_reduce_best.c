/* figure_reduce_best.c -- which reduction that keeps the order is the best.
 * SPDX-License-Identifier: MIT
 *
 * Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Figure 4(b): the best
 * mean length of binomial, fibonacci and ordered-tree-dyn, for spreads of the costs
 * (rows) and ratios of mean combination to mean transfer (columns). */
#include <math.h>
#include <stdio.h>

#include "figures/common/figure_plot.h"
#include "figures/reduce/figure_reduce_cells.h"

enum { SPREADS = CV_CELL_SPREADS, RATIOS = CV_CELL_RATIOS };
enum { BINOMIAL, FIBONACCI, ORDERED, METHODS };

static const char *const methods[METHODS] = { "binomial", "fibonacci",
                                              "ordered-tree-dyn" };

struct cell {
    int best;
    double lead;   /* of the best over the next, in percent         */
    double errors; /* the same in standard errors of the difference */
};

static enum cleave_status find_best(const struct cv_figure_job *job, int spread,
                                    int ratio, struct cell *out, struct cleave_error *err)
{
    struct cleave_stats stats[METHODS];
    int best = 0, next = -1;

    for (int m = 0; m < METHODS; m++) {
        CV_TRY(cv_cell_run(job, spread, ratio, methods[m], &stats[m], err));
        if (stats[m].mean_s < stats[best].mean_s)
            best = m;
    }
    for (int m = 0; m < METHODS; m++)
        if (m != best && (next < 0 || stats[m].mean_s < stats[next].mean_s))
            next = m;
    out->best = best;
    out->lead = 100 * (stats[next].mean_s / stats[best].mean_s - 1);
    out->errors = (stats[next].mean_s - stats[best].mean_s) /
                  hypot(stats[next].stderr_s, stats[best].stderr_s);
    return CLEAVE_OK;
}

/* The first ratio of a row that is not the binomial tree's. */
static double leaves_binomial(struct cell row[RATIOS])
{
    int j = 0;

    while (j < RATIOS && row[j].best == BINOMIAL)
        j++;
    return j < RATIOS ? cv_cell_ratios[j] : INFINITY;
}

static enum cleave_status judge(struct cell table[SPREADS][RATIOS],
                                struct cv_figure_result *result, struct cleave_error *err)
{
    unsigned wide = 0, ordered = 0, unsure = 0, mirrored = 0;
    double first = INFINITY;

    for (int i = 0; i < SPREADS; i++)
        for (int j = 0; j < RATIOS; j++) {
            const struct cell *cell = &table[i][j];

            unsure += cell->errors < 2;
            mirrored += cell->best != table[i][RATIOS - 1 - j].best && cell->errors >= 2;
            if (cv_cell_spreads[i] < 1)
                continue;
            wide++;
            ordered += cell->best == ORDERED || cell->errors < 2;
        }
    for (int i = SPREADS; i-- > 0 && table[i][0].best == ORDERED;)
        first = cv_cell_spreads[i];
    CV_TRY(cv_figure_claim(result, ordered == wide, err,
                           "ordered-tree-dyn is the best when the spread is large",
                           "from CV 1 on in %u of %u cells, not surely beaten in any of "
                           "them; %u of all cells are less than 2 standard errors ahead",
                           ordered, wide, unsure));
    CV_TRY(cv_figure_claim(
        result,
        leaves_binomial(table[2]) >= 0.5 && leaves_binomial(table[2]) <= 0.6 &&
            table[2][5].best == FIBONACCI,
        err, "binomial gives way to fibonacci when a combination costs half a transfer",
        "first not binomial at %g (CV 0.01), %g (0.1), %g (0.2), %g (0.3)",
        leaves_binomial(table[0]), leaves_binomial(table[2]), leaves_binomial(table[3]),
        leaves_binomial(table[4])));
    CV_TRY(cv_figure_claim(
        result, table[0][0].best == BINOMIAL && first >= 0.3 && first <= 0.5, err,
        "with cheap combinations (0.1) it is as in Figure 3",
        "binomial at small spreads, ordered-tree-dyn from CV %g on; they cross at 0.33 "
        "there",
        first));
    return cv_figure_claim(result, mirrored <= 4, err, "the figure is symmetric",
                           "%u cells surely differ from their mirror image", mirrored);
}

static enum cleave_status draw(struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const letters[METHODS] = { "B", "F", "O" };
    static const char *const kinds[METHODS + 1] = { "B: binomial", "F: fibonacci",
                                                    "O: ordered-tree-dyn", NULL };
    struct cv_figure_plot *plot;

    CV_TRY(cv_plot_add(result,
                       &(struct cv_figure_plot){
                           .kind = CV_PLOT_MAP,
                           .title = "The best mean length of those that keep the order, "
                                    "64 nodes",
                           .x_label = "mean combination over mean transfer",
                           .y_label = "coefficient of variation of the costs",
                           .column_names = cv_cell_names,
                           .letters = letters,
                           .kinds = kinds },
                       &plot, err));
    return cv_plot_map(result, plot, RATIOS, 0, SPREADS, 0, err);
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    const char **columns = cv_array(&result->arena, (size_t)2 * RATIOS, sizeof *columns);
    struct cell table[SPREADS][RATIOS];

    if (columns == NULL)
        return cv_fail_memory(err, "a figure");
    for (int j = 0; j < RATIOS; j++) {
        char heading[32];

        snprintf(heading, sizeof heading, "lead %s", cv_cell_names[j]);
        columns[j] = cv_cell_columns[j];
        columns[RATIOS + j] = cv_arena_text(&result->arena, heading);
        if (columns[RATIOS + j] == NULL)
            return cv_fail_memory(err, "a figure");
    }
    result->label = "cv";
    result->columns = columns;
    result->ncolumns = (size_t)2 * RATIOS;
    result->nshown = RATIOS;
    result->note = "0: binomial is the best, 1: fibonacci, 2: ordered-tree-dyn. By how "
                   "many percent: in the CSV file.";
    for (int i = 0; i < SPREADS; i++) {
        double *values = cv_figure_row(result, "%g", cv_cell_spreads[i]);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        for (int j = 0; j < RATIOS; j++) {
            CV_TRY(find_best(job, i, j, &table[i][j], err));
            values[j] = table[i][j].best;
            values[RATIOS + j] = table[i][j].lead;
            cv_cell_progress(job, i, j);
        }
    }
    CV_TRY(judge(table, result, err));
    return draw(result, err);
}

const struct cv_figure cv_figure_reduce_best = {
    .title = "Which reduction that keeps the order is the best, by spread and by cost of "
             "a combination",
    .source = "Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Figure "
              "4(b)",
    .says = "The dynamic one where the spread is large, else the binomial tree while a "
            "combination costs less than half a transfer, and the Fibonacci tree above.",
    .make = make,
};
