/* end_together.h -- when all could end together. SPDX-License-Identifier: MIT */
#ifndef CV_END_TOGETHER_H
#define CV_END_TOGETHER_H
#include <stdint.h>

/* From when on a worker could do something more, and how fast. */
struct cv_ready {
    double in_s; /* from now; INFINITY: never */
    double speed_ups;
};

/* In how many seconds they have done `units`: T with sum of speed (T - in)+ = units.
 * INFINITY: never. O(n) a time; few times. */
double cv_end_together(const struct cv_ready *workers, uint32_t n, double units);

#endif
