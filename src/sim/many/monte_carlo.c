/* monte_carlo.c -- many runs, on several threads, with the same result on any number.
 * SPDX-License-Identifier: MIT
 *
 * Runs are made in windows: threads take blocks of run numbers and write what each run
 * came to into its own place; the window is then summed up in the order of the numbers. */
#include "sim/many/monte_carlo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/nth.h"
#include "sim/many/parallel.h"

/* --- mean, spread and quantiles of any number of runs in constant memory ----------- */

/* A bin is named by exponent and leading bits of the mantissa; values outside of
 * 2^-64 .. 2^64 s fall into the first or the last one. */
enum { BITS = 11, LEAST_EXPONENT = 1023 - 64, EXPONENTS = 128 };
static const uint64_t nbins = (uint64_t)EXPONENTS << BITS;

/* Stats for `runs` runs in all; false when memory is short. */
static bool run_stats_init(struct cv_run_stats *stats, uint64_t runs)
{
    *stats = (struct cv_run_stats){ .least_s = INFINITY };
    if (runs <= CV_EXACT_RUNS)
        stats->exact = malloc((size_t)runs * sizeof *stats->exact);
    else
        stats->bins = calloc(nbins, sizeof *stats->bins);
    return stats->exact != NULL || stats->bins != NULL;
}

static void run_stats_done(struct cv_run_stats *stats)
{
    free(stats->exact);
    free(stats->bins);
    stats->exact = NULL;
    stats->bins = NULL;
}

static uint64_t bin_of(double value)
{
    const uint64_t first = (uint64_t)LEAST_EXPONENT << BITS;
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    bits >>= 52 - BITS;
    if (bits < first)
        return 0;
    return bits - first < nbins ? bits - first : nbins - 1;
}

/* The least value of a bin. */
static double bin_begin(uint64_t bin)
{
    uint64_t bits = (bin + ((uint64_t)LEAST_EXPONENT << BITS)) << (52 - BITS);
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static void run_stats_add(struct cv_run_stats *stats, const struct cv_run_result *results,
                          uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const struct cv_run_result *r = &results[i];
        double delta = r->makespan_s - stats->mean_s;
        double n = (double)(stats->runs + 1);

        stats->mean_s += delta / n;
        stats->squares += delta * (r->makespan_s - stats->mean_s);
        stats->utilisation += (r->utilisation - stats->utilisation) / n;
        stats->chunks += (r->chunks - stats->chunks) / n;
        stats->least_s = fmin(stats->least_s, r->makespan_s);
        stats->most_s = fmax(stats->most_s, r->makespan_s);
        if (stats->exact != NULL)
            stats->exact[stats->runs] = r->makespan_s;
        else
            stats->bins[bin_of(r->makespan_s)]++;
        stats->runs++;
    }
}

/* By linear interpolation between order statistics. */
static double exact_quantile(double *values, uint64_t n, double q)
{
    double at = q * (double)(n - 1), low, high = INFINITY;
    uint64_t below = (uint64_t)at;
    double rest = at - (double)below;

    low = cv_nth(values, n, below);
    for (uint64_t i = below + 1; i < n; i++)
        high = fmin(high, values[i]);
    return below + 1 < n ? low + rest * (high - low) : low;
}

static double binned_quantile(const struct cv_run_stats *stats, double q)
{
    double wanted = q * (double)(stats->runs - 1), seen = 0;

    for (uint64_t bin = 0; bin < nbins; bin++) {
        double inside = (double)stats->bins[bin];

        if (inside > 0 && seen + inside > wanted) {
            double from = fmax(bin_begin(bin), stats->least_s);
            double to = fmin(bin_begin(bin + 1), stats->most_s);

            return from + (to - from) * (wanted - seen + 0.5) / inside;
        }
        seen += inside;
    }
    return stats->most_s;
}

static double quantile(const struct cv_run_stats *stats, double q)
{
    return stats->exact != NULL ? exact_quantile(stats->exact, stats->runs, q)
                                : binned_quantile(stats, q);
}

/* Fill all of *out but the bound and what was picked. */
static void run_stats_sum_up(struct cv_run_stats *stats, struct cleave_stats *out)
{
    double n = (double)stats->runs;

    *out = (struct cleave_stats){
        .runs = stats->runs,
        .mean_s = stats->mean_s,
        .stddev_s = stats->runs > 1 ? sqrt(stats->squares / (n - 1)) : 0,
        .q10_s = quantile(stats, 0.1),
        .median_s = quantile(stats, 0.5),
        .q90_s = quantile(stats, 0.9),
        .least_s = stats->least_s,
        .most_s = stats->most_s,
        .utilisation = stats->utilisation,
        .chunks = stats->chunks,
    };
    out->stderr_s = out->stddev_s / sqrt(n);
}

/* --- many runs, on several threads, with the same result on any number ------------- */

struct window {
    const struct cleave_trial *trial;
    cv_runs_body *body;
    void *context;
    uint64_t first, count; /* runs of this window */
    struct cv_run_result *results;
};

static enum cleave_status some_of_window(void *context, unsigned thread, uint64_t begin,
                                         uint64_t end, struct cleave_error *err)
{
    struct window *window = context;

    return window->body(window->context, thread, window->first + begin,
                        window->first + end, &window->results[begin], err);
}

static void window_progress(void *context, uint64_t done)
{
    const struct window *window = context;

    window->trial->progress(window->trial->context, window->first + done);
}

static struct cv_parallel loop_of(struct window *window)
{
    return (struct cv_parallel){
        .count = window->count,
        .block = CV_RUNS_BLOCK,
        .threads = window->trial->threads,
        .body = some_of_window,
        .context = window,
        .progress = window->trial->progress != NULL ? window_progress : NULL,
        .progress_context = window,
    };
}

static uint64_t window_size(const struct cleave_trial *trial, uint64_t first)
{
    uint64_t left = trial->runs - first;

    return left < CV_EXACT_RUNS ? left : CV_EXACT_RUNS;
}

unsigned cv_monte_carlo_threads(const struct cleave_trial *trial)
{
    struct window window = { .trial = trial, .count = window_size(trial, 0) };
    struct cv_parallel loop = loop_of(&window);

    return cv_parallel_threads(&loop);
}

static enum cleave_status all_windows(struct window *window, struct cv_run_stats *stats,
                                      struct cleave_error *err)
{
    for (window->first = 0; window->first < window->trial->runs;
         window->first += window->count) {
        struct cv_parallel loop;

        window->count = window_size(window->trial, window->first);
        loop = loop_of(window);
        CV_TRY(cv_parallel_run(&loop, err));
        run_stats_add(stats, window->results, window->count);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_monte_carlo_by(const struct cleave_trial *trial, cv_runs_body *body,
                                     void *context, struct cleave_stats *out,
                                     struct cleave_error *err)
{
    struct window window = { .trial = trial, .body = body, .context = context };
    struct cv_run_stats stats;
    enum cleave_status status;

    if (trial->runs < 1 || trial->runs > CV_MOST_RUNS)
        return cv_fail(err, CLEAVE_EINPUT, "expected 1 to %llu runs, got %llu",
                       (unsigned long long)CV_MOST_RUNS, (unsigned long long)trial->runs);
    if (!run_stats_init(&stats, trial->runs))
        return cv_fail_memory(err, "the results of the runs");
    window.results = calloc(window_size(trial, 0), sizeof *window.results);
    status = window.results == NULL ? cv_fail_memory(err, "the results of the runs")
                                    : all_windows(&window, &stats, err);
    if (status == CLEAVE_OK)
        run_stats_sum_up(&stats, out);
    free(window.results);
    run_stats_done(&stats);
    return status;
}

/* --- by drivers ------------------------------------------------------------------------ */

struct shared {
    const struct cv_planned *planned;
    const struct cv_engine *engine;
    const void *source; /* of the engine */
    const struct cv_run *first;
    struct cleave_trace *trace;
    struct cv_driver **drivers; /* per thread */
};

static enum cleave_status one_run(const struct shared *shared, struct cv_driver *driver,
                                  uint64_t number, struct cv_run_result *result,
                                  struct cleave_error *err)
{
    struct cv_run run = *shared->first;
    struct cv_outcome outcome;

    run.number = run.noise.run = (uint32_t)number;
    CV_TRY(
        cv_driver_run(driver, &run, number == 0 ? shared->trace : NULL, &outcome, err));
    *result = (struct cv_run_result){ outcome.makespan_s, 0, (double)outcome.chunks };
    if (outcome.makespan_s > 0)
        result->utilisation =
            outcome.busy_s / (outcome.makespan_s * shared->planned->view.nworkers);
    return CLEAVE_OK;
}

static enum cleave_status some_runs(void *context, unsigned thread, uint64_t begin,
                                    uint64_t end, struct cv_run_result *results,
                                    struct cleave_error *err)
{
    struct shared *shared = context;

    if (shared->drivers[thread] == NULL)
        CV_TRY(cv_driver_open(shared->planned, shared->engine, shared->first->platform,
                              shared->source, &shared->drivers[thread], err));
    for (uint64_t i = begin; i < end; i++)
        CV_TRY(one_run(shared, shared->drivers[thread], i, &results[i - begin], err));
    return CLEAVE_OK;
}

enum cleave_status cv_monte_carlo(const struct cv_planned *planned,
                                  const struct cv_engine *engine, const void *source,
                                  const struct cv_run *first,
                                  const struct cleave_trial *trial,
                                  struct cleave_trace *trace, struct cleave_stats *out,
                                  struct cleave_error *err)
{
    struct shared shared = { .planned = planned,
                             .engine = engine,
                             .source = source,
                             .first = first,
                             .trace = trace };
    unsigned threads = cv_monte_carlo_threads(trial);
    enum cleave_status status;

    shared.drivers = calloc(threads, sizeof(struct cv_driver *));
    if (shared.drivers == NULL)
        return cv_fail_memory(err, "the threads");
    status = cv_monte_carlo_by(trial, some_runs, &shared, out, err);
    for (unsigned i = 0; i < threads; i++)
        cv_driver_close(shared.drivers[i]);
    free(shared.drivers);
    return status;
}
