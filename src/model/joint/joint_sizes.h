/* joint_sizes.h -- sizes for workers that must be done at different times before the end.
 * SPDX-License-Identifier: MIT
 *
 * One chunk each, sent in a given order over port one (one after the other) or multi. The
 * partial of the worker in place k of the order must be ready its tail q before the end T:
 *
 *     x = g (T - q - alpha - beta - r),  g = 1 / (1/B + 1/S),  r: the port is free
 *
 * All these tight, the sum of the sizes says what T is. T = T_load + sum of y q, where T_load
 * is the end if all q are 0 and y, which adds up to 1, are the multipliers of the load plan:
 * g for multi; over one port, from the last place to the first, V := 0,
 *
 *     y ~ g (1 + V / B),  V := -g + (1 - g / B) V
 *
 * With all y and x at least 0 no other sizes end earlier (docs/theory/joint.md). */
#ifndef CV_JOINT_SIZES_H
#define CV_JOINT_SIZES_H
#include <stdbool.h>
#include <stdint.h>
#include <cleave/platform.h>

/* A load for workers, which are borrowed. */
struct cv_joint_load {
    const struct cleave_worker *workers;
    double units;
    bool multi; /* links share no port */
};

/* T for the `n` workers of `order` with these tails; `sizes` and `weights`, y, are filled,
 * either may be NULL. */
double cv_joint_sizes(const struct cv_joint_load *load, const uint32_t *order, uint32_t n,
                      const double *tails, double *sizes, double *weights);

#endif
