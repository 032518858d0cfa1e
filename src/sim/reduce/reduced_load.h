/* reduced_load.h -- a load by any policy, and the reduction of its partials after it.
 * SPDX-License-Identifier: MIT
 *
 * A worker with a chunk has one partial when its last chunk is done. Partials are reduced
 * with the costs of a joint job: along the shortest tree for their ready times in that run
 * (ready_tree.h), or at the master in the order of arrival. Only policies with minds_folds
 * get these costs. */
#ifndef CV_REDUCED_LOAD_H
#define CV_REDUCED_LOAD_H
#include <cleave/run.h>
#include "model/joint/joint.h"

/* Many runs with varying costs of the load. The bound is the bound of the load, plus a
 * transfer if the master reduces. */
enum cleave_status cv_reduced_load(const struct cleave_job *job,
                                   const struct cv_joint_job *joint,
                                   const struct cleave_trial *trial,
                                   struct cleave_stats *out, struct cleave_error *err);

/* When the partial of each place of the order is ready, with noise on the costs of the
 * load; `sent_s`, which may be NULL: when its chunk has arrived. Returns when all was
 * sent. */
struct cv_noise;
double cv_joint_ready(const struct cv_joint_job *job, const struct cv_joint_plan *plan,
                      const struct cv_noise *noise, double *sent_s, double *ready_s);

/* Many runs: chunks as planned, partials first come, first served. Only the costs of
 * the load vary. */
enum cleave_status cv_joint_simulate(const struct cv_joint_job *job,
                                     const struct cv_joint_plan *plan, uint64_t seed,
                                     const struct cleave_trial *trial,
                                     struct cleave_stats *out, struct cleave_error *err);

#endif
