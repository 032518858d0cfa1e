/* ordered_tree_dyn.c -- whoever is done sends to an idle neighbour.
 * SPDX-License-Identifier: MIT
 *
 * The operator need not commute: a partial covers an interval of inputs and is combined
 * with that of a neighbouring interval only. A node that becomes idle sends to a
 * neighbour that is idle; if both are, `prefer` decides. Ends within
 * (floor(log_1.5(n - 1)) + 1) (D + c), D the longest transfer.
 * Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms. */
#include "model/reduce_bounds.h"
#include "policy/interval.h"
#include "policy/row_lane.h"

enum prefer { LEFT, RIGHT, LONGEST, SHORTEST };

struct ordered {
    uint32_t prefer;
    struct cv_intervals intervals;
    bool *idle;
    double *since_s; /* idle since then */
};

static enum cleave_status ordered_start(void *state, const struct cleave_view *view,
                                        struct cleave_setup *setup,
                                        struct cleave_error *err)
{
    struct ordered *ordered = state;

    ordered->idle = cv_array(setup->arena, view->nworkers, sizeof *ordered->idle);
    ordered->since_s = cv_array(setup->arena, view->nworkers, sizeof *ordered->since_s);
    if (ordered->idle == NULL || ordered->since_s == NULL ||
        !cv_intervals_init(&ordered->intervals, setup->arena, view->nworkers))
        return cv_fail_memory(err, "the intervals");
    return CLEAVE_OK;
}

static inline uint32_t choose(const struct ordered *ordered, uint32_t left, uint32_t right)
{
    bool has_left = left != CV_NOBODY && ordered->idle[left];
    bool has_right = right != CV_NOBODY && ordered->idle[right];
    bool left_longer;

    if (!(has_left | has_right))
        return CV_NOBODY;
    if (ordered->prefer == LEFT || !(has_left & has_right))
        return has_left ? left : right;
    left_longer = ordered->since_s[left] <= ordered->since_s[right];
    switch ((enum prefer)ordered->prefer) {
    case LONGEST:
        return left_longer ? left : right;
    case SHORTEST:
        return left_longer ? right : left;
    case LEFT:
    case RIGHT:
        break;
    }
    return right;
}

/* Where a node sends to now; CV_NOBODY: it is idle. */
static inline uint32_t becomes_idle(struct ordered *ordered, uint32_t node, double now_s)
{
    struct cv_intervals *in = &ordered->intervals;
    uint32_t to = choose(ordered, cv_left_of(in, node), cv_right_of(in, node));

    if (to == CV_NOBODY) {
        ordered->idle[node] = true;
        ordered->since_s[node] = now_s;
        return to;
    }
    ordered->idle[to] = false;
    cv_intervals_join(in, to, node);
    return to;
}

static void look_at(struct ordered *ordered, uint32_t node, double now_s,
                    struct cleave_orders *orders)
{
    uint32_t to = becomes_idle(ordered, node, now_s);

    if (to != CV_NOBODY)
        cleave_order_combine(orders, to, node);
}

static void ordered_decide(void *state, const struct cleave_view *view,
                           const struct cleave_event *event, struct cleave_orders *orders)
{
    struct ordered *ordered = state;

    if (event->kind == CLEAVE_COMBINED)
        look_at(ordered, event->worker, event->time_s, orders);
    else if (event->kind == CLEAVE_START)
        for (uint32_t i = 0; i < view->nworkers; i++)
            look_at(ordered, i, event->time_s, orders);
}

/* The same in simulation, where no more is needed than who is done next. */
CV_FLATTEN static void ordered_go(struct cleave_lane *lane)
{
    struct ordered *ordered = lane->state;

    while (lane->row.head < lane->row.tail) {
        uint32_t node = cv_lane_next(lane), to = becomes_idle(ordered, node, lane->now_s);

        if (to != CV_NOBODY) {
            cv_lane_send(lane, to, node, CV_LANE_COMBINATION);
            return;
        }
    }
    lane->over = true;
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
    .state_size = sizeof(struct ordered),
    .params = ordered_params,
    .start = ordered_start,
    .decide = ordered_decide,
    .longest = ordered_longest,
    .go = ordered_go,
};
