/* figure_reduce_cells.c -- reductions by the spread of costs and by what a combination
 * costs. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <cleave/reduce.h>
#include "figures/common/figure.h"

enum { CV_CELL_SPREADS = 11, CV_CELL_RATIOS = 15 };

extern const double cv_cell_spreads[CV_CELL_SPREADS];
extern const double cv_cell_ratios[CV_CELL_RATIOS];
/* The ratios as headings, the first with what they are, and without. */
extern const char *const cv_cell_columns[CV_CELL_RATIOS];
extern const char *const cv_cell_names[CV_CELL_RATIOS];

enum { NODES = 64, RUNS = 10000, QUICK_RUNS = 500 };

const double cv_cell_spreads[CV_CELL_SPREADS] = { 0.01, 0.05, 0.1, 0.2, 0.3, 0.5,
                                                  0.7,  1,    2,   5,   10 };
const double cv_cell_ratios[CV_CELL_RATIOS] = { 0.1, 0.2, 0.3,       0.4,  0.5,
                                                0.6, 0.8, 1,         1.25, 1.0 / 0.6,
                                                2,   2.5, 1.0 / 0.3, 5,    10 };
const char *const cv_cell_columns[CV_CELL_RATIOS] = { "c/d 0.1", "0.2",  "0.3", "0.4",
                                                      "0.5",     "0.6",  "0.8", "1",
                                                      "1.25",    "1.67", "2",   "2.5",
                                                      "3.33",    "5",    "10" };
const char *const cv_cell_names[CV_CELL_RATIOS] = { "0.1", "0.2", "0.3",  "0.4",  "0.5",
                                                    "0.6", "0.8", "1",    "1.25", "1.67",
                                                    "2",   "2.5", "3.33", "5",    "10" };

/* Lengths of a policy in one cell: 10,000 runs, 500 if quick. */
static enum cleave_status cell_run(const struct cv_figure_job *job, int spread, int ratio,
                                   const char *policy, struct cleave_stats *out,
                                   struct cleave_error *err)
{
    char transfer[48], compute[64];
    const struct cleave_reduction reduction = { .nodes = NODES,
                                                .transfer = transfer,
                                                .compute = compute,
                                                .policy = policy,
                                                .seed = 1 };
    const struct cleave_trial trial = { .runs = job->quick ? QUICK_RUNS : RUNS,
                                        .threads = job->threads };

    snprintf(transfer, sizeof transfer, "gamma:1,%.17g", cv_cell_spreads[spread]);
    snprintf(compute, sizeof compute, "gamma:%.17g,%.17g", cv_cell_ratios[ratio],
             cv_cell_spreads[spread]);
    return cleave_simulate_reduce(&reduction, &trial, out, err);
}

/* One more cell is done. */
static void cell_progress(const struct cv_figure_job *job, int spread, int ratio)
{
    if (job->progress != NULL)
        job->progress(job->context,
                      (uint64_t)spread * CV_CELL_RATIOS + (uint64_t)ratio + 1,
                      (uint64_t)CV_CELL_SPREADS * CV_CELL_RATIOS);
}

/* --- when the Fibonacci tree beats the dynamic one --------------------------------- */

/* Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Figure 4(a): mean
 * length of fibonacci over that of tree-dyn, for spreads of the costs (rows) and ratios
 * of mean combination to mean transfer (columns). */

enum { OVERLAP_SPREADS = CV_CELL_SPREADS, OVERLAP_RATIOS = CV_CELL_RATIOS };

/* Where a row passes 1, going from cheap combinations to dear ones; NAN: nowhere. */
static double passes_one(const double *row)
{
    const double *ratios = cv_cell_ratios;

    for (int i = 0; i + 1 < OVERLAP_RATIOS && ratios[i] < 1; i++)
        if (row[i] >= 1 && row[i + 1] < 1)
            return ratios[i] +
                   (row[i] - 1) / (row[i] - row[i + 1]) * (ratios[i + 1] - ratios[i]);
    return NAN;
}

static enum cleave_status judge_overlap(double table[OVERLAP_SPREADS][OVERLAP_RATIOS],
                                        struct cv_figure_result *result,
                                        struct cleave_error *err)
{
    double asymmetry = 0, last = 0;

    for (int i = 0; i < OVERLAP_SPREADS; i++) {
        if (cv_cell_spreads[i] <= 1 && !isnan(passes_one(table[i])))
            last = cv_cell_spreads[i];
        for (int j = 0; j < OVERLAP_RATIOS && cv_cell_spreads[i] <= 1; j++)
            asymmetry =
                fmax(asymmetry, fabs(table[i][j] / table[i][OVERLAP_RATIOS - 1 - j] - 1));
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

static enum cleave_status draw_overlap(struct cv_figure_result *result,
                                       struct cleave_error *err)
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
    return cv_plot_map(result, plot, OVERLAP_RATIOS, 0, OVERLAP_SPREADS, 0, err);
}

static enum cleave_status make_overlap(const struct cv_figure_job *job,
                                       struct cv_figure_result *result,
                                       struct cleave_error *err)
{
    double table[OVERLAP_SPREADS][OVERLAP_RATIOS];

    result->label = "cv";
    result->columns = cv_cell_columns;
    result->ncolumns = OVERLAP_RATIOS;
    result->nshown = 8;
    result->note =
        "Mean length of fibonacci over tree-dyn; ratios above 1 are in the CSV "
        "file.";
    for (int i = 0; i < OVERLAP_SPREADS; i++) {
        double *values = cv_figure_row(result, "%g", cv_cell_spreads[i]);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        for (int j = 0; j < OVERLAP_RATIOS; j++) {
            struct cleave_stats fibonacci, dynamic;

            CV_TRY(cell_run(job, i, j, "fibonacci", &fibonacci, err));
            CV_TRY(cell_run(job, i, j, "tree-dyn", &dynamic, err));
            values[j] = table[i][j] = fibonacci.mean_s / dynamic.mean_s;
            cell_progress(job, i, j);
        }
    }
    CV_TRY(judge_overlap(table, result, err));
    return draw_overlap(result, err);
}

const struct cv_figure cv_figure_reduce_overlap = {
    .title = "Fibonacci tree over tree-dyn, by spread and by cost of a combination",
    .source = "Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Figure "
              "4(a)",
    .says = "The Fibonacci tree is better where a combination costs more than about half "
            "a transfer and the spread is limited; both costs can be exchanged.",
    .make = make_overlap,
};

/* --- which reduction that keeps the order is the best ------------------------------ */

/* Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Figure 4(b): the best
 * mean length of binomial, fibonacci and ordered-tree-dyn, for spreads of the costs
 * (rows) and ratios of mean combination to mean transfer (columns). */

enum { BEST_SPREADS = CV_CELL_SPREADS, BEST_RATIOS = CV_CELL_RATIOS };
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
        CV_TRY(cell_run(job, spread, ratio, methods[m], &stats[m], err));
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
static double leaves_binomial(struct cell row[BEST_RATIOS])
{
    int j = 0;

    while (j < BEST_RATIOS && row[j].best == BINOMIAL)
        j++;
    return j < BEST_RATIOS ? cv_cell_ratios[j] : INFINITY;
}

static enum cleave_status judge_best(struct cell table[BEST_SPREADS][BEST_RATIOS],
                                     struct cv_figure_result *result,
                                     struct cleave_error *err)
{
    unsigned wide = 0, ordered = 0, unsure = 0, mirrored = 0;
    double first = INFINITY;

    for (int i = 0; i < BEST_SPREADS; i++)
        for (int j = 0; j < BEST_RATIOS; j++) {
            const struct cell *cell = &table[i][j];

            unsure += cell->errors < 2;
            mirrored +=
                cell->best != table[i][BEST_RATIOS - 1 - j].best && cell->errors >= 2;
            if (cv_cell_spreads[i] < 1)
                continue;
            wide++;
            ordered += cell->best == ORDERED || cell->errors < 2;
        }
    for (int i = BEST_SPREADS; i-- > 0 && table[i][0].best == ORDERED;)
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

static enum cleave_status draw_best(struct cv_figure_result *result,
                                    struct cleave_error *err)
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
    return cv_plot_map(result, plot, BEST_RATIOS, 0, BEST_SPREADS, 0, err);
}

static enum cleave_status make_best(const struct cv_figure_job *job,
                                    struct cv_figure_result *result,
                                    struct cleave_error *err)
{
    const char **columns =
        cv_array(&result->arena, (size_t)2 * BEST_RATIOS, sizeof *columns);
    struct cell table[BEST_SPREADS][BEST_RATIOS];

    if (columns == NULL)
        return cv_fail_memory(err, "a figure");
    for (int j = 0; j < BEST_RATIOS; j++) {
        char heading[32];

        snprintf(heading, sizeof heading, "lead %s", cv_cell_names[j]);
        columns[j] = cv_cell_columns[j];
        columns[BEST_RATIOS + j] = cv_arena_text(&result->arena, heading);
        if (columns[BEST_RATIOS + j] == NULL)
            return cv_fail_memory(err, "a figure");
    }
    result->label = "cv";
    result->columns = columns;
    result->ncolumns = (size_t)2 * BEST_RATIOS;
    result->nshown = BEST_RATIOS;
    result->note = "0: binomial is the best, 1: fibonacci, 2: ordered-tree-dyn. By how "
                   "many percent: in the CSV file.";
    for (int i = 0; i < BEST_SPREADS; i++) {
        double *values = cv_figure_row(result, "%g", cv_cell_spreads[i]);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        for (int j = 0; j < BEST_RATIOS; j++) {
            CV_TRY(find_best(job, i, j, &table[i][j], err));
            values[j] = table[i][j].best;
            values[BEST_RATIOS + j] = table[i][j].lead;
            cell_progress(job, i, j);
        }
    }
    CV_TRY(judge_best(table, result, err));
    return draw_best(result, err);
}

const struct cv_figure cv_figure_reduce_best = {
    .title = "Which reduction that keeps the order is the best, by spread and by cost of "
             "a combination",
    .source = "Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Figure "
              "4(b)",
    .says = "The dynamic one where the spread is large, else the binomial tree while a "
            "combination costs less than half a transfer, and the Fibonacci tree above.",
    .make = make_best,
};
