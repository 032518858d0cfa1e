/* figure_reduce_cv.c -- four reductions against the spread of the costs.
 * SPDX-License-Identifier: MIT
 *
 * Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Figure 3: 64 nodes,
 * transfers of mean 1 drawn from gamma laws of 30 coefficients of variation, free
 * combinations; means and deciles of a million runs each. */
#include <math.h>
#include <stdio.h>

#include <cleave/reduce.h>
#include "figures/common/figure_plot.h"

enum { POLICIES = 4, POINTS = 30, NODES = 64 };
enum { TREE_DYN, BINOMIAL, FIBONACCI, ORDERED };

static const char *const policies[POLICIES] = { "tree-dyn", "binomial", "fibonacci",
                                                "ordered-tree-dyn" };

struct curve {
    double cv[POINTS];
    struct cleave_stats of[POINTS][POLICIES];
};

struct progress {
    const struct cv_figure_job *job;
    uint64_t before, total; /* runs */
};

static void show_progress(void *context, uint64_t done)
{
    const struct progress *progress = context;

    progress->job->progress(progress->job->context, progress->before + done,
                            progress->total);
}

static enum cleave_status simulate(struct progress *progress, double cv, uint64_t runs,
                                   const char *policy, struct cleave_stats *out,
                                   struct cleave_error *err)
{
    char distribution[48];
    struct cleave_reduction job = { .nodes = NODES,
                                    .transfer = distribution,
                                    .compute = "0",
                                    .policy = policy,
                                    .seed = 1 };
    struct cleave_trial trial = { .runs = runs, .threads = progress->job->threads };

    if (progress->job->progress != NULL) {
        trial.progress = show_progress;
        trial.context = progress;
    }
    snprintf(distribution, sizeof distribution, "gamma:1,%.17g", cv);
    CV_TRY(cleave_simulate_reduce(&job, &trial, out, err));
    progress->before += runs;
    return CLEAVE_OK;
}

/* The first point with a spread of at least `cv`. */
static int point_at(const struct curve *curve, double cv)
{
    int i = 0;

    while (i + 1 < POINTS && curve->cv[i] < cv * (1 - 1e-9))
        i++;
    return i;
}

/* The most by which `a` exceeds `b` over points first .. last, in percent. */
static double most_over(const struct curve *curve, int a, int b, int first, int last)
{
    double max = -INFINITY;

    for (int i = first; i <= last; i++)
        max = fmax(max, 100 * (curve->of[i][a].mean_s / curve->of[i][b].mean_s - 1));
    return max;
}

/* Where the curve of `a` falls below that of `b` for good. */
static double crossing(const struct curve *curve, int a, int b)
{
    int i = POINTS;

    while (i > 0 && curve->of[i - 1][a].mean_s < curve->of[i - 1][b].mean_s)
        i--;
    return i < POINTS ? curve->cv[i] : INFINITY;
}

static enum cleave_status judge(const struct curve *curve,
                                struct cv_figure_result *result, struct cleave_error *err)
{
    const int tenth = point_at(curve, 0.1), third = point_at(curve, 0.3);
    const int one = point_at(curve, 1), last = POINTS - 1;
    const double second = crossing(curve, ORDERED, BINOMIAL);
    bool best = true, worst = true;

    for (int i = 0; i < POINTS; i++)
        for (int p = 0; p < POLICIES; p++) {
            const double margin =
                3 * hypot(curve->of[i][p].stderr_s, curve->of[i][TREE_DYN].stderr_s);

            best &= curve->of[i][TREE_DYN].mean_s <= curve->of[i][p].mean_s + margin;
            worst &= curve->of[i][FIBONACCI].mean_s >= curve->of[i][p].mean_s - margin;
        }
    CV_TRY(cv_figure_claim(
        result, best, err, "tree-dyn is the best for every spread",
        "at CV 1 the next is %.1f %% behind",
        100 * (curve->of[one][ORDERED].mean_s / curve->of[one][TREE_DYN].mean_s - 1)));
    CV_TRY(cv_figure_claim(result, worst, err, "fibonacci is the worst for every spread",
                           "%.1f %% over tree-dyn at most",
                           most_over(curve, FIBONACCI, TREE_DYN, 0, last)));
    CV_TRY(cv_figure_claim(result, most_over(curve, BINOMIAL, TREE_DYN, 0, tenth) < 2,
                           err, "binomial is close to tree-dyn below a CV of 0.1",
                           "%.2f %% behind at most",
                           most_over(curve, BINOMIAL, TREE_DYN, 0, tenth)));
    CV_TRY(cv_figure_claim(result, second > 0.25 && second < 0.45, err,
                           "ordered-tree-dyn is the second best above a CV of 0.3",
                           "from %.2f on", second));
    CV_TRY(cv_figure_claim(
        result,
        curve->of[third][FIBONACCI].mean_s < 1.05 * curve->of[0][FIBONACCI].mean_s, err,
        "fibonacci and ordered-tree-dyn are stable up to a CV of 0.3",
        "%+.1f %% and %+.1f %% from CV 0.01 to 0.3, tree-dyn %+.1f %%, binomial %+.1f %%",
        100 * (curve->of[third][FIBONACCI].mean_s / curve->of[0][FIBONACCI].mean_s - 1),
        100 * (curve->of[third][ORDERED].mean_s / curve->of[0][ORDERED].mean_s - 1),
        100 * (curve->of[third][TREE_DYN].mean_s / curve->of[0][TREE_DYN].mean_s - 1),
        100 * (curve->of[third][BINOMIAL].mean_s / curve->of[0][BINOMIAL].mean_s - 1)));
    CV_TRY(cv_figure_claim(result, most_over(curve, FIBONACCI, BINOMIAL, one, last) < 2,
                           err, "above a CV of 1 both fixed trees take the same time",
                           "fibonacci is up to %.1f %% behind, %.1f %% at CV 10",
                           most_over(curve, FIBONACCI, BINOMIAL, one, last),
                           most_over(curve, FIBONACCI, BINOMIAL, last, last)));
    return cv_figure_claim(result, most_over(curve, FIBONACCI, TREE_DYN, last, last) < 6,
                           err, "all are equivalent near a CV of 10", "within %.1f %%",
                           most_over(curve, FIBONACCI, TREE_DYN, last, last));
}

/* All means; then the best and the worst with ribbons from the tenth to the ninetieth
 * percentile: four of those would cover each other. */
static enum cleave_status draw(const struct curve *curve, struct cv_figure_result *result,
                               struct cleave_error *err)
{
    static const struct {
        const char *title;
        bool ribbon;
        double y_from, y_to;
    } panels[2] = { { "Means", false, 5, 60 },
                    { "Means, and where 80 % of the runs are", true, 1, 200 } };

    for (int panel = 0; panel < 2; panel++) {
        struct cv_figure_plot *plot;

        CV_TRY(cv_plot_add(result,
                           &(struct cv_figure_plot){
                               .title = panels[panel].title,
                               .x_label = "coefficient of variation of the transfers",
                               .y_label = "length, 64 nodes (mean transfer = 1)",
                               .log_x = true,
                               .log_y = true,
                               .y_from = panels[panel].y_from,
                               .y_to = panels[panel].y_to },
                           &plot, err));
        for (int p = 0; p < POLICIES; p++) {
            struct cv_figure_series *series;

            if (panels[panel].ribbon && p != TREE_DYN && p != FIBONACCI)
                continue;
            CV_TRY(cv_plot_series(result, plot, policies[p], POINTS, panels[panel].ribbon,
                                  &series, err));
            for (int i = 0; i < POINTS; i++) {
                series->x[i] = curve->cv[i];
                series->y[i] = curve->of[i][p].mean_s;
                if (series->low == NULL)
                    continue;
                series->low[i] = curve->of[i][p].q10_s;
                series->high[i] = curve->of[i][p].q90_s;
            }
        }
    }
    return CLEAVE_OK;
}

static enum cleave_status fill(const struct curve *curve, struct cv_figure_result *result,
                               struct cleave_error *err)
{
    for (int i = 0; i < POINTS; i++) {
        double *values = cv_figure_row(result, "%.4g", curve->cv[i]);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        for (int p = 0; p < POLICIES; p++) {
            values[p] = curve->of[i][p].mean_s;
            values[POLICIES + 3 * p] = curve->of[i][p].stderr_s;
            values[POLICIES + 3 * p + 1] = curve->of[i][p].q10_s;
            values[POLICIES + 3 * p + 2] = curve->of[i][p].q90_s;
        }
    }
    CV_TRY(draw(curve, result, err));
    return judge(curve, result, err);
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[] = {
        "tree-dyn",
        "binomial",
        "fibonacci",
        "ordered-tree-dyn",
        "tree-dyn se",
        "tree-dyn 10%",
        "tree-dyn 90%",
        "binomial se",
        "binomial 10%",
        "binomial 90%",
        "fibonacci se",
        "fibonacci 10%",
        "fibonacci 90%",
        "ordered-tree-dyn se",
        "ordered-tree-dyn 10%",
        "ordered-tree-dyn 90%",
    };
    const uint64_t runs = job->quick ? 2000 : 1000000;
    struct progress progress = { job, 0, runs * POINTS * POLICIES };
    struct curve *curve = cv_array(&result->arena, 1, sizeof *curve);

    if (curve == NULL)
        return cv_fail_memory(err, "a figure");
    result->label = "cv";
    result->columns = columns;
    result->ncolumns = sizeof columns / sizeof *columns;
    result->nshown = POLICIES;
    result->note =
        "Mean length of 64 nodes' reductions; standard errors and deciles are in "
        "the CSV file.";
    for (int i = 0; i < POINTS; i++) {
        curve->cv[i] = pow(10, -2 + 3.0 * i / (POINTS - 1));
        for (int p = 0; p < POLICIES; p++)
            CV_TRY(simulate(&progress, curve->cv[i], runs, policies[p], &curve->of[i][p],
                            err));
    }
    return fill(curve, result, err);
}

const struct cv_figure cv_figure_reduce_cv = {
    .title = "Length of four reductions against the spread of the transfer costs",
    .source = "Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Figure 3",
    .says =
        "tree-dyn is the best and fibonacci the worst for every spread, "
        "ordered-tree-dyn the second best above a CV of 0.3; above 1 both fixed trees "
        "take the same time, near 10 all do.",
    .make = make,
};
