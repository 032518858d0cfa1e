/* figure_reduce_strategy.c -- how far the two simple trees are from the optimum.
 * SPDX-License-Identifier: MIT
 *
 * Canon and Antoniu, Scheduling associative reductions, Figure 2: length over the optimum
 * for 2 to 10,000 elements, of the binomial tree when both costs are equal and of the
 * Fibonacci tree when one of them is nothing: the worst for each. Which of equal nodes
 * goes first is not said there; both ways are shown. */
#include <math.h>

#include "model/reduce/reduce_tree.h"
#include "figures/common/figure_plot.h"
#include "sim/many/parallel.h"

enum { CURVES = 4, SHOWN = 13 };

static const struct {
    enum cv_strategy which;
    enum cv_ties ties;
    double d, c;
} curves[CURVES] = {
    { CV_STRATEGY_BINOMIAL, CV_TIES_LOW, 1, 1 },
    { CV_STRATEGY_BINOMIAL, CV_TIES_HIGH, 1, 1 },
    { CV_STRATEGY_FIBONACCI, CV_TIES_LOW, 1, 0 },
    { CV_STRATEGY_FIBONACCI, CV_TIES_HIGH, 1, 0 },
};

static const uint32_t shown[SHOWN] = { 3,   4,   5,    8,    16,   32,   64,
                                       128, 256, 1024, 4096, 8192, 10000 };

struct ratios {
    double (*of)[CURVES]; /* per number of elements, from 0 */
    uint32_t max;
};

static enum cleave_status some(void *context, unsigned thread, uint64_t begin,
                               uint64_t end, struct cleave_error *err)
{
    struct ratios *ratios = context;
    enum cleave_status status = CLEAVE_OK;
    struct cv_arena arena;

    (void)thread;
    cv_arena_init(&arena);
    for (uint64_t n = begin + 2; n < end + 2 && status == CLEAVE_OK; n++)
        for (int i = 0; i < CURVES && status == CLEAVE_OK; i++) {
            double length;

            cv_arena_reset(&arena);
            status = cv_strategy_length(curves[i].which, curves[i].ties, (uint32_t)n,
                                        curves[i].d, curves[i].c, &arena, &length, err);
            if (status == CLEAVE_OK)
                ratios->of[n][i] = length / cv_reduce_length(n, curves[i].d, curves[i].c);
        }
    cv_arena_done(&arena);
    return status;
}

static enum cleave_status judge(const struct ratios *ratios,
                                struct cv_figure_result *result, struct cleave_error *err)
{
    double max[CURVES] = { 0 }, mean[CURVES] = { 0 };

    for (uint32_t n = 2; n <= ratios->max; n++)
        for (int i = 0; i < CURVES; i++) {
            max[i] = fmax(max[i], ratios->of[n][i]);
            mean[i] += ratios->of[n][i] / (ratios->max - 1);
        }
    CV_TRY(cv_figure_claim(result, max[0] <= 2 && max[1] <= 2, err,
                           "the binomial tree takes at most twice the optimum",
                           "at most %.4f and %.4f, on average %.4f and %.4f (ties low, "
                           "high); the limit is %.4f",
                           max[0], max[1], mean[0], mean[1],
                           cv_strategy_ratio_limit(CV_STRATEGY_BINOMIAL, 1, 1)));
    return cv_figure_claim(result, max[2] <= 2 && max[3] <= 2, err,
                           "the Fibonacci tree takes at most twice the optimum",
                           "at most %.4f and %.4f, on average %.4f and %.4f (ties low, "
                           "high); the limit is %.4f",
                           max[2], max[3], mean[2], mean[3],
                           cv_strategy_ratio_limit(CV_STRATEGY_FIBONACCI, 1, 0));
}

/* All numbers of elements are in the file, some are shown. */
static enum cleave_status fill(const struct ratios *ratios,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    int next = 0;

    for (uint32_t n = 2; n <= ratios->max; n++) {
        double *values;

        if (next < SHOWN && n == shown[next]) {
            values = cv_figure_row(result, "%u", n);
            next++;
        } else
            values = cv_figure_file_row(result, "%u", n);
        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        for (int k = 0; k < CURVES; k++)
            values[k] = ratios->of[n][k];
    }
    return CLEAVE_OK;
}

/* Thousands of numbers zigzag: one panel a tree. */
static enum cleave_status draw(struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const titles[2] = { "Binomial tree, d = c",
                                           "Fibonacci tree, c = 0" };

    for (size_t p = 0; p < 2; p++) {
        struct cv_figure_plot *plot;

        CV_TRY(cv_plot_add(result,
                           &(struct cv_figure_plot){ .title = titles[p],
                                                     .x_label = "elements",
                                                     .y_label = "length over the optimum",
                                                     .log_x = true,
                                                     .y_from = 0.98,
                                                     .y_to = 1.55 },
                           &plot, err));
        CV_TRY(cv_plot_columns(result, plot, 2 * p, 2, err));
    }
    return CLEAVE_OK;
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[CURVES] = { "binomial, low", "binomial, high",
                                                 "fibonacci, low", "fibonacci, high" };
    struct ratios ratios = { NULL, job->quick ? 1024 : 10000 };
    struct cv_parallel loop = { .count = ratios.max - 1,
                                .block = 16,
                                .threads = job->threads,
                                .body = some,
                                .context = &ratios };

    ratios.of = cv_array(&result->arena, (size_t)ratios.max + 1, sizeof *ratios.of);
    if (ratios.of == NULL)
        return cv_fail_memory(err, "a figure");
    CV_TRY(cv_parallel_run(&loop, err));
    result->label = "elements";
    result->columns = columns;
    result->ncolumns = CURVES;
    result->note =
        "Length over the optimum; of equal nodes the lowest or the highest goes "
        "first. All numbers of elements are in the CSV file.";
    CV_TRY(fill(&ratios, result, err));
    CV_TRY(draw(result, err));
    return judge(&ratios, result, err);
}

const struct cv_figure cv_figure_reduce_strategy = {
    .title = "Binomial and Fibonacci trees over the optimum",
    .source =
        "Canon and Antoniu, Scheduling associative reductions, Figure 2, Theorems 18 "
        "and 19",
    .says = "Both simple trees take at most twice the optimum, for 2 to 10,000 elements "
            "and the costs that are conjectured to be the worst for each.",
    .make = make,
};
