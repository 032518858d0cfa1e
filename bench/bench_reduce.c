/* bench_reduce.c -- how fast reductions are simulated. SPDX-License-Identifier: MIT
 *
 * usage: bench_reduce [POLICY]     all policies unless told otherwise
 *
 * The time to draw one variate, also with GSL if it is installed; for every policy the
 * time of a run of 64 nodes whose transfers are exponential, least and median over the
 * repeats, and its ratio to drawing 63 variates alone, by the medians; two threads
 * against one. Compared things are measured in turn. Times vary with the machine; compare
 * lines of one run. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bench_tools.h"
#include "gsl_library.h"
#include "model/reduce/reduce_costs.h"

enum { REPEATS = 15, NODES = 64, RUNS = 20000, MANY_RUNS = 60000, DRAWS = 1000 };
static const double BAR_THREADS = 1.8;

static volatile double sink; /* the sum must be seen to be used */

/* Times of one measurement, sorted in the end. */
struct times {
    double s[REPEATS];
};

static double min(struct times *times)
{
    qsort(times->s, REPEATS, sizeof *times->s, ascending);
    return times->s[0];
}

static double median(struct times *times)
{
    qsort(times->s, REPEATS, sizeof *times->s, ascending);
    return times->s[REPEATS / 2];
}

/* One variate, by us. */
static double time_variate(const struct cv_distribution *distribution, uint32_t run)
{
    double begin = now_s(), sum = 0;

    for (uint32_t i = 0; i < DRAWS; i++)
        for (uint32_t j = 0; j < DRAWS; j++)
            sum += cv_distribution_draw(distribution, 1, run, i, j);
    sink = sum;
    return (now_s() - begin) / ((double)DRAWS * DRAWS);
}

static double time_gsl(const struct gsl *gsl)
{
    double begin = now_s(), sum = 0;

    for (uint32_t i = 0; i < DRAWS * DRAWS; i++)
        sum += gsl->gamma(gsl->rng, 1, 1);
    sink = sum;
    return (now_s() - begin) / ((double)DRAWS * DRAWS);
}

/* One run of a policy, as users ask for it. */
static double time_run(const char *policy, const char *compute, unsigned threads,
                       uint64_t runs)
{
    struct cleave_reduction job = { .nodes = NODES,
                                    .transfer = "gamma:1,1",
                                    .compute = compute,
                                    .policy = policy,
                                    .seed = 1 };
    struct cleave_trial trial = { .runs = runs, .threads = threads };
    struct cleave_stats stats;
    struct cleave_error err;
    double begin = now_s();

    check(cleave_simulate_reduce(&job, &trial, &stats, &err), &err);
    return (now_s() - begin) / (double)runs;
}

static void bench_policy(const char *policy, const char *compute,
                         const struct cv_distribution *distribution)
{
    struct times runs, draws;
    double ratio;

    time_run(policy, compute, 1, RUNS);
    for (uint32_t r = 0; r < REPEATS; r++) {
        draws.s[r] = (NODES - 1) * time_variate(distribution, r);
        runs.s[r] = time_run(policy, compute, 1, RUNS);
    }
    ratio = median(&runs) / median(&draws);
    printf("%-18s compute %-4s %8.2f %8.2f us   %5.2f times its variates\n", policy,
           compute, 1e6 * min(&runs), 1e6 * median(&runs), ratio);
}

static void bench_threads(const char *policy)
{
    struct times one, two;

    time_run(policy, "0", 2, MANY_RUNS);
    for (int r = 0; r < REPEATS; r++) {
        one.s[r] = time_run(policy, "0", 1, MANY_RUNS);
        two.s[r] = time_run(policy, "0", 2, MANY_RUNS);
    }
    printf("%-18s two threads  %8.2f %8.2f us   %5.2f times as fast as one  bar %g\n",
           policy, 1e6 * min(&two), 1e6 * median(&two), median(&one) / median(&two),
           BAR_THREADS);
}

static void bench_variate(const struct cv_distribution *distribution)
{
    struct gsl gsl = find_gsl();
    struct times ours, theirs;

    for (uint32_t r = 0; r < REPEATS; r++) {
        ours.s[r] = time_variate(distribution, r);
        theirs.s[r] = gsl.rng != NULL ? time_gsl(&gsl) : 0;
    }
    printf("%-31s %8.2f %8.2f ns", "one variate of gamma:1,1", 1e9 * min(&ours),
           1e9 * median(&ours));
    if (gsl.rng != NULL)
        printf("   GSL %.2f %.2f ns  %.2f times as long\n", 1e9 * min(&theirs),
               1e9 * median(&theirs), median(&theirs) / median(&ours));
    else
        printf("   libgsl not found (Debian package libgsl27)\n");
}

static bool wanted(const struct cleave_policy *policy, const char *only)
{
    return policy->task == CLEAVE_TASK_REDUCE &&
           (only == NULL || strcmp(policy->name, only) == 0);
}

int main(int argc, char **argv)
{
    static const char *const computes[] = { "0", "1" };
    const char *only = argc > 1 ? argv[1] : NULL;
    struct cleave_error err;
    struct cv_distribution distribution;

    describe_machine();
    printf("%-31s %8s %8s\n", "", "least", "median");
    check(cv_distribution_parse("gamma:1,1", &distribution, &err), &err);
    bench_variate(&distribution);
    for (size_t c = 0; c < sizeof computes / sizeof *computes; c++)
        for (size_t i = 0; i < cleave_policy_count(); i++)
            if (wanted(cleave_policy_at(i), only))
                bench_policy(cleave_policy_at(i)->name, computes[c], &distribution);
    for (size_t i = 0; i < cleave_policy_count(); i++)
        if (wanted(cleave_policy_at(i), only))
            bench_threads(cleave_policy_at(i)->name);
    return 0;
}
