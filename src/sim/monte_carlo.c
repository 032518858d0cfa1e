/* monte_carlo.c -- many runs, on several threads, with the same result on any number.
 * SPDX-License-Identifier: MIT
 *
 * Threads take blocks of run numbers from a shared counter and write what each run came
 * to into its own place; the sums are then taken in the order of the run numbers. */
#include "sim/monte_carlo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/native.h"
#include "sim/parallel.h"

enum { BLOCK = 32 };

struct result {
    double makespan_s, utilisation, chunks;
};

struct shared {
    const struct cv_planned *planned;
    const struct cv_run *first;
    struct cleave_trace *trace;
    struct result *results;     /* per run    */
    struct cv_driver **drivers; /* per thread */
};

static enum cleave_status one_run(const struct shared *shared, struct cv_driver *driver,
                                  uint64_t number, struct cleave_error *err)
{
    struct cv_run run = *shared->first;
    struct result *result = &shared->results[number];
    struct cv_outcome outcome;

    run.number = run.noise.run = (uint32_t)number;
    CV_TRY(cv_driver_run(driver, &run, number == 0 ? shared->trace : NULL, &outcome, err));
    result->makespan_s = outcome.makespan_s;
    result->chunks = (double)outcome.chunks;
    if (outcome.makespan_s > 0)
        result->utilisation =
            outcome.busy_s / (outcome.makespan_s * shared->planned->view.nworkers);
    return CLEAVE_OK;
}

static enum cleave_status some_runs(void *context, unsigned thread, uint64_t begin,
                                    uint64_t end, struct cleave_error *err)
{
    struct shared *shared = context;

    if (shared->drivers[thread] == NULL)
        CV_TRY(cv_driver_open(shared->planned, &cv_engine_native, shared->first->platform,
                              NULL, &shared->drivers[thread], err));
    for (uint64_t i = begin; i < end; i++)
        CV_TRY(one_run(shared, shared->drivers[thread], i, err));
    return CLEAVE_OK;
}

static enum cleave_status all_runs(struct shared *shared, const struct cleave_trial *trial,
                                   struct cleave_error *err)
{
    struct cv_parallel loop = { .count = trial->runs, .block = BLOCK,
                                .threads = trial->threads, .body = some_runs,
                                .context = shared, .progress = trial->progress,
                                .progress_context = trial->context };
    unsigned threads = cv_parallel_threads(&loop);
    enum cleave_status status;

    shared->drivers = calloc(threads, sizeof(struct cv_driver *));
    if (shared->drivers == NULL)
        return cv_fail_memory(err, "the threads");
    status = cv_parallel_run(&loop, err);
    for (unsigned i = 0; i < threads; i++)
        cv_driver_close(shared->drivers[i]);
    free(shared->drivers);
    return status;
}

static int ascending(const void *left, const void *right)
{
    const double *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/* Quantile by linear interpolation between order statistics. */
static double quantile(const double *sorted, uint64_t n, double q)
{
    double at = q * (double)(n - 1);
    uint64_t below = (uint64_t)at;
    double rest = at - (double)below;

    return below + 1 < n ? sorted[below] + rest * (sorted[below + 1] - sorted[below])
                         : sorted[below];
}

static void sum_up(const struct result *results, uint64_t n, double *sorted,
                   struct cleave_stats *out)
{
    double mean = 0, squares = 0;

    for (uint64_t i = 0; i < n; i++) {
        double delta = results[i].makespan_s - mean;

        mean += delta / (double)(i + 1);
        squares += delta * (results[i].makespan_s - mean);
        out->utilisation += (results[i].utilisation - out->utilisation) / (double)(i + 1);
        out->chunks += (results[i].chunks - out->chunks) / (double)(i + 1);
        sorted[i] = results[i].makespan_s;
    }
    qsort(sorted, n, sizeof *sorted, ascending);
    out->runs = n;
    out->mean_s = mean;
    out->stddev_s = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
    out->stderr_s = out->stddev_s / sqrt((double)n);
    out->q10_s = quantile(sorted, n, 0.1);
    out->median_s = quantile(sorted, n, 0.5);
    out->q90_s = quantile(sorted, n, 0.9);
    out->least_s = sorted[0];
    out->most_s = sorted[n - 1];
}

enum cleave_status cv_monte_carlo(const struct cv_planned *planned, const struct cv_run *first,
                                  const struct cleave_trial *trial, struct cleave_trace *trace,
                                  struct cleave_stats *out, struct cleave_error *err)
{
    struct shared shared = { .planned = planned, .first = first, .trace = trace };
    double *sorted = NULL;
    enum cleave_status status;

    if (trial->runs < 1 || trial->runs > CV_MAX_RUNS)
        return cv_fail(err, CLEAVE_EINPUT, "expected 1 to %d runs, got %llu", CV_MAX_RUNS,
                       (unsigned long long)trial->runs);
    shared.results = calloc(trial->runs, sizeof *shared.results);
    sorted = calloc(trial->runs, sizeof *sorted);
    if (shared.results == NULL || sorted == NULL)
        status = cv_fail_memory(err, "the results of the runs");
    else
        status = all_runs(&shared, trial, err);
    if (status == CLEAVE_OK) {
        memset(out, 0, sizeof *out);
        sum_up(shared.results, trial->runs, sorted, out);
    }
    free(shared.results);
    free(sorted);
    return status;
}
