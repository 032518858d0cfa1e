/* reduce_rows.h -- what several policies make of a reduction, for every value of a sweep.
 * SPDX-License-Identifier: MIT */
#ifndef CV_REDUCE_ROWS_H
#define CV_REDUCE_ROWS_H
#include "cli/compare/comparison.h"
#include "cli/reduce/reduce_options.h"

/* Run them all. A policy that was named must apply everywhere; of all, at least one must
 * somewhere. Without a sweep the cells are sorted by time, those that do not apply last.
 * Returns an exit status; what is wrong has been told. */
int cv_reduce_measure(const struct cv_reduce_options *options,
                      const struct cv_reduce_job *reduce, struct cv_arena *arena,
                      struct cv_comparison *out);

#endif
