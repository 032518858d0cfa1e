/* figure_umr_table3.c -- UMR against XMI-1..8 over the paper's whole grid.
 * SPDX-License-Identifier: MIT
 *
 * Yang and Casanova, multi-round algorithms, Table 3 over the settings of Table 2: N = 5,
 * 10, .. 50 equal workers, R = N, N+2, .. 80, both latencies 0, 0.5, .. 10, load 2000,
 * speed 1. Every feasible plan is simulated on the native engine.
 *
 * What the paper does where XMI-x gives a negative chunk it does not say. Here workers
 * are dropped down to the most for which no chunk is negative, and where none of 2 or
 * more works, the formula's length for two workers stands. */
#include <math.h>
#include <stdio.h>

#include "engine/driver.h"
#include "policy/umr.h"
#include "policy/xmi.h"
#include "policy/xmi_k.h"
#include "report/figure.h"
#include "sim/native.h"
#include "sim/parallel.h"

enum { XMIS = 8, METHODS = XMIS + 2 }; /* umr, xmi-1 .. xmi-8, xmi-k */
enum { UMR = 0, XMI_K = XMIS + 1 };

static const double LOAD = 2000;

struct setting {
    uint32_t workers;
    double ratio, compute_latency_s, latency_s;
};

struct makespans {
    double of[METHODS];
};

struct grid {
    struct setting *settings;
    struct makespans *results;
    size_t count;
    const struct cv_figure_job *job;
};

/* Fill the settings, or only count them when `out` is NULL. Quick: every 49th. */
static size_t list_settings(bool quick, struct setting *out)
{
    const size_t stride = quick ? 49 : 1;
    size_t seen = 0, count = 0;

    for (uint32_t n = 5; n <= 50; n += 5)
        for (uint32_t ratio = n; ratio <= 80; ratio += 2)
            for (int a = 0; a <= 20; a++)
                for (int b = 0; b <= 20; b++) {
                    if (seen++ % stride != 0)
                        continue;
                    if (out != NULL)
                        out[count] = (struct setting){ n, ratio, 0.5 * a, 0.5 * b };
                    count++;
                }
    return count;
}

/* Run a plan event by event on the native engine. */
static enum cleave_status simulate(const struct cv_plan *plan,
                                   const struct cleave_platform *platform, double *out,
                                   struct cleave_error *err)
{
    struct cv_run run = { .platform = platform };
    struct cv_driver *driver = NULL;
    struct cv_outcome outcome;
    struct cv_planned planned;
    enum cleave_status status;

    CV_TRY(cv_planned_fixed(&planned, plan, platform, LOAD, err));
    status = cv_driver_open(&planned, &cv_engine_native, platform, NULL, &driver, err);
    if (status == CLEAVE_OK)
        status = cv_driver_run(driver, &run, NULL, &outcome, err);
    if (status == CLEAVE_OK)
        *out = outcome.makespan_s;
    cv_driver_close(driver);
    cv_planned_done(&planned);
    return status;
}

/* How long the formula says that a plan takes, negative chunks and all. */
static double formula_makespan(const struct cleave_worker *worker,
                               const struct cv_xmi *xmi)
{
    double sent_s = 0;

    for (size_t k = 0; k < xmi->plan.nchunks; k++)
        sent_s += worker->latency_s + xmi->plan.units[k] / worker->bandwidth_ups;
    return sent_s + worker->compute_latency_s + xmi->last_s;
}

static enum cleave_status one_xmi(const struct cleave_platform *platform, uint32_t rounds,
                                  struct cv_arena *arena, double *out,
                                  struct cleave_error *err)
{
    const struct cleave_worker *worker = cleave_platform_workers(platform);
    struct cv_xmi xmi;

    CV_TRY(cv_xmi_plan(worker, cleave_platform_nworkers(platform), LOAD, rounds, arena,
                       &xmi, err));
    if (xmi.workers >= 2)
        return simulate(&xmi.plan, platform, out, err);
    CV_TRY(cv_xmi_fixed(worker, 2, LOAD, rounds, arena, &xmi, err));
    *out = formula_makespan(worker, &xmi);
    return CLEAVE_OK;
}

static enum cleave_status try_methods(const struct cleave_platform *platform,
                                      bool no_latency, struct cv_arena *arena,
                                      struct makespans *out, struct cleave_error *err)
{
    const struct cleave_worker *workers = cleave_platform_workers(platform);
    uint32_t n = cleave_platform_nworkers(platform);
    struct cv_xmi_k best;
    struct cv_umr umr;

    CV_TRY(cv_umr_plan(workers, n, LOAD, no_latency ? XMIS : 60, 0, arena, &umr, err));
    CV_TRY(simulate(&umr.plan, platform, &out->of[UMR], err));
    for (uint32_t x = 1; x <= XMIS; x++)
        CV_TRY(one_xmi(platform, x, arena, &out->of[x], err));
    CV_TRY(cv_xmi_k_plan(workers, n, LOAD, no_latency ? (size_t)XMIS * n : 2000, arena,
                         &best, err));
    return simulate(&best.plan, platform, &out->of[XMI_K], err);
}

static enum cleave_status one_setting(const struct setting *setting,
                                      struct makespans *out, struct cleave_error *err)
{
    struct cleave_worker workers[50];
    struct cleave_platform *platform = NULL;
    struct cv_arena arena;
    enum cleave_status status;

    for (uint32_t i = 0; i < setting->workers; i++)
        workers[i] = (struct cleave_worker){
            .speed_ups = 1,
            .compute_latency_s = setting->compute_latency_s,
            .bandwidth_ups = setting->ratio,
            .latency_s = setting->latency_s,
            .return_bandwidth_ups = setting->ratio,
            .return_latency_s = setting->latency_s,
        };
    CV_TRY(
        cleave_platform_new(CLEAVE_PORT_ONE, workers, setting->workers, &platform, err));
    cv_arena_init(&arena);
    status = try_methods(platform, setting->compute_latency_s + setting->latency_s == 0,
                         &arena, out, err);
    cv_arena_done(&arena);
    cleave_platform_free(platform);
    return status;
}

static enum cleave_status some_settings(void *context, unsigned thread, uint64_t begin,
                                        uint64_t end, struct cleave_error *err)
{
    struct grid *grid = context;

    (void)thread;
    for (uint64_t i = begin; i < end; i++)
        CV_TRY(one_setting(&grid->settings[i], &grid->results[i], err));
    return CLEAVE_OK;
}

static void show_progress(void *context, uint64_t done)
{
    const struct grid *grid = context;

    grid->job->progress(grid->job->context, done, grid->count);
}

/* Means over the grid. */
struct summary {
    double ratio[METHODS], degradation[METHODS]; /* to umr; percent from the best */
    double umr_best, gap, gap_spread;            /* shares and percents           */
    double umr_over_xmi_k, worst_over_xmi_k;     /* percents                      */
    bool xmi_k_never_worse;
};

static struct summary sum_up(const struct grid *grid)
{
    struct summary sum = { .xmi_k_never_worse = true };
    double n = (double)grid->count, gaps = 0, squares = 0;
    size_t not_best = 0;

    for (size_t i = 0; i < grid->count; i++) {
        const double *of = grid->results[i].of;
        double best = of[UMR], over = 100 * (of[UMR] / of[XMI_K] - 1);

        for (int x = 1; x <= XMIS; x++)
            best = fmin(best, of[x]);
        for (int m = 0; m < METHODS; m++) {
            sum.ratio[m] += of[m] / of[UMR] / n;
            sum.degradation[m] += 100 * (of[m] / best - 1) / n;
        }
        sum.umr_over_xmi_k += over / n;
        sum.worst_over_xmi_k = fmax(sum.worst_over_xmi_k, over);
        if (of[XMI_K] > best * (1 + 1e-9))
            sum.xmi_k_never_worse = false;
        if (of[UMR] > best * (1 + 1e-9)) { /* equal but for rounding is best too */
            double gap = 100 * (of[UMR] / best - 1);

            not_best++;
            gaps += gap;
            squares += gap * gap;
        }
    }
    sum.umr_best = 100 * (1 - (double)not_best / n);
    if (not_best > 0) {
        sum.gap = gaps / (double)not_best;
        sum.gap_spread = sqrt(fmax(0, squares / (double)not_best - sum.gap * sum.gap));
    }
    return sum;
}

static enum cleave_status fill(const struct summary *sum, struct cv_figure_result *result,
                               struct cleave_error *err)
{
    static const double paper_ratio[] = { 1,    1.03, 1.10, 1.49, 1.68,
                                          1.82, 1.94, 2.06, 2.16 };
    static const double paper_degradation[] = { 0.88,  2.85,  9.37,  40.43, 59.11,
                                                74.09, 86.90, 99.21, 110.00 };
    double worst = 0;

    for (int m = 0; m < METHODS; m++) {
        char label[16] = "umr";
        double *values;

        if (m == XMI_K)
            snprintf(label, sizeof label, "xmi-k");
        else if (m > 0)
            snprintf(label, sizeof label, "xmi, %d rounds", m);
        values = cv_figure_row(result, label);
        if (values == NULL)
            return cv_fail_memory(err, "a figure");
        values[1] = sum->ratio[m];
        values[3] = sum->degradation[m];
        if (m == XMI_K)
            continue;
        values[0] = paper_ratio[m];
        values[2] = paper_degradation[m];
        worst = fmax(worst, fabs(sum->ratio[m] / paper_ratio[m] - 1));
    }
    CV_TRY(cv_figure_claim(result, worst <= 0.025, err,
                           "mean makespan of xmi-x over umr: 1.03 1.10 1.49 .. 2.16",
                           "within %.1f %% of every printed value", 100 * worst));
    CV_TRY(cv_figure_claim(result, sum->degradation[UMR] < sum->degradation[1], err,
                           "umr has the lowest mean degradation from the best",
                           "umr %.2f %%, xmi with 1 round %.2f %%", sum->degradation[UMR],
                           sum->degradation[1]));
    CV_TRY(cv_figure_claim(result, fabs(sum->degradation[3] / 40.43 - 1) < 0.05, err,
                           "degradation row: 40.43 % at 3 rounds",
                           "%.1f %%; the printed row cannot be a mean over the same "
                           "settings as the ratio row, which forces at least %.1f %%",
                           sum->degradation[3], 100 * (paper_ratio[3] - 1)));
    CV_TRY(cv_figure_claim(result, fabs(sum->umr_best - 66.57) < 2, err,
                           "umr is best in 66.57 % of the cases",
                           "%.1f %%: many settings are near ties", sum->umr_best));
    CV_TRY(cv_figure_claim(result, fabs(sum->gap - 2.64) < 0.2, err,
                           "where not best, umr is within 2.64 % (spread 4.52 %)",
                           "%.2f %% (spread %.2f %%)", sum->gap, sum->gap_spread));
    return cv_figure_claim(result, sum->xmi_k_never_worse, err,
                           "beyond the paper: xmi-k is never worse than umr or any xmi",
                           "umr takes %.2f %% longer on average, %.1f %% at worst",
                           sum->umr_over_xmi_k, sum->worst_over_xmi_k);
}

static enum cleave_status make(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err)
{
    static const char *const columns[] = { "paper, over umr", "over umr",
                                           "paper, % from best", "% from best" };
    struct grid grid = { .count = list_settings(job->quick, NULL), .job = job };
    struct cv_parallel loop = { .count = grid.count,
                                .block = 64,
                                .threads = job->threads,
                                .body = some_settings,
                                .context = &grid,
                                .progress = job->progress != NULL ? show_progress : NULL,
                                .progress_context = &grid };
    struct summary sum;

    result->label = "policy";
    result->columns = columns;
    result->ncolumns = sizeof columns / sizeof *columns;
    result->note =
        "119,070 settings of Table 2 (the table's heading names 9,529,110, which "
        "no such grid has); workers are dropped where chunks would be negative, "
        "down to two, for which the formula's length stands. Without latencies "
        "umr and xmi-k are held to 8 rounds.";
    grid.settings = cv_array(&result->arena, grid.count, sizeof *grid.settings);
    grid.results = cv_array(&result->arena, grid.count, sizeof *grid.results);
    if (grid.settings == NULL || grid.results == NULL)
        return cv_fail_memory(err, "a figure");
    list_settings(job->quick, grid.settings);
    CV_TRY(cv_parallel_run(&loop, err));
    sum = sum_up(&grid);
    return fill(&sum, result, err);
}

const struct cv_figure cv_figure_umr_table3 = {
    .name = "umr-table3",
    .title = "UMR against XMI with 1 to 8 rounds over the whole grid of settings",
    .make = make,
};
