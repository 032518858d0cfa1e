/* ordered_adapt.c -- dynamic, order kept: overlap, speeds and waiting.
 * SPDX-License-Identifier: MIT
 *
 * ordered-tree-dyn with four rules more, all from durations already observed:
 *
 * - Overlap: an idle node without an idle neighbour sends to a neighbour that is
 *   combining and whose port is free, if that one's cost is known and not above its own
 *   expected cost by more than `guard` mean transfers; and, while combinations are steady,
 *   once it has at most `near` transfers to go, so that nobody waits there.
 * - Speeds: of two idle neighbours the one with the smaller expected cost receives.
 * - Waiting: while transfers and combinations cost very differently (ratio of the means
 *   below `ratio`), overlap gains little and the loss comes from nodes stranded between
 *   pairs; then a node whose binomial buddy block is whole but busy waits for it, at most
 *   `wait` times the duration of its own last operation, before it merges the other way.
 *   Who has just become ready may wait as long as a combination with its transfer takes.
 *
 * - Plans: when partials become ready one by one and costs are steady, the rules above are
 *   not asked; ordered_adapt_plan.c has the plans that are followed instead.
 *
 * A node's expected cost is that of its last combination, else the mean of all seen. The
 * rules are looked at when a node becomes idle, when a neighbour becomes idle or begins
 * to combine, and when a wait is over. */
#include "policy/reduce/ordered_adapt.h"

/* When partials become ready one by one, more of them are stranded: then waiting pays from
 * such a ratio of the means on. */
static const double READY_RATIO = 0.5;

static enum cleave_status adapt_start(void *state, const struct cleave_view *view,
                                      struct cleave_setup *setup,
                                      struct cleave_error *err)
{
    struct ordered_adapt *adapt = state;

    adapt->combining_takes_time = view->compute_s > 0;
    if (view->ready_s != NULL && adapt->ratio < READY_RATIO)
        adapt->ratio = READY_RATIO;
    adapt->plans = NULL;
    if (view->ready_s != NULL && view->compute_s > 0 &&
        view->nworkers <= adapt->planned) {
        adapt->plans = cv_adapt_plans_new(setup->arena, view->nworkers);
        if (adapt->plans == NULL)
            return cv_fail_memory(err, "the plans");
    }
    adapt->nodes = cv_array(setup->arena, view->nworkers, sizeof *adapt->nodes);
    if (adapt->nodes == NULL ||
        !cv_intervals_init(&adapt->intervals, setup->arena, view->nworkers) ||
        !cv_observed_init(&adapt->seen, setup->arena, view->nworkers))
        return cv_fail_memory(err, "the intervals");
    for (uint32_t i = 0; i < view->nworkers; i++)
        adapt->nodes[i] = (struct adapt_node){ .receives = true, /* not there yet */
                                               .receives_since_s = NAN };
    return CLEAVE_OK;
}

static bool is_combining(const struct adapt_node *node)
{
    return !node->gone && !node->receives && node->combines && node->buffered == 0;
}

static double expected_cost(const struct ordered_adapt *adapt, uint32_t node)
{
    double mean_s = cv_mean_combination_seen(&adapt->seen);

    if (adapt->seen.known_s[node] >= 0)
        return adapt->seen.known_s[node];
    return adapt->nodes[node].combines
               ? adapt->now_s - adapt->nodes[node].combines_since_s + mean_s
               : mean_s;
}

/* When a node that combines will have at most `near` transfers to go. */
static double near_from(const struct ordered_adapt *adapt, uint32_t receiver)
{
    const double known_s = adapt->seen.known_s[receiver];

    return adapt->nodes[receiver].combines_since_s +
           (known_s >= 0 ? known_s : cv_mean_combination_seen(&adapt->seen)) -
           adapt->near * cv_mean_transfer_seen(&adapt->seen);
}

/* Whether somebody who sends now to a node that combines would wait there. */
static bool is_early(const struct ordered_adapt *adapt, uint32_t receiver)
{
    return adapt->near > 0 && cv_combinations_steady(&adapt->seen) &&
           adapt->now_s < near_from(adapt, receiver) * (1 - 1e-12);
}

static bool may_overlap(const struct ordered_adapt *adapt, uint32_t sender,
                        uint32_t receiver)
{
    double known_s;

    if (receiver == CV_NOBODY || !adapt->overlap ||
        !is_combining(&adapt->nodes[receiver]))
        return false;
    if (is_early(adapt, receiver))
        return false;
    known_s = adapt->seen.known_s[receiver];
    if (!adapt->speeds || (known_s < 0 && cv_need_not_know(&adapt->seen, adapt->ratio)))
        return true;
    return known_s >= 0 &&
           known_s <= expected_cost(adapt, sender) +
                          adapt->guard * cv_mean_transfer_seen(&adapt->seen);
}

/* Which way the binomial tree would merge this block: the neighbour on that side if it is
 * exactly the buddy, CV_NOBODY if there is none or it is not whole. */
static uint32_t whole_buddy(const struct ordered_adapt *adapt, uint32_t node,
                            uint32_t left, uint32_t right)
{
    const struct cv_intervals *in = &adapt->intervals;
    uint64_t first = in->first[node], last = in->last[node], n = in->n;

    for (uint64_t width = 2;; width *= 2) {
        uint64_t begin = first & ~(width - 1), end = begin + width - 1;

        if (end > n - 1)
            end = n - 1;
        if (last > end)
            continue;
        if (begin == first && end == last) {
            if (begin == 0 && end == n - 1)
                return CV_NOBODY;
            continue;
        }
        if (first > begin && last < end)
            return CV_NOBODY;
        if (first == begin)
            return right != CV_NOBODY && in->last[right] == end ? right : CV_NOBODY;
        return left != CV_NOBODY && in->first[left] == begin ? left : CV_NOBODY;
    }
}

static bool waiting_pays(const struct ordered_adapt *adapt)
{
    return adapt->wait > 0 &&
           (adapt->seen.ntransfers == 0 || adapt->seen.ncombinations == 0 ||
            cv_ratio_seen(&adapt->seen) < adapt->ratio);
}

static void list_idle(struct ordered_adapt *adapt, uint32_t node)
{
    if (adapt->nodes[node].listed)
        return;
    adapt->nodes[node].listed = true;
    adapt->nodes[node].idle_since_s = adapt->now_s;
}

static void wait_for_buddy(struct ordered_adapt *adapt, uint32_t node,
                           struct cleave_orders *orders)
{
    struct adapt_node *self = &adapt->nodes[node];

    if (self->waits)
        return;
    list_idle(adapt, node);
    self->waits = true;
    self->wait_until_s = adapt->now_s + adapt->wait * self->lasted_s;
    cleave_order_wake(orders, node, self->wait_until_s);
}

/* Merge with an idle neighbour: who waits longer, the left one if equal. */
static void merge_idle(struct ordered_adapt *adapt, uint32_t node, uint32_t left,
                       uint32_t right, struct cleave_orders *orders)
{
    uint32_t other = left == CV_NOBODY ? right : left;

    if (left != CV_NOBODY && right != CV_NOBODY &&
        adapt->nodes[right].idle_since_s < adapt->nodes[left].idle_since_s)
        other = right;
    if (adapt->speeds &&
        cv_is_faster(expected_cost(adapt, node), expected_cost(adapt, other)))
        cv_adapt_send(adapt, other, node, orders);
    else
        cv_adapt_send(adapt, node, other, orders);
}

/* Send to a combining neighbour: who began first, the left one if equal. */
static void send_ahead(struct ordered_adapt *adapt, uint32_t node, uint32_t left,
                       uint32_t right, struct cleave_orders *orders)
{
    uint32_t other = left == CV_NOBODY ? right : left;

    if (left != CV_NOBODY && right != CV_NOBODY &&
        adapt->nodes[right].combines_since_s < adapt->nodes[left].combines_since_s)
        other = right;
    cv_adapt_send(adapt, node, other, orders);
}

static void consider(struct ordered_adapt *adapt, uint32_t node,
                     struct cleave_orders *orders)
{
    const uint32_t left = cv_left_of(&adapt->intervals, node);
    const uint32_t right = cv_right_of(&adapt->intervals, node);
    uint32_t idle[2] = { left, right }, busy[2] = { left, right };

    if (!cv_adapt_is_idle(&adapt->nodes[node]) ||
        (left == CV_NOBODY && right == CV_NOBODY))
        return;
    for (int side = 0; side < 2; side++) {
        if (idle[side] == CV_NOBODY || !cv_adapt_is_idle(&adapt->nodes[idle[side]]))
            idle[side] = CV_NOBODY;
        if (!may_overlap(adapt, node, busy[side]))
            busy[side] = CV_NOBODY;
    }
    if (adapt->now_s > 0 && !adapt->nodes[node].waited && waiting_pays(adapt) &&
        (idle[0] & idle[1] & busy[0] & busy[1]) != CV_NOBODY) {
        uint32_t buddy = whole_buddy(adapt, node, left, right);

        if (buddy != CV_NOBODY) {
            int side = buddy == right;

            if (idle[side] == CV_NOBODY && busy[side] == CV_NOBODY) {
                wait_for_buddy(adapt, node, orders);
                return;
            }
            idle[!side] = busy[!side] = CV_NOBODY;
        }
    }
    if (idle[0] != CV_NOBODY || idle[1] != CV_NOBODY)
        merge_idle(adapt, node, idle[0], idle[1], orders);
    else if (busy[0] != CV_NOBODY || busy[1] != CV_NOBODY)
        send_ahead(adapt, node, busy[0], busy[1], orders);
    else
        list_idle(adapt, node);
}

/* Something changed at a node: let its idle neighbours look again, the one that has been
 * idle longest first, until one of them acts. */
static void wake_neighbours(struct ordered_adapt *adapt, uint32_t node,
                            struct cleave_orders *orders)
{
    uint32_t around[2] = { cv_left_of(&adapt->intervals, node),
                           cv_right_of(&adapt->intervals, node) };
    uint32_t before = adapt->sent;

    if (around[0] != CV_NOBODY && around[1] != CV_NOBODY &&
        adapt->nodes[around[1]].idle_since_s < adapt->nodes[around[0]].idle_since_s) {
        uint32_t left = around[0];

        around[0] = around[1];
        around[1] = left;
    }
    for (int i = 0; i < 2 && adapt->sent == before; i++)
        if (around[i] != CV_NOBODY && adapt->nodes[around[i]].listed)
            consider(adapt, around[i], orders);
}

static void settle(struct ordered_adapt *adapt, uint32_t node,
                   struct cleave_orders *orders)
{
    struct adapt_node *self = &adapt->nodes[node];
    uint32_t before = adapt->sent;

    if (cv_adapt_is_idle(self)) {
        self->lasted_s = adapt->now_s - self->began_s;
        self->idle_since_s = adapt->now_s;
    }
    if (adapt->plans != NULL)
        return;
    if (cv_adapt_is_idle(self)) {
        consider(adapt, node, orders);
        if (adapt->sent == before)
            wake_neighbours(adapt, node, orders);
    } else if (adapt->overlap && is_combining(self)) {
        if (is_early(adapt, node))
            cleave_order_wake(orders, node, near_from(adapt, node));
        else
            wake_neighbours(adapt, node, orders);
    }
}

static void arrived(struct ordered_adapt *adapt, const struct cleave_event *event,
                    struct cleave_orders *orders)
{
    struct adapt_node *self = &adapt->nodes[event->worker];

    cv_saw_transfer(&adapt->seen, event->time_s - event->start_s);
    self->receives = false;
    if (self->combines) {
        self->buffered++;
    } else {
        self->combines = true;
        self->combines_since_s = event->time_s;
    }
    if (adapt->combining_takes_time)
        settle(adapt, event->worker, orders);
}

static void combined(struct ordered_adapt *adapt, const struct cleave_event *event,
                     struct cleave_orders *orders)
{
    struct adapt_node *self = &adapt->nodes[event->worker];

    if (adapt->combining_takes_time)
        cv_saw_combination(&adapt->seen, event->worker, event->time_s - event->start_s);
    self->combines = self->buffered > 0;
    if (self->combines) {
        self->buffered--;
        self->combines_since_s = event->time_s;
    }
    settle(adapt, event->worker, orders);
}

static void wait_is_over(struct ordered_adapt *adapt, uint32_t node,
                         struct cleave_orders *orders)
{
    struct adapt_node *self = &adapt->nodes[node];

    if (adapt->plans != NULL)
        return;
    if (self->waits && self->wait_until_s == adapt->now_s && cv_adapt_is_idle(self)) {
        self->waited = true;
        self->waits = false;
        consider(adapt, node, orders);
    } else if (adapt->overlap && is_combining(self) && !is_early(adapt, node)) {
        wake_neighbours(adapt, node, orders);
    }
}

/* What a combination with its transfer takes: as long as that somebody who has just become
 * ready may hope for a neighbour that comes soon. */
static double one_more(const struct ordered_adapt *adapt, const struct cleave_view *view)
{
    if (adapt->seen.ncombinations == 0)
        return view->transfer_s + view->compute_s;
    return cv_mean_transfer_seen(&adapt->seen) + cv_mean_combination_seen(&adapt->seen);
}

static void adapt_decide(void *state, const struct cleave_view *view,
                         const struct cleave_event *event, struct cleave_orders *orders)
{
    struct ordered_adapt *adapt = state;

    adapt->now_s = event->time_s;
    switch (event->kind) {
    case CLEAVE_READY:
        adapt->nodes[event->worker].receives = false;
        adapt->nodes[event->worker].began_s = adapt->now_s - one_more(adapt, view);
        settle(adapt, event->worker, orders);
        break;
    case CLEAVE_START:
        for (uint32_t i = 0; i < view->nworkers && view->ready_s == NULL; i++) {
            adapt->nodes[i].receives = false;
            consider(adapt, i, orders);
        }
        break;
    case CLEAVE_ARRIVED:
        arrived(adapt, event, orders);
        break;
    case CLEAVE_COMBINED:
        combined(adapt, event, orders);
        break;
    case CLEAVE_WAKE:
        wait_is_over(adapt, event->worker, orders);
        break;
    default:
        break;
    }
    if (adapt->plans == NULL || cv_adapt_plans_decide(adapt, view, event, orders))
        return;
    adapt->plans = NULL;
    for (uint32_t i = 0; i < view->nworkers; i++)
        consider(adapt, i, orders);
}

static const struct cleave_param adapt_params[] = {
    { "overlap", CLEAVE_PARAM_COUNT, offsetof(struct ordered_adapt, overlap), 1, 0, 1,
      "1: send to neighbours that are combining" },
    { "speeds", CLEAVE_PARAM_COUNT, offsetof(struct ordered_adapt, speeds), 1, 0, 1,
      "1: the faster of two receives, and overlap only towards known speeds" },
    { "wait", CLEAVE_PARAM_REAL, offsetof(struct ordered_adapt, wait), 0.5, 0, 100,
      "longest wait for the buddy, in durations of the last operation; 0: never" },
    { "ratio", CLEAVE_PARAM_REAL, offsetof(struct ordered_adapt, ratio), 0.25, 0, 1,
      "wait while the smaller mean cost is below this part of the greater" },
    { "guard", CLEAVE_PARAM_REAL, offsetof(struct ordered_adapt, guard), 0.5, 0, 100,
      "overlap towards nodes slower by up to so many mean transfers" },
    { "near", CLEAVE_PARAM_REAL, offsetof(struct ordered_adapt, near), 1, 0, 100,
      "overlap towards nodes that have at most so many mean transfers to go; 0: any" },
    { "plans", CLEAVE_PARAM_COUNT, offsetof(struct ordered_adapt, planned), 128, 0, 1024,
      "plan anew as partials become ready if there are at most so many nodes" },
    { 0 },
};

const struct cleave_policy cleave_policy_ordered_adapt = {
    .name = "ordered-adapt",
    .summary = "dynamic, order kept: overlap, observed speeds, waiting for buddies",
    .reference = "cleave",
    .task = CLEAVE_TASK_REDUCE,
    .keeps_order = true,
    .gets_arrivals = true,
    .hears_ready = true,
    .state_size = sizeof(struct ordered_adapt),
    .params = adapt_params,
    .start = adapt_start,
    .decide = adapt_decide,
};
