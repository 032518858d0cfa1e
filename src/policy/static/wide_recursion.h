/* wide_recursion.h -- the chunk recursion of xmi.h with twice the digits.
 * SPDX-License-Identifier: MIT
 *
 * Where links are narrow, slopes and offsets grow to many times the load and cancel: the
 * 16 digits of a double do not say then whether a chunk is negative. Every number here is
 * the sum of two, 32 digits in all, which takes some ten times as long. */
#ifndef CV_WIDE_RECURSION_H
#define CV_WIDE_RECURSION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/platform.h>
#include "base/arena.h"

struct cv_wide_number {
    double high, low;
};

struct cv_wide_affine {
    struct cv_wide_number slope, offset;
};

/* The members mean what they mean in struct cv_recursion. */
struct cv_wide_recursion {
    uint32_t workers;
    double latency_s;
    struct cv_wide_number drift_s, ratio;
    struct cv_wide_affine *time, *tail;
    size_t count;
    uint32_t place;
    struct cv_wide_affine head, sum;
    struct cv_wide_number min;
};

bool cv_wide_init(struct cv_wide_recursion *recursion, struct cv_arena *arena,
                  size_t chunks, uint32_t workers);
void cv_wide_start(struct cv_wide_recursion *recursion,
                   const struct cleave_worker *worker, uint32_t n);
void cv_wide_step(struct cv_wide_recursion *recursion);
bool cv_wide_feasible(const struct cv_wide_recursion *recursion, double units,
                      double speed_ups);

/* The computing time of chunk 0 for `units` in all, and of chunk i with it. */
struct cv_wide_number cv_wide_last(const struct cv_wide_recursion *recursion,
                                   double units, double speed_ups);
double cv_wide_time(const struct cv_wide_recursion *recursion, size_t i,
                    struct cv_wide_number last);

#endif
