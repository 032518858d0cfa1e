/* tree_dyn.c -- an idle node sends to a waiting node. SPDX-License-Identifier: MIT
 *
 * A slot holds at most one idle node. A node that becomes idle sends its partial to the
 * node in the slot, or enters the slot when it is empty. Knows no costs, keeps no order:
 * for operators that commute. With equal costs it is a binomial tree; for exponential
 * transfers without computation its mean is H(n/2) + H((n-1)/2), floors taken.
 *
 * With clusters of nodes that are near each other (`cluster` consecutive nodes each) every
 * cluster has its own slot, and a partial leaves its cluster only if it is the last one.
 * Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms. */
#include "model/reduce/reduce_bounds.h"
#include "policy/common/orders.h"
#include "policy/common/setup.h"

enum { EMPTY = UINT32_MAX };

struct tree_dyn {
    uint32_t cluster; /* nodes per cluster; 0: all in one   */
    uint32_t *slot;   /* per cluster, then the global one   */
    uint32_t *left;   /* per cluster: partials in it        */
    uint32_t global;  /* index of the global slot           */
};

static enum cleave_status tree_dyn_start(void *state, const struct cleave_view *view,
                                         struct cleave_setup *setup,
                                         struct cleave_error *err)
{
    struct tree_dyn *dyn = state;
    uint32_t n = view->nworkers;

    if (dyn->cluster == 0 || dyn->cluster > n)
        dyn->cluster = n;
    dyn->global = (uint32_t)(((uint64_t)n + dyn->cluster - 1) / dyn->cluster);
    if (!CV_NEW(setup->arena, dyn->slot, (size_t)dyn->global + 1) ||
        !CV_NEW(setup->arena, dyn->left, dyn->global))
        return cv_fail_memory(err, "the slots");
    for (uint32_t i = 0; i <= dyn->global; i++)
        dyn->slot[i] = EMPTY;
    for (uint32_t i = 0; i < dyn->global; i++)
        dyn->left[i] = dyn->cluster;
    dyn->left[dyn->global - 1] = n - (dyn->global - 1) * dyn->cluster;
    return CLEAVE_OK;
}

static void becomes_idle(struct tree_dyn *dyn, uint32_t node,
                         struct cleave_orders *orders)
{
    uint32_t home = dyn->global > 1 ? node / dyn->cluster : 0;
    uint32_t *slot = &dyn->slot[dyn->left[home] == 1 ? dyn->global : home];

    if (*slot == EMPTY) {
        *slot = node;
        return;
    }
    cv_order_combine(orders, *slot, node);
    *slot = EMPTY;
    /* Two partials of a cluster become one; at the global slot each is the last of its
     * cluster. */
    if (slot != &dyn->slot[dyn->global])
        dyn->left[home]--;
}

static void tree_dyn_decide(void *state, const struct cleave_view *view,
                            const struct cleave_event *event,
                            struct cleave_orders *orders)
{
    struct tree_dyn *dyn = state;

    if (event->kind == CLEAVE_COMBINED || event->kind == CLEAVE_READY)
        becomes_idle(dyn, event->worker, orders);
    else if (event->kind == CLEAVE_START && view->ready_s == NULL)
        for (uint32_t i = 0; i < view->nworkers; i++)
            becomes_idle(dyn, i, orders);
}

/* In transfer + compute every waiting partial is combined with another one. */
static double tree_dyn_longest(const void *state, const struct cleave_view *view,
                               double transfer_s, double compute_s)
{
    const struct tree_dyn *dyn = state;

    return dyn->cluster == 0 ? cv_reduce_upper(view->nworkers, transfer_s, compute_s)
                             : (view->nworkers - 1.0) * (transfer_s + compute_s);
}

static const struct cleave_param tree_dyn_params[] = {
    { "cluster", CLEAVE_PARAM_COUNT, offsetof(struct tree_dyn, cluster), 0, 0,
      4294967295.0, "nodes per cluster, numbered in a row; 0: no clusters" },
    { 0 },
};

const struct cleave_policy cleave_policy_tree_dyn = {
    .name = "tree-dyn",
    .summary = "a finished node sends to a waiting node of the slot; operator commutes",
    .reference = "Benoit, Canon and Marchal 2013",
    .task = CLEAVE_TASK_REDUCE,
    .hears_ready = true,
    .state_size = sizeof(struct tree_dyn),
    .params = tree_dyn_params,
    .start = tree_dyn_start,
    .decide = tree_dyn_decide,
    .longest = tree_dyn_longest,
    .inner = &(const struct cv_policy_inner){ .method = CV_METHOD_TREE_DYN },
};

/* --- ordered-tree-dyn: send to an idle neighbour ------------------------------------ */

/* The operator need not commute: a partial covers an interval of inputs and is combined
 * only with the partial of a neighbouring interval. A node that becomes idle sends to an
 * idle neighbour; if both are idle, `prefer` decides. Ends within (floor(log_1.5(n - 1))
 * + 1) (D + c), D the longest transfer. Benoit, Canon and Marchal, Non-clairvoyant
 * reduction algorithms. */

enum prefer { LEFT, RIGHT, LONGEST, SHORTEST };

/* Holders of the neighbouring partials; n: none, which is never idle. */
struct neighbours {
    uint32_t left, right;
};

struct ordered {
    uint32_t prefer;
    struct neighbours *next_to;
    bool *idle;
    double *since_s; /* idle since then */
};

static enum cleave_status ordered_start(void *state, const struct cleave_view *view,
                                        struct cleave_setup *setup,
                                        struct cleave_error *err)
{
    struct ordered *ordered = state;
    const uint32_t n = view->nworkers;

    if (!CV_NEW(setup->arena, ordered->next_to, (size_t)n + 1) ||
        !CV_NEW(setup->arena, ordered->idle, (size_t)n + 1) ||
        !CV_NEW(setup->arena, ordered->since_s, n))
        return cv_fail_memory(err, "the neighbours");
    for (uint32_t i = 0; i < n; i++)
        ordered->next_to[i] = (struct neighbours){ i == 0 ? n : i - 1, i + 1 };
    return CLEAVE_OK;
}

/* The receiver, if a neighbour is idle. */
static inline bool goes_left(const struct ordered *ordered, const struct neighbours *by)
{
    bool has_left = ordered->idle[by->left], left_longer;

    if (ordered->prefer == LEFT || !(has_left && ordered->idle[by->right]))
        return has_left;
    left_longer = ordered->since_s[by->left] <= ordered->since_s[by->right];
    return ordered->prefer != RIGHT && left_longer == (ordered->prefer == LONGEST);
}

static void ordered_idle(struct ordered *ordered, uint32_t node, double now_s,
                         struct cleave_orders *orders)
{
    const struct neighbours by = ordered->next_to[node];
    uint32_t to;

    if (!ordered->idle[by.left] && !ordered->idle[by.right]) {
        ordered->idle[node] = true;
        ordered->since_s[node] = now_s;
        return;
    }
    to = goes_left(ordered, &by) ? by.left : by.right;
    ordered->idle[to] = false;
    ordered->next_to[by.left].right = by.right;
    ordered->next_to[by.right].left = by.left;
    cleave_order_combine(orders, to, node);
}

static void ordered_decide(void *state, const struct cleave_view *view,
                           const struct cleave_event *event, struct cleave_orders *orders)
{
    struct ordered *ordered = state;

    if (event->kind == CLEAVE_COMBINED || event->kind == CLEAVE_READY)
        ordered_idle(ordered, event->worker, event->time_s, orders);
    else if (event->kind == CLEAVE_START && view->ready_s == NULL)
        for (uint32_t i = 0; i < view->nworkers; i++)
            ordered_idle(ordered, i, event->time_s, orders);
}

static double ordered_longest(const void *state, const struct cleave_view *view,
                              double transfer_s, double compute_s)
{
    (void)state;
    return cv_reduce_ordered_upper(view->nworkers, transfer_s, compute_s);
}

static const struct cleave_param ordered_params[] = {
    { "prefer", CLEAVE_PARAM_COUNT, offsetof(struct ordered, prefer), LEFT, LEFT,
      SHORTEST,
      "of two idle neighbours: 0 the left, 1 the right, 2 the one idle longest, 3 "
      "shortest" },
    { 0 },
};

const struct cleave_policy cleave_policy_ordered_tree_dyn = {
    .name = "ordered-tree-dyn",
    .summary = "a finished node sends to an idle neighbour; order is kept",
    .reference = "Benoit, Canon and Marchal 2013",
    .task = CLEAVE_TASK_REDUCE,
    .keeps_order = true,
    .hears_ready = true,
    .state_size = sizeof(struct ordered),
    .params = ordered_params,
    .start = ordered_start,
    .decide = ordered_decide,
    .longest = ordered_longest,
    .inner = &(const struct cv_policy_inner){ .method = CV_METHOD_ORDERED_TREE_DYN },
};
