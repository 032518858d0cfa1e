/* figure_reduce_costs.c -- lengths of reductions against the distribution of costs.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cleave/reduce.h>
#include "figures/common/figure.h"
#include "model/reduce/reduce_bounds.h"

/* --- gamma distributions ------------------------------------------------------------ */

/* Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Figure 3: 64 nodes,
 * transfers of mean 1 drawn from gamma laws of 30 coefficients of variation, free
 * combinations; means and deciles of a million runs each. */

enum { CURVE_POINTS = 30, NODES = 64 };
enum { TREE_DYN, BINOMIAL, FIBONACCI, ORDERED, POLICIES };

static const char *const policies[POLICIES] = { "tree-dyn", "binomial", "fibonacci",
                                                "ordered-tree-dyn" };

struct curve {
    double cv[CURVE_POINTS];
    struct cleave_stats of[CURVE_POINTS][POLICIES];
};

/* Lengths of `runs` reductions. */
static struct cleave_stats simulate(const struct cv_figure_job *job, uint64_t runs,
                                    struct cleave_reduction reduction)
{
    const struct cleave_trial trial = { .runs = runs, .threads = job->threads };
    struct cleave_stats stats;

    reduction.seed = 1;
    CV_MUST(cleave_simulate_reduce(&reduction, &trial, &stats, err));
    return stats;
}

enum { GAMMA, BERNOULLI, LAWS };

/* With free combinations, and transfers of mean 1 and a coefficient of variation. */
static struct cleave_stats simulate_law(const struct cv_figure_job *job, uint64_t runs,
                                        int law, double cv, const char *policy)
{
    char transfer[80];

    if (law == GAMMA)
        snprintf(transfer, sizeof transfer, "gamma:1,%.17g", cv);
    else
        snprintf(transfer, sizeof transfer, "bernoulli:0,%.17g,%.17g", 1 + cv * cv,
                 1 / (1 + cv * cv));
    return simulate(job, runs,
                    (struct cleave_reduction){ .nodes = NODES,
                                               .transfer = transfer,
                                               .compute = "0",
                                               .policy = policy });
}

/* The first point with a spread of at least `cv`. */
static int point_at(const struct curve *curve, double cv)
{
    int i = 0;

    while (i + 1 < CURVE_POINTS && curve->cv[i] < cv * (1 - 1e-9))
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
    int i = CURVE_POINTS;

    while (i > 0 && curve->of[i - 1][a].mean_s < curve->of[i - 1][b].mean_s)
        i--;
    return i < CURVE_POINTS ? curve->cv[i] : INFINITY;
}

static void judge_cv(const struct curve *curve, struct cv_figure_result *result)
{
    const int tenth = point_at(curve, 0.1), third = point_at(curve, 0.3);
    const int one = point_at(curve, 1), last = CURVE_POINTS - 1;
    const double second = crossing(curve, ORDERED, BINOMIAL);
    bool best = true, worst = true;

    for (int i = 0; i < CURVE_POINTS; i++)
        for (int p = 0; p < POLICIES; p++) {
            const double margin =
                3 * hypot(curve->of[i][p].stderr_s, curve->of[i][TREE_DYN].stderr_s);

            best &= curve->of[i][TREE_DYN].mean_s <= curve->of[i][p].mean_s + margin;
            worst &= curve->of[i][FIBONACCI].mean_s >= curve->of[i][p].mean_s - margin;
        }
    cv_figure_claim(
        result, best, "tree-dyn is the best for every spread",
        "at CV 1 the next is %.1f %% behind",
        100 * (curve->of[one][ORDERED].mean_s / curve->of[one][TREE_DYN].mean_s - 1));
    cv_figure_claim(result, worst, "fibonacci is the worst for every spread",
                    "%.1f %% over tree-dyn at most",
                    most_over(curve, FIBONACCI, TREE_DYN, 0, last));
    cv_figure_claim(result, most_over(curve, BINOMIAL, TREE_DYN, 0, tenth) < 2,
                    "binomial is close to tree-dyn below a CV of 0.1",
                    "%.2f %% behind at most",
                    most_over(curve, BINOMIAL, TREE_DYN, 0, tenth));
    cv_figure_claim(result, second > 0.25 && second < 0.45,
                    "ordered-tree-dyn is the second best above a CV of 0.3",
                    "from %.2f on", second);
    cv_figure_claim(
        result,
        curve->of[third][FIBONACCI].mean_s < 1.05 * curve->of[0][FIBONACCI].mean_s,
        "fibonacci and ordered-tree-dyn are stable up to a CV of 0.3",
        "%+.1f %% and %+.1f %% from CV 0.01 to 0.3, tree-dyn %+.1f %%, binomial %+.1f %%",
        100 * (curve->of[third][FIBONACCI].mean_s / curve->of[0][FIBONACCI].mean_s - 1),
        100 * (curve->of[third][ORDERED].mean_s / curve->of[0][ORDERED].mean_s - 1),
        100 * (curve->of[third][TREE_DYN].mean_s / curve->of[0][TREE_DYN].mean_s - 1),
        100 * (curve->of[third][BINOMIAL].mean_s / curve->of[0][BINOMIAL].mean_s - 1));
    cv_figure_claim(result, most_over(curve, FIBONACCI, BINOMIAL, one, last) < 2,
                    "above a CV of 1 both fixed trees take the same time",
                    "fibonacci is up to %.1f %% behind, %.1f %% at CV 10",
                    most_over(curve, FIBONACCI, BINOMIAL, one, last),
                    most_over(curve, FIBONACCI, BINOMIAL, last, last));
    cv_figure_claim(result, most_over(curve, FIBONACCI, TREE_DYN, last, last) < 6,
                    "all are equivalent near a CV of 10", "within %.1f %%",
                    most_over(curve, FIBONACCI, TREE_DYN, last, last));
}

/* All means; then the best and the worst with ribbons from the tenth to the ninetieth
 * percentile: four ribbons would cover each other. */
static void draw_cv(const struct curve *curve, struct cv_figure_result *result)
{
    static const struct {
        const char *title;
        bool ribbon;
        double y_from, y_to;
    } panels[2] = { { "Means", false, 5, 60 },
                    { "Means, and where 80 % of the runs are", true, 1, 200 } };

    for (int panel = 0; panel < 2; panel++) {
        struct cv_figure_plot *plot =
            CV_PLOT_ADD(result, .title = panels[panel].title,
                        .x_label = "coefficient of variation of the transfers",
                        .y_label = "length, 64 nodes (mean transfer = 1)", .log_x = true,
                        .log_y = true, .y_from = panels[panel].y_from,
                        .y_to = panels[panel].y_to);

        for (int p = 0; p < POLICIES; p++) {
            struct cv_figure_series *series;

            if (panels[panel].ribbon && p != TREE_DYN && p != FIBONACCI)
                continue;
            series =
                cv_plot_series(plot, policies[p], CURVE_POINTS, panels[panel].ribbon);
            for (int i = 0; i < CURVE_POINTS; i++) {
                series->x[i] = curve->cv[i];
                series->y[i] = curve->of[i][p].mean_s;
                if (series->low == NULL)
                    continue;
                series->low[i] = curve->of[i][p].q10_s;
                series->high[i] = curve->of[i][p].q90_s;
            }
        }
    }
}

static void fill_cv(const struct curve *curve, struct cv_figure_result *result)
{
    for (int i = 0; i < CURVE_POINTS; i++) {
        double *values = cv_figure_row(result, "%.4g", curve->cv[i]);

        for (int p = 0; p < POLICIES; p++) {
            values[p] = curve->of[i][p].mean_s;
            values[POLICIES + 3 * p] = curve->of[i][p].stderr_s;
            values[POLICIES + 3 * p + 1] = curve->of[i][p].q10_s;
            values[POLICIES + 3 * p + 2] = curve->of[i][p].q90_s;
        }
    }
    draw_cv(curve, result);
    judge_cv(curve, result);
}

static void make_cv(struct cv_figure_result *result)
{
    const struct cv_figure_job *job = result->job;
    const uint64_t runs = job->quick ? 2000 : 1000000;
    uint64_t done = 0;
    struct curve *curve = cv_figure_alloc(result, 1, sizeof *curve);

    cv_figure_table(
        result, "cv",
        "tree-dyn|binomial|fibonacci|ordered-tree-dyn|tree-dyn se|tree-dyn 10%|"
        "tree-dyn 90%|binomial se|binomial 10%|binomial 90%|fibonacci se|fibonacci 10%|"
        "fibonacci 90%|ordered-tree-dyn se|ordered-tree-dyn 10%|ordered-tree-dyn 90%",
        "Mean length of 64 nodes' reductions; standard errors and deciles are in "
        "the CSV file.");
    result->nshown = POLICIES;
    for (int i = 0; i < CURVE_POINTS; i++) {
        curve->cv[i] = pow(10, -2 + 3.0 * i / (CURVE_POINTS - 1));
        for (int p = 0; p < POLICIES; p++) {
            curve->of[i][p] = simulate_law(job, runs, GAMMA, curve->cv[i], policies[p]);
            cv_figure_progress(job, ++done, (uint64_t)CURVE_POINTS * POLICIES);
        }
    }
    fill_cv(curve, result);
}

const struct cv_figure cv_figure_reduce_cv = {
    .title = "Length of four reductions against the spread of the transfer costs",
    .source = "Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Figure 3",
    .says =
        "tree-dyn is the best and fibonacci the worst for every spread, "
        "ordered-tree-dyn the second best above a CV of 0.3; above 1 both fixed trees "
        "take the same time, near 10 all do.",
    .make = make_cv,
};

/* --- four reductions with costs of two values --------------------------------------- */

/* Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, section 4, say that
 * simulations with Bernoulli laws agreed with those with gamma laws, and show none. Here
 * are both: 64 nodes, free combinations, transfers of mean 1 and the same coefficient of
 * variation v. A cost of the Bernoulli law is 1 + v^2 with probability 1 / (1 + v^2),
 * else 0. */

enum { BERNOULLI_POINTS = 7 };

static const double spreads[BERNOULLI_POINTS] = { 0.03, 0.1, 0.3, 0.6, 1, 3, 10 };
/* Lengths that differ by less count as equal. */
static const double ALIKE = 0.02;

/* -1, 0 or 1: the first is shorter, alike, longer. */
static int compare(const double *of, int a, int b)
{
    const double ratio = of[a] / of[b];

    return ratio > 1 + ALIKE ? 1 : ratio < 1 / (1 + ALIKE) ? -1 : 0;
}

/* Pairs of policies, at all points, whose order differs between the two distributions. */
static int count_reversed(const struct cv_figure_result *result)
{
    int reversed = 0;

    for (int i = 0; i < BERNOULLI_POINTS; i++)
        for (int a = 0; a < POLICIES; a++)
            for (int b = a + 1; b < POLICIES; b++)
                reversed += compare(result->rows[i].values, a, b) *
                                compare(result->rows[i].values + POLICIES, a, b) <
                            0;
    return reversed;
}

static void judge_bernoulli(struct cv_figure_result *result)
{
    const int reversed = count_reversed(result);
    double behind = 0, ahead = 0, last = 0;

    for (int i = 0; i < BERNOULLI_POINTS; i++) {
        const double *of = result->rows[i].values + POLICIES;

        last = 0;
        for (int p = 1; p < POLICIES; p++) {
            behind = fmax(behind, of[TREE_DYN] / of[p] - 1);
            ahead = fmax(ahead, of[p] / of[FIBONACCI] - 1);
            last = fmax(last, of[p] / of[TREE_DYN] - 1);
        }
    }
    cv_figure_claim(result, behind < ALIKE,
                    "tree-dyn is the best for every spread, or alike",
                    "%.1f %% behind another at most", 100 * behind);
    cv_figure_claim(result, ahead < ALIKE,
                    "fibonacci is the worst for every spread, or alike",
                    "%.1f %% before another at most", 100 * ahead);
    cv_figure_claim(result, reversed == 0,
                    "no two of them change places when the law is another",
                    "%d of %d pairs do, those within %g %% of each other aside", reversed,
                    BERNOULLI_POINTS * POLICIES * (POLICIES - 1) / 2, 100 * ALIKE);
    cv_figure_claim(result, last < 0.06, "all are equivalent near a CV of 10",
                    "within %.1f %%", 100 * last);
}

static void make_bernoulli(struct cv_figure_result *result)
{
    static const char *const titles[LAWS] = { "Gamma", "Bernoulli" };
    const struct cv_figure_job *job = result->job;
    const uint64_t runs = job->quick ? 2000 : 100000,
                   all = (uint64_t)LAWS * BERNOULLI_POINTS * POLICIES;
    uint64_t done = 0;

    cv_figure_table(result, "cv",
                    "gamma tree-dyn|gamma binomial|gamma fibonacci|gamma ordered|"
                    "bernoulli tree-dyn|bernoulli binomial|bernoulli fibonacci|"
                    "bernoulli ordered",
                    "Mean length of 64 nodes' reductions, by both laws.");
    for (int i = 0; i < BERNOULLI_POINTS; i++) {
        double *values = cv_figure_row(result, "%.4g", spreads[i]);

        for (int law = 0; law < LAWS; law++)
            for (int p = 0; p < POLICIES; p++) {
                *values++ = simulate_law(job, runs, law, spreads[i], policies[p]).mean_s;
                cv_figure_progress(job, ++done, all);
            }
    }
    for (size_t law = 0; law < LAWS; law++)
        CV_PLOT_ADD(result, .title = titles[law],
                    .x_label = "coefficient of variation of the transfers",
                    .y_label = "length, 64 nodes (mean transfer = 1)", .log_x = true,
                    .log_y = true, .y_from = 5, .y_to = 60,
                    CV_CURVES({ .name = policies[0], .column = law * POLICIES },
                              { .name = policies[1], .column = law * POLICIES + 1 },
                              { .name = policies[2], .column = law * POLICIES + 2 },
                              { .name = policies[3], .column = law * POLICIES + 3 }));
    judge_bernoulli(result);
}

const struct cv_figure cv_figure_reduce_bernoulli = {
    .title = "The same four reductions with transfers of two values",
    .source =
        "Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, section 4",
    .says = "simulations with Bernoulli laws agree with those with gamma laws: the "
            "conclusions do not depend much on the law.",
    .make = make_bernoulli,
};

/* --- the dynamic reduction with exponential costs ----------------------------------- */

/* Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, section 3: mean and
 * variance of tree-dyn's length by a Markov chain and by simulation, for transfers of
 * rate 1 and combinations that are free or have rate 2. */

enum { SIZES = 10 };
enum { MEAN, SIMULATED, ERROR, PRINTED, VARIANCE, SIM_VAR, BOTH, FRESH, FIXED };

static const uint32_t sizes[SIZES] = { 2, 3, 4, 5, 8, 16, 32, 33, 64, 65 };

struct summary {
    double mean_off, variance_off; /* in standard errors, parts               */
    double printed_off;            /* most, in standard errors: even sizes    */
    double fresh_off, fixed_over;  /* parts; the latter at 64 nodes           */
};

static struct cleave_stats simulate_markov(const struct cv_figure_job *job,
                                           uint32_t nodes, const char *compute,
                                           enum cleave_compute_model model)
{
    return simulate(job, job->quick ? 10000 : 1000000,
                    (struct cleave_reduction){ .nodes = nodes,
                                               .transfer = "exp:1",
                                               .compute = compute,
                                               .model = model,
                                               .policy = "tree-dyn" });
}

static void one_size(const struct cv_figure_job *job, uint32_t n, double *values,
                     struct summary *sum)
{
    struct cleave_stats stats, fresh, fixed;
    struct cv_markov markov, both;
    double harmonic = 0;

    for (uint32_t i = 1; i <= n / 2; i++)
        harmonic += 1.0 / i;
    CV_MUST(cv_markov_transfers(n, 1, &markov, err));
    CV_MUST(cv_markov_both(n, 1, 2, &both, err));
    stats = simulate_markov(job, n, "0", CLEAVE_COMPUTE_FRESH);
    fresh = simulate_markov(job, n, "exp:0.5", CLEAVE_COMPUTE_FRESH);
    fixed = simulate_markov(job, n, "exp:0.5", CLEAVE_COMPUTE_FIXED);
    values[MEAN] = markov.mean_s;
    values[SIMULATED] = stats.mean_s;
    values[ERROR] = stats.stderr_s;
    values[VARIANCE] = markov.variance;
    values[SIM_VAR] = stats.stddev_s * stats.stddev_s;
    values[BOTH] = both.mean_s;
    values[FRESH] = fresh.mean_s;
    values[FIXED] = fixed.mean_s;
    sum->mean_off =
        fmax(sum->mean_off, fabs(stats.mean_s - markov.mean_s) / stats.stderr_s);
    sum->variance_off =
        fmax(sum->variance_off, fabs(values[SIM_VAR] / markov.variance - 1));
    sum->fresh_off = fmax(sum->fresh_off, fabs(fresh.mean_s / both.mean_s - 1));
    if (n == 64)
        sum->fixed_over = fixed.mean_s / both.mean_s - 1;
    if (n % 2 == 0) {
        values[PRINTED] = 2 * harmonic + 2.0 / n;
        sum->printed_off =
            fmax(sum->printed_off, fabs(stats.mean_s - values[PRINTED]) / stats.stderr_s);
    }
}

static void judge_markov(const struct summary *sum, bool quick,
                         struct cv_figure_result *result)
{
    cv_figure_claim(result, sum->printed_off < 4, "the mean is 2 H(n/2) + 2/n for even n",
                    "%.0f standard errors off; it is 2 H(n/2) - 2/n: two "
                    "nodes need one transfer, 1 s, not 3",
                    sum->printed_off);
    cv_figure_claim(
        result, sum->mean_off < 4,
        "the chain gives the mean (for any n: H(floor(n/2)) + H(floor((n-1)/2)))",
        "at most %.1f standard errors from %s runs", sum->mean_off,
        quick ? "10,000" : "1,000,000");
    cv_figure_claim(result, sum->variance_off < (quick ? 0.1 : 0.01),
                    "the chain gives the variance",
                    "at most %.2f %% from the mean of the runs", 100 * sum->variance_off);
    cv_figure_claim(result, sum->fixed_over < 0.01,
                    "the chain also holds with a cost c_i of each node",
                    "only if every combination draws again (%.2f %% off at most); with a "
                    "fixed cost per node 64 nodes take %.1f %% longer",
                    100 * sum->fresh_off, 100 * sum->fixed_over);
}

static void make_markov(struct cv_figure_result *result)
{
    struct summary sum = { 0 };

    cv_figure_table(result, "nodes",
                    "mean, chain|simulated|se|printed|variance|simulated var|both "
                    "costs|sim fresh|sim fixed",
                    "Transfers are exponential with rate 1; combinations are free in the "
                    "first six columns and have rate 2 in the last three.");
    for (int i = 0; i < SIZES; i++) {
        double *values = cv_figure_row(result, "%u", sizes[i]);

        one_size(result->job, sizes[i], values, &sum);
        cv_figure_progress(result->job, (uint64_t)i + 1, SIZES);
    }
    judge_markov(&sum, result->job->quick, result);
    CV_PLOT_ADD(result, .x_label = "nodes", .y_label = "mean length (mean transfer = 1)",
                .log_x = true, .x_from = 1.9, .x_to = 70,
                CV_CURVES({ "free combinations, chain", MEAN, CV_LINE_PLAIN, 0 },
                          { "simulated", SIMULATED, CV_LINE_MARKS, 0 },
                          { "formula as printed", PRINTED, CV_LINE_MARKED, 0 },
                          { "combinations of rate 2, chain", BOTH, CV_LINE_PLAIN, 0 },
                          { "drawn anew, simulated", FRESH, CV_LINE_MARKS, 0 },
                          { "fixed per node, simulated", FIXED, CV_LINE_MARKED, 0 }));
}

const struct cv_figure cv_figure_reduce_markov = {
    .title = "Mean and variance of tree-dyn with exponential costs",
    .source =
        "Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, section 3",
    .says = "The mean is 2 H(n/2) + 2/n and the variance 2 (1 + 1/4 + ..) + 4/n^2 when "
            "transfers have rate 1 and combinations are free.",
    .make = make_markov,
};

/* --- reductions by the spread of costs and by the cost of a combination ------------ */

/* Benoit, Canon and Marchal, Figure 4: 64 nodes, transfers of mean 1, combinations of
 * mean `ratio`, both gamma with the same coefficient of variation. Every combination
 * draws a new cost, without which the figure would not be symmetric. */

enum { SPREADS = 11, RATIOS = 15 };

static const double cell_spreads[SPREADS] = { 0.01, 0.05, 0.1, 0.2, 0.3, 0.5,
                                              0.7,  1,    2,   5,   10 };
static const double ratios[RATIOS] = { 0.1,  0.2,       0.3, 0.4, 0.5,       0.6, 0.8, 1,
                                       1.25, 1.0 / 0.6, 2,   2.5, 1.0 / 0.3, 5,   10 };
/* The ratios as headings. */
#define RATIO_COLUMNS "c/d 0.1|0.2|0.3|0.4|0.5|0.6|0.8|1|1.25|1.67|2|2.5|3.33|5|10"

/* Lengths of a policy in one cell: 10,000 runs, 500 if quick. */
static struct cleave_stats cell_run(const struct cv_figure_job *job, int spread,
                                    int ratio, const char *policy)
{
    char transfer[48], compute[64];

    snprintf(transfer, sizeof transfer, "gamma:1,%.17g", cell_spreads[spread]);
    snprintf(compute, sizeof compute, "gamma:%.17g,%.17g", ratios[ratio],
             cell_spreads[spread]);
    return simulate(job, job->quick ? 500 : 10000,
                    (struct cleave_reduction){ .nodes = NODES,
                                               .transfer = transfer,
                                               .compute = compute,
                                               .policy = policy });
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

static void judge_overlap(struct cv_figure_result *result)
{
    const struct cv_figure_row *rows = result->rows;
    double asymmetry = 0, last = 0;

    for (int i = 0; i < SPREADS; i++) {
        const double *row = rows[i].values;

        if (cell_spreads[i] <= 1 && !isnan(passes_one(row)))
            last = cell_spreads[i];
        for (int j = 0; j < RATIOS && cell_spreads[i] <= 1; j++)
            asymmetry = fmax(asymmetry, fabs(row[j] / row[RATIOS - 1 - j] - 1));
    }
    cv_figure_claim(result, fabs(passes_one(rows[2].values) - 0.5) < 0.1 && last < 1,
                    "fibonacci wins from about half the transfer cost on, while "
                    "the spread is limited",
                    "from %.2f (CV 0.01), %.2f (0.1), %.2f (0.3); up to CV %g",
                    passes_one(rows[0].values), passes_one(rows[2].values),
                    passes_one(rows[4].values), last);
    cv_figure_claim(result, asymmetry < 0.05,
                    "exchanging the costs of transfer and combination changes "
                    "nothing",
                    "%.1f %% at most up to CV 1; with a fixed cost per node it "
                    "would not hold",
                    100 * asymmetry);
}

static void make_overlap(struct cv_figure_result *result)
{
    cv_figure_table(
        result, "cv", RATIO_COLUMNS,
        "Mean length of fibonacci over tree-dyn; ratios above 1 are in the CSV "
        "file.");
    result->nshown = 8;
    for (int i = 0; i < SPREADS; i++) {
        double *values = cv_figure_row(result, "%g", cell_spreads[i]);

        for (int j = 0; j < RATIOS; j++) {
            values[j] = cell_run(result->job, i, j, "fibonacci").mean_s /
                        cell_run(result->job, i, j, "tree-dyn").mean_s;
            cell_progress(result->job, i, j);
        }
    }
    judge_overlap(result);
    CV_PLOT_ADD(result, .kind = CV_PLOT_MAP,
                .title = "Mean length of fibonacci over that of tree-dyn, 64 nodes; "
                         "below 1 fibonacci wins",
                .x_label = "mean combination over mean transfer",
                .y_label = "coefficient of variation of the costs", .ncolumns = RATIOS,
                .decimals = 2);
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

struct cell {
    int best;      /* a policy that keeps the order                  */
    double lead;   /* best over next, in percent                     */
    double errors; /* lead in standard errors of the difference      */
};

static void find_best(const struct cv_figure_job *job, int spread, int ratio,
                      struct cell *out)
{
    struct cleave_stats stats[POLICIES];
    int best = BINOMIAL, next;

    for (int p = BINOMIAL; p < POLICIES; p++) {
        stats[p] = cell_run(job, spread, ratio, policies[p]);
        if (stats[p].mean_s < stats[best].mean_s)
            best = p;
    }
    next = best == BINOMIAL ? BINOMIAL + 1 : BINOMIAL;
    for (int p = BINOMIAL; p < POLICIES; p++)
        if (p != best && stats[p].mean_s < stats[next].mean_s)
            next = p;
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
            if (cell_spreads[i] < 1)
                continue;
            wide++;
            ordered += cell->best == ORDERED || cell->errors < 2;
        }
    for (int i = SPREADS; i-- > 0 && table[i][0].best == ORDERED;)
        first = cell_spreads[i];
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
    cv_figure_claim(result, table[0][0].best == BINOMIAL && first >= 0.3 && first <= 0.5,
                    "with cheap combinations (0.1) it is as in Figure 3",
                    "binomial at small spreads, ordered-tree-dyn for CV %g and more; "
                    "they cross at 0.33 there",
                    first);
    cv_figure_claim(result, mirrored <= 4, "the figure is symmetric",
                    "%u cells surely differ from their mirror image", mirrored);
}

static void make_best(struct cv_figure_result *result)
{
    struct cell table[SPREADS][RATIOS];

    cv_figure_table(result, "cv",
                    RATIO_COLUMNS
                    "|lead 0.1|lead 0.2|lead 0.3|lead 0.4|lead 0.5|lead 0.6|"
                    "lead 0.8|lead 1|lead 1.25|lead 1.67|lead 2|lead 2.5|"
                    "lead 3.33|lead 5|lead 10",
                    "0: binomial is the best, 1: fibonacci, 2: ordered-tree-dyn. By how "
                    "many percent: in the CSV file.");
    result->nshown = RATIOS;
    for (int i = 0; i < SPREADS; i++) {
        double *values = cv_figure_row(result, "%g", cell_spreads[i]);

        for (int j = 0; j < RATIOS; j++) {
            find_best(result->job, i, j, &table[i][j]);
            values[j] = table[i][j].best - BINOMIAL;
            values[RATIOS + j] = table[i][j].lead;
            cell_progress(result->job, i, j);
        }
    }
    judge_best(table, result);
    CV_PLOT_ADD(result, .kind = CV_PLOT_MAP,
                .title = "The best mean length of those that keep the order, 64 nodes",
                .x_label = "mean combination over mean transfer",
                .y_label = "coefficient of variation of the costs", .ncolumns = RATIOS,
                .kinds = "B: binomial|F: fibonacci|O: ordered-tree-dyn");
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
