/* reduce_rows.h -- what several policies make of a reduction, for every value of a sweep.
 * SPDX-License-Identifier: MIT */
#ifndef CV_REDUCE_ROWS_H
#define CV_REDUCE_ROWS_H
#include <cleave/policy.h>
#include "cli/reduce_options.h"
#include "cli/sweep.h"

struct cv_reduce_cell {
    const struct cleave_policy *policy;
    struct cleave_stats stats;
    const char *reason; /* why it does not apply, or NULL */
};

struct cv_reduce_table {
    struct cv_sweep sweep;
    const struct cleave_policy **policies;
    size_t npolicies;
    struct cv_reduce_cell *cells; /* npolicies for each value of the sweep          */
    double *bounds_s;             /* per value: lower bound for costs at their means */
    uint64_t runs;                /* of each policy and value; 1 when costs are exact */
};

/* Run them all. A policy that was named must apply everywhere; of all, at least one must
 * somewhere. Without a sweep the cells are sorted by time, those that do not apply last.
 * Returns an exit status; what is wrong has been told. */
int cv_reduce_measure(const struct cv_reduce_options *options,
                      const struct cv_reduce_job *reduce, struct cv_arena *arena,
                      struct cv_reduce_table *out);

#endif
