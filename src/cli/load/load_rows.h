/* load_rows.h -- what several policies make of a load, for every value of a sweep.
 * SPDX-License-Identifier: MIT */
#ifndef CV_LOAD_ROWS_H
#define CV_LOAD_ROWS_H
#include "cli/compare/comparison.h"
#include "cli/load/load_options.h"

struct cv_joint_job;

/* Run them all; if `then` is not NULL, the results are reduced after that. A policy that was named must apply everywhere; of all, at least one must
 * somewhere. Without a sweep the cells are sorted. `out_noise` is how the noise is spelt,
 * for the last value. Returns an exit status; what is wrong has been told. */
int cv_load_measure(const struct cv_load_options *options, const struct cv_load_job *load,
                    const struct cv_joint_job *then, struct cv_arena *arena,
                    struct cv_comparison *out, char out_noise[CV_NOISE_ROOM]);

#endif
