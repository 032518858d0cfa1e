/* figure_reduce_cells.c -- reductions by the spread of costs and by the cost of a
 * combination. SPDX-License-Identifier: MIT
 *
 * Benoit, Canon and Marchal, Figure 4: 64 nodes, transfers of mean 1, combinations of
 * mean `ratio`, both gamma with the same coefficient of variation. Every combination
 * draws a new cost, without which the figure would not be symmetric. */
#include <math.h>
#include <stdio.h>
#include <cleave/reduce.h>
#include "figures/common/figure.h"

enum { NODES = 64, RUNS = 10000, QUICK_RUNS = 500, SPREADS = 11, RATIOS = 15 };

static const double spreads[SPREADS] = {
    0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 2, 5, 10
};
static const double ratios[RATIOS] = { 0.1,  0.2,       0.3, 0.4, 0.5,       0.6, 0.8, 1,
                                       1.25, 1.0 / 0.6, 2,   2.5, 1.0 / 0.3, 5,   10 };
/* The ratios as headings; in panels. */
static const char *const columns[RATIOS] = { "c/d 0.1", "0.2", "0.3",  "0.4",  "0.5",
                                             "0.6",     "0.8", "1",    "1.25", "1.67",
                                             "2",       "2.5", "3.33", "5",    "10" };
static const char *const names[RATIOS] = { "0.1", "0.2", "0.3",  "0.4",  "0.5",
                                           "0.6", "0.8", "1",    "1.25", "1.67",
                                           "2",   "2.5", "3.33", "5",    "10" };

/* Lengths of a policy in one cell: 10,000 runs, 500 if quick. */
static void cell_run(const struct cv_figure_job *job, int spread, int ratio,
                     const char *policy, struct cleave_stats *out)
{
    char transfer[48], compute[64];
    const struct cleave_reduction reduction = { .nodes = NODES,
                                                .transfer = transfer,
                                                .compute = compute,
                                                .policy = policy,
                                                .seed = 1 };
    const struct cleave_trial trial = { .runs = job->quick ? QUICK_RUNS : RUNS,
                                        .threads = job->threads };

    snprintf(transfer, sizeof transfer, "gamma:1,%.17g", spreads[spread]);
    snprintf(compute, sizeof compute, "gamma:%.17g,%.17g", ratios[ratio],
             spreads[spread]);
    CV_MUST(cleave_simulate_reduce(&reduction, &trial, out, err));
}

static void cell_progress(const struct cv_figure_job *job, int spread, int ratio)
{
    cv_figure_progress(job, (uint64_t)spread * RATIOS + (uint64_t)ratio + 1,
                       (uint64_t)SPREADS * RATIOS);
}

/* --- fibonacci over tree-dyn -------------------------------------------------------- */

/* Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Figure 4(a): mean
 * length of fibonacci over that of tree-dyn, for spreads of the costs (rows) and ratios
 * of mean combination to mean transfer (columns). */

/* The ratio at which a row falls below 1, as combinations get more expensive; NAN:
 * none. */
static double passes_one(const double *row)
{
    for (int i = 0; i + 1 < RATIOS && ratios[i] < 1; i++)
        if (row[i] >= 1 && row[i + 1] < 1)
            return ratios[i] +
                   (row[i] - 1) / (row[i] - row[i + 1]) * (ratios[i + 1] - ratios[i]);
    return NAN;
}

static void judge_overlap(double table[SPREADS][RATIOS], struct cv_figure_result *result)
{
    double asymmetry = 0, last = 0;

    for (int i = 0; i < SPREADS; i++) {
        if (spreads[i] <= 1 && !isnan(passes_one(table[i])))
            last = spreads[i];
        for (int j = 0; j < RATIOS && spreads[i] <= 1; j++)
            asymmetry = fmax(asymmetry, fabs(table[i][j] / table[i][RATIOS - 1 - j] - 1));
    }
    cv_figure_claim(result, fabs(passes_one(table[2]) - 0.5) < 0.1 && last < 1,
                    "fibonacci wins from about half the transfer cost on, while "
                    "the spread is limited",
                    "from %.2f (CV 0.01), %.2f (0.1), %.2f (0.3); up to CV %g",
                    passes_one(table[0]), passes_one(table[2]), passes_one(table[4]),
                    last);
    cv_figure_claim(result, asymmetry < 0.05,
                    "exchanging the costs of transfer and combination changes "
                    "nothing",
                    "%.1f %% at most up to CV 1; with a fixed cost per node it "
                    "would not hold",
                    100 * asymmetry);
}

static void draw_overlap(struct cv_figure_result *result)
{
    struct cv_figure_plot *plot =
        CV_PLOT_ADD(result, .kind = CV_PLOT_MAP,
                    .title = "Mean length of fibonacci over that of tree-dyn, 64 nodes; "
                             "below 1 fibonacci wins",
                    .x_label = "mean combination over mean transfer",
                    .y_label = "coefficient of variation of the costs",
                    .column_names = names, .decimals = 2);

    cv_plot_map(result, plot, RATIOS, 0, SPREADS, 0);
}

static void make_overlap(struct cv_figure_result *result)
{
    const struct cv_figure_job *job = result->job;
    double table[SPREADS][RATIOS];

    cv_figure_table(
        result, "cv", columns, RATIOS,
        "Mean length of fibonacci over tree-dyn; ratios above 1 are in the CSV "
        "file.");
    result->nshown = 8;
    for (int i = 0; i < SPREADS; i++) {
        double *values = cv_figure_row(result, "%g", spreads[i]);

        for (int j = 0; j < RATIOS; j++) {
            struct cleave_stats fibonacci, dynamic;

            cell_run(job, i, j, "fibonacci", &fibonacci);
            cell_run(job, i, j, "tree-dyn", &dynamic);
            values[j] = table[i][j] = fibonacci.mean_s / dynamic.mean_s;
            cell_progress(job, i, j);
        }
    }
    judge_overlap(table, result);
    draw_overlap(result);
}

const struct cv_figure cv_figure_reduce_overlap = {
    .title = "Fibonacci tree over tree-dyn, by spread and by cost of a combination",
    .source = "Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Figure "
              "4(a)",
    .says = "The Fibonacci tree is better where a combination costs more than about half "
            "a transfer and the spread is limited; both costs can be exchanged.",
    .make = make_overlap,
};

/* --- the best reduction that keeps the order ---------------------------------------- */

/* Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Figure 4(b): the best
 * mean length of binomial, fibonacci and ordered-tree-dyn, for spreads of the costs
 * (rows) and ratios of mean combination to mean transfer (columns). */

enum { BINOMIAL, FIBONACCI, ORDERED, METHODS };

static const char *const methods[METHODS] = { "binomial", "fibonacci",
                                              "ordered-tree-dyn" };

struct cell {
    int best;
    double lead;   /* best over next, in percent                     */
    double errors; /* lead in standard errors of the difference      */
};

static void find_best(const struct cv_figure_job *job, int spread, int ratio,
                      struct cell *out)
{
    struct cleave_stats stats[METHODS];
    int best = 0, next = -1;

    for (int m = 0; m < METHODS; m++) {
        cell_run(job, spread, ratio, methods[m], &stats[m]);
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
}

/* The first ratio of a row that is not the binomial tree's. */
static double leaves_binomial(struct cell row[RATIOS])
{
    int j = 0;

    while (j < RATIOS && row[j].best == BINOMIAL)
        j++;
    return j < RATIOS ? ratios[j] : INFINITY;
}

static void judge_best(struct cell table[SPREADS][RATIOS],
                       struct cv_figure_result *result)
{
    unsigned wide = 0, ordered = 0, unsure = 0, mirrored = 0;
    double first = INFINITY;

    for (int i = 0; i < SPREADS; i++)
        for (int j = 0; j < RATIOS; j++) {
            const struct cell *cell = &table[i][j];

            unsure += cell->errors < 2;
            mirrored += cell->best != table[i][RATIOS - 1 - j].best && cell->errors >= 2;
            if (spreads[i] < 1)
                continue;
            wide++;
            ordered += cell->best == ORDERED || cell->errors < 2;
        }
    for (int i = SPREADS; i-- > 0 && table[i][0].best == ORDERED;)
        first = spreads[i];
    cv_figure_claim(result, ordered == wide,
                    "ordered-tree-dyn is the best when the spread is large",
                    "from CV 1 on in %u of %u cells, not surely beaten in any of "
                    "them; %u of all cells are less than 2 standard errors ahead",
                    ordered, wide, unsure);
    cv_figure_claim(
        result,
        leaves_binomial(table[2]) >= 0.5 && leaves_binomial(table[2]) <= 0.6 &&
            table[2][5].best == FIBONACCI,
        "binomial gives way to fibonacci when a combination costs half a transfer",
        "first not binomial at %g (CV 0.01), %g (0.1), %g (0.2), %g (0.3)",
        leaves_binomial(table[0]), leaves_binomial(table[2]), leaves_binomial(table[3]),
        leaves_binomial(table[4]));
    cv_figure_claim(
        result, table[0][0].best == BINOMIAL && first >= 0.3 && first <= 0.5,
        "with cheap combinations (0.1) it is as in Figure 3",
        "binomial at small spreads, ordered-tree-dyn from CV %g on; they cross at 0.33 "
        "there",
        first);
    cv_figure_claim(result, mirrored <= 4, "the figure is symmetric",
                    "%u cells surely differ from their mirror image", mirrored);
}

static void draw_best(struct cv_figure_result *result)
{
    static const char *const letters[METHODS] = { "B", "F", "O" };
    static const char *const kinds[METHODS + 1] = { "B: binomial", "F: fibonacci",
                                                    "O: ordered-tree-dyn", NULL };
    struct cv_figure_plot *plot =
        CV_PLOT_ADD(result, .kind = CV_PLOT_MAP,
                    .title = "The best mean length of those that keep the order, "
                             "64 nodes",
                    .x_label = "mean combination over mean transfer",
                    .y_label = "coefficient of variation of the costs",
                    .column_names = names, .letters = letters, .kinds = kinds);

    cv_plot_map(result, plot, RATIOS, 0, SPREADS, 0);
}

static void make_best(struct cv_figure_result *result)
{
    const struct cv_figure_job *job = result->job;
    const char **headings = cv_figure_alloc(result, (size_t)2 * RATIOS, sizeof *headings);
    struct cell table[SPREADS][RATIOS];

    for (int j = 0; j < RATIOS; j++) {
        char *lead = cv_figure_alloc(result, 32, 1);

        snprintf(lead, 32, "lead %s", names[j]);
        headings[j] = columns[j];
        headings[RATIOS + j] = lead;
    }
    cv_figure_table(result, "cv", headings, (size_t)2 * RATIOS,
                    "0: binomial is the best, 1: fibonacci, 2: ordered-tree-dyn. By how "
                    "many percent: in the CSV file.");
    result->nshown = RATIOS;
    for (int i = 0; i < SPREADS; i++) {
        double *values = cv_figure_row(result, "%g", spreads[i]);

        for (int j = 0; j < RATIOS; j++) {
            find_best(job, i, j, &table[i][j]);
            values[j] = table[i][j].best;
            values[RATIOS + j] = table[i][j].lead;
            cell_progress(job, i, j);
        }
    }
    judge_best(table, result);
    draw_best(result);
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
