/* tree_adapt.c -- dynamic, for operators that commute: overlap and speeds.
 * SPDX-License-Identifier: MIT
 *
 * tree-dyn with two more rules, both from durations already observed:
 *
 * - Speeds: of two idle nodes the one with the smaller expected cost receives; a node's
 *   expected cost is the cost of its last combination, else the mean of all seen.
 * - Overlap: an idle node without an idle partner sends to the node that has been
 *   combining longest with its port free, if that one's cost is known and exceeds its own
 *   expected cost by at most `guard` mean transfers; to any if all cost the same and
 *   little can be lost. It sends once that node has at most `near` transfers to go: then
 *   the partial arrives when the processor becomes free.
 *
 * If combinations vary by more than half of their mean, their rest is unknown. Then a node
 * sends at once, but only if transfers and combinations cost about the same (ratio of the
 * means at least `ratio`): if one of them is cheap, there is little to overlap, and a
 * partner becomes idle soon. It does not send while combinations are expensive and vary by
 * more than `spread`: the partial may wait long for a slow one. */
#include "policy/reduce/observed.h"

#include "policy/common/orders.h"

enum { NOBODY = UINT32_MAX };

/* Combinations that cost this many transfers are expensive. */
static const double DEARER = 1.5;

struct tree_node {
    double combines_since_s;
    uint32_t buffered;
    uint32_t before, after; /* in the list of nodes that combine with a free port */
    bool receives, combines, listed;
};

struct tree_adapt {
    double guard, ratio, spread, near;
    uint32_t overlap, speeds;
    struct cv_observed seen;
    struct tree_node *nodes;
    uint32_t slot;        /* the idle node, if any                         */
    uint32_t first, last; /* combining with a free port, longest first     */
    bool combining_takes_time;
};

static enum cleave_status adapt_start(void *state, const struct cleave_view *view,
                                      struct cleave_setup *setup,
                                      struct cleave_error *err)
{
    struct tree_adapt *adapt = state;

    if (!CV_NEW(setup->arena, adapt->nodes, view->nworkers) ||
        !cv_observed_init(&adapt->seen, setup->arena, view->nworkers))
        return cv_fail_memory(err, "the nodes");
    adapt->slot = adapt->first = adapt->last = NOBODY;
    adapt->combining_takes_time = view->compute_s > 0;
    return CLEAVE_OK;
}

static void unlist(struct tree_adapt *adapt, uint32_t node)
{
    struct tree_node *self = &adapt->nodes[node];

    if (!self->listed)
        return;
    self->listed = false;
    *(self->before == NOBODY ? &adapt->first : &adapt->nodes[self->before].after) =
        self->after;
    *(self->after == NOBODY ? &adapt->last : &adapt->nodes[self->after].before) =
        self->before;
}

/* Add a node that combines, has a free port and no waiting partial. */
static void list_combining(struct tree_adapt *adapt, uint32_t node)
{
    struct tree_node *self = &adapt->nodes[node];

    unlist(adapt, node);
    self->listed = true;
    self->before = adapt->last;
    self->after = NOBODY;
    *(adapt->last == NOBODY ? &adapt->first : &adapt->nodes[adapt->last].after) = node;
    adapt->last = node;
}

static double expected_cost(const struct tree_adapt *adapt, uint32_t node)
{
    return adapt->seen.known_s[node] >= 0 ? adapt->seen.known_s[node]
                                          : cv_mean_combination_seen(&adapt->seen);
}

static bool is_steady(const struct tree_adapt *adapt)
{
    return adapt->near > 0 && cv_combinations_steady(&adapt->seen);
}

/* When a node that combines will have at most `near` transfers to go. */
static double near_from(const struct tree_adapt *adapt, uint32_t receiver)
{
    return adapt->nodes[receiver].combines_since_s + expected_cost(adapt, receiver) -
           adapt->near * cv_mean_transfer_seen(&adapt->seen);
}

/* Whether a partial sent now would wait at a combining node; unknown if costs vary. */
static bool is_early(const struct tree_adapt *adapt, uint32_t receiver, double now_s)
{
    return is_steady(adapt) && now_s < near_from(adapt, receiver) * (1 - 1e-12);
}

static bool may_overlap(const struct tree_adapt *adapt, uint32_t sender,
                        uint32_t receiver, double now_s)
{
    double known_s = adapt->seen.known_s[receiver];

    if (is_early(adapt, receiver, now_s))
        return false;
    if (!adapt->speeds || (known_s < 0 && cv_need_not_know(&adapt->seen, adapt->ratio)))
        return true;
    return known_s >= 0 &&
           known_s <= expected_cost(adapt, sender) +
                          adapt->guard * cv_mean_transfer_seen(&adapt->seen);
}

static void send(struct tree_adapt *adapt, uint32_t sender, uint32_t receiver,
                 struct cleave_orders *orders)
{
    unlist(adapt, receiver);
    adapt->nodes[receiver].receives = true;
    cv_order_combine(orders, receiver, sender);
}

static bool overlap_pays(const struct tree_adapt *adapt)
{
    if (!adapt->overlap || adapt->seen.ncombinations == 0)
        return false;
    return is_steady(adapt) || (cv_ratio_seen(&adapt->seen) >= adapt->ratio &&
                                !(cv_mean_combination_seen(&adapt->seen) >
                                      DEARER * cv_mean_transfer_seen(&adapt->seen) &&
                                  cv_combinations_vary(&adapt->seen, adapt->spread)));
}

static void becomes_idle(struct tree_adapt *adapt, uint32_t node, double now_s,
                         struct cleave_orders *orders)
{
    if (adapt->slot != NOBODY) {
        uint32_t other = adapt->slot;

        adapt->slot = NOBODY;
        if (adapt->speeds &&
            cv_is_faster(expected_cost(adapt, node), expected_cost(adapt, other)))
            send(adapt, other, node, orders);
        else
            send(adapt, node, other, orders);
        return;
    }
    if (overlap_pays(adapt))
        for (uint32_t to = adapt->first; to != NOBODY; to = adapt->nodes[to].after)
            if (may_overlap(adapt, node, to, now_s)) {
                send(adapt, node, to, orders);
                return;
            }
    adapt->slot = node;
}

/* The node in the slot may send to a node that combines and can receive. */
static void gets_near(struct tree_adapt *adapt, uint32_t node, double now_s,
                      struct cleave_orders *orders)
{
    const uint32_t sender = adapt->slot;

    if (sender == NOBODY || !may_overlap(adapt, sender, node, now_s))
        return;
    adapt->slot = NOBODY;
    send(adapt, sender, node, orders);
}

static void begins_to_combine(struct tree_adapt *adapt, uint32_t node, double now_s,
                              struct cleave_orders *orders)
{
    adapt->nodes[node].combines_since_s = now_s;
    if (!adapt->combining_takes_time)
        return;
    list_combining(adapt, node);
    if (!overlap_pays(adapt))
        return;
    if (is_early(adapt, node, now_s))
        cleave_order_wake(orders, node, near_from(adapt, node));
    else
        gets_near(adapt, node, now_s, orders);
}
static void arrived(struct tree_adapt *adapt, const struct cleave_event *event,
                    struct cleave_orders *orders)
{
    struct tree_node *self = &adapt->nodes[event->worker];

    cv_saw_transfer(&adapt->seen, event->time_s - event->start_s);
    self->receives = false;
    if (self->combines) {
        self->buffered++;
        return;
    }
    self->combines = true;
    begins_to_combine(adapt, event->worker, event->time_s, orders);
}

static void combined(struct tree_adapt *adapt, const struct cleave_event *event,
                     struct cleave_orders *orders)
{
    struct tree_node *self = &adapt->nodes[event->worker];

    if (adapt->combining_takes_time)
        cv_saw_combination(&adapt->seen, event->worker, event->time_s - event->start_s);
    self->combines = self->buffered > 0;
    if (self->combines) {
        self->buffered--;
        if (!self->receives)
            begins_to_combine(adapt, event->worker, event->time_s, orders);
        return;
    }
    unlist(adapt, event->worker);
    if (!self->receives)
        becomes_idle(adapt, event->worker, event->time_s, orders);
}

static void adapt_decide(void *state, const struct cleave_view *view,
                         const struct cleave_event *event, struct cleave_orders *orders)
{
    struct tree_adapt *adapt = state;

    if (event->kind == CLEAVE_COMBINED)
        combined(adapt, event, orders);
    else if (event->kind == CLEAVE_ARRIVED)
        arrived(adapt, event, orders);
    else if (event->kind == CLEAVE_READY)
        becomes_idle(adapt, event->worker, event->time_s, orders);
    else if (event->kind == CLEAVE_WAKE) {
        /* asked for when the node began to combine */
        if (adapt->nodes[event->worker].listed && overlap_pays(adapt))
            gets_near(adapt, event->worker, event->time_s, orders);
    } else if (event->kind == CLEAVE_START && view->ready_s == NULL)
        for (uint32_t i = 0; i < view->nworkers; i++)
            becomes_idle(adapt, i, event->time_s, orders);
}

static const struct cleave_param adapt_params[] = {
    { "overlap", CLEAVE_PARAM_COUNT, offsetof(struct tree_adapt, overlap), 1, 0, 1,
      "1: send to nodes that are combining" },
    { "speeds", CLEAVE_PARAM_COUNT, offsetof(struct tree_adapt, speeds), 1, 0, 1,
      "1: the faster of two receives, and overlap only towards known speeds" },
    { "ratio", CLEAVE_PARAM_REAL, offsetof(struct tree_adapt, ratio), 0.25, 0, 1,
      "overlap while the smaller mean cost is at least this part of the greater" },
    { "spread", CLEAVE_PARAM_REAL, offsetof(struct tree_adapt, spread), 0.6, 0, 1000,
      "no overlap while dear combinations vary by more, standard deviation over mean" },
    { "guard", CLEAVE_PARAM_REAL, offsetof(struct tree_adapt, guard), 0.5, 0, 100,
      "overlap towards nodes slower by up to this many mean transfers" },
    { "near", CLEAVE_PARAM_REAL, offsetof(struct tree_adapt, near), 1, 0, 100,
      "overlap towards nodes with at most this many mean transfers to go; 0: any" },
    { 0 },
};

const struct cleave_policy cleave_policy_tree_adapt = {
    .name = "tree-adapt",
    .summary = "dynamic, operator commutes: overlap and observed speeds",
    .reference = "cleave",
    .task = CLEAVE_TASK_REDUCE,
    .gets_arrivals = true,
    .hears_ready = true,
    .state_size = sizeof(struct tree_adapt),
    .params = adapt_params,
    .start = adapt_start,
    .decide = adapt_decide,
};
