/* water_fill.c -- share out a last load so that all workers end together.
 * SPDX-License-Identifier: MIT
 *
 * Taken in the order in which they can begin, k workers can do
 * sum speed (t - begin) by time t. They are joined one by one while the common end of
 * those before lies behind the begin of the next. */
#include "model/load/water_fill.h"

#include <math.h>
#include <stdlib.h>

#include "base/compare.h"

CV_ORDER_BY(by_begin, struct cv_water_fill_workspace, begin_s)

/* The end is kept relative to the first begin, for accuracy at late times. */
static double common_end(const struct cv_water_fill_workspace *basins, uint32_t n,
                         double load)
{
    double speed = 0, weighted = 0, end = 0;

    for (uint32_t i = 0; i < n; i++) {
        const double begin = basins[i].begin_s - basins[0].begin_s;

        if (i > 0 && end <= begin)
            break;
        speed += basins[i].speed_ups;
        weighted += basins[i].speed_ups * begin;
        end = (load + weighted) / speed;
    }
    return basins[0].begin_s + end;
}

bool cv_water_fill(struct cv_water_fill_workspace *basins, const double *ready_s,
                   const double *overhead_s, const double *speed_ups, uint32_t n,
                   double load, double *out_share, double *out_end)
{
    uint32_t used = 0;

    for (uint32_t w = 0; w < n; w++)
        if (speed_ups[w] > 0)
            basins[used++] = (struct cv_water_fill_workspace){ ready_s[w] + overhead_s[w],
                                                               speed_ups[w] };
    if (used == 0)
        return false;
    qsort(basins, used, sizeof *basins, by_begin);
    *out_end = common_end(basins, used, load);
    for (uint32_t w = 0; w < n; w++)
        out_share[w] =
            speed_ups[w] > 0
                ? speed_ups[w] * fmax(0, *out_end - (ready_s[w] + overhead_s[w]))
                : 0;
    return true;
}
