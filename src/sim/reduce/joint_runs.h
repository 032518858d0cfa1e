/* joint_runs.h -- a split and the reduction of its results, executed with costs that vary.
 * SPDX-License-Identifier: MIT */
#ifndef CV_JOINT_RUNS_H
#define CV_JOINT_RUNS_H
#include <cleave/run.h>
#include "model/joint/joint.h"

/* When each place of the order has its partial, with factors on what the load costs;
 * `sent_s`, which may be NULL, is when its chunk has arrived. Returns when the master has
 * sent all. */
struct cv_noise;
double cv_joint_ready(const struct cv_joint_job *job, const struct cv_joint_plan *plan,
                      const struct cv_noise *noise, double *sent_s, double *ready_s);

/* When n partials that are ready at these times, which are sorted, have come to the master
 * one after the other and are combined; the first needs no combination. A port that serves
 * one at a time takes none before port_s, when it has sent all. */
double cv_star_length(const struct cv_joint_job *job, double port_s, double *ready_s,
                      uint32_t n);

/* Many runs: chunks as planned, partials first come first served. The reduction costs what
 * it is said to cost; transfers and computations of the load vary. */
enum cleave_status cv_joint_simulate(const struct cv_joint_job *job,
                                     const struct cv_joint_plan *plan, uint64_t seed,
                                     const struct cleave_trial *trial,
                                     struct cleave_stats *out, struct cleave_error *err);

#endif
