/* one_round.h -- one chunk per worker, all ending together.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ONE_ROUND_H
#define CV_ONE_ROUND_H
#include <cleave/policy.h>
#include "model/load/plan.h"

extern const struct cleave_policy cleave_policy_one_round;

/* Chunks to order[0], .., order[n-1] that all end at the returned time; units[i] goes to
 * order[i] and may be negative. */
double cv_level(const struct cleave_worker *workers, const uint32_t *order, uint32_t n,
                double load, double *units);

struct cv_one_round {
    double makespan_s;
    struct cv_plan plan; /* by decreasing bandwidth */
};

enum cleave_status cv_one_round_plan(const struct cleave_worker *workers,
                                     uint32_t nworkers, double load,
                                     struct cv_arena *arena, struct cv_one_round *out,
                                     struct cleave_error *err);

#endif
