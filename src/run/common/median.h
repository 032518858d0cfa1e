/* median.h -- the median of the last values. SPDX-License-Identifier: MIT */
#ifndef CV_MEDIAN_H
#define CV_MEDIAN_H
#include <stddef.h>
#include <stdint.h>

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
