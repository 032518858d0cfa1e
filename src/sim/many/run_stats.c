/* run_stats.c -- mean, spread and quantiles of any number of runs in constant memory.
 * SPDX-License-Identifier: MIT */
#include "sim/many/run_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/nth.h"

/* A bin is named by exponent and leading bits of the mantissa; values outside of
 * 2^-64 .. 2^64 s fall into the first or the last one. */
enum { BITS = 11, LEAST_EXPONENT = 1023 - 64, EXPONENTS = 128 };
static const uint64_t nbins = (uint64_t)EXPONENTS << BITS;

bool cv_run_stats_init(struct cv_run_stats *stats, uint64_t runs)
{
    *stats = (struct cv_run_stats){ .least_s = INFINITY };
    if (runs <= CV_EXACT_RUNS)
        stats->exact = malloc((size_t)runs * sizeof *stats->exact);
    else
        stats->bins = calloc(nbins, sizeof *stats->bins);
    return stats->exact != NULL || stats->bins != NULL;
}

void cv_run_stats_done(struct cv_run_stats *stats)
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

void cv_run_stats_add(struct cv_run_stats *stats, const struct cv_run_result *results,
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

void cv_run_stats_sum_up(struct cv_run_stats *stats, struct cleave_stats *out)
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
