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

/* For exact costs: links for a multi-port master, else xmi-k for equal workers and
 * umr-plus for unequal ones. All are plans fixed in advance. *out_why (static; may be
 * NULL) says what decided. */
const struct cleave_policy *cv_best_planner(const struct cleave_view *view,
                                            const char **out_why);

#endif
