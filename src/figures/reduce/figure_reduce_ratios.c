/* figure_reduce_ratios.c -- how near reductions come to their approximation ratios.
 * SPDX-License-Identifier: MIT
 *
 * Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Table 1: length over
 * the optimum of binomial, tree-dyn and fibonacci in terms of Delta, the greatest
 * transfer cost over the least, when combinations cost nothing, anything, or the least
 * transfer. Each ratio is held against small platforms whose optimum is found by trying
 * everything, made worse step by step, and against the platform of Theorem 1 for up to
 * 144 nodes. */
#include <math.h>

#include "figures/common/figure_plot.h"
#include "figures/reduce/figure_reduce_worst.h"
#include "sim/many/parallel.h"

enum { METHODS = CV_WORST_METHODS, CASES = CV_WORST_CASES, ENTRIES = METHODS * CASES };
enum { SIZES = 16, DELTAS = 4, COSTS = 5, BLOCK = 8, MOST_THREADS = 256 };
enum { TRIED, FOUND, BOUND, PART, BUILT, BUILT_NODES, COLUMNS };

static const uint32_t sizes[SIZES] = { 2,  3,  4,  5,  6,  8,  9,  13,
                                       16, 22, 32, 34, 56, 64, 89, 144 };
static const double deltas[DELTAS] = { 2, 10, 100, 1000 };
static const double costs[COSTS] = { 0.01, 0.3, 1, 3, 100 };

struct hunt {
    const struct cv_figure_job *job;
    uint32_t most_nodes;
    unsigned steps;
    uint64_t count;
    struct {
        struct cv_worst worst[CASES][METHODS];
        uint64_t tried[CASES];
    } by[MOST_THREADS]; /* what each thread found */
};

static enum cleave_status some(void *context, unsigned thread, uint64_t begin,
                               uint64_t end, struct cleave_error *err)
{
    struct hunt *hunt = context;

    for (uint64_t i = begin; i < end; i++) {
        const int which = (int)(i % CASES), method = (int)(i / CASES % METHODS);

        CV_TRY(cv_worst_climb(i, method, which, hunt->most_nodes, hunt->steps,
                              hunt->by[thread].worst[which],
                              &hunt->by[thread].tried[which], err));
    }
    return CLEAVE_OK;
}

static void show_progress(void *context, uint64_t done)
{
    const struct hunt *hunt = context;

    hunt->job->progress(hunt->job->context, done, hunt->count);
}

/* Into the first thread's place. */
static void gather(struct hunt *hunt)
{
    for (int t = 1; t < MOST_THREADS; t++)
        for (int which = 0; which < CASES; which++) {
            hunt->by[0].tried[which] += hunt->by[t].tried[which];
            for (int m = 0; m < METHODS; m++)
                if (cv_worst_worse(&hunt->by[t].worst[which][m],
                                   &hunt->by[0].worst[which][m], m))
                    hunt->by[0].worst[which][m] = hunt->by[t].worst[which][m];
        }
}

/* The worst of the platforms of Theorem 1. */
static enum cleave_status build(int which, struct cv_worst out[METHODS],
                                struct cleave_error *err)
{
    const int ncosts = which == 1 ? COSTS : 1;

    for (int s = 0; s < SIZES; s++)
        for (int d = 0; d < DELTAS; d++)
            for (int c = 0; c < ncosts; c++) {
                const double cost = which == 0 ? 0 : which == 1 ? costs[c] : 1;
                struct cv_worst now;

                CV_TRY(cv_worst_built(sizes[s], deltas[d], cost, which, &now, err));
                for (int m = 0; m < METHODS; m++)
                    if (now.part[m] > out[m].part[m] * (1 + 1e-12))
                        out[m] = now;
            }
    return CLEAVE_OK;
}

static enum cleave_status claim_entry(int method, int which, const double *values,
                                      struct cv_figure_result *result,
                                      struct cleave_error *err)
{
    static const char *const claims[CASES][METHODS] = {
        { "binomial, c = 0: at most Delta times the optimum",
          "tree-dyn, c = 0: at most Delta times the optimum",
          "fibonacci, c = 0: at most Delta / log2 phi + Delta / ceil(log2 n)" },
        { "binomial, any c: at most Delta + 1", "tree-dyn, any c: at most Delta + 1",
          "fibonacci, any c: at most Delta / log2 phi + 2 Delta / ceil(log2 n)" },
        { "binomial, c = d: at most (Delta + 1) (1 + 1 / log2 n) log2 phi",
          "tree-dyn, c = d: at most (Delta + 1) (1 + 1 / log2 n) log2 phi",
          "fibonacci, c = d: at most Delta" },
    };
    const double max = fmax(values[PART], values[BUILT]);

    return cv_figure_claim(
        result, max <= 100 * (1 + 1e-9), err, claims[which][method],
        "%.1f %% of that at most: %.1f %% on %.0f platforms made "
        "worse step by step, %.1f %% on that of Theorem 1 (%.0f nodes)",
        max, values[PART], values[TRIED], values[BUILT], values[BUILT_NODES]);
}

static enum cleave_status fill(const struct hunt *hunt, struct cv_figure_result *result,
                               struct cleave_error *err)
{
    for (int which = 0; which < CASES; which++) {
        struct cv_worst built[METHODS] = { { .n = 0 } };

        CV_TRY(build(which, built, err));
        for (int m = 0; m < METHODS; m++) {
            const struct cv_worst *worst = &hunt->by[0].worst[which][m];
            double *values = cv_figure_row(result, "%s, %s", cv_worst_methods[m],
                                           cv_worst_cases[which]);

            if (values == NULL)
                return cv_fail_memory(err, "a figure");
            values[TRIED] = (double)hunt->by[0].tried[which];
            values[FOUND] = worst->ratio[m];
            values[BOUND] = cv_worst_bound(m, which, worst->n, worst->delta);
            values[PART] = 100 * worst->part[m];
            values[BUILT] = 100 * built[m].part[m];
            values[BUILT_NODES] = built[m].n;
            CV_TRY(claim_entry(m, which, values, result, err));
        }
    }
    return CLEAVE_OK;
}

/* Theorem 1: the ratio is reached, and for which numbers of nodes it is not. */
static enum cleave_status judge_reached(struct cv_figure_result *result,
                                        struct cleave_error *err)
{
    struct cv_worst four, five, sixteen;

    CV_TRY(cv_worst_built(4, 5, 0, 0, &four, err));
    CV_TRY(cv_worst_built(5, 5, 0, 0, &five, err));
    CV_TRY(cv_worst_built(16, 5, 0, 0, &sixteen, err));
    CV_TRY(cv_figure_claim(
        result,
        fabs(four.part[0] - 1) + fabs(four.part[1] - 1) + fabs(sixteen.part[1] - 1) <
            1e-12,
        err, "Theorem 1: binomial and tree-dyn reach the ratio Delta",
        "Delta 5: %g and %g times the optimum with 4 nodes, %g and %g with 16",
        four.ratio[0], four.ratio[1], sixteen.ratio[0], sixteen.ratio[1]));
    return cv_figure_claim(
        result, fabs(five.part[1] - 1) < 1e-12, err,
        "on that platform tree-dyn takes D ceil(log2 n) for every n",
        "5 nodes, d 1, D 5: %g instead of 15, as nodes become idle in the order of their "
        "numbers; it does for powers of two",
        3 * five.ratio[1]);
}

static enum cleave_status draw(struct cv_figure_result *result, struct cleave_error *err)
{
    const char **names = cv_array(&result->arena, ENTRIES, sizeof *names);
    static const struct {
        const char *name;
        int column;
    } curves[] = { { "small platforms, optimum by trying everything", PART },
                   { "platform of Theorem 1, up to 144 nodes", BUILT } };
    struct cv_figure_plot *plot;

    if (names == NULL)
        return cv_fail_memory(err, "a figure");
    CV_TRY(
        cv_plot_add(result,
                    &(struct cv_figure_plot){
                        .title = "How near to the ratio in print: 100 % would be tight",
                        .y_label = "worst ratio over the bound (%)",
                        .y_to = 105,
                        .x_names = names,
                        .nx_names = ENTRIES },
                    &plot, err));
    for (size_t k = 0; k < 2; k++) {
        const struct cv_figure_row *row = result->rows;
        struct cv_figure_series *series;

        CV_TRY(
            cv_plot_series(result, plot, curves[k].name, ENTRIES, false, &series, err));
        series->line = CV_LINE_MARKS;
        for (int i = 0; i < ENTRIES; i++, row = row->next) {
            names[i] = row->label;
            series->x[i] = i + (k == 0 ? -0.1 : 0.1);
            series->y[i] = row->values[curves[k].column];
        }
    }
    return CLEAVE_OK;
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[COLUMNS] = { "platforms",   "worst ratio",
                                                  "bound there", "% of bound",
                                                  "% built",     "built: nodes" };
    struct hunt *hunt = cv_array(&result->arena, 1, sizeof *hunt);
    struct cv_parallel loop = { .block = BLOCK,
                                .threads = job->threads,
                                .body = some,
                                .context = hunt,
                                .progress = job->progress != NULL ? show_progress : NULL,
                                .progress_context = hunt };

    if (hunt == NULL)
        return cv_fail_memory(err, "a figure");
    hunt->job = job;
    hunt->most_nodes = job->quick ? 5 : CV_WORST_NODES;
    hunt->steps = job->quick ? 20 : 60;
    hunt->count = loop.count = job->quick ? 270 : 4500;
    CV_TRY(cv_parallel_run(&loop, err));
    gather(hunt);
    result->label = "method, case";
    result->columns = columns;
    result->ncolumns = COLUMNS;
    result->note =
        "Up to 6 nodes (5 if quick) and Delta from 1.5 to 20 in the search; Delta 2, "
        "10, 100 and 1000 on the platform of Theorem 1. For one node the ratios divide "
        "by log2 1 = 0.";
    CV_TRY(fill(hunt, result, err));
    CV_TRY(judge_reached(result, err));
    return draw(result, err);
}

const struct cv_figure cv_figure_reduce_ratios = {
    .title = "Approximation ratios of three reductions against the worst platforms found",
    .source = "Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms, Table 1 "
              "and Theorem 1",
    .says =
        "With Delta the greatest transfer cost over the least, binomial and tree-dyn "
        "take at most Delta times the optimum if c = 0, Delta + 1 for any c; fibonacci "
        "Delta / log2 phi and a little more, Delta if c = d.",
    .make = make,
};
