/* time_fit.c -- statistics of times: a line by size, and a median. SPDX-License-Identifier: MIT */
#include "run/common/time_fit.h"

#include <math.h>
#include <string.h>

#include "base/bisect.h"

void cv_time_fit_add(struct cv_time_fit *fit, double units, double time_s)
{
    fit->n += 1;
    fit->units += units;
    fit->time_s += time_s;
    fit->units2 += units * units;
    fit->cross += units * time_s;
}

/* Below the resolution of any clock. */
static const double CLOCK_S = 1e-9;

void cv_time_fit_line(const struct cv_time_fit *fit, double *out_latency_s,
                      double *out_rate_ups)
{
    const double spread = fit->n * fit->units2 - fit->units * fit->units;
    double slope = fit->units > 0 ? fit->time_s / fit->units : 0;

    *out_latency_s = 0;
    *out_rate_ups = 0;
    if (!(slope > 0))
        return;
    if (spread > 0.01 * fit->units * fit->units)
        slope =
            fmin(slope, fmax(0.01 * slope,
                             (fit->n * fit->cross - fit->units * fit->time_s) / spread));
    *out_latency_s = fmax(0, (fit->time_s - slope * fit->units) / fit->n);
    if (*out_latency_s < CLOCK_S) /* rounding */
        *out_latency_s = 0;
    *out_rate_ups = 1 / slope;
}

/* The index of the value, or where to insert it. */
static size_t find(const struct cv_median *median, double value)
{
    size_t at;

    CV_BISECT(at, median->count, i, median->sorted[i] < value);
    return at;
}

void cv_median_add(struct cv_median *median, double value)
{
    double *oldest = &median->last[median->seen++ % CV_MEDIAN_LAST];
    size_t at;

    if (median->count == CV_MEDIAN_LAST) {
        at = find(median, *oldest);
        median->count--;
        memmove(median->sorted + at, median->sorted + at + 1,
                (median->count - at) * sizeof value);
    }
    *oldest = value;
    at = find(median, value);
    memmove(median->sorted + at + 1, median->sorted + at,
            (median->count - at) * sizeof value);
    median->sorted[at] = value;
    median->count++;
}

double cv_median_get(const struct cv_median *median)
{
    return median->count > 0 ? median->sorted[(median->count - 1) / 2] : 0;
}
