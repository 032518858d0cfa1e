/* reduce_job.c -- plan and simulate a reduction: the public calls.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include <cleave/reduce.h>
#include "engine/driver.h"
#include "model/reduce/reduce_costs.h"
#include "model/reduce/reduce_length.h"
#include "model/reduce/reduce_tree.h"
#include "policy/compound/registry.h"
#include "sim/many/monte_carlo.h"
#include "sim/reduce/native_reduce.h"
#include "sim/reduce/reduce_batch.h"
#include "sim/simgrid/simgrid_engine.h"

/* What the public tree points into. */
struct owned_tree {
    struct cleave_tree tree; /* first: this is what callers hold */
    struct cv_arena arena;
};

/* Costs as the job gives them: laws, or one exact instance. */
static enum cleave_status read_costs(const struct cleave_reduction *job,
                                     struct cv_reduce_costs *out,
                                     struct cleave_error *err)
{
    struct cv_reduce_costs costs = { .nodes = job->nodes,
                                     .exact = job->costs,
                                     .model = job->model };

    if (job->costs != NULL) {
        costs.nodes = cleave_costs_nodes(job->costs);
        if (job->nodes != 0 && job->nodes != costs.nodes)
            return cv_fail(err, CLEAVE_EINPUT, "the costs are for %u nodes, not for %u",
                           costs.nodes, job->nodes);
    } else {
        CV_TRY(cv_law_parse(job->transfer, &costs.transfer, err));
        CV_TRY(cv_law_parse(job->compute, &costs.compute, err));
        if (job->cluster != 0 && !(job->remote > 0 && job->remote <= 1e100))
            return cv_fail(err, CLEAVE_EINPUT,
                           "expected a positive factor between clusters, got %g",
                           job->remote);
        costs.cluster = job->cluster;
        costs.remote = job->remote;
    }
    cv_reduce_costs_seed(&costs, job->seed);
    *out = costs;
    return CLEAVE_OK;
}

static enum cleave_status plan_job(const struct cleave_reduction *job, const char *preset,
                                   const struct cv_reduce_costs *costs,
                                   struct cv_planned *planned, struct cleave_error *err)
{
    const struct cleave_policy *policy;

    CV_TRY(cv_policy_choose(&(struct cv_policy_request){ .task = CLEAVE_TASK_REDUCE,
                                                         .name = job->policy,
                                                         .preset = preset,
                                                         .own = job->own_policy },
                            &policy, err));
    return cv_planned_reduce_costs(planned, policy, job->settings, job->nsettings, costs,
                                   job->seed, err);
}

static struct cv_simgrid_source simgrid_source(const struct cleave_simgrid *simgrid,
                                               const struct cv_planned *planned,
                                               const struct cv_reduce_costs *costs)
{
    return (struct cv_simgrid_source){ .where = simgrid,
                                       .costs = costs,
                                       .plain = !planned->policy->hears_arrivals };
}

/* One run by the driver. */
static enum cleave_status drive(const struct cleave_simgrid *simgrid,
                                const struct cv_planned *planned,
                                const struct cv_reduce_costs *costs,
                                struct cleave_trace *trace, struct cv_outcome *out,
                                struct cleave_error *err)
{
    const struct cv_simgrid_source source = simgrid_source(simgrid, planned, costs);
    struct cv_run run = { .number = 0 };
    struct cv_driver *driver = NULL;
    enum cleave_status status;

    if (simgrid != NULL)
        CV_TRY(cv_driver_open(planned, &cv_engine_simgrid_reduce, NULL, &source, &driver,
                              err));
    else
        CV_TRY(cv_driver_open(planned, cv_native_reduce_for(planned->policy), NULL, costs,
                              &driver, err));
    status = cv_driver_run(driver, &run, trace, out, err);
    cv_driver_close(driver);
    return status;
}

/* Who sent to whom, when, and which inputs it carried. */
static enum cleave_status gather_tree(const struct cleave_trace *trace,
                                      size_t first_entry, bool plain,
                                      struct owned_tree *owned, struct cleave_error *err)
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

/* No tree is shorter than the optimal one for the least costs that occur; how long it can
 * be at the greatest, the policy may know. */
static void bound(const struct cv_reduce_costs *costs, const struct cv_planned *planned,
                  struct owned_tree *owned)
{
    const struct cleave_policy *policy = planned->policy;
    struct cleave_tree *tree = &owned->tree;
    double least[2] = { cv_mean_transfer(costs), cv_mean_compute(costs) };
    double most[2] = { least[0], least[1] };
    double optimum_s;
    uint32_t n = costs->nodes;

    if (costs->exact == NULL && costs->cluster != 0) {
        double near = cv_law_mean(&costs->transfer), far = near * costs->remote;

        least[0] = fmin(near, far);
        most[0] = fmax(near, far);
    }
    if (costs->exact != NULL && n > 1) {
        least[0] = least[1] = INFINITY;
        most[0] = most[1] = 0;
        for (uint32_t i = 0; i < n; i++) {
            least[1] = fmin(least[1], costs->exact->compute[i]);
            most[1] = fmax(most[1], costs->exact->compute[i]);
            for (uint32_t j = 0; j < n; j++) {
                double cost = costs->exact->transfer[(size_t)i * n + j];

                least[0] = i != j ? fmin(least[0], cost) : least[0];
                most[0] = i != j ? fmax(most[0], cost) : most[0];
            }
        }
    }
    optimum_s = cv_reduce_length(n, least[0], least[1]);
    tree->lower_bound_s = optimum_s;
    tree->upper_bound_s =
        policy->longest != NULL
            ? policy->longest(planned->state, &planned->view, most[0], most[1])
            : (n - 1.0) * (most[0] + most[1]);
    tree->optimum_s = least[0] == most[0] && least[1] == most[1] ? optimum_s : NAN;
}

/* From so many nodes on, a fixed tree is executed by formula: no events, no trace. */
enum { DIRECT = 100000 };

/* A tree that is first come first served with overlap, and nobody wants to see events:
 * then *out is who sends to whom, else NULL. */
static enum cleave_status direct_tree(const struct cleave_reduction *job,
                                      const struct cv_reduce_costs *costs,
                                      const struct cv_planned *planned,
                                      struct cv_arena *arena, const uint32_t **out,
                                      struct cleave_error *err)
{
    const struct cv_policy_inner *inner = planned->policy->inner;
    struct cv_tree_shape fixed = { 0 };

    *out = NULL;
    if (job->trace != NULL || job->simgrid != NULL || costs->exact != NULL ||
        costs->cluster != 0 || costs->nodes < DIRECT || inner == NULL ||
        inner->fixed == NULL)
        return CLEAVE_OK;
    fixed.parent = cv_array(arena, costs->nodes, sizeof *fixed.parent);
    if (fixed.parent == NULL)
        return cv_fail_memory(err, "a tree");
    if (inner->fixed(planned->state, &planned->view, &fixed) && !fixed.in_turn &&
        fixed.ahead == UINT32_MAX)
        *out = fixed.parent;
    return CLEAVE_OK;
}

static enum cleave_status run_directly(const struct cv_reduce_costs *costs,
                                       const uint32_t *parent, struct owned_tree *owned,
                                       struct cleave_error *err)
{
    struct cv_tree_costs equal = { cv_mean_transfer(costs), cv_mean_compute(costs),
                                   NULL };
    int64_t *shown = cv_array(&owned->arena, costs->nodes, sizeof *shown);
    struct cv_tree_run run;

    if (shown == NULL)
        return cv_fail_memory(err, "a tree");
    CV_TRY(cv_tree_run(parent, costs->nodes, &equal, &owned->arena, &run, err));
    for (uint32_t i = 0; i < costs->nodes; i++)
        shown[i] = parent[i] == CV_NO_NODE ? -1 : (int64_t)parent[i];
    owned->tree.root = run.root;
    owned->tree.length_s = run.length_s;
    owned->tree.parent = shown;
    owned->tree.start_s = run.start_s;
    return CLEAVE_OK;
}

static enum cleave_status run_once(const struct cleave_reduction *job,
                                   const struct cv_reduce_costs *costs,
                                   const struct cv_planned *planned,
                                   struct owned_tree *owned, struct cleave_trace *trace,
                                   struct cleave_error *err)
{
    size_t first_entry = cleave_trace_count(trace);
    const uint32_t *parent;
    struct cv_outcome outcome;

    owned->tree.policy = planned->policy->name;
    owned->tree.nodes = costs->nodes;
    CV_TRY(direct_tree(job, costs, planned, &owned->arena, &parent, err));
    if (parent != NULL) {
        CV_TRY(run_directly(costs, parent, owned, err));
    } else {
        CV_TRY(drive(job->simgrid, planned, costs, trace, &outcome, err));
        owned->tree.length_s = outcome.makespan_s;
        CV_TRY(gather_tree(trace, first_entry, !planned->policy->hears_arrivals, owned,
                           err));
    }
    bound(costs, planned, owned);
    return CLEAVE_OK;
}

enum cleave_status cleave_plan_reduce(const struct cleave_reduction *job,
                                      struct cleave_tree **out, struct cleave_error *err)
{
    struct owned_tree *owned = NULL;
    struct cleave_trace *trace = job->trace;
    struct cv_reduce_costs costs;
    struct cv_planned planned;
    enum cleave_status status;

    CV_TRY(read_costs(job, &costs, err));
    /* A plan takes every cost at its mean. */
    costs.transfer = cv_law_constant(cv_law_mean(&costs.transfer));
    costs.compute = cv_law_constant(cv_law_mean(&costs.compute));
    CV_TRY(plan_job(job, "greedy", &costs, &planned, err));
    owned = calloc(1, sizeof *owned);
    status = owned == NULL ? cv_fail_memory(err, "a tree") : CLEAVE_OK;
    if (status == CLEAVE_OK) {
        cv_arena_init(&owned->arena);
        if (trace == NULL)
            status = cleave_trace_new(&trace, err);
    }
    if (status == CLEAVE_OK)
        status = run_once(job, &costs, &planned, owned, trace, err);
    if (trace != job->trace)
        cleave_trace_free(trace);
    cv_planned_done(&planned);
    if (status != CLEAVE_OK)
        cleave_tree_free(owned == NULL ? NULL : &owned->tree);
    else
        *out = &owned->tree;
    return status;
}

void cleave_tree_free(struct cleave_tree *tree)
{
    struct owned_tree *owned = (struct owned_tree *)tree;

    if (owned == NULL)
        return;
    cv_arena_done(&owned->arena);
    free(owned);
}

/* What the threads of a simulation share. */
struct shared {
    const struct cv_planned *planned;
    const struct cv_reduce_costs *costs;
    struct cv_reduce_batch **batches; /* per thread */
};

static enum cleave_status some_runs(void *context, unsigned thread, uint64_t begin,
                                    uint64_t end, struct cv_run_result *results,
                                    struct cleave_error *err)
{
    struct shared *shared = context;

    if (shared->batches[thread] == NULL)
        CV_TRY(cv_reduce_batch_open(shared->planned, shared->costs,
                                    &shared->batches[thread], err));
    return cv_reduce_batch_run(shared->batches[thread], begin, end, results, err);
}

static enum cleave_status simulate(const struct cv_planned *planned,
                                   const struct cv_reduce_costs *costs,
                                   const struct cleave_trial *trial,
                                   struct cleave_stats *out, struct cleave_error *err)
{
    unsigned threads = cv_monte_carlo_threads(trial);
    struct shared shared = { planned, costs,
                             calloc(threads, sizeof(struct cv_reduce_batch *)) };
    enum cleave_status status;

    if (shared.batches == NULL)
        return cv_fail_memory(err, "the threads");
    status = cv_monte_carlo_by(trial, some_runs, &shared, out, err);
    for (unsigned i = 0; i < threads; i++)
        cv_reduce_batch_close(shared.batches[i]);
    free(shared.batches);
    return status;
}

/* The same by SimGrid, one event after the other. */
static enum cleave_status
simulate_simgrid(const struct cleave_reduction *job, const struct cv_planned *planned,
                 const struct cv_reduce_costs *costs, const struct cleave_trial *trial,
                 struct cleave_stats *out, struct cleave_error *err)
{
    const struct cv_simgrid_source source = simgrid_source(job->simgrid, planned, costs);
    const struct cv_run first = { .number = 0 };

    return cv_monte_carlo(planned, &cv_engine_simgrid_reduce, &source, &first, trial,
                          job->trace, out, err);
}

enum cleave_status cleave_simulate_reduce(const struct cleave_reduction *job,
                                          const struct cleave_trial *trial,
                                          struct cleave_stats *out,
                                          struct cleave_error *err)
{
    struct cv_reduce_costs costs;
    struct cv_planned planned;
    struct cleave_stats stats;
    struct cv_outcome outcome;
    enum cleave_status status;

    CV_TRY(read_costs(job, &costs, err));
    CV_TRY(plan_job(job, "tree-adapt", &costs, &planned, err));
    if (job->simgrid != NULL)
        status = simulate_simgrid(job, &planned, &costs, trial, &stats, err);
    else
        status = simulate(&planned, &costs, trial, &stats, err);
    if (status == CLEAVE_OK && job->simgrid == NULL &&
        job->trace != NULL) /* run 0 once more, by the driver */
        status = drive(NULL, &planned, &costs, job->trace, &outcome, err);
    if (status == CLEAVE_OK)
        *out = stats;
    cv_planned_done(&planned);
    return status;
}
