/* bench_sim.c -- the native engine against SimGrid, on the same work.
 * SPDX-License-Identifier: MIT
 *
 * One schedule of 10 rounds for 10 and for 64 workers, and a reduction of 64 nodes by
 * tree-dyn. Native: policy, driver and engine, run after run. SimGrid: the orders of the
 * same run given to it repeatedly within its own process, so that neither starting it nor
 * talking to it counts, nor any policy; and the waiting time of a user, with all of
 * these. Both are measured in turn, and the fastest of some repeats counts. Times vary
 * with the machine; compare lines of one run. */
#include <stdio.h>

#include "bench_star.h"
#include "engine/driver.h"
#include "policy/compound/registry.h"
#include "sim/load/native.h"
#include "sim/reduce/native_reduce.h"
#include "sim/simgrid/simgrid_engine.h"

enum { REPEATS = 7, NATIVE_RUNS = 400, SIMGRID_RUNS = 40, USED_RUNS = 20 };

struct work {
    const char *name;
    struct cv_planned planned;
    const struct cv_engine *native, *simgrid;
    const struct cleave_platform *platform; /* platform of a load */
    const struct cv_reduce_costs *costs;    /* costs of a reduction */
    double wanted;                          /* how many times as fast native should be */
};

static double min(double a, double b)
{
    return a < b ? a : b;
}

/* Seconds per run, by a driver. */
static double by_driver(const struct work *work, const struct cv_engine *engine,
                        const void *source, int runs)
{
    struct cv_run run = { .platform = work->platform };
    struct cv_driver *driver = NULL;
    struct cv_outcome outcome;
    struct cleave_error err;
    double begin_s, took_s;

    check(cv_driver_open(&work->planned, engine, work->platform, source, &driver, &err),
          &err);
    check(cv_driver_run(driver, &run, NULL, &outcome, &err), &err); /* warms up */
    begin_s = now_s();
    for (int i = 0; i < runs; i++) {
        run.number = (uint32_t)i;
        check(cv_driver_run(driver, &run, NULL, &outcome, &err), &err);
    }
    took_s = now_s() - begin_s;
    cv_driver_close(driver);
    return took_s / runs;
}

/* Seconds per run within SimGrid's process. */
static double within_simgrid(const struct work *work)
{
    double took_s = 0;
    const struct cv_simgrid_source source = { .costs = work->costs,
                                              .repeats = SIMGRID_RUNS,
                                              .out_repeat_s = &took_s };

    by_driver(work, work->simgrid, &source, 1);
    return took_s / SIMGRID_RUNS;
}

static void measure(const struct work *work)
{
    const struct cv_simgrid_source used = { .costs = work->costs };
    double native_s = 1e9, simgrid_s = 1e9, used_s = 1e9;

    for (int r = 0; r < REPEATS; r++) {
        native_s = min(native_s, by_driver(work, work->native, work->costs, NATIVE_RUNS));
        simgrid_s = min(simgrid_s, within_simgrid(work));
        used_s = min(used_s, by_driver(work, work->simgrid, &used, USED_RUNS));
    }
    printf("%-22s native %8.2f us, SimGrid %8.1f us (as used %8.1f us)\n", work->name,
           1e6 * native_s, 1e6 * simgrid_s, 1e6 * used_s);
    printf("%-22s native is %.0f times as fast (wanted: %.0f)\n", "",
           simgrid_s / native_s, work->wanted);
}

static void bench_load(const char *name, uint32_t workers)
{
    static const struct cleave_setting rounds[] = { { "rounds", "10" } };
    const struct cleave_view load = { .units_total = 200.0 * workers, .seed = 1 };
    struct work work = { .name = name,
                         .native = &cv_engine_native,
                         .simgrid = &cv_engine_simgrid,
                         .wanted = 40 };
    struct cleave_platform *platform = bench_star(workers, 0.01);
    struct cleave_error err;

    check(cv_planned_init(&work.planned, &cleave_policy_umr, rounds, 1, platform,
                          cleave_platform_workers(platform), &load, NULL, NULL, &err),
          &err);
    work.platform = platform;
    measure(&work);
    cv_planned_done(&work.planned);
    cleave_platform_free(platform);
}

static void bench_reduce(void)
{
    struct cv_reduce_costs costs = { .nodes = 64 };
    struct work work = { .name = "64 nodes, tree-dyn",
                         .native = cv_native_reduce_for(&cleave_policy_tree_dyn),
                         .simgrid = &cv_engine_simgrid,
                         .costs = &costs,
                         .wanted = 200 };
    struct cleave_error err;

    check(cv_distribution_parse("gamma:1,0.5", &costs.transfer, &err), &err);
    check(cv_distribution_parse("gamma:1,0.5", &costs.compute, &err), &err);
    cv_reduce_costs_seed(&costs, 1);
    check(cv_planned_reduce_costs(&work.planned, &cleave_policy_tree_dyn, NULL, 0, &costs,
                                  1, &err),
          &err);
    measure(&work);
    cv_planned_done(&work.planned);
}

int main(void)
{
    struct cleave_error err;

    describe_machine();
    check(cleave_simgrid_find(NULL, 0, &err), &err);
    bench_load("10 workers, 10 rounds", 10);
    bench_load("64 workers, 10 rounds", 64);
    bench_reduce();
    return 0;
}
