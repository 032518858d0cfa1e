/* reduced_load.h -- a load by any policy, and the reduction of its partials after it.
 * SPDX-License-Identifier: MIT
 *
 * Who got a chunk has one partial when its last chunk is done, and these are reduced with
 * the costs of a joint job: along the shortest tree for when they are ready in that run
 * (ready_tree.h), or at the master as they come. The policy knows nothing of it, but those
 * who mind what follows are told. */
#ifndef CV_REDUCED_LOAD_H
#define CV_REDUCED_LOAD_H
#include <cleave/run.h>
#include "model/joint/joint.h"

/* Many runs, costs of the load varying. Of `joint` costs, place and port count; the bound is
 * that of the load, and at the master one transfer more. */
enum cleave_status cv_reduced_load(const struct cleave_job *job,
                                   const struct cv_joint_job *joint,
                                   const struct cleave_trial *trial,
                                   struct cleave_stats *out, struct cleave_error *err);

/* When each place of the order has its partial, with factors on what the load costs;
 * `sent_s`, which may be NULL, is when its chunk has arrived. Returns when the master has
 * sent all. */
struct cv_noise;
double cv_joint_ready(const struct cv_joint_job *job, const struct cv_joint_plan *plan,
                      const struct cv_noise *noise, double *sent_s, double *ready_s);

/* Many runs: chunks as planned, partials first come first served. The reduction costs what
 * it is said to cost; transfers and computations of the load vary. */
enum cleave_status cv_joint_simulate(const struct cv_joint_job *job,
                                     const struct cv_joint_plan *plan, uint64_t seed,
                                     const struct cleave_trial *trial,
                                     struct cleave_stats *out, struct cleave_error *err);

#endif
