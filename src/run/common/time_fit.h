/* time_fit.h -- what things of different sizes took. SPDX-License-Identifier: MIT
 *
 * Time = latency + units / rate, by least squares over all that was added. */
#ifndef CV_TIME_FIT_H
#define CV_TIME_FIT_H
#include <stddef.h>
#include <stdint.h>

struct cv_time_fit {
    double n, units, time_s; /* sums                                     */
    double units2, cross;    /* of units^2, and of units times seconds   */
};

void cv_time_fit_add(struct cv_time_fit *fit, double units, double time_s);
/* The rate is 0 when nothing is known. Sizes that are all alike say nothing about the
 * latency, which is 0 then. */
void cv_time_fit_line(const struct cv_time_fit *fit, double *out_latency_s,
                      double *out_rate_ups);

enum { CV_MEDIAN_LAST = 999 };

struct cv_median {
    double sorted[CV_MEDIAN_LAST],
        last[CV_MEDIAN_LAST]; /* the same, by size and by age */
    size_t count;
    uint64_t seen;
};

void cv_median_add(struct cv_median *median, double value);
/* The lower one of two in the middle; 0 while there is none. */
double cv_median_get(const struct cv_median *median);

#endif
