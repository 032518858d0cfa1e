/* ready.c -- the optimal tree for known ready times. SPDX-License-Identifier: MIT
 *
 * Nodes have their partials from different times on, which are known. The tree is made in
 * reversed time by giving chains to nodes in order of their deadlines
 * (model/ready/ready_tree.h; docs/theory/ready.md has the proof), in O(n) for every length
 * tried. It is the shortest of all for equal costs, but for nodes that may receive early
 * when transfers cost more than combinations, where it is a heuristic. With `root` a given
 * node has the result in the end; with `ordered` only neighbours are combined
 * (model/ready/ready_ordered.h).
 *
 * In simulation with random ready times the tree is made anew for those of every run, as if
 * somebody had known: what other policies lose to it is what knowing them is worth. When
 * other costs turn out otherwise than declared the tree is kept: a node sends when it has
 * combined all it receives, first come first served, or, if ordered, in its turn. */
#include <string.h>
#include "model/ready/ready_ordered.h"
#include "model/ready/ready_tree.h"
#include "policy/common/orders.h"
#include "policy/common/setup.h"

struct ready {
    uint32_t root, ordered;
    const double *known_s;  /* the tree is for these: shared by all runs, or this run's */
    const uint32_t *parent; /* as these                                            */
    const uint32_t *turn;   /* per node: at its receiver; NULL: first come          */
    const uint32_t *senders; /* per node: how many it receives from                 */
    const uint32_t *from;    /* n + 1: if in turn, where a node's senders begin      */
    const uint32_t *in_turn; /* the senders of all nodes, by turn                   */
    uint32_t *due;           /* per node: still to be combined, or to be ready       */
    uint32_t *next;          /* per node: if in turn, whom it receives next          */
    bool *receives;
};

static enum cleave_status count_senders(struct ready *ready, uint32_t n,
                                        struct cleave_setup *setup,
                                        struct cleave_error *err)
{
    uint32_t *senders = cv_array(setup->arena, n, sizeof *senders);
    uint32_t *from = cv_array(setup->arena, (size_t)n + 1, sizeof *from);
    uint32_t *in_turn = cv_array(setup->arena, n, sizeof *in_turn);

    if (senders == NULL || from == NULL || in_turn == NULL)
        return cv_fail_memory(err, "a tree");
    for (uint32_t i = 0; i < n; i++)
        if (ready->parent[i] != CV_NO_NODE)
            senders[ready->parent[i]]++;
    for (uint32_t i = 0; i < n; i++)
        from[i + 1] = from[i] + senders[i];
    for (uint32_t i = 0; i < n && ready->turn != NULL; i++)
        if (ready->parent[i] != CV_NO_NODE)
            in_turn[from[ready->parent[i]] + ready->turn[i]] = i;
    ready->senders = senders;
    ready->from = from;
    ready->in_turn = in_turn;
    return CLEAVE_OK;
}

static enum cleave_status make_tree(struct ready *ready, const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    const uint32_t n = view->nworkers;
    double *known_s = cv_array(setup->arena, n, sizeof *known_s);
    const struct cv_ready_job job = { n, known_s, view->transfer_s, view->compute_s,
                                      view->ready_model };
    uint32_t *parent = cv_array(setup->arena, n, sizeof *parent);
    struct cv_ordered_tree tree = { parent, NULL };
    struct cv_ready_planner *planner;
    double length_s;

    if (known_s == NULL || parent == NULL)
        return cv_fail_memory(err, "a tree");
    if (view->ready_s != NULL)
        memcpy(known_s, view->ready_s, n * sizeof *known_s);
    ready->known_s = known_s;
    ready->parent = parent;
    if (ready->ordered) {
        ready->turn = tree.turn = cv_array(setup->arena, n, sizeof *tree.turn);
        if (tree.turn == NULL)
            return cv_fail_memory(err, "a tree");
        CV_TRY(cv_ready_ordered(&job, &tree, &length_s, err));
    } else {
        planner = cv_ready_planner_new(setup->arena, n, cv_ready_is_exact(&job));
        if (planner == NULL)
            return cv_fail_memory(err, "a tree");
        cv_ready_tree(planner, &job, ready->root, parent);
    }
    return count_senders(ready, n, setup, err);
}

static enum cleave_status ready_plan(void *state, const struct cleave_view *view,
                                     struct cleave_setup *setup, struct cleave_error *err)
{
    struct ready *ready = state;

    if (ready->ordered && ready->root != CV_NO_NODE)
        return cv_fail(err, CLEAVE_EINPUT,
                       "policy 'ready' takes root or ordered, not both");
    if (ready->root != CV_NO_NODE && ready->root >= view->nworkers)
        return cv_fail(err, CLEAVE_EINPUT,
                       "policy 'ready': expected a root below %u, got %u", view->nworkers,
                       ready->root);
    return make_tree(ready, view, setup, err);
}

static enum cleave_status ready_start(void *state, const struct cleave_view *view,
                                      struct cleave_setup *setup,
                                      struct cleave_error *err)
{
    struct ready *ready = state;
    const uint32_t n = view->nworkers;

    if (view->ready_s != NULL &&
        memcmp(ready->known_s, view->ready_s, n * sizeof *view->ready_s) != 0)
        CV_TRY(make_tree(ready, view, setup, err));
    ready->due = cv_array(setup->arena, n, sizeof *ready->due);
    ready->next = cv_array(setup->arena, n, sizeof *ready->next);
    ready->receives = cv_array(setup->arena, n, sizeof *ready->receives);
    if (ready->due == NULL || ready->next == NULL || ready->receives == NULL)
        return cv_fail_memory(err, "a tree");
    for (uint32_t i = 0; i < n; i++) {
        ready->due[i] = ready->senders[i] + (view->ready_s != NULL);
        ready->next[i] = ready->from[i];
    }
    return CLEAVE_OK;
}

/* In turn: let the next sender of a node begin if both can. */
static void receive_next(struct ready *ready, uint32_t node, struct cleave_orders *orders)
{
    const uint32_t place = ready->next[node];

    if (ready->receives[node] || place == ready->from[node + 1] ||
        ready->due[ready->in_turn[place]] > 0)
        return;
    ready->receives[node] = true;
    ready->next[node]++;
    cv_order_combine(orders, node, ready->in_turn[place]);
}

/* A node has its partial and has combined all it receives. */
static void is_complete(struct ready *ready, uint32_t node, struct cleave_orders *orders)
{
    const uint32_t to = ready->parent[node];

    if (to == CV_NO_NODE)
        return;
    if (ready->turn != NULL)
        receive_next(ready, to, orders);
    else
        cv_order_combine(orders, to, node);
}

static void ready_decide(void *state, const struct cleave_view *view,
                         const struct cleave_event *event, struct cleave_orders *orders)
{
    struct ready *ready = state;

    switch (event->kind) {
    case CLEAVE_START:
        for (uint32_t i = 0; i < view->nworkers; i++)
            if (ready->due[i] == 0)
                is_complete(ready, i, orders);
        break;
    case CLEAVE_ARRIVED:
        ready->receives[event->worker] = false;
        if (ready->turn != NULL)
            receive_next(ready, event->worker, orders);
        break;
    case CLEAVE_READY:
    case CLEAVE_COMBINED:
        if (--ready->due[event->worker] == 0)
            is_complete(ready, event->worker, orders);
        break;
    default:
        break;
    }
}

static bool ready_fixed(const void *state, const struct cleave_view *view,
                        struct cv_tree_shape *out)
{
    const struct ready *ready = state;
    const uint32_t n = view->nworkers;

    memcpy(out->parent, ready->parent, n * sizeof *out->parent);
    out->in_turn = out->by_turn = ready->turn != NULL;
    if (ready->turn != NULL)
        memcpy(out->turn, ready->turn, n * sizeof *out->turn);
    out->ahead = UINT32_MAX;
    return true;
}

/* Of all trees; else of those with the root or the order asked for. */
static bool ready_is_best(const void *state)
{
    const struct ready *ready = state;

    return ready->root == CV_NO_NODE && !ready->ordered;
}

/* No longer than the binomial tree, once all are there; for other costs than those the tree
 * was made for nothing better is known than one after the other. */
static double ready_longest(const void *state, const struct cleave_view *view,
                            double transfer_s, double compute_s)
{
    (void)state;
    if (transfer_s != view->transfer_s || compute_s != view->compute_s ||
        view->compute_each_s != NULL)
        return (view->nworkers - 1.0) * (transfer_s + compute_s);
    return cv_reduce_upper(view->nworkers, transfer_s, compute_s);
}

static const struct cleave_param ready_params[] = {
    { "root", CLEAVE_PARAM_COUNT, offsetof(struct ready, root), 4294967295.0, 0,
      4294967295.0, "the node that has the result in the end; 4294967295: any" },
    { "ordered", CLEAVE_PARAM_COUNT, offsetof(struct ready, ordered), 0, 0, 1,
      "1: combine neighbours only" },
    { 0 },
};

const struct cleave_policy cleave_policy_ready = {
    .name = "ready",
    .summary = "the optimal tree for known ready times",
    .reference = "cleave",
    .task = CLEAVE_TASK_REDUCE,
    .gets_arrivals = true,
    .hears_ready = true,
    .state_size = sizeof(struct ready),
    .params = ready_params,
    .plan = ready_plan,
    .start = ready_start,
    .decide = ready_decide,
    .longest = ready_longest,
    .inner = &(const struct cv_policy_inner){ .method = CV_METHOD_READY,
                                              .fixed = ready_fixed,
                                              .knows_ready = true,
                                              .is_best = ready_is_best },
};

/* --- plan again whenever a partial becomes ready ----------------------------------- */

/* Knows the costs d and c, but no ready time before it has come. When a node becomes ready,
 * all values that are there are planned anew as if no other were to come, those at work
 * from when they will be done (model/ready/ready_tree.h); until the next node becomes ready
 * that plan is followed. A transfer begins when its sender is done and the receiver's port
 * is free and at most d of combining is left there: so nobody is bound early, and nobody
 * waits. Planning at every event would tear half-finished pairs apart.
 * 
 * For operators that commute. O(n) for a plan after sorting, some 15 lengths each. */

struct replan_node {
    double done_s;    /* when all it has combined or is to combine is done, as expected */
    uint32_t due;     /* partials on their way to it or not combined                   */
    uint32_t to;      /* in the plan: whom it sends to; CV_NO_NODE                     */
    uint32_t planned; /* in the plan: partials that it still is to be sent             */
    uint32_t first;   /* of those who can send to it now; CV_NO_NODE                   */
    bool there, receives;
};

struct tree_replan {
    struct replan_node *nodes;
    struct cv_ready_planner *planner;
    double *ready_s;           /* of those that are there, in a row     */
    uint32_t *present, *place; /* their numbers; the tree among them    */
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

/* Whether a node could take a partial now; if not yet, *out_s is from when on. */
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

/* Begin what may begin: of those who could send to one node, who was done first. */
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
