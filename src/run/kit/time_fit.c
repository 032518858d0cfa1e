/* time_fit.c -- what things of different sizes took. SPDX-License-Identifier: MIT */
#include "run/kit/time_fit.h"

#include <math.h>

void cv_line_add(struct cv_line *line, double units, double time_s)
{
    line->n += 1;
    line->units += units;
    line->time_s += time_s;
    line->units2 += units * units;
    line->cross += units * time_s;
}

/* No clock tells less apart. */
static const double CLOCK_S = 1e-9;

void cv_line_fit(const struct cv_line *line, double *out_latency_s, double *out_rate_ups)
{
    const double spread = line->n * line->units2 - line->units * line->units;
    double slope = line->units > 0 ? line->time_s / line->units : 0;

    *out_latency_s = 0;
    *out_rate_ups = 0;
    if (!(slope > 0))
        return;
    if (spread > 0.01 * line->units * line->units)
        slope = fmin(slope,
                     fmax(0.01 * slope,
                          (line->n * line->cross - line->units * line->time_s) / spread));
    *out_latency_s = fmax(0, (line->time_s - slope * line->units) / line->n);
    if (*out_latency_s < CLOCK_S) /* that is rounding */
        *out_latency_s = 0;
    *out_rate_ups = 1 / slope;
}
