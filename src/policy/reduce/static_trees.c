/* static_trees.c -- reductions along a tree that does not depend on costs seen while running:
 * greedy, binomial, fibonacci, ready.
 * SPDX-License-Identifier: MIT
 *
 * A node sends to its parent when it has its own partial and has combined all it
 * receives; senders are received first come, first served, or in a fixed order. */
#include <math.h>
#include <string.h>
#include "model/ready/ready_ordered.h"
#include "model/ready/ready_tree.h"
#include "model/reduce/reduce_tree.h"
#include "model/reduce/reduce_bounds.h"
#include "policy/common/orders.h"
#include "policy/common/setup.h"

/* First in the state of each policy here. */
struct tree_walk {
    const uint32_t *parent;  /* shared by all runs, like the next three */
    const uint32_t *turn;    /* per node: at its receiver; NULL: by number */
    const uint32_t *senders; /* senders of all nodes, receiver by receiver, in turn */
    const uint32_t *from;    /* per node: where its senders begin; n + 1 */
    bool any_order;          /* first come, first served */
    uint32_t ahead;          /* partials that may wait when a transfer begins; 0: the
                                 receiver must be idle and have its own partial */
    uint32_t *due;           /* per node: still to be combined, or to become ready */
    uint32_t *next,
        *waiting; /* per node: index of the next sender; partials that arrived */
    bool *port_busy;
};

/* Senders are received by `turn`, or by number if that is NULL. */
static enum cleave_status walk_plan(struct tree_walk *walk, const uint32_t *parent,
                                    const uint32_t *turn, uint32_t n,
                                    struct cv_arena *arena, struct cleave_error *err)
{
    uint32_t *from, *senders, *by_number;

    if (!CV_NEW(arena, from, (size_t)n + 1) || !CV_NEW(arena, senders, n) ||
        !CV_NEW(arena, by_number, n))
        return cv_fail_memory(err, "a tree");
    for (uint32_t i = 0; i < n; i++)
        if (parent[i] != CV_NO_NODE)
            by_number[i] = from[parent[i] + 1]++;
    for (uint32_t i = 0; i < n; i++)
        from[i + 1] += from[i];
    for (uint32_t i = 0; i < n; i++)
        if (parent[i] != CV_NO_NODE)
            senders[from[parent[i]] + (turn != NULL ? turn : by_number)[i]] = i;
    walk->parent = parent;
    walk->turn = turn;
    walk->senders = senders;
    walk->from = from;
    return CLEAVE_OK;
}

static enum cleave_status walk_start(void *state, const struct cleave_view *view,
                                     struct cleave_setup *setup, struct cleave_error *err)
{
    struct tree_walk *walk = state;
    const uint32_t n = view->nworkers;

    if (!CV_NEW(setup->arena, walk->due, n) || !CV_NEW(setup->arena, walk->next, n) ||
        !CV_NEW(setup->arena, walk->waiting, n) ||
        !CV_NEW(setup->arena, walk->port_busy, n))
        return cv_fail_memory(err, "a tree");
    for (uint32_t i = 0; i < n; i++) {
        walk->due[i] = walk->from[i + 1] - walk->from[i] + (view->ready_s != NULL);
        walk->next[i] = walk->from[i];
        walk->port_busy[i] = walk->ahead == 0 && view->ready_s != NULL;
    }
    return CLEAVE_OK;
}

/* In turn: let the next sender of a node begin if both can. */
static void receive_next(struct tree_walk *walk, uint32_t node,
                         struct cleave_orders *orders)
{
    const uint32_t place = walk->next[node];

    if (walk->port_busy[node] || walk->waiting[node] > walk->ahead ||
        place == walk->from[node + 1] || walk->due[walk->senders[place]] > 0)
        return;
    walk->port_busy[node] = true;
    walk->next[node]++;
    cv_order_combine(orders, node, walk->senders[place]);
}

/* A node has its partial and has combined all it receives. */
static void is_complete(struct tree_walk *walk, uint32_t node,
                        struct cleave_orders *orders)
{
    const uint32_t to = walk->parent[node];

    if (to == CV_NO_NODE)
        return;
    if (walk->any_order)
        cv_order_combine(orders, to, node);
    else
        receive_next(walk, to, orders);
}

static void walk_decide(void *state, const struct cleave_view *view,
                        const struct cleave_event *event, struct cleave_orders *orders)
{
    struct tree_walk *walk = state;
    const uint32_t node = event->worker;

    switch (event->kind) {
    case CLEAVE_START:
        for (uint32_t i = 0; i < view->nworkers; i++)
            if (walk->due[i] == 0)
                is_complete(walk, i, orders);
        return;
    case CLEAVE_ARRIVED:
        walk->port_busy[node] = false;
        walk->waiting[node]++;
        break;
    case CLEAVE_COMBINED:
        walk->waiting[node] -= walk->waiting[node] > 0; /* 0: arrivals are not reported */
        /* fallthrough */
    case CLEAVE_READY:
        if (walk->ahead == 0)
            walk->port_busy[node] = false;
        if (--walk->due[node] == 0) {
            is_complete(walk, node, orders);
            return;
        }
        break;
    default:
        return;
    }
    if (!walk->any_order)
        receive_next(walk, node, orders);
}

static bool walk_fixed(const void *state, const struct cleave_view *view,
                       struct cv_tree_shape *out)
{
    const struct tree_walk *walk = state;

    memcpy(out->parent, walk->parent, view->nworkers * sizeof *out->parent);
    out->by_turn = walk->turn != NULL;
    if (out->by_turn)
        memcpy(out->turn, walk->turn, view->nworkers * sizeof *out->turn);
    out->in_turn = !walk->any_order;
    out->ahead = walk->ahead;
    return true;
}

/* --- greedy: the optimal tree for equal costs --------------------------------------- */

/* The tree is built backwards from its end: the next node is put below the node that can
 * receive from it latest (model/reduce/reduce_tree.h). `max_transfers` limits the
 * transfers at the same time, `max_reducers` the nodes that receive; the tree is optimal
 * for its limit. With `ordered` the nodes are numbered so that only neighbouring
 * intervals are combined, and senders are received in the planned order.
 *
 * If costs differ from the declared ones, the tree is kept. Under a limit on transfers
 * they begin in the planned order of all, at the planned times while transfers take as
 * long as declared.
 *
 * If only the costs of combining differ from node to node, nodes are inserted by
 * increasing cost: a heuristic that is nearly always optimal (greedy_unequal.h).
 * Canon and Antoniu, Scheduling associative reductions, 2012. */

struct greedy {
    struct tree_walk walk;
    uint32_t max_transfers, max_reducers, ordered;
    const char *strategy; /* a tree that ignores the costs; NULL: the best one */
    const uint32_t
        *planned;          /* nodes as they begin to send; NULL: no limit on transfers */
    const double *begin_s; /* when the nodes of `planned` begin */
    uint32_t next, active; /* index in `planned`; running transfers */
    bool late;             /* a transfer did not take the declared time */
};

/* Number the nodes by the place of their element. */
static enum cleave_status put_in_order(struct cv_greedy_tree *tree,
                                       const struct cleave_view *view, uint32_t *planned,
                                       struct cleave_setup *setup,
                                       struct cleave_error *err)
{
    struct cv_tree_costs costs = { .transfer_s = view->transfer_s,
                                   .compute_s = view->compute_s,
                                   .compute = view->compute_each_s };
    uint32_t *position, *renamed = cv_array(setup->arena, tree->n, sizeof *renamed);
    struct cv_tree_run run;

    if (renamed == NULL)
        return cv_fail_memory(err, "a tree");
    CV_TRY(cv_tree_run(tree->parent, tree->n, &costs, setup->arena, &run, err));
    CV_TRY(cv_tree_layout(&run, setup->arena, &position, err));
    cv_tree_rename(tree->parent, position, tree->n, renamed);
    tree->parent = renamed;
    for (uint32_t i = 0; i + 1 < tree->n; i++)
        planned[i] = position[planned[i]];
    return CLEAVE_OK;
}

static bool find_strategy(const char *name, enum cv_strategy *out)
{
    const bool binomial = strcmp(name, "binomial") == 0;

    *out = binomial ? CV_STRATEGY_BINOMIAL : CV_STRATEGY_FIBONACCI;
    return binomial || strcmp(name, "fibonacci") == 0;
}

static enum cleave_status make_greedy_tree(const struct greedy *greedy,
                                           const struct cleave_view *view,
                                           struct cv_greedy_tree *tree,
                                           struct cleave_error *err)
{
    const struct cv_greedy_limit limit = { greedy->max_transfers, greedy->max_reducers };
    enum cv_strategy which;

    if (greedy->strategy != NULL) {
        if (!find_strategy(greedy->strategy, &which))
            return cv_fail(err, CLEAVE_EINPUT,
                           "policy 'greedy': parameter 'strategy': expected binomial or "
                           "fibonacci, got '%s'",
                           greedy->strategy);
        if (limit.transfers > 0 || limit.reducers > 0)
            return cv_fail(err, CLEAVE_EINPUT,
                           "policy 'greedy' takes a strategy or a limit, not both");
        cv_strategy_tree(which, CV_TIES_LOW, view->nworkers, tree->parent);
        return CLEAVE_OK;
    }
    if (view->compute_each_s != NULL && limit.transfers == 0 && limit.reducers == 0)
        return cv_greedy_unequal_plan(tree, view->transfer_s, view->compute_each_s, err);
    return cv_greedy_tree_plan(tree, view->transfer_s, view->compute_s, &limit, err);
}

static enum cleave_status greedy_plan(void *state, const struct cleave_view *view,
                                      struct cleave_setup *setup,
                                      struct cleave_error *err)
{
    struct greedy *greedy = state;
    const uint32_t n = view->nworkers;
    uint32_t *planned = cv_array(setup->arena, n, sizeof *planned);
    double *begin_s = cv_array(setup->arena, n, sizeof *begin_s);
    struct cv_greedy_tree tree;

    if (greedy->max_transfers > 0 && greedy->max_reducers > 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "policy 'greedy' takes max_transfers or max_reducers, not both");
    if (planned == NULL || begin_s == NULL ||
        !cv_greedy_tree_room(&tree, setup->arena, n))
        return cv_fail_memory(err, "a tree");
    CV_TRY(make_greedy_tree(greedy, view, &tree, err));
    /* Reversed times grow with the index, so the last node begins first. */
    for (uint32_t i = 0; i + 1 < n; i++) {
        planned[i] = n - 1 - i;
        begin_s[i] = greedy->strategy == NULL ? tree.start_s[n - 1 - i] : 0;
    }
    if (greedy->ordered)
        CV_TRY(put_in_order(&tree, view, planned, setup, err));
    greedy->planned = greedy->max_transfers > 0 ? planned : NULL;
    greedy->begin_s = begin_s;
    greedy->walk.any_order = !greedy->ordered;
    greedy->walk.ahead = UINT32_MAX;
    return walk_plan(&greedy->walk, tree.parent, NULL, n, setup->arena, err);
}

static enum cleave_status greedy_start(void *state, const struct cleave_view *view,
                                       struct cleave_setup *setup,
                                       struct cleave_error *err)
{
    ((struct greedy *)state)->late = view->ready_s != NULL;
    return walk_start(state, view, setup, err);
}

/* Under a limit on transfers: begin those that may, in the planned order. */
static void go_on(struct greedy *greedy, uint32_t n, double now_s,
                  struct cleave_orders *orders)
{
    while (greedy->next + 1 < n && greedy->active < greedy->max_transfers) {
        uint32_t node = greedy->planned[greedy->next], to = greedy->walk.parent[node];

        if (greedy->walk.due[node] > 0 || greedy->walk.port_busy[to])
            return;
        if (!greedy->late && now_s < greedy->begin_s[greedy->next]) {
            cleave_order_wake(orders, node, greedy->begin_s[greedy->next]);
            return;
        }
        greedy->walk.port_busy[to] = true;
        greedy->active++;
        greedy->next++;
        cleave_order_combine(orders, to, node);
    }
}

static void greedy_decide(void *state, const struct cleave_view *view,
                          const struct cleave_event *event, struct cleave_orders *orders)
{
    struct greedy *greedy = state;

    if (greedy->planned == NULL) {
        walk_decide(state, view, event, orders);
        return;
    }
    if (event->kind == CLEAVE_ARRIVED) {
        const double took_s = event->time_s - event->start_s;

        greedy->walk.port_busy[event->worker] = false;
        greedy->active--;
        greedy->late |= fabs(took_s - view->transfer_s) > 1e-9 * view->transfer_s;
    } else if (event->kind == CLEAVE_COMBINED || event->kind == CLEAVE_READY) {
        greedy->walk.due[event->worker]--;
    }
    go_on(greedy, view->nworkers, event->time_s, orders);
}

/* A limit on transfers makes nodes depend on each other. */
static bool greedy_fixed(const void *state, const struct cleave_view *view,
                         struct cv_tree_shape *out)
{
    return ((const struct greedy *)state)->planned == NULL &&
           walk_fixed(state, view, out);
}

/* If costs differ from the costs of the tree, no better bound is known. */
static double greedy_longest(const void *state, const struct cleave_view *view,
                             double transfer_s, double compute_s)
{
    const struct greedy *greedy = state;
    uint32_t limit = greedy->max_transfers + greedy->max_reducers; /* one of them is 0 */
    enum cv_strategy which;

    if (greedy->strategy != NULL && find_strategy(greedy->strategy, &which))
        return cv_strategy_full_length(which, cv_strategy_order(which, view->nworkers),
                                       transfer_s, compute_s);
    if (transfer_s != view->transfer_s || compute_s != view->compute_s ||
        view->compute_each_s != NULL)
        return (view->nworkers - 1.0) * (transfer_s + compute_s);
    if (limit > 0)
        return cv_reduce_upper_limited(view->nworkers, transfer_s, compute_s, limit);
    return cv_reduce_upper(view->nworkers, transfer_s, compute_s);
}

static const struct cleave_param greedy_params[] = {
    { "max_transfers", CLEAVE_PARAM_COUNT, offsetof(struct greedy, max_transfers), 0, 0,
      4294967295.0, "most transfers at the same time; 0: no limit" },
    { "max_reducers", CLEAVE_PARAM_COUNT, offsetof(struct greedy, max_reducers), 0, 0,
      4294967295.0, "most nodes that receive anything; 0: no limit" },
    { "ordered", CLEAVE_PARAM_COUNT, offsetof(struct greedy, ordered), 0, 0, 1,
      "1: number the nodes so that only neighbours are combined" },
    { "strategy", CLEAVE_PARAM_TEXT, offsetof(struct greedy, strategy), 0, 0, 0,
      "binomial or fibonacci: the best tree for c = 0 or c = d, whatever they are" },
    { 0 },
};

const struct cleave_policy cleave_policy_greedy = {
    .name = "greedy",
    .summary = "the optimal tree for equal costs, also with limits",
    .reference = "Canon and Antoniu 2012",
    .task = CLEAVE_TASK_REDUCE,
    .gets_arrivals = true,
    .hears_ready = true,
    .state_size = sizeof(struct greedy),
    .params = greedy_params,
    .plan = greedy_plan,
    .start = greedy_start,
    .decide = greedy_decide,
    .longest = greedy_longest,
    .inner = &(const struct cv_policy_inner){ .method = CV_METHOD_OPTIMAL,
                                              .fixed = greedy_fixed },
};

/* --- binomial: the binomial tree, round by round ------------------------------------ */

/* In round k = 1, 2, ... node i 2^k receives from i 2^k + 2^(k-1), if that node exists,
 * when both have ended their earlier rounds. ceil(log2 n) rounds, no overlap of transfer
 * and computation; order is kept. The best known tree if one of the two costs nothing; a
 * tree of equal costs takes ceil(log2 n) (d + c).
 * Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms. */

static enum cleave_status binomial_plan(void *state, const struct cleave_view *view,
                                        struct cleave_setup *setup,
                                        struct cleave_error *err)
{
    uint32_t *parent = cv_array(setup->arena, view->nworkers, sizeof *parent);

    if (parent == NULL)
        return cv_fail_memory(err, "a tree");
    parent[0] = CV_NO_NODE;
    for (uint32_t i = 1; i < view->nworkers; i++)
        parent[i] = i & (i - 1);
    return walk_plan(state, parent, NULL, view->nworkers, setup->arena, err);
}

static double binomial_longest(const void *state, const struct cleave_view *view,
                               double transfer_s, double compute_s)
{
    (void)state;
    return cv_reduce_upper(view->nworkers, transfer_s, compute_s);
}

const struct cleave_policy cleave_policy_binomial = {
    .name = "binomial",
    .summary = "the binomial tree, round by round; order is kept",
    .reference = "Benoit, Canon and Marchal 2013",
    .task = CLEAVE_TASK_REDUCE,
    .keeps_order = true,
    .hears_ready = true,
    .state_size = sizeof(struct tree_walk),
    .plan = binomial_plan,
    .start = walk_start,
    .decide = walk_decide,
    .longest = binomial_longest,
    .inner = &(const struct cv_policy_inner){ .method = CV_METHOD_BINOMIAL_STAT,
                                              .fixed = walk_fixed },
};

/* --- fibonacci: receive while combining --------------------------------------------- */

/* The tree of order k is that of order k - 1 with the root of one of order k - 2 as its
 * last sender, 2, 3, 5, 8, .. nodes, numbered in that order. So node i sends to i less the
 * smallest term of its Zeckendorf representation (the one sum of Fibonacci numbers 1, 2,
 * 3, 5, .. without neighbours that makes i). For n nodes the first n of the smallest tree
 * that has them take part. Senders are received by number, which keeps the order of the
 * inputs. Shortest if transfer and computation cost the same.
 *
 * `buffer` 0: the next transfer begins when the port is free; 1: when the previous
 * partial is being combined, so that at most one waits.
 * Canon and Antoniu 2012; Benoit, Canon and Marchal 2013. */

struct fibonacci {
    struct tree_walk walk;
    uint32_t buffer;
};

static enum cleave_status fibonacci_plan(void *state, const struct cleave_view *view,
                                         struct cleave_setup *setup,
                                         struct cleave_error *err)
{
    struct fibonacci *fib = state;
    const uint32_t n = view->nworkers;
    uint32_t *parent = cv_array(setup->arena, n, sizeof *parent);

    if (parent == NULL)
        return cv_fail_memory(err, "the tree");
    parent[0] = CV_NO_NODE;
    /* The representation of i is the largest number in it, followed by the representation
     * of the rest. */
    for (uint64_t number = 1, next = 2, sum; number < n; number = next, next = sum) {
        sum = number + next;
        for (uint64_t i = number; i < next && i < n; i++)
            parent[i] = i == number ? 0 : (uint32_t)number + parent[i - number];
    }
    fib->walk.ahead = fib->buffer != 0 ? 1 : UINT32_MAX;
    return walk_plan(&fib->walk, parent, NULL, n, setup->arena, err);
}

static double fibonacci_longest(const void *state, const struct cleave_view *view,
                                double transfer_s, double compute_s)
{
    int order = cv_strategy_order(CV_STRATEGY_FIBONACCI, view->nworkers);

    (void)state;
    return cv_strategy_full_length(CV_STRATEGY_FIBONACCI, order, transfer_s, compute_s);
}

static const struct cleave_param fibonacci_params[] = {
    { "buffer", CLEAVE_PARAM_COUNT, offsetof(struct fibonacci, buffer), 0, 0, 1,
      "0: receive whenever the port is free; 1: at most one partial waits" },
    { 0 },
};

const struct cleave_policy cleave_policy_fibonacci = {
    .name = "fibonacci",
    .summary = "the Fibonacci tree: receives while it reduces; order is kept",
    .reference = "Canon and Antoniu 2012",
    .task = CLEAVE_TASK_REDUCE,
    .keeps_order = true,
    .gets_arrivals = true,
    .hears_ready = true,
    .state_size = sizeof(struct fibonacci),
    .params = fibonacci_params,
    .plan = fibonacci_plan,
    .start = walk_start,
    .decide = walk_decide,
    .longest = fibonacci_longest,
    .inner = &(const struct cv_policy_inner){ .method = CV_METHOD_FIBONACCI_STAT,
                                              .fixed = walk_fixed },
};

/* --- ready: the optimal tree for known ready times ---------------------------------- */

/* The tree is made in reversed time by giving chains to nodes in order of their deadlines
 * (model/ready/ready_tree.h; proof in docs/theory/ready.md), in O(n) for every length
 * tried. For equal costs it is the shortest of all, except that it is a heuristic if nodes
 * may receive before they are ready and transfers cost more than combinations. With `root`
 * a given node has the result in the end; with `ordered` only neighbours are combined
 * (model/ready/ready_ordered.h).
 *
 * In simulation with random ready times the tree is made for the times of every run: the
 * loss of other policies against it is the value of knowing the times. If costs differ
 * from the declared ones, the tree is kept. */

struct ready {
    struct tree_walk walk;
    uint32_t root, ordered;
    const double
        *known_s; /* ready times of the tree: shared by all runs, or this run's */
};

static enum cleave_status make_ready_tree(struct ready *ready,
                                          const struct cleave_view *view,
                                          struct cleave_setup *setup,
                                          struct cleave_error *err)
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
    ready->walk.any_order = !ready->ordered;
    ready->walk.ahead = UINT32_MAX;
    if (ready->ordered) {
        if (!CV_NEW(setup->arena, tree.turn, n))
            return cv_fail_memory(err, "a tree");
        CV_TRY(cv_ready_ordered(&job, &tree, &length_s, err));
    } else {
        planner = cv_ready_planner_new(setup->arena, n, cv_ready_is_exact(&job));
        if (planner == NULL)
            return cv_fail_memory(err, "a tree");
        cv_ready_tree(planner, &job, ready->root, parent);
    }
    return walk_plan(&ready->walk, parent, tree.turn, n, setup->arena, err);
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
    return make_ready_tree(ready, view, setup, err);
}

static enum cleave_status ready_start(void *state, const struct cleave_view *view,
                                      struct cleave_setup *setup,
                                      struct cleave_error *err)
{
    struct ready *ready = state;

    if (view->ready_s != NULL && memcmp(ready->known_s, view->ready_s,
                                        view->nworkers * sizeof *view->ready_s) != 0)
        CV_TRY(make_ready_tree(ready, view, setup, err));
    return walk_start(state, view, setup, err);
}

/* Among all trees; else among those with the given root or order. */
static bool ready_is_best(const void *state)
{
    const struct ready *ready = state;

    return ready->root == CV_NO_NODE && !ready->ordered;
}

/* At most the time of the binomial tree after the last ready time; if costs differ from
 * the costs of the tree, no better bound is known than all transfers and combinations in
 * sequence. */
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
    .decide = walk_decide,
    .longest = ready_longest,
    .inner = &(const struct cv_policy_inner){ .method = CV_METHOD_READY,
                                              .fixed = walk_fixed,
                                              .knows_ready = true,
                                              .is_best = ready_is_best },
};
