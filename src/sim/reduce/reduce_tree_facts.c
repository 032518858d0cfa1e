/* reduce_tree_facts.c -- a tree as it came about, and what is known about its length.
 * SPDX-License-Identifier: MIT */
#include "sim/reduce/reduce_tree_facts.h"

#include <math.h>
#include <stdlib.h>

#include <cleave/trace.h>
#include "model/ready/ready_tree.h"
#include "model/reduce/reduce_tree.h"
#include "policy/common/short_cuts.h"

enum cleave_status cv_tree_gather(const struct cleave_trace *trace, size_t first_entry,
                                  bool plain, struct cv_owned_tree *owned,
                                  struct cleave_error *err)
{
    struct cleave_tree *tree = &owned->tree;
    uint32_t n = tree->nodes;
    int64_t *parent = cv_array(&owned->arena, n, sizeof *parent);
    double *start_s = cv_array(&owned->arena, n, sizeof *start_s);
    uint32_t *first = cv_array(&owned->arena, n, sizeof *first);
    uint32_t *last = cv_array(&owned->arena, n, sizeof *last);

    if (parent == NULL || start_s == NULL || first == NULL || last == NULL)
        return cv_fail_memory(err, "a tree");
    for (uint32_t i = 0; i < n; i++) {
        parent[i] = -1;
        start_s[i] = NAN;
        first[i] = last[i] = i;
    }
    tree->keeps_order = true;
    for (size_t i = first_entry; i < cleave_trace_count(trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);
        const struct cleave_event *event = &entry->as.event;
        uint32_t to, from;

        if (entry->is_order && entry->as.order.kind == CLEAVE_COMBINE)
            parent[entry->as.order.peer] = entry->as.order.worker;
        if (entry->is_order)
            continue;
        to = event->worker;
        from = event->peer;
        if (event->kind == (plain ? CLEAVE_COMBINED : CLEAVE_ARRIVED))
            start_s[from] = event->start_s;
        if (event->kind != CLEAVE_COMBINED)
            continue;
        if (last[from] + 1 == first[to])
            first[to] = first[from];
        else if (last[to] + 1 == first[from])
            last[to] = last[from];
        else
            tree->keeps_order = false;
    }
    for (uint32_t i = 0; i < n; i++)
        if (parent[i] < 0)
            tree->root = i;
    tree->parent = parent;
    tree->start_s = start_s;
    if (tree->keeps_order) {
        tree->first = first;
        tree->last = last;
    }
    return CLEAVE_OK;
}

/* --- bounds ---------------------------------------------------------------------------- */

/* From the cheapest transfer and combination to the dearest. */
struct range {
    double min[2], max[2];
};

static struct range cost_range(const struct cv_reduce_costs *costs)
{
    const double mean[2] = { cv_mean_transfer(costs), cv_mean_compute(costs) };
    struct range range = { { mean[0], mean[1] }, { mean[0], mean[1] } };
    const uint32_t n = costs->nodes;

    if (costs->exact == NULL && costs->cluster != 0) {
        const double near = cv_distribution_mean(&costs->transfer),
                     far = near * costs->remote;

        range.min[0] = fmin(near, far);
        range.max[0] = fmax(near, far);
    }
    if (costs->exact == NULL || n == 1)
        return range;
    range = (struct range){ { INFINITY, INFINITY }, { 0, 0 } };
    for (uint32_t i = 0; i < n; i++) {
        range.min[1] = fmin(range.min[1], costs->exact->compute[i]);
        range.max[1] = fmax(range.max[1], costs->exact->compute[i]);
        for (uint32_t j = 0; j < n; j++) {
            const double cost = costs->exact->transfer[(size_t)i * n + j];

            range.min[0] = i != j ? fmin(range.min[0], cost) : range.min[0];
            range.max[0] = i != j ? fmax(range.max[0], cost) : range.max[0];
        }
    }
    return range;
}

/* With ready times, the optimum is looked for up to so many nodes. */
enum { OPTIMUM_NODES = 20000 };

/* The optimum for known ready times and equal costs; NAN if it is not known. */
static enum cleave_status ready_optimum(const struct cv_ready_job *job, double length_s,
                                        double lower_s, double *out,
                                        struct cleave_error *err)
{
    struct cv_arena arena;
    struct cv_ready_planner *planner;
    uint32_t *parent;
    struct cv_ready_run run;
    enum cleave_status status = CLEAVE_OK;

    *out = length_s <= lower_s * (1 + 1e-12) ? length_s : NAN;
    if (!isnan(*out) || !cv_ready_is_exact(job) || job->n > OPTIMUM_NODES)
        return CLEAVE_OK;
    cv_arena_init(&arena);
    planner = cv_ready_planner_new(&arena, job->n, true);
    parent = cv_array(&arena, job->n, sizeof *parent);
    if (planner == NULL || parent == NULL) {
        status = cv_fail_memory(err, "the optimum");
    } else {
        cv_ready_tree(planner, job, CV_NO_NODE, parent);
        status = cv_ready_execute(job, parent, NULL, &arena, &run, err);
    }
    if (status == CLEAVE_OK)
        *out = run.length_s;
    cv_arena_done(&arena);
    return status;
}

static enum cleave_status bound_ready(const struct cv_reduce_costs *costs,
                                      const struct cv_planned *planned,
                                      const struct range *range,
                                      struct cv_owned_tree *owned,
                                      struct cleave_error *err)
{
    const struct cv_ready_job job = { costs->nodes, planned->view.ready_s, range->min[0],
                                      range->min[1], costs->ready_model };
    const struct cv_policy_inner *inner = planned->policy->inner;
    struct cleave_tree *tree = &owned->tree;
    double last_s = 0;

    for (uint32_t i = 0; i < job.n; i++)
        last_s = fmax(last_s, job.ready_s[i]);
    tree->lower_bound_s = cv_ready_bound(&job);
    if (isnan(tree->lower_bound_s))
        return cv_fail_memory(err, "the bound");
    /* A fixed tree, and tree-dyn, take no longer than if all were as late as the last. */
    if (inner == NULL || (inner->fixed == NULL && inner->method != CV_METHOD_TREE_DYN) ||
        (job.model == CLEAVE_READY_MERGE && planned->policy->gets_arrivals &&
         !inner->knows_ready)) /* made for overlap */
        tree->upper_bound_s = (job.n - 1.0) * (range->max[0] + range->max[1]);
    tree->upper_bound_s += last_s;
    tree->optimum_s = NAN;
    if (range->min[0] != range->max[0] || range->min[1] != range->max[1])
        return CLEAVE_OK;
    if (inner != NULL && inner->knows_ready && cv_ready_is_exact(&job) &&
        (inner->is_best == NULL || inner->is_best(planned->state))) {
        tree->optimum_s = tree->length_s;
        return CLEAVE_OK;
    }
    return ready_optimum(&job, tree->length_s, tree->lower_bound_s, &tree->optimum_s,
                         err);
}

/* No tree is shorter than the optimal one for the least costs that occur; how long it can
 * be at the greatest, the policy may know. */
enum cleave_status cv_tree_bound(const struct cv_reduce_costs *costs,
                                 const struct cv_planned *planned,
                                 struct cv_owned_tree *owned, struct cleave_error *err)
{
    const struct cleave_policy *policy = planned->policy;
    const struct range range = cost_range(costs);
    struct cleave_tree *tree = &owned->tree;
    const uint32_t n = costs->nodes;
    const double optimum_s = cv_reduce_length(n, range.min[0], range.min[1]);

    tree->lower_bound_s = optimum_s;
    tree->upper_bound_s =
        policy->longest != NULL
            ? policy->longest(planned->state, &planned->view, range.max[0], range.max[1])
            : (n - 1.0) * (range.max[0] + range.max[1]);
    tree->optimum_s =
        range.min[0] == range.max[0] && range.min[1] == range.max[1] ? optimum_s : NAN;
    return costs->has_ready ? bound_ready(costs, planned, &range, owned, err) : CLEAVE_OK;
}

/* --- without events -------------------------------------------------------------------- */

enum { DIRECT = 100000 };

/* What each node's interval is when it sends: senders before receivers. */
static enum cleave_status find_intervals(const struct cv_ready_run *run,
                                         const uint32_t *parent,
                                         struct cv_owned_tree *owned,
                                         struct cleave_error *err)
{
    const uint32_t n = owned->tree.nodes;
    uint32_t *first = cv_array(&owned->arena, n, sizeof *first);
    uint32_t *last = cv_array(&owned->arena, n, sizeof *last);
    uint32_t *due = malloc(n * sizeof *due);

    if (first == NULL || last == NULL || due == NULL) {
        free(due);
        return cv_fail_memory(err, "a tree");
    }
    for (uint32_t i = 0; i < n; i++) {
        first[i] = last[i] = i;
        due[i] = run->first[i + 1] - run->first[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node = i;

        /* Up from a leaf for as long as nothing else is missing. */
        while (due[node] == 0 && parent[node] != CV_NO_NODE) {
            const uint32_t to = parent[node];

            due[node] = UINT32_MAX;
            first[to] = first[node] < first[to] ? first[node] : first[to];
            last[to] = last[node] > last[to] ? last[node] : last[to];
            due[to]--;
            node = to;
        }
    }
    free(due);
    owned->tree.keeps_order = true;
    owned->tree.first = first;
    owned->tree.last = last;
    return CLEAVE_OK;
}

static enum cleave_status execute(const struct cv_reduce_costs *costs,
                                  const double *ready_s,
                                  const struct cv_tree_shape *shape,
                                  struct cv_owned_tree *owned, struct cleave_error *err)
{
    const struct cv_ready_job job = { costs->nodes, ready_s, cv_mean_transfer(costs),
                                      cv_mean_compute(costs), costs->ready_model };
    int64_t *shown = cv_array(&owned->arena, costs->nodes, sizeof *shown);
    struct cv_ready_run run;

    if (shown == NULL)
        return cv_fail_memory(err, "a tree");
    CV_TRY(cv_ready_execute(&job, shape->parent, shape->by_turn ? shape->turn : NULL,
                            &owned->arena, &run, err));
    for (uint32_t i = 0; i < costs->nodes; i++)
        shown[i] = shape->parent[i] == CV_NO_NODE ? -1 : (int64_t)shape->parent[i];
    owned->tree.root = run.root;
    owned->tree.length_s = run.length_s;
    owned->tree.parent = shown;
    owned->tree.start_s = run.start_s;
    return shape->by_turn ? find_intervals(&run, shape->parent, owned, err) : CLEAVE_OK;
}

/* A tree that is first come first served with overlap, or whose turns are given. */
enum cleave_status cv_tree_directly(const struct cleave_reduction *job,
                                    const struct cv_reduce_costs *costs,
                                    const struct cv_planned *planned,
                                    struct cv_owned_tree *owned, bool *out_done,
                                    struct cleave_error *err)
{
    const struct cv_policy_inner *inner = planned->policy->inner;
    struct cv_tree_shape shape = { 0 };
    double *zero = NULL;
    enum cleave_status status;

    *out_done = false;
    if (job->trace != NULL || job->simgrid != NULL || costs->exact != NULL ||
        costs->cluster != 0 || costs->nodes < DIRECT || inner == NULL ||
        inner->fixed == NULL)
        return CLEAVE_OK;
    shape.parent = cv_array(&owned->arena, costs->nodes, sizeof *shape.parent);
    shape.turn = cv_array(&owned->arena, costs->nodes, sizeof *shape.turn);
    if (shape.parent == NULL || shape.turn == NULL)
        return cv_fail_memory(err, "a tree");
    if (!inner->fixed(planned->state, &planned->view, &shape) ||
        (shape.in_turn && !shape.by_turn) || shape.ahead != UINT32_MAX)
        return CLEAVE_OK;
    *out_done = true;
    if (planned->view.ready_s != NULL)
        return execute(costs, planned->view.ready_s, &shape, owned, err);
    zero = calloc(costs->nodes, sizeof *zero);
    status = zero != NULL ? execute(costs, zero, &shape, owned, err)
                          : cv_fail_memory(err, "a tree");
    free(zero);
    return status;
}
