/* reduce_length.c -- how long the shortest reduction takes, without its tree.
 * SPDX-License-Identifier: MIT */
#include "model/reduce/reduce_length.h"

#include <stdlib.h>

#include "base/compare.h"

enum { MOST_ROUNDS = 64, MOST_WAITS = 2 * MOST_ROUNDS + 2 };

/* Rounding may put a point on the wrong side of a bound by this much. */
static const double slack = 1e-12;

struct point {
    double time_s;
    uint64_t nodes; /* inserted at that time */
};

unsigned cv_ceil_log2(uint64_t n)
{
    unsigned k = 0;

    while (k < 64 && (n - 1) >> k != 0)
        k++;
    return k;
}

static uint64_t add_capped(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

CV_ORDER_BY(by_time, struct point, time_s)

double cv_reduce_length(uint64_t n, double d, double c)
{
    const double a = d > c ? d : c, b = d + c;
    const unsigned k = cv_ceil_log2(n);
    const double low = k * a * (1 - slack), high = k * b * (1 + slack);
    /* Per j at most 2 (k - j) + 2 points: their sum over j is below k (k + 1). */
    struct point points[MOST_ROUNDS * (MOST_ROUNDS + 2)];
    uint64_t paths[MOST_WAITS], sum = 1; /* the root */
    size_t npoints = 0;

    if (k == 0 || a == 0)
        return 0;
    for (unsigned i = 0; i < MOST_WAITS; i++)
        paths[i] = 1;
    for (unsigned j = 1; j <= k; j++) {
        const unsigned max = 2 * (k - j) + 1;

        for (unsigned i = 0; i <= max; i++) {
            const double time_s = i * a + j * b;

            if (j > 1 && i > 0)
                paths[i] = add_capped(paths[i], paths[i - 1]);
            if (time_s > high)
                continue;
            if (time_s < low)
                sum = add_capped(sum, paths[i]);
            else
                points[npoints++] = (struct point){ time_s, paths[i] };
        }
    }
    qsort(points, npoints, sizeof *points, by_time);
    for (size_t p = 0; p < npoints; p++) {
        sum = add_capped(sum, points[p].nodes);
        if (sum >= n)
            return points[p].time_s;
    }
    return k * b; /* the last point, but for rounding */
}
