/* figure_reduce_markov.c -- the dynamic reduction with exponential costs.
 * SPDX-License-Identifier: MIT
 *
 * Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, section 3: mean and
 * variance of tree-dyn's length by a Markov chain, for transfers of rate 1 and
 * combinations that are free or have rate 2, beside simulation. */
#include <math.h>

#include <cleave/reduce.h>
#include "model/reduce/reduce_bounds.h"
#include "figures/common/figure_plot.h"

enum { SIZES = 10 };
enum {
    MEAN,
    SIMULATED,
    ERROR,
    PRINTED,
    VARIANCE,
    SIMULATED_VARIANCE,
    BOTH,
    FRESH,
    FIXED,
    COLUMNS
};

static const uint32_t sizes[SIZES] = { 2, 3, 4, 5, 8, 16, 32, 33, 64, 65 };

struct summary {
    double mean_off, variance_off; /* in standard errors, parts               */
    double printed_off;            /* most, in standard errors: even sizes    */
    double fresh_off, fixed_over;  /* parts; the latter at 64 nodes           */
};

static enum cleave_status simulate(const struct cv_figure_job *job, uint32_t nodes,
                                   const char *compute, enum cleave_compute_model model,
                                   struct cleave_stats *out, struct cleave_error *err)
{
    const struct cleave_reduction reduction = { .nodes = nodes,
                                                .transfer = "exp:1",
                                                .compute = compute,
                                                .model = model,
                                                .policy = "tree-dyn",
                                                .seed = 1 };
    const struct cleave_trial trial = { .runs = job->quick ? 10000 : 1000000,
                                        .threads = job->threads };

    return cleave_simulate_reduce(&reduction, &trial, out, err);
}

static enum cleave_status one_size(const struct cv_figure_job *job, uint32_t n,
                                   double *values, struct summary *sum,
                                   struct cleave_error *err)
{
    struct cleave_stats stats, fresh, fixed;
    struct cv_markov markov, both;
    double harmonic = 0;

    for (uint32_t i = 1; i <= n / 2; i++)
        harmonic += 1.0 / i;
    CV_TRY(cv_markov_transfers(n, 1, &markov, err));
    CV_TRY(cv_markov_both(n, 1, 2, &both, err));
    CV_TRY(simulate(job, n, "0", CLEAVE_COMPUTE_FRESH, &stats, err));
    CV_TRY(simulate(job, n, "exp:0.5", CLEAVE_COMPUTE_FRESH, &fresh, err));
    CV_TRY(simulate(job, n, "exp:0.5", CLEAVE_COMPUTE_FIXED, &fixed, err));
    values[MEAN] = markov.mean_s;
    values[SIMULATED] = stats.mean_s;
    values[ERROR] = stats.stderr_s;
    values[VARIANCE] = markov.variance;
    values[SIMULATED_VARIANCE] = stats.stddev_s * stats.stddev_s;
    values[BOTH] = both.mean_s;
    values[FRESH] = fresh.mean_s;
    values[FIXED] = fixed.mean_s;
    sum->mean_off =
        fmax(sum->mean_off, fabs(stats.mean_s - markov.mean_s) / stats.stderr_s);
    sum->variance_off =
        fmax(sum->variance_off, fabs(values[SIMULATED_VARIANCE] / markov.variance - 1));
    sum->fresh_off = fmax(sum->fresh_off, fabs(fresh.mean_s / both.mean_s - 1));
    if (n == 64)
        sum->fixed_over = fixed.mean_s / both.mean_s - 1;
    if (n % 2 == 0) {
        values[PRINTED] = 2 * harmonic + 2.0 / n;
        sum->printed_off =
            fmax(sum->printed_off, fabs(stats.mean_s - values[PRINTED]) / stats.stderr_s);
    }
    return CLEAVE_OK;
}

static enum cleave_status judge(const struct summary *sum, bool quick,
                                struct cv_figure_result *result, struct cleave_error *err)
{
    CV_TRY(cv_figure_claim(result, sum->printed_off < 4, err,
                           "the mean is 2 H(n/2) + 2/n for even n",
                           "%.0f standard errors off; it is 2 H(n/2) - 2/n: two "
                           "nodes need one transfer, 1 s, not 3",
                           sum->printed_off));
    CV_TRY(cv_figure_claim(
        result, sum->mean_off < 4, err,
        "the chain gives the mean (for any n: H(floor(n/2)) + H(floor((n-1)/2)))",
        "at most %.1f standard errors from %s runs", sum->mean_off,
        quick ? "10,000" : "1,000,000"));
    CV_TRY(cv_figure_claim(result, sum->variance_off < (quick ? 0.1 : 0.01), err,
                           "the chain gives the variance",
                           "at most %.2f %% from that of the runs",
                           100 * sum->variance_off));
    return cv_figure_claim(result, sum->fixed_over < 0.01, err,
                           "the chain also holds with a cost c_i of each node",
                           "only if every combination draws anew (%.2f %% off at most); "
                           "with a cost fixed per "
                           "node 64 nodes take %.1f %% longer",
                           100 * sum->fresh_off, 100 * sum->fixed_over);
}

static enum cleave_status draw(struct cv_figure_result *result, struct cleave_error *err)
{
    static const struct {
        const char *name;
        int column;
        enum cv_line line;
    } curves[] = {
        { "free combinations, chain", MEAN, CV_LINE_PLAIN },
        { "simulated", SIMULATED, CV_LINE_MARKS },
        { "formula as printed", PRINTED, CV_LINE_MARKED },
        { "combinations of rate 2, chain", BOTH, CV_LINE_PLAIN },
        { "drawn anew, simulated", FRESH, CV_LINE_MARKS },
        { "fixed per node, simulated", FIXED, CV_LINE_MARKED },
    };
    struct cv_figure_plot *plot;

    CV_TRY(cv_plot_add(result,
                       &(struct cv_figure_plot){ .x_label = "nodes",
                                                 .y_label =
                                                     "mean length (mean transfer = 1)",
                                                 .log_x = true,
                                                 .x_from = 1.9,
                                                 .x_to = 70 },
                       &plot, err));
    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++) {
        const struct cv_figure_row *row = result->rows;
        struct cv_figure_series *series;

        CV_TRY(cv_plot_series(result, plot, curves[i].name, SIZES, false, &series, err));
        series->line = curves[i].line;
        for (int k = 0; k < SIZES; k++, row = row->next) {
            series->x[k] = sizes[k];
            series->y[k] = row->values[curves[i].column];
        }
    }
    return CLEAVE_OK;
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[COLUMNS] = {
        "mean, chain",   "simulated",  "se",       "printed",  "variance",
        "simulated var", "both costs", "sim anew", "sim fixed"
    };
    struct summary sum = { 0 };

    result->label = "nodes";
    result->columns = columns;
    result->ncolumns = COLUMNS;
    result->note = "Transfers are exponential with rate 1; combinations are free in the "
                   "first six columns and have rate 2 in the last three.";
    for (int i = 0; i < SIZES; i++) {
        double *values = cv_figure_row(result, "%u", sizes[i]);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        CV_TRY(one_size(job, sizes[i], values, &sum, err));
        if (job->progress != NULL)
            job->progress(job->context, (uint64_t)i + 1, SIZES);
    }
    CV_TRY(judge(&sum, job->quick, result, err));
    return draw(result, err);
}

const struct cv_figure cv_figure_reduce_markov = {
    .title = "Mean and variance of tree-dyn with exponential costs",
    .source =
        "Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, section 3",
    .says = "The mean is 2 H(n/2) + 2/n and the variance 2 (1 + 1/4 + ..) + 4/n^2 when "
            "transfers have rate 1 and combinations are free.",
    .make = make,
};
