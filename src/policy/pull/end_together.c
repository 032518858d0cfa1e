/* end_together.c -- when all could end together. SPDX-License-Identifier: MIT
 *
 * Begin with all of them, and leave out who would not be ready by then, until that is
 * nobody: the end only comes nearer. */
#include "policy/pull/end_together.h"

#include <math.h>

double cv_end_together(const struct cv_ready *workers, uint32_t n, double units)
{
    double end_s = INFINITY, before_s;

    do {
        double speed = 0, sum = units;

        before_s = end_s;
        for (uint32_t w = 0; w < n; w++)
            if (workers[w].in_s < before_s) {
                speed += workers[w].speed_ups;
                sum += workers[w].speed_ups * workers[w].in_s;
            }
        end_s = speed > 0 ? sum / speed : INFINITY;
    } while (end_s < before_s && isfinite(end_s));
    return end_s;
}
