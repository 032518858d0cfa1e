/* ordered_adapt.h -- the state of ordered-adapt, for its files.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ORDERED_ADAPT_H
#define CV_ORDERED_ADAPT_H
#include "policy/reduce/interval.h"
#include "policy/reduce/observed.h"
#include "policy/reduce/row_lane.h"

struct adapt_node {
    double idle_since_s, began_s, lasted_s; /* began_s, lasted_s: of the last operation */
    double combines_since_s, receives_since_s, wait_until_s;
    uint32_t buffered; /* arrived, not being combined              */
    bool gone, receives, combines;
    bool listed; /* known to be idle                         */
    bool waits, waited;
};

/* What simulation needs when combining takes no time. There are then no speeds to tell
 * apart and nothing to overlap with: nodes are idle or receive, and idle ones may wait. At
 * the start node 2k + 1 sends to node 2k, so only even nodes are left, and intervals are
 * made of such pairs. Node 2k is at place k + 1, and a set of places is a word. At the
 * places on either side of all, somebody receives for ever: so everyone has neighbours. */
enum {
    LEAN_PAIRS = 60, /* at most; with more, the general rules go by events */
    LEAN_LEFT_END = 0,
    LEAN_RIGHT_END = 63,
    LEAN_PLACES = 64,
};
#define LEAN_ENDS ((uint64_t)1 << LEAN_LEFT_END | (uint64_t)1 << LEAN_RIGHT_END)

/* The pairs of an interval, from the first to before the one past it, as one number. */
enum { SPAN_BITS = 6, SPAN_COUNT = 1 << 2 * SPAN_BITS, SPAN_PAST = (1 << SPAN_BITS) - 1 };

/* Whom an interval may wait for: the left neighbour if it begins at `first`, or the right
 * one if it ends before `past`. */
struct lean_buddy {
    uint8_t first, past;
};
enum { LEAN_NO_BUDDY = UINT8_MAX };

struct lean_sets {
    uint64_t blocks;  /* nodes that have a partial                                  */
    uint64_t idle;    /* of them                                                    */
    uint64_t waits;   /* of the idle: for a buddy                                   */
    uint64_t waited;  /* of the idle: in vain                                       */
    uint64_t later;   /* of those that receive: until later than the next of them   */
    uint64_t gaps;    /* of those that receive: there are idle ones before the next */
    uint64_t senders; /* of those that receive: ready, and beside an idle one       */
};

struct lean {
    struct lean_sets sets;
    bool is_begun;
    uint16_t span[LEAN_PLACES];
    /* Those below need not be fresh when a run begins. */
    double end_s[LEAN_PLACES];   /* of the last transfer to a node: idle since then */
    double begin_s[LEAN_PLACES]; /* of that transfer                                */
    double until_s[LEAN_PLACES]; /* waits                                           */
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
    const struct lean_buddy *buddies; /* by span, shared by all runs; NULL if combining
                                         takes time or there are too many nodes        */
    struct lean *lean;                /* if there are buddies                          */
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

/* --- ordered_adapt_fast.c --- */

/* Who is whose buddy among so many pairs, or none at all; NULL if memory is short. */
const struct lean_buddy *cv_fast_ordered_buddies(struct cv_arena *arena, uint32_t npairs,
                                                 bool may_wait);
/* What the general rules make of the start. */
void cv_fast_ordered_start(struct lean *lean, uint32_t nnodes);
/* One run in simulation until something begins, when combining takes no time: the same
 * decisions as those of the policy, on less. */
void cv_fast_ordered_go(struct cv_row_lane *lane);
/* The cost of what has begun is there. */
void cv_fast_ordered_take(struct cv_row_lane *lane);

#endif
