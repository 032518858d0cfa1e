/* tree_replan.c -- plan again when a partial becomes ready. SPDX-License-Identifier: MIT
 *
 * Knows the costs d and c, but no ready time in advance. When a node becomes ready, all
 * existing partials are planned as if no other would come, busy nodes from their expected
 * end (model/ready/ready_tree.h); that plan is followed until the next node becomes ready.
 * A transfer begins when its sender is done, the receiver's port is free and at most d of
 * combining is left there: no node is committed early, and no node waits. Planning at
 * every event would tear half-finished pairs apart.
 *
 * For operators that commute. O(n) for a plan after sorting, about 15 lengths each. */
#include "model/ready/ready_tree.h"
#include "policy/common/orders.h"
#include "policy/common/setup.h"

struct replan_node {
    double done_s;    /* expected end of all its combinations */
    uint32_t due;     /* partials sent to it and not combined */
    uint32_t to;      /* planned receiver, or CV_NO_NODE */
    uint32_t planned; /* planned partials not yet sent to it */
    uint32_t first;   /* the sender whose turn it is, or CV_NO_NODE */
    bool there, receives;
};

struct tree_replan {
    struct replan_node *nodes;
    struct cv_ready_planner *planner;
    double *ready_s;           /* ready times of present nodes */
    uint32_t *present, *place; /* numbers of present nodes; the tree among them */
    double now_s;
};

static enum cleave_status replan_start(void *state, const struct cleave_view *view,
                                       struct cleave_setup *setup,
                                       struct cleave_error *err)
{
    struct tree_replan *replan = state;
    const uint32_t n = view->nworkers;

    replan->nodes = cv_array(setup->arena, n, sizeof *replan->nodes);
    replan->ready_s = cv_array(setup->arena, n, sizeof *replan->ready_s);
    replan->present = cv_array(setup->arena, n, sizeof *replan->present);
    replan->place = cv_array(setup->arena, n, sizeof *replan->place);
    replan->planner = cv_ready_planner_new(setup->arena, n, true);
    if (replan->nodes == NULL || replan->ready_s == NULL || replan->present == NULL ||
        replan->place == NULL || replan->planner == NULL)
        return cv_fail_memory(err, "the plans");
    for (uint32_t i = 0; i < n; i++)
        replan->nodes[i] =
            (struct replan_node){ .to = CV_NO_NODE, .there = view->ready_s == NULL };
    return CLEAVE_OK;
}

static void plan(struct tree_replan *replan, const struct cleave_view *view)
{
    struct cv_ready_job job = { 0, replan->ready_s, view->transfer_s, view->compute_s,
                                view->ready_model == CLEAVE_READY_MERGE
                                    ? CLEAVE_READY_MERGE
                                    : CLEAVE_READY_ABSENT };

    for (uint32_t i = 0; i < view->nworkers; i++) {
        struct replan_node *node = &replan->nodes[i];

        node->to = CV_NO_NODE;
        node->planned = 0;
        if (!node->there)
            continue;
        replan->ready_s[job.n] =
            node->due > 0 && node->done_s > replan->now_s ? node->done_s : replan->now_s;
        replan->present[job.n++] = i;
    }
    if (job.n < 2)
        return;
    cv_ready_tree(replan->planner, &job, CV_NO_NODE, replan->place);
    for (uint32_t k = 0; k < job.n; k++) {
        if (replan->place[k] == CV_NO_NODE)
            continue;
        replan->nodes[replan->present[k]].to = replan->present[replan->place[k]];
        replan->nodes[replan->present[replan->place[k]]].planned++;
    }
}

/* Whether a node can take a partial now; *out_s: from when. */
static bool is_near(const struct tree_replan *replan, const struct cleave_view *view,
                    const struct replan_node *to, double *out_s)
{
    const double left_s = view->ready_model == CLEAVE_READY_MERGE && view->ready_s != NULL
                              ? 0
                              : view->transfer_s;

    *out_s = to->done_s - left_s;
    return to->due == 0 || replan->now_s >= *out_s * (1 - 1e-12);
}

static void send(struct tree_replan *replan, const struct cleave_view *view,
                 uint32_t sender, uint32_t receiver, struct cleave_orders *orders)
{
    struct replan_node *from = &replan->nodes[sender], *to = &replan->nodes[receiver];
    const double arrives_s = replan->now_s + view->transfer_s;

    from->there = false;
    from->to = CV_NO_NODE;
    to->planned--;
    to->receives = true;
    to->done_s = (to->due > 0 && to->done_s > arrives_s ? to->done_s : arrives_s) +
                 view->compute_s;
    to->due++;
    cv_order_combine(orders, receiver, sender);
}

/* Begin transfers; among senders to one node, the sender that was done first comes
 * first. */
static void go_on(struct tree_replan *replan, const struct cleave_view *view,
                  struct cleave_orders *orders)
{
    const uint32_t n = view->nworkers;

    for (uint32_t i = 0; i < n; i++)
        replan->nodes[i].first = CV_NO_NODE;
    for (uint32_t i = 0; i < n; i++) {
        const struct replan_node *node = &replan->nodes[i];
        struct replan_node *to;

        if (!node->there || node->to == CV_NO_NODE || node->planned > 0 || node->due > 0)
            continue;
        to = &replan->nodes[node->to];
        if (!to->receives &&
            (to->first == CV_NO_NODE || node->done_s < replan->nodes[to->first].done_s))
            to->first = i;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct replan_node *node = &replan->nodes[i];
        double near_s;

        if (node->first == CV_NO_NODE)
            continue;
        if (is_near(replan, view, node, &near_s))
            send(replan, view, node->first, i, orders);
        else
            cleave_order_wake(orders, i, near_s);
    }
}

static void replan_decide(void *state, const struct cleave_view *view,
                          const struct cleave_event *event, struct cleave_orders *orders)
{
    struct tree_replan *replan = state;
    struct replan_node *node = &replan->nodes[event->worker];

    replan->now_s = event->time_s;
    switch (event->kind) {
    case CLEAVE_START:
        if (view->ready_s == NULL)
            plan(replan, view);
        break;
    case CLEAVE_READY:
        node->there = true;
        node->done_s = event->time_s;
        plan(replan, view);
        break;
    case CLEAVE_ARRIVED:
        node->receives = false;
        break;
    case CLEAVE_COMBINED:
        if (--node->due == 0)
            node->done_s = event->time_s;
        break;
    default:
        break;
    }
    if (!event->more)
        go_on(replan, view, orders);
}

const struct cleave_policy cleave_policy_tree_replan = {
    .name = "tree-replan",
    .summary = "plans again whenever a partial becomes ready; operator commutes",
    .reference = "cleave",
    .task = CLEAVE_TASK_REDUCE,
    .gets_arrivals = true,
    .hears_ready = true,
    .state_size = sizeof(struct tree_replan),
    .start = replan_start,
    .decide = replan_decide,
};
