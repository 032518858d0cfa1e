/* figure_reduce_bernoulli.c -- four reductions with costs of two values.
 * SPDX-License-Identifier: MIT
 *
 * Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, section 4, say that
 * simulations with Bernoulli laws agreed with those with gamma laws, and show none. Here are
 * both: 64 nodes, free combinations, transfers of mean 1 and the same coefficient of
 * variation v. A cost of the Bernoulli law is 1 + v^2 with probability 1 / (1 + v^2), else 0. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cleave/reduce.h>
#include "figures/common/figure_plot.h"

enum { POLICIES = 4, POINTS = 7, NODES = 64, LAWS = 2 };
enum { TREE_DYN, BINOMIAL, FIBONACCI, ORDERED };
enum { GAMMA, BERNOULLI };

static const char *const policies[POLICIES] = { "tree-dyn", "binomial", "fibonacci",
                                                "ordered-tree-dyn" };
static const double spreads[POINTS] = { 0.03, 0.1, 0.3, 0.6, 1, 3, 10 };
/* Two that differ by less are said to be equal. */
static const double ALIKE = 0.02;

struct means {
    double of[LAWS][POINTS][POLICIES];
};

static enum cleave_status simulate(const struct cv_figure_job *job, int distribution,
                                   double cv, uint64_t runs, const char *policy,
                                   double *out, struct cleave_error *err)
{
    char text[80];
    const struct cleave_reduction reduction = {
        .nodes = NODES, .transfer = text, .compute = "0", .policy = policy, .seed = 1
    };
    const struct cleave_trial trial = { .runs = runs, .threads = job->threads };
    struct cleave_stats stats;

    if (distribution == GAMMA)
        snprintf(text, sizeof text, "gamma:1,%.17g", cv);
    else
        snprintf(text, sizeof text, "bernoulli:0,%.17g,%.17g", 1 + cv * cv,
                 1 / (1 + cv * cv));
    CV_TRY(cleave_simulate_reduce(&reduction, &trial, &stats, err));
    *out = stats.mean_s;
    return CLEAVE_OK;
}

/* -1, 0 or 1: the first is shorter, alike, longer. */
static int compare(const double *of, int a, int b)
{
    const double ratio = of[a] / of[b];

    return ratio > 1 + ALIKE ? 1 : ratio < 1 / (1 + ALIKE) ? -1 : 0;
}

/* Pairs of policies at all points of which one law says that one is shorter, and the other
 * that the other is. */
static int count_reversed(const struct means *means)
{
    int reversed = 0;

    for (int i = 0; i < POINTS; i++)
        for (int a = 0; a < POLICIES; a++)
            for (int b = a + 1; b < POLICIES; b++)
                reversed += compare(means->of[GAMMA][i], a, b) *
                                compare(means->of[BERNOULLI][i], a, b) <
                            0;
    return reversed;
}

static enum cleave_status judge(const struct means *means,
                                struct cv_figure_result *result, struct cleave_error *err)
{
    const double(*of)[POLICIES] = means->of[BERNOULLI];
    const int reversed = count_reversed(means);
    double behind = 0, ahead = 0, last = 0;

    for (int i = 0; i < POINTS; i++)
        for (int p = 1; p < POLICIES; p++) {
            behind = fmax(behind, of[i][TREE_DYN] / of[i][p] - 1);
            ahead = fmax(ahead, of[i][p] / of[i][FIBONACCI] - 1);
        }
    for (int p = 1; p < POLICIES; p++)
        last = fmax(last, of[POINTS - 1][p] / of[POINTS - 1][TREE_DYN] - 1);
    CV_TRY(cv_figure_claim(result, behind < ALIKE, err,
                           "tree-dyn is the best for every spread, or alike",
                           "%.1f %% behind another at most", 100 * behind));
    CV_TRY(cv_figure_claim(result, ahead < ALIKE, err,
                           "fibonacci is the worst for every spread, or alike",
                           "%.1f %% before another at most", 100 * ahead));
    CV_TRY(cv_figure_claim(result, reversed == 0, err,
                           "no two of them change places when the law is another",
                           "%d of %d pairs do, those within %g %% of each other aside",
                           reversed, POINTS * POLICIES * (POLICIES - 1) / 2,
                           100 * ALIKE));
    return cv_figure_claim(result, last < 0.06, err, "all are equivalent near a CV of 10",
                           "within %.1f %%", 100 * last);
}

static enum cleave_status draw(const struct means *means, struct cv_figure_result *result,
                               struct cleave_error *err)
{
    static const char *const titles[LAWS] = { "Gamma", "Bernoulli" };

    for (int distribution = 0; distribution < LAWS; distribution++) {
        struct cv_figure_plot *plot;

        CV_TRY(cv_plot_add(result,
                           &(struct cv_figure_plot){
                               .title = titles[distribution],
                               .x_label = "coefficient of variation of the transfers",
                               .y_label = "length, 64 nodes (mean transfer = 1)",
                               .log_x = true,
                               .log_y = true,
                               .y_from = 5,
                               .y_to = 60 },
                           &plot, err));
        for (int p = 0; p < POLICIES; p++) {
            struct cv_figure_series *series;

            CV_TRY(
                cv_plot_series(result, plot, policies[p], POINTS, false, &series, err));
            for (int i = 0; i < POINTS; i++) {
                series->x[i] = spreads[i];
                series->y[i] = means->of[distribution][i][p];
            }
        }
    }
    return CLEAVE_OK;
}

static enum cleave_status fill(const struct means *means, struct cv_figure_result *result,
                               struct cleave_error *err)
{
    for (int i = 0; i < POINTS; i++) {
        double *values = cv_figure_row(result, "%.4g", spreads[i]);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        for (int distribution = 0; distribution < LAWS; distribution++)
            memcpy(values + (size_t)distribution * POLICIES, means->of[distribution][i],
                   sizeof means->of[distribution][i]);
    }
    CV_TRY(draw(means, result, err));
    return judge(means, result, err);
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[] = {
        "gamma tree-dyn",      "gamma binomial",     "gamma fibonacci",
        "gamma ordered",       "bernoulli tree-dyn", "bernoulli binomial",
        "bernoulli fibonacci", "bernoulli ordered",
    };
    const uint64_t runs = job->quick ? 2000 : 100000,
                   all = (uint64_t)LAWS * POINTS * POLICIES;
    struct means *means = cv_array(&result->arena, 1, sizeof *means);
    uint64_t done = 0;

    if (means == NULL)
        return cv_fail_memory(err, "a figure");
    result->label = "cv";
    result->columns = columns;
    result->ncolumns = result->nshown = sizeof columns / sizeof *columns;
    result->note = "Mean length of 64 nodes' reductions, by both laws.";
    for (int distribution = 0; distribution < LAWS; distribution++)
        for (int i = 0; i < POINTS; i++)
            for (int p = 0; p < POLICIES; p++) {
                CV_TRY(simulate(job, distribution, spreads[i], runs, policies[p],
                                &means->of[distribution][i][p], err));
                if (job->progress != NULL)
                    job->progress(job->context, ++done * runs, all * runs);
            }
    return fill(means, result, err);
}

const struct cv_figure cv_figure_reduce_bernoulli = {
    .title = "The same four reductions with transfers of two values",
    .source =
        "Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, section 4",
    .says = "simulations with Bernoulli laws agree with those with gamma laws: the "
            "conclusions do not depend much on the law.",
    .make = make,
};
