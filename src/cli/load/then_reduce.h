/* then_reduce.h -- a load whose results are reduced, planned as one. SPDX-License-Identifier: MIT */
#ifndef CV_THEN_REDUCE_H
#define CV_THEN_REDUCE_H
#include "cli/load/load_options.h"
#include "model/joint/joint.h"

/* What --then-reduce asks for, planned: with its bound and what planning apart takes. */
struct cv_then_reduce {
    struct cv_joint_job job;
    struct cv_joint_plan plan;
    double bound_s;
    double apart_s, apart_all_s; /* best number of workers; all                    */
    uint32_t apart_used, apart_all_used;
    double *sent_s, *ready_s; /* per place of the plan                             */
};

/* Read the option, check what it does not go with, and plan. Returns an exit status. */
int cv_then_reduce_open(const struct cv_load_options *options,
                        const struct cv_load_job *load, struct cv_arena *arena,
                        struct cv_then_reduce *out);

/* The plan, many runs, or the plan beside those that are made apart, as text or JSON.
 * Return an exit status. */
int cv_then_reduce_show(const struct cv_then_reduce *joint,
                        const struct cv_load_options *options,
                        const struct cleave_platform *platform);
int cv_then_reduce_simulate(const struct cv_then_reduce *joint,
                            const struct cv_load_options *options);
int cv_then_reduce_compare(const struct cv_then_reduce *joint,
                           const struct cv_load_options *options);

#endif
