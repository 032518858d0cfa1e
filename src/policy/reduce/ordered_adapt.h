/* ordered_adapt.h -- the state of ordered-adapt, for its files.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ORDERED_ADAPT_H
#define CV_ORDERED_ADAPT_H
#include "policy/common/orders.h"
#include "policy/reduce/interval.h"
#include "policy/reduce/observed.h"

struct adapt_node {
    double idle_since_s, began_s, lasted_s; /* began_s, lasted_s: of the last operation */
    double combines_since_s, receives_since_s, wait_until_s;
    uint32_t buffered; /* arrived, not being combined              */
    bool gone, receives, combines;
    bool listed; /* known to be idle                         */
    bool waits, waited;
};

/* Plans that are made anew as partials become ready: ordered_adapt_plan.c. */
struct adapt_plans;

struct ordered_adapt {
    double guard, ratio, wait, near;
    uint32_t overlap, speeds, planned;
    struct adapt_plans *plans; /* NULL: the rules decide                               */
    struct cv_intervals intervals;
    struct cv_observed seen;
    struct adapt_node *nodes;
    double now_s;
    bool combining_takes_time;
    uint32_t sent;
};

static inline bool cv_adapt_is_idle(const struct adapt_node *node)
{
    return !node->gone && !node->receives && !node->combines && node->buffered == 0;
}

static inline void cv_adapt_send(struct ordered_adapt *adapt, uint32_t sender,
                                 uint32_t receiver, struct cleave_orders *orders)
{
    struct adapt_node *from = &adapt->nodes[sender], *to = &adapt->nodes[receiver];

    from->gone = true;
    from->listed = to->listed = false;
    from->waits = to->waits = to->waited = false;
    to->receives = true;
    to->receives_since_s = adapt->now_s;
    if (!to->combines)
        to->began_s = adapt->now_s;
    cv_intervals_join(&adapt->intervals, receiver, sender);
    adapt->sent++;
    cv_order_combine(orders, receiver, sender);
}

/* --- ordered_adapt_plan.c --- */

/* Room for plans; NULL if memory is short. */
struct adapt_plans *cv_adapt_plans_new(struct cv_arena *arena, uint32_t n);
/* What an event, whose state the nodes have already, makes of the plans. False: costs vary
 * too much to plan with, so that the rules are to decide from now on. */
bool cv_adapt_plans_decide(struct ordered_adapt *adapt, const struct cleave_view *view,
                           const struct cleave_event *event,
                           struct cleave_orders *orders);

#endif
