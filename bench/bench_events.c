/* bench_events.c -- how many events the native engine makes in a second.
 * SPDX-License-Identifier: MIT
 *
 * Plain runs without noise or trace on 10 and on 1,000 unequal workers: self with chunks of
 * one unit, where every event is answered, and umr with 10 rounds, where every other is.
 * An event is what a policy gets: a chunk has arrived, a chunk is computed. Times are
 * processor time, and the fastest of some repeats counts; `bench_events POLICY WORKERS`
 * makes one run, for valgrind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_star.h"
#include "engine/driver.h"
#include "policy/compound/registry.h"
#include "sim/load/native.h"

enum { REPEATS = 9 };

static double processor_s(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void bench(const struct cleave_policy *policy, uint32_t workers, int repeats)
{
    const bool umr = policy == &cleave_policy_umr;
    const struct cleave_setting setting = { umr ? "rounds" : "chunk", umr ? "10" : "1" };
    const struct cleave_view load = { .units_total = 2e5, .seed = 1 };
    struct cleave_platform *platform = bench_star(workers, 0.1 / workers);
    struct cv_driver *driver = NULL;
    struct cv_planned planned;
    struct cv_run run = { .number = 0 };
    struct cv_outcome outcome = { 0 };
    struct cleave_error err;
    double best_s = 1e9;
    const int runs = umr ? 100000 / (int)workers / 10 : 1;

    check(cv_planned_init(&planned, policy, &setting, 1, platform,
                          cleave_platform_workers(platform), &load, NULL, NULL, &err),
          &err);
    run.platform = platform;
    check(cv_driver_open(&planned, &cv_engine_native, platform, NULL, &driver, &err),
          &err);
    for (int r = 0; r < repeats; r++) {
        const double begin_s = processor_s();

        for (int i = 0; i < runs; i++)
            check(cv_driver_run(driver, &run, NULL, &outcome, &err), &err);
        if (processor_s() - begin_s < best_s)
            best_s = processor_s() - begin_s;
    }
    printf("%s,%u,%llu,%.17g,%.1f\n", policy->name, workers,
           (unsigned long long)outcome.events, outcome.makespan_s,
           1e-6 * (double)outcome.events * runs / best_s);
    cv_driver_close(driver);
    cv_planned_done(&planned);
    cleave_platform_free(platform);
}

int main(int argc, char **argv)
{
    static const struct cleave_policy *const policies[] = { &cleave_policy_self,
                                                            &cleave_policy_umr };
    static const uint32_t sizes[] = { 10, 1000 };

    printf("policy,workers,events,makespan_s,million_events_per_s\n");
    for (size_t p = 0; p < 2; p++)
        for (size_t n = 0; n < 2; n++)
            if (argc < 2)
                bench(policies[p], sizes[n], REPEATS);
            else if (argc > 2 && strcmp(policies[p]->name, argv[1]) == 0 &&
                     strtoul(argv[2], NULL, 10) == sizes[n])
                bench(policies[p], sizes[n], 1);
    return 0;
}
