/* head_tail.h -- a plan for most of the load, factoring for the rest.
 * SPDX-License-Identifier: MIT
 *
 * The head is handed out as planned, whatever happens; the tail then goes to whoever
 * asks, in weighted factoring batches, and takes up what the plan got wrong. A worker
 * that the plan for all of the load leaves out, because its link would hold up the others,
 * say, gets no tail either. */
#ifndef CV_HEAD_TAIL_H
#define CV_HEAD_TAIL_H
#include "policy/pull/pull.h"

struct cv_head_tail {
    struct cv_plan head;
    size_t next;         /* next chunk of the head */
    double tail;         /* units left to the tail */
    struct cv_pull pull; /* of the tail            */
    struct cv_batch batch;
    double mean_speed;
    uint32_t alike; /* one least chunk for all members of the tail, the mean */
};

/* Plan all but `tail` units with `planner`, a policy that is a plan fixed in advance,
 * with the given settings. Sets the members and the least chunks of the tail: what covers
 * one chunk's overhead there. pull.prefetch and alike are
 * set before. */
enum cleave_status cv_head_tail_plan(struct cv_head_tail *two, double tail,
                                     const struct cleave_policy *planner,
                                     const struct cleave_setting *settings,
                                     size_t nsettings, const struct cleave_view *view,
                                     struct cleave_setup *setup,
                                     struct cleave_error *err);
enum cleave_status cv_head_tail_start(struct cv_head_tail *two,
                                      const struct cleave_view *view,
                                      struct cleave_setup *setup,
                                      struct cleave_error *err);
void cv_head_tail_decide(struct cv_head_tail *two, const struct cleave_view *view,
                         const struct cleave_event *event, struct cleave_orders *orders);

#endif
