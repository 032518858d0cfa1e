/* fixed_tree.c -- the length of a reduction whose tree is known in advance, without events.
 * SPDX-License-Identifier: MIT */
#include "sim/reduce/fixed_tree.h"

#include <math.h>

#include "base/fail.h"
#include "policy/common/setup.h"

/* Receivers in an order in which every node comes after the nodes below it. */
static void lay_out(struct cv_fixed_tree *tree, const struct cv_tree_shape *shape,
                    uint32_t *count, uint32_t *place)
{
    const uint32_t *parent = shape->parent;
    uint32_t n = tree->nodes, found = 0, at = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (parent[i] == CV_NO_NODE)
            tree->receiver[found++] = i;
        else
            count[parent[i]]++;
    }
    /* Senders by receiver. */
    for (uint32_t i = 0; i < n; i++) {
        place[i] = at;
        at += count[i];
    }
    for (uint32_t i = 0; i < n; i++)
        if (parent[i] != CV_NO_NODE)
            tree->queue[place[parent[i]]++] = i;
    for (uint32_t next = 0; next < found; next++) {
        uint32_t node = tree->receiver[next];

        for (uint32_t k = place[node] - count[node]; k < place[node]; k++)
            if (count[tree->queue[k]] > 0)
                tree->receiver[found++] = tree->queue[k];
    }
    for (uint32_t i = 0; i < found / 2; i++) {
        uint32_t other = tree->receiver[found - 1 - i];

        tree->receiver[found - 1 - i] = tree->receiver[i];
        tree->receiver[i] = other;
    }
    tree->groups = found;
    at = 0;
    for (uint32_t g = 0; g < found; g++) {
        uint32_t node = tree->receiver[g];

        tree->begin[g] = at;
        for (uint32_t k = place[node] - count[node]; k < place[node]; k++) {
            const uint32_t sender = tree->queue[k];

            tree->senders[shape->by_turn ? tree->begin[g] + shape->turn[sender] : at] =
                sender;
            tree->to[at++] = node;
        }
    }
    tree->begin[found] = at;
}

enum cleave_status cv_fixed_tree_init(struct cv_fixed_tree *tree,
                                      const struct cleave_policy *policy,
                                      const void *state, const struct cleave_view *view,
                                      const struct cv_reduce_costs *costs,
                                      struct cv_arena *arena, bool *out_any,
                                      struct cleave_error *err)
{
    const size_t n = view->nworkers;
    struct cv_tree_shape shape = { 0 };
    uint32_t *count, *place;

    *tree = (struct cv_fixed_tree){ .nodes = view->nworkers, .costs = costs };
    if (!CV_NEW(arena, shape.parent, n) || !CV_NEW(arena, shape.turn, n) ||
        !CV_NEW(arena, count, n) || !CV_NEW(arena, place, n) ||
        !CV_NEW(arena, tree->receiver, n) || !CV_NEW(arena, tree->begin, n + 1) ||
        !CV_NEW(arena, tree->senders, n) || !CV_NEW(arena, tree->to, n) ||
        !CV_NEW(arena, tree->transfer_s, n) || !CV_NEW(arena, tree->compute_s, n) ||
        !CV_NEW(arena, tree->done_s, n) || !CV_NEW(arena, tree->queue, n))
        return cv_fail_memory(err, "a tree");
    *out_any = policy->inner != NULL && policy->inner->fixed != NULL &&
               !(policy->inner->knows_ready && cv_ready_varies(costs)) &&
               policy->inner->fixed(state, view, &shape) &&
               (shape.ahead <= 1 || shape.ahead == UINT32_MAX);
    if (!*out_any)
        return CLEAVE_OK;
    tree->in_turn = shape.in_turn;
    tree->ahead = shape.ahead;
    if (costs->has_ready) {
        tree->ready_s = cv_array(arena, n, sizeof(double));
        if (tree->ready_s == NULL)
            return cv_fail_memory(err, "a tree");
        if (costs->ready_model == CLEAVE_READY_MERGE)
            tree->ahead = 0; /* one thing at a time */
    }
    lay_out(tree, &shape, count, place);
    for (size_t k = 0; k < n; k++) {
        tree->compute_s[k] = cv_mean_compute(costs);
        tree->done_s[k] = -1;
    }
    return CLEAVE_OK;
}

static void draw(struct cv_fixed_tree *tree, uint32_t run)
{
    const struct cv_reduce_costs *costs = tree->costs;

    for (uint32_t i = 0; tree->ready_s != NULL && i < tree->nodes; i++)
        tree->done_s[i] = tree->ready_s[i] = cv_ready_time(costs, run, i);
    for (uint32_t k = 0; k + 1 < tree->nodes; k++)
        tree->transfer_s[k] = cv_transfer_cost(costs, run, tree->senders[k], tree->to[k]);
    if (cv_compute_is_constant(costs))
        return;
    for (uint32_t g = 0; g < tree->groups; g++)
        for (uint32_t k = tree->begin[g]; k < tree->begin[g + 1]; k++)
            tree->compute_s[k] =
                cv_compute_cost(costs, run, tree->receiver[g], k - tree->begin[g]);
}

static inline double later(double a, double b)
{
    return a > b ? a : b;
}

struct receiver {
    double port_s;              /* begin of its free time */
    double end_s, end_before_s; /* of the last two combinations */
    double own_s;               /* when it has its own partial */
    bool instant;               /* a transfer took no time */
};

static inline struct receiver begin_receiver(const struct cv_fixed_tree *tree,
                                             uint32_t node)
{
    struct receiver to = { 0 };

    if (tree->ready_s == NULL)
        return to;
    to.own_s = tree->ready_s[node];
    if (tree->costs->ready_model != CLEAVE_READY_EARLY || tree->ahead == 0)
        to.port_s = to.own_s;
    return to;
}

static inline void receive(struct receiver *to, uint32_t ahead, double ready_s,
                           double transfer_s, double compute_s)
{
    double start_s = later(to->port_s, ready_s), arrived_s;

    if (ahead < 2)
        start_s = later(start_s, ahead == 0 ? to->end_s : to->end_before_s);
    arrived_s = start_s + transfer_s;
    to->instant |= arrived_s == start_s;
    to->port_s = arrived_s;
    to->end_before_s = to->end_s;
    to->end_s = later(later(arrived_s, to->own_s), to->end_s) + compute_s;
}

static double run_in_turn(const struct cv_fixed_tree *tree)
{
    double end_s = tree->ready_s != NULL ? tree->ready_s[0] : 0; /* of a single node */

    for (uint32_t g = 0; g < tree->groups; g++) {
        struct receiver to = begin_receiver(tree, tree->receiver[g]);

        for (uint32_t k = tree->begin[g]; k < tree->begin[g + 1]; k++)
            receive(&to, tree->ahead, tree->done_s[tree->senders[k]], tree->transfer_s[k],
                    tree->compute_s[k]);
        end_s = tree->done_s[tree->receiver[g]] = later(to.own_s, to.end_s);
    }
    return end_s;
}

/* Sort the senders of a group by completion; leaves come first. False: two complete at
 * the same time. */
static bool line_up(const struct cv_fixed_tree *tree, uint32_t g)
{
    const uint32_t *senders = &tree->senders[tree->begin[g]];
    const uint32_t count = tree->begin[g + 1] - tree->begin[g];
    uint32_t *queue = tree->queue;
    bool clear = true;

    for (uint32_t k = 0; k < count; k++) {
        double done_s = tree->done_s[senders[k]];
        uint32_t at = k;

        for (; at > 0 && tree->done_s[senders[queue[at - 1]]] > done_s; at--)
            queue[at] = queue[at - 1];
        queue[at] = k;
        clear &= at == 0 || done_s < 0 || tree->done_s[senders[queue[at - 1]]] < done_s;
    }
    return clear;
}

/* If all transfers take time, nodes that complete together do so by number. */
static double run_first_come(const struct cv_fixed_tree *tree)
{
    bool clear = true, instant = false;
    double end_s = tree->ready_s != NULL ? tree->ready_s[0] : 0; /* of a single node */

    for (uint32_t g = 0; g < tree->groups; g++) {
        const uint32_t begin = tree->begin[g], count = tree->begin[g + 1] - begin;
        struct receiver to = begin_receiver(tree, tree->receiver[g]);

        clear &= line_up(tree, g);
        for (uint32_t k = 0; k < count; k++) {
            uint32_t at = begin + tree->queue[k];

            receive(&to, tree->ahead, tree->done_s[tree->senders[at]],
                    tree->transfer_s[at], tree->compute_s[begin + k]);
        }
        instant |= to.instant;
        end_s = tree->done_s[tree->receiver[g]] = later(to.own_s, to.end_s);
    }
    return clear || !instant ? end_s : NAN;
}

double cv_fixed_tree_run(struct cv_fixed_tree *tree, uint32_t run)
{
    draw(tree, run);
    return tree->in_turn ? run_in_turn(tree) : run_first_come(tree);
}
