/* time_fit.h -- statistics of times: a line by size, and a median. SPDX-License-Identifier: MIT */
#ifndef CV_TIME_FIT_H
#define CV_TIME_FIT_H
#include <stddef.h>
#include <stdint.h>

/* time = latency + units / rate, by least squares over all samples. */
struct cv_time_fit {
    double n, units, time_s; /* sums */
    double units2, cross;    /* sums of units^2 and units * time_s */
};

void cv_time_fit_add(struct cv_time_fit *fit, double units, double time_s);
/* The rate is 0 if there is no sample. The latency is 0 if all samples have about the same size. */
void cv_time_fit_line(const struct cv_time_fit *fit, double *out_latency_s,
                      double *out_rate_ups);

enum { CV_MEDIAN_LAST = 999 };

/* The median of the last CV_MEDIAN_LAST values. */
struct cv_median {
    double sorted[CV_MEDIAN_LAST], last[CV_MEDIAN_LAST]; /* last: a ring by age */
    size_t count;
    uint64_t seen;
};

void cv_median_add(struct cv_median *median, double value);
/* The lower of two middle values; 0 if there is no value. */
double cv_median_get(const struct cv_median *median);

#endif
