/* figure_umr_grid.c -- UMR and XMI over the settings of the published experiments.
 * SPDX-License-Identifier: MIT */
#include "figures/umr/figure_umr_grid.h"

#include <math.h>

#include "engine/driver.h"
#include "policy/static/umr.h"
#include "policy/static/xmi.h"
#include "sim/load/load_case.h"
#include "sim/many/parallel.h"

enum { MOST_WORKERS = 50, MOST_ROUNDS = 60, MOST_CHUNKS = 2000 };

static const double LOAD = 2000;

/* Fill the settings, or only count them when `out` is NULL. Quick: every 47th, which
 * is in step with none of the loops. */
static size_t list_settings(bool quick, struct cv_grid_setting *out)
{
    const size_t stride = quick ? 47 : 1;
    size_t seen = 0, count = 0;

    for (uint32_t n = 5; n <= MOST_WORKERS; n += 5)
        for (uint32_t ratio = n; ratio <= CV_GRID_MOST_R; ratio += 2)
            for (int a = 0; a <= 20; a++)
                for (int b = 0; b <= 20; b++) {
                    if (seen++ % stride != 0)
                        continue;
                    if (out != NULL)
                        out[count] =
                            (struct cv_grid_setting){ n, ratio, 0.5 * a, 0.5 * b };
                    count++;
                }
    return count;
}

/* Run a plan event by event on the native engine. */
static enum cleave_status simulate(const struct cv_plan *plan,
                                   const struct cleave_platform *platform, double *out,
                                   struct cleave_error *err)
{
    struct cv_planned planned;
    enum cleave_status status;

    CV_TRY(cv_planned_fixed(&planned, plan, platform, LOAD, err));
    status = cv_planned_makespan(&planned, platform, out, err);
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

static enum cleave_status try_methods(const struct cv_grid *grid,
                                      const struct cleave_platform *platform,
                                      bool no_latency, struct cv_arena *arena,
                                      struct cv_grid_times *out, struct cleave_error *err)
{
    const struct cleave_worker *workers = cleave_platform_workers(platform);
    const uint32_t n = cleave_platform_nworkers(platform);
    struct cv_xmi_k best;
    struct cv_umr umr;

    CV_TRY(cv_umr_plan(workers, n, LOAD, no_latency ? CV_GRID_XMIS : MOST_ROUNDS, 0,
                       arena, &umr, err));
    CV_TRY(simulate(&umr.plan, platform, &out->of[CV_GRID_UMR], err));
    for (uint32_t x = 1; x <= grid->xmis; x++)
        CV_TRY(one_xmi(platform, x, arena, &out->of[x], err));
    if (!grid->xmi_k)
        return CLEAVE_OK;
    CV_TRY(cv_xmi_k_plan(workers, n, LOAD,
                         no_latency ? (size_t)CV_GRID_XMIS * n : MOST_CHUNKS, arena,
                         &best, err));
    return simulate(&best.plan, platform, &out->of[CV_GRID_XMI_K], err);
}

static void make_workers(const struct cv_grid_setting *setting,
                         struct cleave_worker workers[MOST_WORKERS])
{
    for (uint32_t i = 0; i < setting->workers; i++)
        workers[i] = (struct cleave_worker){
            .speed_ups = 1,
            .compute_latency_s = setting->compute_latency_s,
            .bandwidth_ups = setting->ratio,
            .latency_s = setting->latency_s,
            .return_bandwidth_ups = setting->ratio,
            .return_latency_s = setting->latency_s,
        };
}

static enum cleave_status one_setting(const struct cv_grid *grid, uint64_t at,
                                      struct cleave_error *err)
{
    const struct cv_grid_setting *setting = &grid->settings[at];
    struct cleave_worker workers[MOST_WORKERS];
    struct cleave_platform *platform = NULL;
    struct cv_arena arena;
    enum cleave_status status;

    make_workers(setting, workers);
    CV_TRY(
        cleave_platform_new(CLEAVE_PORT_ONE, workers, setting->workers, &platform, err));
    cv_arena_init(&arena);
    status =
        try_methods(grid, platform, setting->compute_latency_s + setting->latency_s == 0,
                    &arena, &grid->times[at], err);
    cv_arena_done(&arena);
    cleave_platform_free(platform);
    return status;
}

static enum cleave_status some_settings(void *context, unsigned thread, uint64_t begin,
                                        uint64_t end, struct cleave_error *err)
{
    const struct cv_grid *grid = context;

    (void)thread;
    for (uint64_t i = begin; i < end; i++)
        CV_TRY(one_setting(grid, i, err));
    return CLEAVE_OK;
}

static void show_progress(void *context, uint64_t done)
{
    const struct cv_grid *grid = context;

    grid->job->progress(grid->job->context, done, grid->count);
}

enum cleave_status cv_grid_run(const struct cv_figure_job *job, struct cv_grid *grid,
                               struct cv_arena *arena, struct cleave_error *err)
{
    struct cv_parallel loop = { .block = 64,
                                .threads = job->threads,
                                .body = some_settings,
                                .context = grid,
                                .progress = job->progress != NULL ? show_progress : NULL,
                                .progress_context = grid };

    grid->job = job;
    grid->count = loop.count = list_settings(job->quick, NULL);
    grid->settings = cv_array(arena, grid->count, sizeof *grid->settings);
    grid->times = cv_array(arena, grid->count, sizeof *grid->times);
    if (grid->settings == NULL || grid->times == NULL)
        return cv_fail_memory(err, "a figure");
    list_settings(job->quick, grid->settings);
    return cv_parallel_run(&loop, err);
}

enum cleave_status cv_grid_no_latency(struct cv_arena *arena, struct cv_grid_penalty *out,
                                      struct cleave_error *err)
{
    struct cv_grid_setting setting = { .compute_latency_s = 0, .latency_s = 0 };
    struct cleave_worker workers[MOST_WORKERS];
    double count = 0;

    *out = (struct cv_grid_penalty){ 0 };
    for (setting.workers = 5; setting.workers <= MOST_WORKERS; setting.workers += 5)
        for (uint32_t ratio = setting.workers; ratio <= CV_GRID_MOST_R; ratio += 2) {
            setting.ratio = ratio;
            make_workers(&setting, workers);
            for (uint32_t x = 1; x <= CV_GRID_XMIS; x++) {
                struct cv_umr umr;
                struct cv_xmi xmi;
                double over;

                CV_TRY(
                    cv_umr_plan(workers, setting.workers, LOAD, x, x, arena, &umr, err));
                CV_TRY(cv_xmi_plan(workers, setting.workers, LOAD, x, arena, &xmi, err));
                over = 100 * (umr.makespan_s / xmi.makespan_s - 1);
                out->of[x - 1] += over;
                out->max = fmax(out->max, over);
            }
            count++;
        }
    for (int x = 0; x < CV_GRID_XMIS; x++) {
        out->of[x] /= count;
        out->mean += out->of[x] / CV_GRID_XMIS;
    }
    return CLEAVE_OK;
}
