/* monte_carlo.c -- many runs on several threads, with a result that does not depend on their
 * number. SPDX-License-Identifier: MIT
 *
 * Runs are made in windows: threads take blocks of run numbers and write results to an
 * array; the window is then summed up in the order of the numbers. */
#include "sim/many/monte_carlo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/nth.h"
#include "sim/many/parallel.h"

enum { EXACT_RUNS = 1 << 20, RUNS_BLOCK = 32 };
#define MOST_RUNS 4000000000u /* run numbers have 32 bits */

struct run_stats {
    uint64_t runs;
    double mean_s, squares, utilisation, chunks, least_s, most_s;
    double *exact;  /* owned: all makespans of up to EXACT_RUNS runs, or NULL */
    uint64_t *bins; /* owned: for more runs, or NULL */
};

/* --- mean, spread and quantiles in constant memory ---------------------------------- */

/* A bin is named by exponent and leading bits of the mantissa; values outside of
 * 2^-64 .. 2^64 s fall into the first or the last one. */
enum { BITS = 11, LEAST_EXPONENT = 1023 - 64, EXPONENTS = 128 };
static const uint64_t nbins = (uint64_t)EXPONENTS << BITS;

/* False: no memory. */
static bool run_stats_init(struct run_stats *stats, uint64_t runs)
{
    *stats = (struct run_stats){ .least_s = INFINITY };
    if (runs <= EXACT_RUNS)
        stats->exact = malloc((size_t)runs * sizeof *stats->exact);
    else
        stats->bins = calloc(nbins, sizeof *stats->bins);
    return stats->exact != NULL || stats->bins != NULL;
}

static void run_stats_done(struct run_stats *stats)
{
    free(stats->exact);
    free(stats->bins);
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

static void run_stats_add(struct run_stats *stats, const struct cv_run_result *results,
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

static double binned_quantile(const struct run_stats *stats, double q)
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

static double quantile(const struct run_stats *stats, double q)
{
    return stats->exact != NULL ? exact_quantile(stats->exact, stats->runs, q)
                                : binned_quantile(stats, q);
}

/* Fill all of *out except the bound and the picked policy. */
static void run_stats_sum_up(struct run_stats *stats, struct cleave_stats *out)
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

/* --- runs on several threads -------------------------------------------------------- */

struct window {
    const struct cleave_trial *trial;
    cv_run_body *body;
    void *context;
    struct cv_run_thread *threads;
    uint64_t first, count; /* runs of this window */
    struct cv_run_result *results;
};

static enum cleave_status run_block(void *context, unsigned thread, uint64_t begin,
                                    uint64_t end, struct cleave_error *err)
{
    struct window *window = context;

    for (uint64_t i = begin; i < end; i++)
        CV_TRY(window->body(window->context, &window->threads[thread],
                            (uint32_t)(window->first + i), &window->results[i], err));
    return CLEAVE_OK;
}

static void window_progress(void *context, uint64_t done)
{
    const struct window *window = context;

    window->trial->progress(window->trial->context, window->first + done);
}

static struct cv_parallel loop_of(struct window *window)
{
    const uint64_t left = window->trial->runs - window->first;

    window->count = left < EXACT_RUNS ? left : EXACT_RUNS;
    return (struct cv_parallel){
        .count = window->count,
        .block = RUNS_BLOCK,
        .threads = window->trial->threads,
        .body = run_block,
        .context = window,
        .progress = window->trial->progress != NULL ? window_progress : NULL,
        .progress_context = window,
    };
}

static enum cleave_status all_windows(struct window *window, struct run_stats *stats,
                                      struct cleave_error *err)
{
    for (window->first = 0; window->first < window->trial->runs;
         window->first += window->count) {
        const struct cv_parallel loop = loop_of(window);

        CV_TRY(cv_parallel_run(&loop, err));
        run_stats_add(stats, window->results, window->count);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_monte_carlo_by(const struct cleave_trial *trial, cv_run_body *body,
                                     void *context, struct cleave_stats *out,
                                     struct cleave_error *err)
{
    struct window window = { .trial = trial, .body = body, .context = context };
    const struct cv_parallel loop = loop_of(&window);
    const unsigned threads = cv_parallel_threads(&loop);
    struct run_stats stats;
    enum cleave_status status;

    if (trial->runs < 1 || trial->runs > MOST_RUNS)
        return cv_fail(err, CLEAVE_EINPUT, "expected 1 to %llu runs, got %llu",
                       (unsigned long long)MOST_RUNS, (unsigned long long)trial->runs);
    if (!run_stats_init(&stats, trial->runs))
        return cv_fail_memory(err, "the results of the runs");
    window.results = calloc(window.count, sizeof *window.results);
    window.threads = calloc(threads, sizeof *window.threads);
    for (unsigned i = 0; window.threads != NULL && i < threads; i++)
        cv_arena_init(&window.threads[i].arena);
    status = window.results == NULL || window.threads == NULL
                 ? cv_fail_memory(err, "the results of the runs")
                 : all_windows(&window, &stats, err);
    if (status == CLEAVE_OK)
        run_stats_sum_up(&stats, out);
    for (unsigned i = 0; window.threads != NULL && i < threads; i++) {
        cv_driver_close(window.threads[i].driver);
        cv_arena_done(&window.threads[i].arena);
    }
    free(window.threads);
    free(window.results);
    run_stats_done(&stats);
    return status;
}

/* --- runs by drivers ---------------------------------------------------------------- */

struct driven {
    const struct cv_planned *planned;
    const struct cv_engine *engine;
    const void *source; /* source of the engine */
    const struct cv_run *first;
    const struct cv_after_run *after;
    struct cleave_trace *trace;
};

static enum cleave_status drive(void *context, struct cv_run_thread *thread,
                                uint32_t number, struct cv_run_result *result,
                                struct cleave_error *err)
{
    const struct driven *driven = context;
    struct cv_run run = *driven->first;
    struct cv_outcome outcome;
    double end_s;

    if (thread->driver == NULL)
        CV_TRY(cv_driver_open(driven->planned, driven->engine, run.platform,
                              driven->source, &thread->driver, err));
    run.number = run.noise.run = number;
    CV_TRY(cv_driver_run(thread->driver, &run, number == 0 ? driven->trace : NULL,
                         &outcome, err));
    end_s = outcome.makespan_s;
    if (driven->after != NULL)
        CV_TRY(driven->after->end(driven->after->context, thread, &outcome, &end_s, err));
    *result = (struct cv_run_result){ end_s, 0, (double)outcome.chunks };
    if (end_s > 0)
        result->utilisation = outcome.busy_s / (end_s * driven->planned->view.nworkers);
    if (driven->planned->loads != NULL)
        result->makespan_s = outcome.value;
    return CLEAVE_OK;
}

enum cleave_status cv_monte_carlo(const struct cv_planned *planned,
                                  const struct cv_engine *engine, const void *source,
                                  const struct cv_run *first,
                                  const struct cleave_trial *trial,
                                  const struct cv_after_run *after,
                                  struct cleave_trace *trace, struct cleave_stats *out,
                                  struct cleave_error *err)
{
    struct driven driven = { planned, engine, source, first, after, trace };

    return cv_monte_carlo_by(trial, drive, &driven, out, err);
}
