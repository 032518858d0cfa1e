/* head_tail.h -- a plan for most of the load, factoring for the rest.
 * SPDX-License-Identifier: MIT
 *
 * The head is handed out as planned, whatever happens; the tail then goes to idle
 * workers, in weighted factoring batches, and corrects the plan's errors. A worker that
 * the plan for the whole load excludes, for example because of its slow link, gets no
 * tail. */
#ifndef CV_HEAD_TAIL_H
#define CV_HEAD_TAIL_H
#include "policy/pull/pull.h"

struct cv_head_tail {
    struct cv_plan head;
    size_t next;         /* next chunk of the head */
    double tail;         /* units of the tail */
    struct cv_pull pull; /* hands out the tail */
    struct cv_batch batch;
    double mean_speed;
    uint32_t alike; /* 1: one minimum chunk for all members of the tail, the mean */
};

/* The planner for exact costs: links for a multi-port master, else xmi-k for equal
 * workers and umr-plus for unequal ones. All are plans fixed in advance. */
const struct cleave_policy *cv_best_planner(const struct cleave_view *view);

#endif
