/* ordered_adapt.h -- the state of ordered-adapt, for its two files.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ORDERED_ADAPT_H
#define CV_ORDERED_ADAPT_H
#include "policy/interval.h"
#include "policy/observed.h"
#include "policy/row_lane.h"

struct adapt_node {
    double idle_since_s, began_s, lasted_s; /* began_s, lasted_s: of the last operation */
    double combines_since_s, wait_until_s;
    uint32_t buffered; /* arrived, not being combined              */
    bool gone, receives, combines;
    bool listed; /* known to be idle                         */
    bool waits, waited;
};

/* A node in simulation when combining takes no time. There are then no speeds to tell apart
 * and nothing to overlap with: nodes are idle or receive, and idle ones may wait. Node n is
 * nobody, who is never idle; at node n + 1 nobody looks. */
struct lean_node {
    double began_s, since_s; /* received from then on, idle since then    */
    double until_s;          /* waits                                     */
    uint8_t left, right;     /* neighbours                                */
    uint8_t first, last;     /* inputs                                    */
    bool idle, waits, waited;
};

struct ordered_adapt {
    double guard, ratio, wait;
    uint32_t overlap, speeds;
    struct cv_intervals intervals;
    struct cv_observed seen;
    struct adapt_node *nodes;
    struct lean_node *lean; /* if combining takes no time and lanes can have it */
    double now_s;
    bool combining_takes_time;
    uint32_t sent;
};

/* One run in simulation until something begins, when combining takes no time: the same
 * decisions as those of the policy, on less. */
void cv_ordered_adapt_lean(struct cleave_lane *lane);

#endif
