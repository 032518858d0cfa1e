/* then_reduce.h -- a load whose results are reduced, planned as one. SPDX-License-Identifier: MIT */
#ifndef CV_THEN_REDUCE_H
#define CV_THEN_REDUCE_H
#include "base/text.h"
#include "cli/common/output.h"
#include "cli/load/load_options.h"
#include "io/json_out.h"
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

/* Who decides the sizes: only the plan, one policy that --policy names, or several. */
enum cv_then_reduce_who { CV_THEN_PLAN, CV_THEN_POLICY, CV_THEN_POLICIES };

/* Read the option, check what it does not go with, and plan. Returns an exit status. */
int cv_then_reduce_open(const struct cv_load_options *options,
                        const struct cv_load_job *load, enum cv_then_reduce_who who,
                        struct cv_arena *arena, struct cv_then_reduce *out);

/* The plan, or many runs of it or of the policy asked for, as text or JSON. Return an exit
 * status. */
int cv_then_reduce_show(const struct cv_then_reduce *joint,
                        const struct cv_load_options *options,
                        const struct cleave_platform *platform);
int cv_then_reduce_simulate(const struct cv_then_reduce *joint,
                            const struct cv_load_options *options,
                            const struct cv_load_job *load);

void cv_then_reduce_words(const struct cv_then_reduce *joint, struct cv_text *out);
void cv_then_reduce_plans(const struct cv_then_reduce *joint,
                          const struct cv_screen *screen, struct cv_text *out);
void cv_field_then_reduce(struct cv_json *json, const struct cv_then_reduce *joint);
/* All that plan, simulate and compare have for the plan. */
void cv_then_reduce_json(struct cv_json *json, const struct cv_then_reduce *joint,
                         const struct cv_load_options *options);

#endif
