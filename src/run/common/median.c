/* median.c -- the median of the last values. SPDX-License-Identifier: MIT */
#include "run/common/median.h"

#include <string.h>

#include "base/bisect.h"

/* Where a value is, or would be. */
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
