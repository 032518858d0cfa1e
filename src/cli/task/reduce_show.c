/* reduce_show.c -- bounds and proofs of reductions, and trees as text and JSON.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/task/reduce_task.h"
#include "model/ready/ready_tree.h"
#include "model/reduce/reduce_bounds.h"
#include "model/reduce/reduce_costs.h"
#include "model/reduce/reduce_tree.h"
#include "policy/compound/registry.h"
#include "report/terminal/terminal_charts.h"

const char *const cv_ready_models[] = {
    [CLEAVE_READY_ABSENT] = "absent",
    [CLEAVE_READY_EARLY] = "early",
    [CLEAVE_READY_MERGE] = "merge",
};

uint32_t cv_reduce_nodes(const struct cv_reduce_job *reduce)
{
    return reduce->costs != NULL ? cleave_costs_nodes(reduce->costs) : reduce->job.nodes;
}

/* The laws of a job without a file of costs; false: it has one. */
static bool read_laws(const struct cleave_reduction *job, struct cv_distribution *d,
                      struct cv_distribution *c)
{
    return job->costs == NULL &&
           cv_distribution_parse(job->transfer, d, NULL) == CLEAVE_OK &&
           cv_distribution_parse(job->compute, c, NULL) == CLEAVE_OK;
}

bool cv_reduce_means(const struct cleave_reduction *job, double *d, double *c)
{
    struct cv_distribution transfer, compute;

    if (!read_laws(job, &transfer, &compute))
        return false;
    *d = cv_distribution_mean(&transfer);
    *c = cv_distribution_mean(&compute);
    return true;
}

static bool ready_is_random(const struct cleave_reduction *job)
{
    struct cv_distribution distribution;

    return job->ready != NULL &&
           cv_distribution_parse(job->ready, &distribution, NULL) == CLEAVE_OK &&
           cv_distribution_cv(&distribution) > 0;
}

bool cv_reduce_is_exact(const struct cleave_reduction *job)
{
    struct cv_distribution transfer, compute;

    if (ready_is_random(job))
        return false;
    return job->costs != NULL ||
           (read_laws(job, &transfer, &compute) && cv_distribution_cv(&transfer) == 0 &&
            cv_distribution_cv(&compute) == 0);
}

/* A lower bound on the mean length over random ready times, with costs at their means:
 * the bound ln(sum of exp(s ready)) / s is convex, so its mean is at least its value at
 * the mean of the law. */
static double ready_mean_bound(const struct cleave_reduction *job)
{
    struct cv_distribution ready;
    struct cv_ready_job equal = { .model = job->ready_model };
    struct cv_ready_steps steps;
    double rate;

    if (cv_distribution_parse(job->ready, &ready, NULL) != CLEAVE_OK)
        return 0;
    if (!cv_reduce_means(job, &equal.d, &equal.c))
        return cv_distribution_mean(&ready); /* the last is no earlier than the mean */
    steps = cv_ready_steps(&equal);
    rate = cv_ready_rate(steps.a, steps.b);
    if (!cv_ready_is_exact(&equal))
        return cv_distribution_mean(&ready) + (job->nodes > 1 ? equal.c : 0);
    return cv_distribution_mean(&ready) + (isinf(rate) ? 0 : log(job->nodes) / rate);
}

int cv_reduce_bound(const struct cleave_reduction *job, double *out)
{
    struct cleave_reduction plain = *job;
    struct cleave_pair_costs pairs;
    struct cleave_tree *tree;
    char min[32];

    if (ready_is_random(job)) {
        *out = ready_mean_bound(job);
        return CV_EXIT_DONE;
    }
    plain.policy = "greedy";
    plain.settings = NULL;
    plain.nsettings = 0;
    plain.trace = NULL;
    plain.simgrid = NULL;
    if (job->simgrid != NULL && job->simgrid->topology != NULL) {
        /* Nothing is faster than the fastest pair when it is alone. */
        CV_CALL(cleave_simgrid_measure_pairs(job->simgrid, job->nodes, &pairs, &err));
        snprintf(min, sizeof min, "%.17g", isnan(pairs.least_s) ? 0 : pairs.least_s);
        plain.transfer = min;
    }
    CV_CALL(cleave_plan_reduce(&plain, &tree, &err));
    *out = tree->lower_bound_s;
    cleave_tree_free(tree);
    return CV_EXIT_DONE;
}

bool cv_reduce_closed_form(const struct cleave_reduction *job, struct cv_markov *out)
{
    enum { MOST_STATES = 5000 };
    struct cv_distribution transfer, compute;

    if (job->simgrid != NULL || job->ready != NULL || job->ready_s != NULL ||
        cv_policy_proof(job->policy) != CV_METHOD_TREE_DYN || job->nsettings > 0 ||
        job->cluster != 0 || !read_laws(job, &transfer, &compute) ||
        transfer.kind != CV_LAW_GAMMA || transfer.cv != 1 || !(transfer.mean > 0))
        return false;
    if (compute.mean == 0)
        return cv_markov_transfers(job->nodes, 1 / transfer.mean, out, NULL) == CLEAVE_OK;
    return compute.kind == CV_LAW_GAMMA && compute.cv == 1 &&
           job->model == CLEAVE_COMPUTE_FRESH && job->nodes <= MOST_STATES &&
           cv_markov_both(job->nodes, 1 / transfer.mean, 1 / compute.mean, out, NULL) ==
               CLEAVE_OK;
}

void cv_reduce_words(const struct cv_reduce_job *reduce, struct cv_text *out)
{
    cv_text_add(out, "%s", CV_COUNTED(cv_reduce_nodes(reduce), "node"));
    if (reduce->costs != NULL)
        cv_text_add(out, ", costs from a file");
    else
        cv_text_add(out, ", transfer %s, compute %s", CV_ECHO(reduce->job.transfer),
                    CV_ECHO(reduce->job.compute));
    if (reduce->job.ready != NULL)
        cv_text_add(out, ", ready %s (%s)", CV_ECHO(reduce->job.ready),
                    cv_ready_models[reduce->job.ready_model]);
    else if (reduce->job.ready_s != NULL)
        cv_text_add(out, ", ready at times from a file (%s)",
                    cv_ready_models[reduce->job.ready_model]);
}

static bool is_limited(const struct cleave_reduction *job)
{
    for (size_t i = 0; i < job->nsettings; i++) {
        if (strncmp(job->settings[i].key, "max_", 4) == 0)
            return true;
    }
    return false;
}

static void add_length(const struct cleave_tree *tree, const struct cv_reduce_job *reduce,
                       struct cv_text *out)
{
    const bool equal_costs = reduce->costs == NULL;
    const double over = cv_over(tree->length_s, tree->optimum_s);

    cv_text_add(out, "length    %s s", CV_SHOW_NUMBER(tree->length_s));
    if (equal_costs && !isnan(tree->optimum_s)) {
        if (over <= 0)
            cv_text_add(out, ", which no tree can beat");
        else
            cv_text_add(out, ", %.2f%% over the optimum of %s s%s", 100 * over,
                        CV_SHOW_NUMBER(tree->optimum_s),
                        is_limited(&reduce->job) ? " without limits" : "");
    }
    cv_text_add(out, "\n");
    if (!equal_costs && !isnan(tree->optimum_s))
        cv_text_add(out, "optimum   %s s if all costs were equal to their means\n",
                    CV_SHOW_NUMBER(tree->optimum_s));
    if (!isnan(tree->lower_bound_s))
        cv_text_add(out, "bounds    at least %s s", CV_SHOW_NUMBER(tree->lower_bound_s));
    if (!isnan(tree->lower_bound_s) && !isnan(tree->upper_bound_s))
        cv_text_add(out, ", at most %s s", CV_SHOW_NUMBER(tree->upper_bound_s));
    if (!isnan(tree->lower_bound_s))
        cv_text_add(out, "\n");
}

/* How many nodes receive how often, and how far down the tree goes. */
struct shape {
    uint32_t *received; /* per node            */
    uint32_t *nodes;    /* by partials received */
    uint32_t *depth;    /* per node, from 1 at the root; 0: not known yet */
    uint32_t max, deepest, receivers;
};

static void find_depth(const struct cleave_tree *tree, struct shape *shape, uint32_t node)
{
    uint32_t up = node, steps = 0;

    for (; up != tree->root && shape->depth[up] == 0; up = (uint32_t)tree->parent[up])
        steps++;
    if (up == tree->root)
        shape->depth[up] = 1;
    steps += shape->depth[up];
    if (steps > shape->deepest)
        shape->deepest = steps;
    for (; shape->depth[node] == 0; node = (uint32_t)tree->parent[node])
        shape->depth[node] = steps--;
}

static bool find_shape(const struct cleave_tree *tree, struct cv_arena *arena,
                       struct shape *shape)
{
    const uint32_t n = tree->nodes;

    shape->received = cv_array(arena, n, sizeof *shape->received);
    shape->depth = cv_array(arena, n, sizeof *shape->depth);
    if (shape->received == NULL || shape->depth == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *received;

        find_depth(tree, shape, i);
        if (tree->parent[i] < 0)
            continue;
        received = &shape->received[tree->parent[i]];
        shape->receivers += (*received)++ == 0;
        shape->max = *received > shape->max ? *received : shape->max;
    }
    shape->nodes = cv_array(arena, (size_t)shape->max + 1, sizeof *shape->nodes);
    for (uint32_t i = 0; shape->nodes != NULL && i < n; i++)
        shape->nodes[shape->received[i]]++;
    return shape->nodes != NULL;
}

/* For trees that are too large to draw. */
static void add_receivers(const struct shape *shape, uint32_t n,
                          const struct cv_screen *screen, struct cv_text *out)
{
    enum { SHOWN = 12 };
    struct cv_table table;
    uint32_t shown = 0, rows = 0;

    cv_table_init(&table, "+partials received|+nodes|%share");
    for (uint32_t k = 0; k <= shape->max && rows < SHOWN; k++) {
        if (shape->nodes[k] == 0)
            continue;
        cv_table_add(&table, "%u %u %g", k, shape->nodes[k], (double)shape->nodes[k] / n);
        shown += shape->nodes[k];
        rows++;
    }
    cv_add_table(&table, screen, out);
    if (shown < n)
        cv_text_add(out, "  and %u that receive more, at most %u\n", n - shown,
                    shape->max);
}

static void add_shape(const struct cleave_tree *tree, bool table,
                      const struct cv_screen *screen, struct cv_text *out)
{
    struct shape shape = { .received = NULL };
    struct cv_arena arena;

    cv_arena_init(&arena);
    if (find_shape(tree, &arena, &shape)) {
        cv_text_add(out, "root      node %u, which receives %s\n", tree->root,
                    CV_COUNTED(shape.received[tree->root], "partial"));
        cv_text_add(out, "tree      %s, %s receive%s%s\n",
                    CV_COUNTED(shape.deepest, "level"),
                    CV_COUNTED(shape.receivers, "node"), shape.receivers == 1 ? "s" : "",
                    tree->keeps_order ? ", order is kept" : "");
        if (table)
            add_receivers(&shape, tree->nodes, screen, out);
    } else {
        out->failed = true;
    }
    cv_arena_done(&arena);
}

void cv_tree_text(struct cv_task_call *task, bool drawn, const struct cv_screen *screen,
                  struct cv_text *out)
{
    const struct cv_gantt_style style = { screen->width,  CV_TREE_DRAWN, screen->utf8,
                                          screen->colour, NULL,          0 };
    const struct cv_reduce_job *reduce = task->job;
    const struct cleave_tree *tree = reduce->tree;
    struct cv_text explanation = { NULL, 0, 0, false };

    cv_text_add(out, "%s", CV_BOLD(screen));
    cv_reduce_words(reduce, out);
    cv_text_add(out, "%s\n", CV_PLAIN(screen));
    cv_policy_line(tree->policy, NULL, NULL, screen->width, out);
    add_length(tree, reduce, out);
    add_shape(tree, tree->nodes > CV_TREE_DRAWN, screen, out);
    if (task->options->explain) {
        cv_reduce_explain(reduce, task->options, &explanation);
        cv_text_add(out, "\n");
        cv_wrap(out, explanation.failed ? "" : explanation.bytes, 0, 0, screen->width);
        cv_text_add(out, "\n");
        cv_text_end(&explanation, out);
    }
    if (drawn && task->trace != NULL && tree->nodes > 1 && tree->nodes <= CV_TREE_DRAWN) {
        cv_text_add(out, "\n");
        cv_terminal_tree(tree, task->trace, &style, out);
    }
}

void cv_field_bounds(struct cv_json *json, const struct cleave_tree *tree)
{
    cv_fields(json, "lower_bound %g, upper_bound %g, optimum %g, ratio %g",
              tree->lower_bound_s, tree->upper_bound_s, tree->optimum_s,
              tree->length_s == tree->optimum_s ? 1 : tree->length_s / tree->optimum_s);
}

/* Bounds by degree and depth hold if all transfers take d and all combinations c. */
void cv_field_extent(struct cv_json *json, const struct cv_reduce_job *reduce)
{
    struct shape shape = { .received = NULL };
    struct cv_arena arena;
    double d = NAN, c = NAN;

    cv_reduce_means(&reduce->job, &d, &c);
    cv_arena_init(&arena);
    if (find_shape(reduce->tree, &arena, &shape)) {
        const uint32_t depth = shape.deepest - 1;

        cv_fields(json, "degree %u, depth %u, degree_bound %g, depth_bound %g", shape.max,
                  depth, shape.max > 0 ? d + (shape.max - 1) * fmax(d, c) + c : 0,
                  depth * (d + c));
    }
    cv_arena_done(&arena);
}

/* A list on one line: a tree may have millions of nodes. */
static void open_line(struct cv_json *json, const char *key)
{
    cv_json_key(json, key);
    cv_json_on_line(json);
    cv_json_list(json);
}

void cv_field_tree(struct cv_json *json, const struct cleave_tree *tree)
{
    open_line(json, "parent");
    for (uint32_t i = 0; i < tree->nodes; i++)
        cv_json_whole(json, tree->parent[i]);
    cv_json_end(json);
    open_line(json, "start");
    for (uint32_t i = 0; i < tree->nodes; i++)
        cv_json_number(json, tree->start_s[i]); /* null for the root */
    cv_json_end(json);
    if (tree->first == NULL || tree->last == NULL)
        return;
    open_line(json, "intervals");
    for (uint32_t i = 0; i < tree->nodes; i++) {
        if (i == tree->root) {
            cv_json_text(json, NULL);
            continue;
        }
        cv_json_list(json);
        cv_json_count(json, tree->first[i]);
        cv_json_count(json, tree->last[i]);
        cv_json_end(json);
    }
    cv_json_end(json);
}

/* The ready times as a plan takes them; NULL when memory is short. */
static double *planned_times(const struct cv_reduce_job *reduce)
{
    const uint32_t n = cv_reduce_nodes(reduce);
    double *times = malloc(n * sizeof *times);
    struct cv_distribution distribution = cv_distribution_constant(0);

    if (reduce->job.ready != NULL)
        cv_distribution_parse(reduce->job.ready, &distribution, NULL);
    for (uint32_t i = 0; times != NULL && i < n; i++)
        times[i] = reduce->job.ready_s != NULL ? reduce->job.ready_s[i]
                                               : cv_distribution_mean(&distribution);
    return times;
}

/* The bound ln(sum of exp(s ready)) / s for costs at their means; NAN if it does not hold. */
static double kraft_bound(const struct cv_reduce_job *reduce, double d, double c)
{
    double *times = planned_times(reduce), bound = NAN;
    const struct cv_ready_job job = { cv_reduce_nodes(reduce), times, d, c,
                                      reduce->job.ready_model };

    if (times != NULL && cv_ready_is_exact(&job))
        bound = cv_ready_kraft(&job);
    free(times);
    return bound;
}

void cv_field_ready(struct cv_json *json, const struct cv_reduce_job *reduce)
{
    double d, c;

    if (reduce->job.ready == NULL && reduce->job.ready_s == NULL)
        return;
    cv_field_text(json, "ready_model", cv_ready_models[reduce->job.ready_model]);
    if (cv_reduce_means(&reduce->job, &d, &c))
        cv_field_number(json, "kraft_bound", kraft_bound(reduce, d, c));
}

static void explain_merge(double bound, double b, struct cv_text *out)
{
    cv_text_add(
        out,
        "One thing at a time, a schedule is a binary tree whose length is the greatest "
        "of ready + (d + c) depth. T is enough if and only if the sum of 2^-floor((T - "
        "ready) / (d + c)) is at most 1, and combining the two that are there first is "
        "optimal: tree-dyn does that without knowing any time. The bound is ln(sum of "
        "exp(s ready)) / s = %s s with s = ln 2 / (d + c) = %s.",
        CV_SHOW_NUMBER(bound), CV_SHOW_NUMBER(log(2) / b));
}

static void explain_ready(const struct cv_reduce_job *reduce, double d, double c,
                          struct cv_text *out)
{
    const struct cv_ready_job job = { .d = d, .c = c, .model = reduce->job.ready_model };
    const struct cv_ready_steps steps = cv_ready_steps(&job);
    const double bound = kraft_bound(reduce, d, c);
    const double rate = cv_ready_rate(steps.a, steps.b);

    if (!cv_ready_is_exact(&job)) {
        cv_text_add(out,
                    "Nodes receive before their own partials are ready, and transfers "
                    "cost more than combinations: whether the tree is optimal is not "
                    "known. No tree is shorter than %s s.",
                    CV_SHOW_NUMBER(reduce->tree->lower_bound_s));
    } else if (!(steps.b > 0)) {
        cv_text_add(out,
                    "Nothing costs any time: the result is there with the last partial.");
    } else if (job.model == CLEAVE_READY_MERGE) {
        explain_merge(bound, steps.b, out);
    } else {
        cv_text_add(out,
                    "Let A = max(d, c), B = d + c and s = %s, the root of exp(-s A) + "
                    "exp(-s B) = 1. The shortest tree takes at least ln(sum of exp(s "
                    "ready)) / s = %s s and at most B more, %s s.",
                    CV_SHOW_NUMBER(rate), CV_SHOW_NUMBER(bound),
                    CV_SHOW_NUMBER(bound + steps.b));
        cv_text_add(
            out,
            " Policy 'ready' finds it: in reversed time, nodes take places by increasing "
            "deadline, and each node takes the latest place that it may have.");
    }
}

/* From the cheapest transfer and combination to the dearest. */
struct range {
    double least_d, most_d, least_c, most_c;
};

static struct range find_range(const struct cv_reduce_job *reduce)
{
    const struct cleave_costs *costs = reduce->costs;
    struct range range = { INFINITY, 0, INFINITY, 0 };
    double d = 0, c = 0;

    if (cv_reduce_means(&reduce->job, &d, &c)) /* a plan takes every cost at its mean */
        return (struct range){ d, d, c, c };
    for (size_t i = 0; i < costs->nodes; i++) {
        range.least_c = fmin(range.least_c, costs->compute[i]);
        range.most_c = fmax(range.most_c, costs->compute[i]);
        for (size_t j = 0; j < costs->nodes; j++) {
            if (i == j)
                continue;
            range.least_d = fmin(range.least_d, costs->transfer[i * costs->nodes + j]);
            range.most_d = fmax(range.most_d, costs->transfer[i * costs->nodes + j]);
        }
    }
    return range;
}

/* The strategy that was asked for; NULL: none. */
static const char *strategy_of(const struct cv_reduce_job *reduce)
{
    for (size_t i = 0; i < reduce->job.nsettings; i++)
        if (strcmp(reduce->job.settings[i].key, "strategy") == 0)
            return reduce->job.settings[i].value;
    return NULL;
}

static void explain_strategy(const char *name, const struct range *range,
                             struct cv_text *out)
{
    const bool binomial = strcmp(name, "binomial") == 0;

    if (range->least_d != range->most_d || range->least_c != range->most_c) {
        cv_text_add(out,
                    "The proofs about the %s strategy assume equal costs of all "
                    "transfers and equal costs of all combinations.",
                    name);
        return;
    }
    cv_text_add(out,
                "The %s strategy is the greedy tree for c = %s, whatever the costs are. "
                "It takes at most %s times the optimum: %s, for any number of nodes.",
                name, binomial ? "0" : "d",
                CV_SHOW_NUMBER(cv_strategy_ratio(binomial ? CV_STRATEGY_BINOMIAL
                                                          : CV_STRATEGY_FIBONACCI,
                                                 range->least_d, range->least_c)),
                binomial ? "1 + min(d, c) / max(d, c)" : "2");
}

static void explain_greedy(const struct cleave_tree *tree,
                           const struct cv_task_options *options,
                           const struct range *range, struct cv_text *out)
{
    const uint64_t limit =
        options->max_transfers > 0 ? options->max_transfers : options->max_reducers;
    const double d = range->least_d, c = range->least_c;

    if (range->least_d != range->most_d || range->least_c != range->most_c) {
        cv_text_add(
            out, "The greedy tree is optimal when all transfers cost the same and all "
                 "combinations cost the same. Here they do not: the tree is the one for "
                 "the mean of the transfers and for what each node takes to combine, and "
                 "nothing is known about how far it is from the optimum.");
        return;
    }
    cv_text_add(out,
                "All transfers cost the same, d, and all combinations, c. So the greedy "
                "tree is optimal: each node is put below the node that can receive from "
                "it latest. Without limits the optimum for n nodes lies between "
                "ceil(log2 n) max(d, c) = %s s and ceil(log2 n) (d + c) = %s s.",
                CV_SHOW_NUMBER(cv_reduce_lower(tree->nodes, d, c)),
                CV_SHOW_NUMBER(cv_reduce_upper(tree->nodes, d, c)));
    if (limit > 0)
        cv_text_add(out,
                    "\nWith at most K = %llu %s the tree is optimal among those within "
                    "the limit, and no longer than (l + ceil((n - 2^l) / K)) (d + c) = "
                    "%s s, where l = ceil(log2 K) and K counts as at most n / 2.",
                    (unsigned long long)limit,
                    options->max_transfers > 0 ? "transfers at a time" : "reducers",
                    CV_SHOW_NUMBER(cv_reduce_upper_limited(tree->nodes, d, c, limit)));
}

static void explain_method(const struct cleave_tree *tree, enum cv_reduce_method method,
                           const struct range *range, struct cv_text *out)
{
    struct cv_reduce_guarantee guarantee;

    if (tree->nodes < 2) {
        cv_text_add(out, "A single node has nothing to combine.");
        return;
    }
    if (range->least_c != range->most_c) {
        cv_text_add(out,
                    "The proofs about '%s' assume equal costs of all combinations; here "
                    "they cost from %s s to %s s.",
                    tree->policy, CV_SHOW_NUMBER(range->least_c),
                    CV_SHOW_NUMBER(range->most_c));
        return;
    }
    if (!cv_reduce_guarantee(method, tree->nodes, range->least_d, range->most_d,
                             range->least_c, &guarantee)) {
        cv_text_add(
            out,
            "The guarantee of '%s' grows with Delta, the dearest transfer divided by the "
            "cheapest; here the cheapest costs nothing, so there is none.",
            tree->policy);
        return;
    }
    cv_text_add(out,
                "Without knowing the costs, '%s' takes at most %s times the optimum: %s, "
                "for %s, where d = %s s is the cheapest transfer and Delta = %s how much "
                "dearer the dearest is.",
                tree->policy, CV_SHOW_NUMBER(guarantee.ratio), guarantee.formula,
                guarantee.when, CV_SHOW_NUMBER(range->least_d),
                CV_SHOW_NUMBER(range->most_d / range->least_d));
    if (guarantee.theorem > 0)
        cv_text_add(out,
                    " This is theorem %u of Benoit, Canon and Marchal, Non-clairvoyant "
                    "reduction algorithms for heterogeneous platforms.",
                    guarantee.theorem);
}

void cv_reduce_explain(const struct cv_reduce_job *reduce,
                       const struct cv_task_options *options, struct cv_text *out)
{
    const struct range range = find_range(reduce);
    const struct cleave_tree *tree = reduce->tree;
    const enum cv_reduce_method method = cv_policy_proof(tree->policy);

    if (reduce->job.ready != NULL || reduce->job.ready_s != NULL)
        explain_ready(reduce, range.least_d, range.least_c, out);
    else if (method == CV_METHOD_READY)
        cv_text_add(out, "All partials are there from the beginning: the tree is one of "
                         "the shortest, as that of 'greedy'.");
    else if (method == CV_METHOD_OPTIMAL && strategy_of(reduce) != NULL)
        explain_strategy(strategy_of(reduce), &range, out);
    else if (method == CV_METHOD_OPTIMAL)
        explain_greedy(tree, options, &range, out);
    else if (method != CV_METHOD_UNPROVED)
        explain_method(tree, method, &range, out);
    else
        cv_text_add(
            out,
            "No bound on how much longer than the optimum '%s' can take has been proved.",
            tree->policy);
}
