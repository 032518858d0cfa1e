/* reduce_job.c -- plan and simulate a reduction: the public calls.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <cleave/reduce.h>
#include <cleave/trace.h>
#include "base/argument.h"
#include "model/platform/argument_check.h"
#include "engine/driver.h"
#include "model/ready/ready_tree.h"
#include "model/reduce/reduce_costs.h"
#include "model/reduce/reduce_tree.h"
#include "policy/common/setup.h"
#include "policy/compound/registry.h"
#include "sim/many/monte_carlo.h"
#include "sim/reduce/fixed_tree.h"
#include "sim/reduce/native_reduce.h"
#include "sim/simgrid/simgrid_engine.h"

struct owned_tree {
    struct cleave_tree tree; /* first: this is what callers hold */
    struct cv_arena arena;
};

/* --- trees and their bounds --------------------------------------------------------- */

/* Senders, receivers, times and inputs, from the entries of a trace. */
static enum cleave_status tree_gather(const struct cleave_trace *trace,
                                      size_t first_entry, bool plain,
                                      struct owned_tree *owned, struct cleave_error *err)
{
    struct cleave_tree *tree = &owned->tree;
    uint32_t n = tree->nodes;
    int64_t *parent;
    double *start_s;
    uint32_t *first, *last;

    if (!CV_NEW(&owned->arena, parent, n) || !CV_NEW(&owned->arena, start_s, n) ||
        !CV_NEW(&owned->arena, first, n) || !CV_NEW(&owned->arena, last, n))
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

/* Smallest and largest costs: transfer, combination. */
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

/* With ready times, the optimum is computed for up to this many nodes. */
enum { OPTIMUM_NODES = 20000 };

/* The optimum for known ready times and equal costs; NAN if it is not known. */
static enum cleave_status ready_optimum(const struct cv_ready_job *job, double length_s,
                                        double lower_s, double *out,
                                        struct cleave_error *err)
{
    struct cv_arena arena;
    struct cv_ready_planner *planner;
    uint32_t *parent;
    struct cv_tree_run run;
    enum cleave_status status = CLEAVE_OK;

    *out = length_s <= lower_s * (1 + 1e-12) ? length_s : NAN;
    if (!isnan(*out) || !cv_ready_is_exact(job) || job->n > OPTIMUM_NODES)
        return CLEAVE_OK;
    cv_arena_init(&arena);
    planner = cv_ready_planner_new(&arena, job->n, true);
    if (!CV_NEW(&arena, parent, job->n) || planner == NULL) {
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
                                      const struct range *range, struct owned_tree *owned,
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
    /* Fixed trees and tree-dyn take at most as long as if all were ready last. */
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

/* The optimal tree for the least costs is a lower bound; the policy may have an upper
 * one. */
static enum cleave_status tree_bound(const struct cv_reduce_costs *costs,
                                     const struct cv_planned *planned,
                                     struct owned_tree *owned, struct cleave_error *err)
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

/* --- large trees, without events ---------------------------------------------------- */

enum { DIRECT = 100000 };

/* Intervals of inputs of each node. */
static enum cleave_status find_intervals(const struct cv_tree_run *run,
                                         const uint32_t *parent, struct owned_tree *owned,
                                         struct cleave_error *err)
{
    const uint32_t n = owned->tree.nodes;
    uint32_t *first, *last, *due;

    if (!CV_NEW(&owned->arena, first, n) || !CV_NEW(&owned->arena, last, n) ||
        !CV_NEW(&owned->arena, due, n))
        return cv_fail_memory(err, "a tree");
    for (uint32_t i = 0; i < n; i++) {
        first[i] = last[i] = i;
        due[i] = run->first[i + 1] - run->first[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node = i;

        /* Up from a leaf while nothing else is missing. */
        while (due[node] == 0 && parent[node] != CV_NO_NODE) {
            const uint32_t to = parent[node];

            due[node] = UINT32_MAX;
            first[to] = first[node] < first[to] ? first[node] : first[to];
            last[to] = last[node] > last[to] ? last[node] : last[to];
            due[to]--;
            node = to;
        }
    }
    owned->tree.keeps_order = true;
    owned->tree.first = first;
    owned->tree.last = last;
    return CLEAVE_OK;
}

static enum cleave_status execute(const struct cv_reduce_costs *costs,
                                  const double *ready_s,
                                  const struct cv_tree_shape *shape,
                                  struct owned_tree *owned, struct cleave_error *err)
{
    const struct cv_ready_job job = { costs->nodes, ready_s, cv_mean_transfer(costs),
                                      cv_mean_compute(costs), costs->ready_model };
    int64_t *shown = cv_array(&owned->arena, costs->nodes, sizeof *shown);
    struct cv_tree_run run;

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

/* For trees that are first come, first served with overlap, or whose turns are given. */
static enum cleave_status tree_directly(const struct cleave_reduction *job,
                                        const struct cv_reduce_costs *costs,
                                        const struct cv_planned *planned,
                                        struct owned_tree *owned, bool *out_done,
                                        struct cleave_error *err)
{
    const struct cv_policy_inner *inner = planned->policy->inner;
    const double *ready_s = planned->view.ready_s;
    struct cv_tree_shape shape = { 0 };

    *out_done = false;
    if (job->trace != NULL || job->simgrid != NULL || costs->exact != NULL ||
        costs->cluster != 0 || costs->nodes < DIRECT || inner == NULL ||
        inner->fixed == NULL)
        return CLEAVE_OK;
    if (!CV_NEW(&owned->arena, shape.parent, costs->nodes) ||
        !CV_NEW(&owned->arena, shape.turn, costs->nodes))
        return cv_fail_memory(err, "a tree");
    if (!inner->fixed(planned->state, &planned->view, &shape) ||
        (shape.in_turn && !shape.by_turn) || shape.ahead != UINT32_MAX)
        return CLEAVE_OK;
    *out_done = true;
    if (ready_s == NULL) /* all at 0 */
        ready_s = cv_array(&owned->arena, costs->nodes, sizeof *ready_s);
    return ready_s != NULL ? execute(costs, ready_s, &shape, owned, err)
                           : cv_fail_memory(err, "a tree");
}

/* --- the public calls --------------------------------------------------------------- */

/* Costs of the job: distributions, or exact ones. */
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
        CV_TRY(cv_distribution_parse(job->transfer, &costs.transfer, err));
        CV_TRY(cv_distribution_parse(job->compute, &costs.compute, err));
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

/* Ready times of partials, if the job has any; the caller frees *out_owned, which may be
 * NULL, after the costs. */
static enum cleave_status read_ready(const struct cleave_reduction *job,
                                     struct cv_reduce_costs *costs, double **out_owned,
                                     struct cleave_error *err)
{
    const uint32_t n = costs->nodes;
    double *means;

    *out_owned = NULL;
    if (job->ready == NULL && job->ready_s == NULL)
        return CLEAVE_OK;
    if (job->ready != NULL && job->ready_s != NULL)
        return cv_fail(err, CLEAVE_EINPUT, "expected ready times or their law, got both");
    if (job->simgrid != NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "SimGrid knows no ready times; leave out the engine");
    costs->has_ready = true;
    costs->ready_model = job->ready_model;
    costs->ready_s = job->ready_s;
    for (uint32_t i = 0; job->ready_s != NULL && i < n; i++)
        if (!(job->ready_s[i] >= 0 && job->ready_s[i] <= 1e100))
            return cv_fail(err, CLEAVE_EINPUT,
                           "node %u: expected a ready time from 0 to 1e100, got %g", i,
                           job->ready_s[i]);
    if (job->ready_s != NULL)
        return CLEAVE_OK;
    CV_TRY(cv_distribution_parse(job->ready, &costs->ready, err));
    means = malloc((n > 0 ? n : 1) * sizeof *means);
    if (means == NULL)
        return cv_fail_memory(err, "the ready times");
    for (uint32_t i = 0; i < n; i++)
        means[i] = cv_distribution_mean(&costs->ready);
    costs->mean_ready_s = *out_owned = means;
    if (cv_distribution_cv(&costs->ready) == 0)
        costs->ready_s = means;
    return CLEAVE_OK;
}
/* A job with its costs and its plan. */
struct reduce_case {
    struct cv_reduce_costs costs;
    double *means; /* owned: ready times, or NULL */
    struct cv_planned planned;
};

/* `at_mean`: every cost is its mean. `preset`: the policy, unless the job names one. */
static enum cleave_status open_case(const struct cleave_reduction *job, bool at_mean,
                                    const char *preset, struct reduce_case *out,
                                    struct cleave_error *err)
{
    struct cv_reduce_costs *costs = &out->costs;
    const struct cleave_policy *policy;
    enum cleave_status status;

    CV_TRY(read_costs(job, costs, err));
    CV_TRY(read_ready(job, costs, &out->means, err));
    if (at_mean) {
        costs->transfer =
            cv_distribution_constant(cv_distribution_mean(&costs->transfer));
        costs->compute = cv_distribution_constant(cv_distribution_mean(&costs->compute));
        if (costs->ready_s == NULL)
            costs->ready_s = out->means;
        preset = costs->has_ready ? "ready" : preset;
    }
    status = cv_policy_choose(&(struct cv_policy_request){ .task = CLEAVE_TASK_REDUCE,
                                                           .name = job->policy,
                                                           .preset = preset,
                                                           .own = job->own_policy },
                              &policy, err);
    CV_THEN(status, cv_planned_reduce_costs(&out->planned, policy, job->settings,
                                            job->nsettings, costs, job->seed, err));
    if (status != CLEAVE_OK)
        free(out->means);
    return status;
}

static void close_case(struct reduce_case *reduce_case)
{
    cv_planned_done(&reduce_case->planned);
    free(reduce_case->means);
}

static struct cv_simgrid_source simgrid_source(const struct cleave_simgrid *simgrid,
                                               const struct cv_planned *planned,
                                               const struct cv_reduce_costs *costs)
{
    return (struct cv_simgrid_source){ .where = simgrid,
                                       .costs = costs,
                                       .plain = !planned->policy->gets_arrivals };
}

/* One run by the driver. */
static enum cleave_status drive(const struct cleave_simgrid *simgrid,
                                const struct cv_planned *planned,
                                const struct cv_reduce_costs *costs,
                                struct cleave_trace *trace, struct cv_outcome *out,
                                struct cleave_error *err)
{
    const struct cv_simgrid_source source = simgrid_source(simgrid, planned, costs);
    struct cv_run run = { .number = 0, .ready_model = costs->ready_model };
    enum cleave_status status;
    double *drawn = NULL;

    if (costs->has_ready) {
        drawn = malloc(costs->nodes * sizeof *drawn);
        if (drawn == NULL)
            return cv_fail_memory(err, "the ready times");
        for (uint32_t i = 0; i < costs->nodes; i++)
            drawn[i] = cv_ready_time(costs, run.number, i);
    }
    run.ready_s = drawn;
    status = cv_driver_run_once(planned,
                                simgrid != NULL ? &cv_engine_simgrid
                                                : cv_native_reduce_for(planned->policy),
                                simgrid != NULL ? (const void *)&source : costs, &run,
                                trace, out, err);
    free(drawn);
    return status;
}

static enum cleave_status run_once(const struct cleave_reduction *job,
                                   const struct cv_reduce_costs *costs,
                                   const struct cv_planned *planned,
                                   struct owned_tree *owned, struct cleave_trace *trace,
                                   struct cleave_error *err)
{
    size_t first_entry = cleave_trace_count(trace);
    struct cv_outcome outcome;
    bool done;

    owned->tree.policy = planned->policy->name;
    owned->tree.nodes = costs->nodes;
    CV_TRY(tree_directly(job, costs, planned, owned, &done, err));
    if (!done) {
        CV_TRY(drive(job->simgrid, planned, costs, trace, &outcome, err));
        owned->tree.length_s = outcome.makespan_s;
        CV_TRY(
            tree_gather(trace, first_entry, !planned->policy->gets_arrivals, owned, err));
    }
    return tree_bound(costs, planned, owned, err);
}
enum cleave_status cleave_plan_reduce(const struct cleave_reduction *job,
                                      struct cleave_tree **out, struct cleave_error *err)
{
    struct owned_tree *owned;
    struct cleave_trace *trace;
    struct reduce_case this;
    enum cleave_status status = CLEAVE_OK;

    CV_TRY(cv_check_reduction(job, err));
    CV_EXPECT_POINTER(out, err, "out");
    trace = job->trace;
    CV_TRY(open_case(job, true, "greedy", &this, err));
    owned = calloc(1, sizeof *owned);
    if (owned == NULL)
        status = cv_fail_memory(err, "a tree");
    else
        cv_arena_init(&owned->arena);
    if (status == CLEAVE_OK && trace == NULL)
        status = cleave_trace_new(&trace, err);
    CV_THEN(status, run_once(job, &this.costs, &this.planned, owned, trace, err));
    if (trace != job->trace)
        cleave_trace_free(trace);
    close_case(&this);
    if (status == CLEAVE_OK)
        *out = &owned->tree;
    else
        cleave_tree_free((struct cleave_tree *)owned);
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

/* A fixed tree is evaluated without events. Other policies, and a fixed tree whose order of
 * arrivals is open, are simulated by the driver; results are the same bits. */
struct simulator {
    bool is_fixed;
    struct cv_fixed_tree tree; /* if is_fixed */
    double *ready_s;           /* ready times of a run; NULL: none */
};

static enum cleave_status open_simulator(const struct reduce_case *runs,
                                         struct cv_run_thread *thread,
                                         struct cleave_error *err)
{
    const struct cv_planned *planned = &runs->planned;
    const struct cv_reduce_costs *costs = &runs->costs;
    struct simulator *simulator = cv_array(&thread->arena, 1, sizeof *simulator);

    if (simulator == NULL)
        return cv_fail_memory(err, "the threads");
    if (costs->has_ready) {
        simulator->ready_s = cv_array(&thread->arena, costs->nodes, sizeof(double));
        if (simulator->ready_s == NULL)
            return cv_fail_memory(err, "the ready times");
    }
    thread->own = simulator;
    CV_TRY(cv_fixed_tree_init(&simulator->tree, planned->policy, planned->state,
                              &planned->view, costs, &thread->arena, &simulator->is_fixed,
                              err));
    return cv_driver_open(planned, cv_native_reduce_for(planned->policy), NULL, costs,
                          &thread->driver, err);
}

static enum cleave_status run_reduction(void *context, struct cv_run_thread *thread,
                                        uint32_t number, struct cv_run_result *result,
                                        struct cleave_error *err)
{
    const struct reduce_case *runs = context;
    const struct cv_reduce_costs *costs = &runs->costs;
    struct cv_run run = { .number = number, .ready_model = costs->ready_model };
    struct simulator *simulator;
    struct cv_outcome outcome;

    if (thread->driver == NULL)
        CV_TRY(open_simulator(runs, thread, err));
    simulator = thread->own;
    *result = (struct cv_run_result){ NAN, 0, costs->nodes - 1.0 };
    if (simulator->is_fixed)
        result->makespan_s = cv_fixed_tree_run(&simulator->tree, number);
    if (!isnan(result->makespan_s))
        return CLEAVE_OK;
    for (uint32_t i = 0; costs->has_ready && i < costs->nodes; i++)
        simulator->ready_s[i] = cv_ready_time(costs, number, i);
    run.ready_s = simulator->ready_s;
    CV_TRY(cv_driver_run(thread->driver, &run, NULL, &outcome, err));
    *result = (struct cv_run_result){ outcome.makespan_s, 0, (double)outcome.chunks };
    return CLEAVE_OK;
}

enum cleave_status cleave_simulate_reduce(const struct cleave_reduction *job,
                                          const struct cleave_trial *trial,
                                          struct cleave_stats *out,
                                          struct cleave_error *err)
{
    struct reduce_case this;
    struct cleave_stats stats;
    struct cv_outcome outcome;
    enum cleave_status status;

    CV_TRY(cv_check_reduction(job, err));
    CV_TRY(cv_check_trial(trial, err));
    CV_EXPECT_POINTER(out, err, "out");
    CV_TRY(open_case(job, false, "tree-adapt", &this, err));
    if (job->simgrid != NULL) {
        const struct cv_simgrid_source source =
            simgrid_source(job->simgrid, &this.planned, &this.costs);

        status =
            cv_monte_carlo(&this.planned, &cv_engine_simgrid, &source,
                           &(struct cv_run){ 0 }, trial, NULL, job->trace, &stats, err);
    } else {
        status = cv_monte_carlo_by(trial, run_reduction, &this, &stats, err);
    }
    if (status == CLEAVE_OK && job->simgrid == NULL &&
        job->trace != NULL) /* run 0 once more, by the driver */
        status = drive(NULL, &this.planned, &this.costs, job->trace, &outcome, err);
    if (status == CLEAVE_OK)
        *out = stats;
    close_case(&this);
    return status;
}
