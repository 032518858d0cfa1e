/* umr_plus.h -- the best order found, for other policies and for checks.
 * SPDX-License-Identifier: MIT */
#ifndef CV_UMR_PLUS_H
#define CV_UMR_PLUS_H
#include <cleave/policy.h>
#include "model/load/plan.h"

extern const struct cleave_policy cleave_policy_umr_plus;

struct cv_umr_plus {
    double makespan_s;
    double periodic_s; /* best round-robin order */
    double umr_s;      /* `umr` on the same platform */
    uint64_t steps;    /* chunks whose size was computed, over all orders  */
    struct cv_plan plan;
};

/* The preset effort: about 4, 15 and 60 ms for 10, 20 and 40 workers, and at most 0.1 s. */
uint64_t cv_umr_plus_effort(uint32_t nworkers);

/* At most max_chunks chunks (the plan of umr may have more); the search ends after about
 * `effort` steps. Depends only on its arguments. */
enum cleave_status cv_umr_plus_plan(const struct cleave_worker *workers,
                                    uint32_t nworkers, double load, size_t max_chunks,
                                    uint64_t effort, struct cv_arena *arena,
                                    struct cv_umr_plus *out, struct cleave_error *err);

#endif
