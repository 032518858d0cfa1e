/* figure_reduce_overlap.c -- when the Fibonacci tree beats the dynamic one.
 * SPDX-License-Identifier: MIT
 *
 * Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Figure 4(a): 64 nodes,
 * mean length of fibonacci over that of tree-dyn, for spreads of the costs (rows) and
 * ratios of mean combination to mean transfer (columns); every combination draws its own
 * cost, without which the figure would not be symmetric. */
#include <math.h>
#include <stdio.h>

#include <cleave/reduce.h>
#include "report/figure.h"

enum { SPREADS = 11, RATIOS = 15, NODES = 64 };

static const double spreads[SPREADS] = {
    0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 2, 5, 10
};
static const double ratios[RATIOS] = { 0.1,  0.2,       0.3, 0.4, 0.5,       0.6, 0.8, 1,
                                       1.25, 1.0 / 0.6, 2,   2.5, 1.0 / 0.3, 5,   10 };

struct cell {
    const struct cv_figure_job *job;
    uint64_t runs;
    double cv, ratio;
};

static enum cleave_status mean_of(const struct cell *cell, const char *policy,
                                  double *out, struct cleave_error *err)
{
    char transfer[48], compute[64];
    struct cleave_reduction job = { .nodes = NODES,
                                    .transfer = transfer,
                                    .compute = compute,
                                    .policy = policy,
                                    .seed = 1 };
    struct cleave_trial trial = { .runs = cell->runs, .threads = cell->job->threads };
    struct cleave_stats stats;

    snprintf(transfer, sizeof transfer, "gamma:1,%.17g", cell->cv);
    snprintf(compute, sizeof compute, "gamma:%.17g,%.17g", cell->ratio, cell->cv);
    CV_TRY(cleave_simulate_reduce(&job, &trial, &stats, err));
    *out = stats.mean_s;
    return CLEAVE_OK;
}

/* Where a row passes 1, going from cheap combinations to dear ones; NAN: nowhere. */
static double passes_one(const double *row)
{
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
        if (!isnan(passes_one(table[i])))
            last = spreads[i];
        for (int j = 0; j < RATIOS && spreads[i] <= 1; j++)
            asymmetry = fmax(asymmetry, fabs(table[i][j] / table[i][RATIOS - 1 - j] - 1));
    }
    CV_TRY(cv_figure_claim(result, fabs(passes_one(table[2]) - 0.5) < 0.1, err,
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

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[RATIOS] = { "c/d 0.1", "0.2", "0.3",  "0.4",  "0.5",
                                                 "0.6",     "0.8", "1",    "1.25", "1.67",
                                                 "2",       "2.5", "3.33", "5",    "10" };
    double table[SPREADS][RATIOS];
    struct cell cell = { .job = job, .runs = job->quick ? 500 : 10000 };

    result->label = "cv";
    result->columns = columns;
    result->ncolumns = RATIOS;
    result->nshown = 8;
    result->note =
        "Mean length of fibonacci over tree-dyn; ratios above 1 are in the CSV "
        "file.";
    for (int i = 0; i < SPREADS; i++) {
        char label[32];
        double *values;

        snprintf(label, sizeof label, "%g", spreads[i]);
        values = cv_figure_row(result, label);
        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        for (int j = 0; j < RATIOS; j++) {
            double fibonacci, dynamic;

            cell.cv = spreads[i];
            cell.ratio = ratios[j];
            CV_TRY(mean_of(&cell, "fibonacci", &fibonacci, err));
            CV_TRY(mean_of(&cell, "tree-dyn", &dynamic, err));
            values[j] = table[i][j] = fibonacci / dynamic;
            if (job->progress != NULL)
                job->progress(job->context, (uint64_t)i * RATIOS + (uint64_t)j + 1,
                              (uint64_t)SPREADS * RATIOS);
        }
    }
    return judge(table, result, err);
}

const struct cv_figure cv_figure_reduce_overlap = {
    .name = "nonclairvoyant-fig4a",
    .title = "Fibonacci tree over tree-dyn, by spread and by cost of a combination",
    .make = make,
};
