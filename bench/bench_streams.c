/* bench_streams.c -- how fast streams are simulated. SPDX-License-Identifier: MIT
 *
 * 1,000 workers serve a stream of 10,000 s in rounds of 20 s. The rate of events is
 * compared with the bare engine's, measured in the same run with a policy that does next
 * to nothing: the excess of a stream is the policy, the results on their way back and the
 * statistics. Rates come from the fastest of some repeats. Times vary with the machine;
 * compare lines of one run. */
#include <stdio.h>
#include <string.h>

#include "bench_tools.h"
#include "engine/driver.h"
#include "model/platform/generate.h"
#include "policy/compound/registry.h"
#include "sim/load/native.h"
#include "sim/stream/stream_run.h"

enum { REPEATS = 9, WORKERS = 1000 };

static const double HORIZON_S = 10000;

static struct cleave_platform *make_platform(void)
{
    const struct cv_generate wanted = { .port = CLEAVE_PORT_DUPLEX,
                                        .workers = WORKERS,
                                        .heterogeneity = 4,
                                        .seed = 1,
                                        .speed = 1,
                                        .compute_latency = 0.01,
                                        .bandwidth = 20.0 * WORKERS,
                                        .latency = 0.001 };
    struct cleave_platform *platform = NULL;
    struct cleave_error err;

    check(cv_generate_platform(&wanted, &platform, &err), &err);
    return platform;
}

/* One run of a plan again and again. */
struct runs {
    const struct cv_planned *planned;
    struct cv_run run;
    struct cv_driver *driver;
    struct cv_outcome outcome;
};

static double rate_of(struct runs *runs)
{
    double times[REPEATS] = { 0 };
    struct cleave_error err;

    check(cv_driver_open(runs->planned, &cv_engine_native, runs->run.platform, NULL,
                         &runs->driver, &err),
          &err);
    for (int r = -1; r < REPEATS; r++) { /* the first repeat is dropped */
        const double begin = now_s();

        check(cv_driver_run(runs->driver, &runs->run, NULL, &runs->outcome, &err), &err);
        if (r >= 0)
            times[r] = now_s() - begin;
    }
    cv_driver_close(runs->driver);
    qsort(times, REPEATS, sizeof *times, ascending);
    return (double)runs->outcome.events / times[0];
}

static void line(const char *what, const struct runs *runs, double rate, double bare)
{
    printf("%-44s %9llu events %8.1f ms %7.2f M/s  %.2f of the bare engine\n", what,
           (unsigned long long)runs->outcome.events,
           1e3 * (double)runs->outcome.events / rate, 1e-6 * rate, rate / bare);
}

static double bench_bare(const struct cleave_platform *platform, double ratio)
{
    static const struct cleave_setting small[] = { { "chunk", "10" } };
    const struct cleave_view load = { .units_total = 5e6,
                                      .result_ratio = ratio,
                                      .seed = 1 };
    struct runs runs = { .run = { .platform = platform } };
    struct cv_planned planned;
    struct cleave_error err;
    double rate;

    check(cv_planned_init(&planned, &cleave_policy_self, small, 1, platform,
                          cleave_platform_workers(platform), &load, NULL, NULL, &err),
          &err);
    runs.planned = &planned;
    rate = rate_of(&runs);
    line(ratio > 0 ? "native engine, self, results come back" : "native engine, self",
         &runs, rate, rate);
    cv_planned_done(&planned);
    return rate;
}

static void bench_stream(const char *what, const struct cleave_platform *platform,
                         const struct cleave_setting *settings, size_t nsettings,
                         bool watched, double bare)
{
    struct cv_stream_run stream = { .platform = platform,
                                    .declared = cleave_platform_workers(platform),
                                    .settings = settings,
                                    .nsettings = nsettings,
                                    .horizon_s = HORIZON_S,
                                    .result_ratio = 1 };
    struct runs runs = { .run = { .platform = platform, .stream_end_s = HORIZON_S } };
    struct cv_stream_stats stats;
    struct cv_planned planned;
    struct cleave_error err;
    struct cv_arena arena;

    cv_arena_init(&arena);
    check(cv_stream_stats_init(&stats, platform, HORIZON_S, 1, 0, HORIZON_S, &arena,
                               &err),
          &err);
    if (watched)
        stream.watch = &stats.watch;
    check(cv_stream_plan(&stream, &planned, &err), &err);
    runs.planned = &planned;
    line(what, &runs, rate_of(&runs), bare);
    cv_planned_done(&planned);
    cv_stream_stats_done(&stats);
    cv_arena_done(&arena);
}

int main(void)
{
    static const struct cleave_setting all[][3] = {
        { { "period", "20" } },
        { { "period", "20" }, { "service", "rr" } },
        { { "period", "20" }, { "service", "edf" } },
        { { "period", "20" }, { "rule", "pll" } },
        { { "period", "20" }, { "rule", "periodic" } },
    };
    struct cleave_platform *platform = make_platform();
    double both_ways;

    describe_machine();
    bench_bare(platform, 0);
    both_ways = bench_bare(platform, 1);
    printf("streams of %g s, 1000 workers; results come back\n", HORIZON_S);
    bench_stream("as4dr, tau = 20", platform, all[0], 1, false, both_ways);
    bench_stream("as4dr, tau = 20, with statistics", platform, all[0], 1, true,
                 both_ways);
    bench_stream("as4dr, tau chosen", platform, NULL, 0, false, both_ways);
    bench_stream("as4dr, tau = 20, service rr", platform, all[1], 2, false, both_ways);
    bench_stream("as4dr, tau = 20, service edf", platform, all[2], 2, false, both_ways);
    bench_stream("as4dr, tau = 20, rule pll", platform, all[3], 2, false, both_ways);
    bench_stream("as4dr, tau = 20, rule periodic", platform, all[4], 2, false, both_ways);
    cleave_platform_free(platform);
    return 0;
}
