/* ordered_tree_dyn.c -- whoever is done sends to an idle neighbour.
 * SPDX-License-Identifier: MIT
 *
 * The operator need not commute: a partial covers an interval of inputs and is combined
 * with that of a neighbouring interval only. A node that becomes idle sends to a
 * neighbour that is idle; if both are, `prefer` decides. Ends within
 * (floor(log_1.5(n - 1)) + 1) (D + c), D the longest transfer.
 * Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms. */
#include "model/reduce/reduce_bounds.h"
#include "policy/common/setup.h"

enum prefer { LEFT, RIGHT, LONGEST, SHORTEST };

/* Who holds the partials before and after a node's; number n: nobody, who is never idle. */
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

    ordered->next_to = cv_array(setup->arena, (size_t)n + 1, sizeof *ordered->next_to);
    ordered->idle = cv_array(setup->arena, (size_t)n + 1, sizeof *ordered->idle);
    ordered->since_s = cv_array(setup->arena, n, sizeof *ordered->since_s);
    if (ordered->next_to == NULL || ordered->idle == NULL || ordered->since_s == NULL)
        return cv_fail_memory(err, "the neighbours");
    for (uint32_t i = 0; i < n; i++)
        ordered->next_to[i] = (struct neighbours){ i == 0 ? n : i - 1, i + 1 };
    return CLEAVE_OK;
}

/* Where to, if one of the neighbours is idle. */
static inline bool goes_left(const struct ordered *ordered, const struct neighbours *by)
{
    bool has_left = ordered->idle[by->left], left_longer;

    if (ordered->prefer == LEFT || !(has_left && ordered->idle[by->right]))
        return has_left;
    left_longer = ordered->since_s[by->left] <= ordered->since_s[by->right];
    return ordered->prefer != RIGHT && left_longer == (ordered->prefer == LONGEST);
}

static void becomes_idle(struct ordered *ordered, uint32_t node, double now_s,
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
        becomes_idle(ordered, event->worker, event->time_s, orders);
    else if (event->kind == CLEAVE_START && view->ready_s == NULL)
        for (uint32_t i = 0; i < view->nworkers; i++)
            becomes_idle(ordered, i, event->time_s, orders);
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
    .summary = "whoever is done sends to an idle neighbour; order is kept",
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
