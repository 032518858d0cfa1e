/* bench_plan.c -- how fast loads are planned and simulated. SPDX-License-Identifier: MIT
 *
 * Each line: name, the work of one repeat, least and median time over the repeats,
 * without the first one, and the rate at the median with the bar it is meant to pass.
 * Times vary with the machine; compare lines of one run. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench_tools.h"
#include "engine/driver.h"
#include "model/platform/generate.h"
#include "model/load/plan.h"
#include "policy/compound/registry.h"
#include "policy/static/umr.h"
#include "policy/static/umr_plus.h"
#include "policy/static/xmi.h"
#include "figures/common/figure.h"
#include "sim/load/native.h"

enum { REPEATS = 11 };

/* Time `turns` calls of body, REPEATS times. */
static double measure(void (*body)(void *context), void *context, unsigned turns,
                      double *min)
{
    double times[REPEATS];

    body(context);
    for (int r = 0; r < REPEATS; r++) {
        double begin = now_s();

        for (unsigned i = 0; i < turns; i++)
            body(context);
        times[r] = (now_s() - begin) / turns;
    }
    qsort(times, REPEATS, sizeof *times, ascending);
    *min = times[0];
    return times[REPEATS / 2];
}

static void rate_line(const char *what, double work, const char *unit, double min,
                      double median, double bar)
{
    printf("%-44s %10.3g %-7s %9.3f %9.3f ms %8.1f M/s  bar %5.0f M/s  %.2fx\n", what,
           work, unit, 1e3 * min, 1e3 * median, 1e-6 * work / median, 1e-6 * bar,
           work / median / bar);
}

static void time_line(const char *what, double min, double median, double bar)
{
    printf("%-44s %18s %9.3f %9.3f ms ", what, "", 1e3 * min, 1e3 * median);
    if (bar > 0)
        printf("%13s bar %5.3g ms  %.2fx", "", 1e3 * bar, bar / median);
    printf("\n");
}

static struct cleave_platform *star(uint32_t workers, double heterogeneity,
                                    double bandwidth)
{
    struct cv_generate wanted = { .workers = workers,
                                  .heterogeneity = heterogeneity,
                                  .seed = 1,
                                  .speed = 1,
                                  .compute_latency = 0.1,
                                  .bandwidth = bandwidth,
                                  .latency = 0.001 };
    struct cleave_platform *platform = NULL;
    struct cleave_error err;

    check(cv_generate_platform(&wanted, &platform, &err), &err);
    return platform;
}

/* --- the engine with a policy that decides -------------------------------------------- */

struct engine_bench {
    struct cv_driver *driver;
    struct cv_run run;
    struct cv_outcome outcome;
};

static void run_engine(void *context)
{
    struct engine_bench *bench = context;
    struct cleave_error err;

    check(cv_driver_run(bench->driver, &bench->run, NULL, &bench->outcome, &err), &err);
}

static void bench_engine(const struct cleave_policy *policy,
                         const struct cleave_setting *set, size_t nset, uint32_t workers)
{
    const double load = 200000;
    struct cleave_platform *platform = star(workers, 4, 20.0 * workers);
    struct engine_bench bench = { .run = { .platform = platform } };
    struct cv_planned planned;
    struct cleave_error err;
    double min, median;
    char what[64];

    check(cv_planned_init(&planned, policy, set, nset, platform,
                          cleave_platform_workers(platform),
                          &(struct cleave_view){ .units_total = load, .seed = 1 }, NULL,
                          NULL, &err),
          &err);
    check(cv_driver_open(&planned, &cv_engine_native, platform, NULL, &bench.driver,
                         &err),
          &err);
    median = measure(run_engine, &bench, 1, &min);
    snprintf(what, sizeof what, "native engine, %s, %u workers", policy->name, workers);
    rate_line(what, (double)bench.outcome.events, "events", min, median, 10e6);
    cv_driver_close(bench.driver);
    cv_planned_done(&planned);
    cleave_platform_free(platform);
}

/* --- the length of a fixed plan ---------------------------------------------------------- */

struct length_bench {
    const struct cleave_worker *workers;
    uint32_t nworkers;
    struct cv_plan plan;
    double *ready, sum;
};

static void run_length(void *context)
{
    struct length_bench *bench = context;

    bench->sum +=
        cv_plan_makespan(bench->workers, bench->nworkers, &bench->plan, bench->ready);
}

static void bench_length(uint32_t workers)
{
    const size_t chunks = 1000000;
    struct cleave_platform *platform = star(workers, 4, 20.0 * workers);
    struct length_bench bench = { cleave_platform_workers(platform),
                                  workers,
                                  { chunks, malloc(chunks * sizeof(uint32_t)),
                                    malloc(chunks * sizeof(double)) },
                                  malloc(workers * sizeof(double)),
                                  0 };
    double min, median;
    char what[64];

    if (bench.plan.worker == NULL || bench.plan.units == NULL || bench.ready == NULL)
        exit(1);
    for (size_t k = 0; k < chunks; k++) {
        bench.plan.worker[k] = (uint32_t)(k % workers);
        bench.plan.units[k] = 1 + (double)(k % 7);
    }
    median = measure(run_length, &bench, 1, &min);
    snprintf(what, sizeof what, "length of a fixed plan, %u workers", workers);
    rate_line(what, (double)chunks, "chunks", min, median, 100e6);
    free(bench.plan.worker);
    free(bench.plan.units);
    free(bench.ready);
    cleave_platform_free(platform);
}

/* --- planners ---------------------------------------------------------------------------- */

enum planner { PLAN_UMR, PLAN_XMI_K, PLAN_UMR_PLUS };

struct planner_bench {
    enum planner planner;
    const struct cleave_platform *platform;
    double load;
    struct cv_arena arena;
    double makespan_s;
};

static void run_planner(void *context)
{
    struct planner_bench *bench = context;
    const struct cleave_worker *workers = cleave_platform_workers(bench->platform);
    uint32_t n = cleave_platform_nworkers(bench->platform);
    struct cleave_error err;
    struct cv_umr umr;
    struct cv_xmi_k xmi_k;

    cv_arena_reset(&bench->arena);
    switch (bench->planner) {
    case PLAN_UMR:
        check(cv_umr_plan(workers, n, bench->load, 60, 0, &bench->arena, &umr, &err),
              &err);
        bench->makespan_s = umr.makespan_s;
        break;
    case PLAN_XMI_K:
        check(cv_xmi_k_plan(workers, n, bench->load, 2000, &bench->arena, &xmi_k, &err),
              &err);
        bench->makespan_s = xmi_k.makespan_s;
        break;
    case PLAN_UMR_PLUS: {
        struct cv_planned planned;

        check(cv_planned_init(&planned, &cleave_policy_umr_plus, NULL, 0, bench->platform,
                              workers,
                              &(struct cleave_view){ .units_total = bench->load,
                                                     .seed = 1 },
                              NULL, NULL, &err),
              &err);
        cv_planned_done(&planned);
        break;
    }
    }
}

static void bench_planner(const char *name, enum planner planner, uint32_t workers,
                          double heterogeneity, unsigned turns, double bar)
{
    struct cv_generate wanted = { .workers = workers,
                                  .heterogeneity = heterogeneity,
                                  .seed = 1,
                                  .speed = 1,
                                  .compute_latency = 1,
                                  .bandwidth = 2.0 * workers,
                                  .latency = 10.0 / workers };
    struct cleave_platform *platform = NULL;
    struct planner_bench bench = { .planner = planner, .load = 200.0 * workers };
    struct cleave_error err;
    double min, median;
    char what[64];

    check(cv_generate_platform(&wanted, &platform, &err), &err);
    bench.platform = platform;
    cv_arena_init(&bench.arena);
    median = measure(run_planner, &bench, turns, &min);
    snprintf(what, sizeof what, "plan by %s, %u %s workers", name, workers,
             heterogeneity > 1 ? "unequal" : "equal");
    time_line(what, min, median, bar);
    cv_arena_done(&bench.arena);
    cleave_platform_free(platform);
}

/* --- the whole grid of the UMR paper ------------------------------------------------------- */

static void bench_grid(unsigned threads)
{
    struct cv_figure_job job = { .threads = threads };
    struct cv_figure_result result;
    double begin = now_s(), end;
    char what[64];

    cv_figure_make(&cv_figure_umr_table3, &job, &result);
    end = now_s();
    cv_figure_done(&result);
    snprintf(what, sizeof what, "119,070 settings, umr, xmi 1..8, xmi-k, %u thr.",
             threads);
    time_line(what, end - begin, end - begin, 20);
}

int main(void)
{
    static const struct cleave_setting small[] = { { "chunk", "1" } };
    static const struct cleave_setting min[] = { { "least", "1" } };
    static const uint32_t sizes[] = { 10, 64, 1000 };

    describe_machine();
    printf("%-44s %18s %9s %9s\n", "", "work", "least", "median");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        bench_engine(&cleave_policy_self, small, 1, sizes[i]);
        bench_engine(&cleave_policy_factoring, min, 1, sizes[i]);
    }
    bench_length(10);
    bench_length(1000);
    bench_planner("umr", PLAN_UMR, 10, 1, 1000, 20e-6);
    bench_planner("umr", PLAN_UMR, 10, 4, 1000, 20e-6);
    bench_planner("umr", PLAN_UMR, 100000, 4, 1, 0.1);
    bench_planner("xmi-k", PLAN_XMI_K, 10, 1, 100, 0);
    bench_planner("xmi-k", PLAN_XMI_K, 50, 1, 20, 0);
    bench_planner("umr-plus", PLAN_UMR_PLUS, 10, 10, 1, 0);
    bench_planner("umr-plus", PLAN_UMR_PLUS, 40, 10, 1, 0);
    bench_grid(2);
    return 0;
}
