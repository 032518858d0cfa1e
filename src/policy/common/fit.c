/* fit.c -- latency and rate, fitted to measured times. SPDX-License-Identifier: MIT */
#include "policy/common/fit.h"

#include <math.h>

/* weight that older chunks keep at a new one */
static const double KEPT = 0.85;
/* weight of a latency known from other workers, in chunks */
static const double BORROWED = 0.3;
/* Sizes differ enough if the determinant is this part of its maximum. */
static const double SPREAD = 0.02;
/* At least this part of the time grows with the size, whatever noise shows. */
static const double LEAST_SLOPE = 0.4;

/* Minimise the sum of ((latency + slope u - t) / t)^2, and of BORROWED times
 * (latency / elsewhere - 1)^2. */
static double best_slope(struct cv_fit *fit, double elsewhere_s)
{
    const bool borrows = elsewhere_s > 0;
    const double weight =
        fit->weight + (borrows ? BORROWED / (elsewhere_s * elsewhere_s) : 0);
    const double time = fit->time + (borrows ? BORROWED / elsewhere_s : 0);
    const double free = weight * fit->units2;
    const double determinant = free - fit->units * fit->units;

    fit->sure = fit->weight * fit->units2 - fit->units * fit->units >
                SPREAD * fit->weight * fit->units2;
    if (!(determinant > SPREAD * free))
        return fit->cross / fit->units2;
    return (weight * fit->cross - fit->units * time) / determinant;
}

void cv_fit_add(struct cv_fit *fit, double units, double time_s, double elsewhere_s)
{
    cv_fit_add_kept(fit, units, time_s, elsewhere_s, KEPT);
}

void cv_fit_add_kept(struct cv_fit *fit, double units, double time_s, double elsewhere_s,
                     double kept)
{
    /* Weighted by the expected time: a chunk that was quick by chance counts no more. */
    const double expected_s =
        fit->rate_ups > 0 ? fit->latency_s + units / fit->rate_ups : time_s;
    const double weight = 1 / (expected_s * expected_s);
    double proportional, slope;

    if (!(units > 0) || !(time_s > 0) || isinf(weight) || !(weight > 0))
        return;
    fit->recent_s = time_s;
    fit->weight = kept * fit->weight + weight;
    fit->units = kept * fit->units + weight * units;
    fit->time = kept * fit->time + weight * time_s;
    fit->units2 = kept * fit->units2 + weight * units * units;
    fit->cross = kept * fit->cross + weight * units * time_s;
    /* The steepest slope: all time by size, none by latency. */
    proportional = fit->cross / fit->units2;
    slope = fmin(fmax(best_slope(fit, elsewhere_s), LEAST_SLOPE * proportional),
                 proportional);
    fit->rate_ups = 1 / slope;
    fit->latency_s = fmax(0, (fit->time - slope * fit->units) / fit->weight);
}
