/* figure_umr_fig7.c -- UMR on workers that differ, with and without choosing among them.
 * SPDX-License-Identifier: MIT
 *
 * Yang and Casanova, multi-round algorithms, Figure 7: 10 workers whose speeds,
 * bandwidths and latencies differ by up to a factor `het`, 2000 units; makespan over the
 * ideal W / sum of speeds, mean over samples. The printed interval of the samples has (1
 * - h) twice; it is (1 - h) to (1 + h) times the mean. What is done without selection
 * where a chunk would be negative is not printed: here it is left out and the others are
 * scaled to the load. Beyond the paper: umr-plus. */
#include <math.h>

#include "model/platform/generate.h"
#include "policy/common/setup.h"
#include "policy/static/umr.h"
#include "policy/static/umr_plus.h"
#include "figures/common/figure_plot.h"
#include "sim/many/parallel.h"

enum { HETS = 10, WORKERS = 10, MOST_ROUNDS = 60, MOST_CHUNKS = 640 };
enum { SELECTED, SORTED, LISTED, PLUS, WAYS, WORST = WAYS, COLUMNS };

static const double LOAD = 2000;
static const double hets[HETS] = { 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000 };

struct samples {
    const struct cv_figure_job *job;
    uint64_t each;        /* samples per heterogeneity */
    double (*over)[WAYS]; /* makespan over the ideal   */
};

static enum cleave_status try_ways(const struct cleave_worker *workers,
                                   struct cv_arena *arena, double over[WAYS],
                                   struct cleave_error *err)
{
    static const uint32_t listed[WORKERS] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    const uint32_t *sorted = cv_bandwidth_order(workers, WORKERS, arena);
    struct cv_umr_plus plus;
    struct cv_umr umr, all;
    double speed = 0;

    if (sorted == NULL)
        return cv_fail_memory(err, "a figure");
    CV_TRY(cv_umr_plan(workers, WORKERS, LOAD, MOST_ROUNDS, 0, arena, &umr, err));
    over[SELECTED] = umr.makespan_s;
    CV_TRY(cv_umr_unselected(workers, sorted, WORKERS, LOAD, MOST_ROUNDS, 0, arena, &all,
                             err));
    over[SORTED] = all.workers > 0 ? all.makespan_s : NAN;
    CV_TRY(cv_umr_unselected(workers, listed, WORKERS, LOAD, MOST_ROUNDS, 0, arena, &all,
                             err));
    over[LISTED] = all.workers > 0 ? all.makespan_s : NAN;
    CV_TRY(cv_umr_plus_plan(workers, WORKERS, LOAD, MOST_CHUNKS,
                            cv_umr_plus_effort(WORKERS), arena, &plus, err));
    over[PLUS] = plus.makespan_s;
    for (int i = 0; i < WORKERS; i++)
        speed += workers[i].speed_ups;
    for (int way = 0; way < WAYS; way++)
        over[way] /= LOAD / speed;
    return CLEAVE_OK;
}

static enum cleave_status some(void *context, unsigned thread, uint64_t begin,
                               uint64_t end, struct cleave_error *err)
{
    const struct samples *samples = context;

    (void)thread;
    for (uint64_t i = begin; i < end; i++) {
        struct cleave_platform *platform;
        struct cv_generate wanted;
        struct cv_arena arena;
        enum cleave_status status;

        cv_generate_preset(&wanted);
        wanted.workers = WORKERS;
        wanted.heterogeneity = hets[i / samples->each];
        wanted.seed = i;
        CV_TRY(cv_generate_platform(&wanted, &platform, err));
        cv_arena_init(&arena);
        status =
            try_ways(cleave_platform_workers(platform), &arena, samples->over[i], err);
        cv_arena_done(&arena);
        cleave_platform_free(platform);
        CV_TRY(status);
    }
    return CLEAVE_OK;
}

static void show_progress(void *context, uint64_t done)
{
    const struct samples *samples = context;

    samples->job->progress(samples->job->context, done, HETS * samples->each);
}

static enum cleave_status judge(const struct cv_figure_result *made,
                                struct cv_figure_result *result, struct cleave_error *err)
{
    double max = 0, single = 0, least_gain = INFINITY, plus = 0, last_gain = 0;

    for (const struct cv_figure_row *row = made->rows; row != NULL; row = row->next) {
        max = fmax(max, row->values[SELECTED]);
        single = fmax(single, row->values[WORST]);
        last_gain = row->values[SORTED] / row->values[SELECTED] - 1;
        if (row != made->rows)
            least_gain = fmin(least_gain, last_gain);
        plus = fmax(plus, row->values[SELECTED] / row->values[PLUS] - 1);
    }
    CV_TRY(
        cv_figure_claim(result, max < 1.3, err,
                        "with selection within 30 % of the ideal up to a factor of 1000",
                        "%.1f %% over it at most on average; single samples up to "
                        "%.0f %%",
                        100 * (max - 1), 100 * (single - 1)));
    CV_TRY(cv_figure_claim(
        result, least_gain >= -1e-3 && last_gain > 0.1, err,
        "choosing among the workers is effective",
        "without it %.0f %% longer at a factor of 1000, served by bandwidth",
        100 * last_gain));
    return cv_figure_claim(result, plus > 0, err,
                           "beyond the paper: umr-plus is shorter still",
                           "umr takes up to %.1f %% longer on average", 100 * plus);
}

static enum cleave_status draw(struct cv_figure_result *result, struct cleave_error *err)
{
    struct cv_figure_plot *plot;

    CV_TRY(cv_plot_add(result,
                       &(struct cv_figure_plot){
                           .x_label = "most that two workers differ by",
                           .y_label = "mean makespan over the ideal",
                           .log_x = true },
                       &plot, err));
    return cv_plot_columns(result, plot, 0, WAYS, err);
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[COLUMNS] = { "with selection",
                                                  "without, by bandwidth",
                                                  "without, as listed", "umr-plus",
                                                  "worst with selection" };
    struct samples samples = { .job = job, .each = job->quick ? 10 : 400 };
    struct cv_parallel loop = { .count = HETS * samples.each,
                                .block = 4,
                                .threads = job->threads,
                                .body = some,
                                .context = &samples,
                                .progress = job->progress != NULL ? show_progress : NULL,
                                .progress_context = &samples };

    samples.over = cv_array(&result->arena, loop.count, sizeof *samples.over);
    if (samples.over == NULL)
        return cv_fail_memory(err, "a figure");
    CV_TRY(cv_parallel_run(&loop, err));
    result->label = "heterogeneity";
    result->columns = columns;
    result->ncolumns = COLUMNS;
    result->note = "Makespan over load / sum of speeds, mean over 400 samples (10 if "
                   "quick) of 10 workers.";
    for (int h = 0; h < HETS; h++) {
        double *values = cv_figure_row(result, "%g", hets[h]);

        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        for (int way = 0; way < COLUMNS; way++)
            values[way] = 0;
        for (uint64_t i = 0; i < samples.each; i++) {
            const double *over = samples.over[(uint64_t)h * samples.each + i];

            for (int way = 0; way < WAYS; way++)
                values[way] += over[way] / (double)samples.each;
            values[WORST] = fmax(values[WORST], over[SELECTED]);
        }
    }
    CV_TRY(judge(result, result, err));
    return draw(result, err);
}

const struct cv_figure cv_figure_umr_fig7 = {
    .title = "UMR on workers that differ, with and without choosing among them",
    .source = "Yang and Casanova, Multi-round algorithms, Figure 7 and section 6.3",
    .says = "Within 30 % of the ideal even where workers and links differ by a factor of "
            "1000; choosing among the workers is effective.",
    .make = make,
};
