/* returns_convex.h -- the convex relaxation of a round with results, by interior point.
 * SPDX-License-Identifier: MIT
 *
 * With p_k the time of worker k's work message, P_k = p_1 + ... + p_k and workers by
 * nondecreasing link time:
 *
 *     maximise   sum of gain_k p_k,                      p >= 0
 *     subject to P_k <= cap_k                                               all k
 *                weight_1 p_1^2 + ... + weight_k p_k^2 + pair P_k^2 <= P_k  all k. */
#ifndef CV_RETURNS_CONVEX_H
#define CV_RETURNS_CONVEX_H
#include <stdint.h>
#include "base/arena.h"

/* What is given about one worker. All values positive and finite. */
struct cv_convex_worker {
    double gain;   /* work per second of its message: does not increase  */
    double weight; /* of its square                                      */
    double cap;    /* of the sum up to it: does not decrease             */
};

struct cv_convex {
    const struct cv_convex_worker *workers;
    uint32_t n;
    double pair; /* weight of the square of a sum */
};

/* What came out beside the bound. */
struct cv_convex_report {
    double reached; /* value of a feasible point: the maximum lies between this ... */
    double bound;   /* ... and this                                              */
    unsigned iterations;
};

/* A value of the Lagrangian dual, so not below the maximum wherever the iteration stops
 * (as a rule within 1e-9 of it, relatively). NAN when memory is short. `out` may be NULL.
 * O(n) an iteration and in memory. */
double cv_convex_bound(const struct cv_convex *convex, struct cv_arena *scratch,
                       struct cv_convex_report *out);

#endif
