/* ready_options.h -- when partials become ready, as typed. SPDX-License-Identifier: MIT */
#ifndef CV_READY_OPTIONS_H
#define CV_READY_OPTIONS_H
#include "cli/reduce/reduce_options.h"

/* Read --ready and --ready-model into the job. Known times say how many nodes there are.
 * Returns an exit status. */
int cv_ready_read(const struct cv_reduce_options *options, struct cv_reduce_job *out);

/* What users call the model of a job. */
const char *cv_ready_model_name(enum cleave_ready_model model);

/* Whether the job's ready times are drawn anew in every run. */
bool cv_ready_is_random(const struct cleave_reduction *job);

/* What the mean length over random ready times cannot beat, costs at their means: the
 * bound ln(sum of exp(s ready)) / s is convex, so that its mean is at least what it is at
 * the mean of the law. */
double cv_ready_mean_bound(const struct cleave_reduction *job);

#endif
