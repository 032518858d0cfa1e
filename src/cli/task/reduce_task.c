/* reduce_task.c -- the task reduce: partial results combined along a tree.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cleave/trace.h>
#include "cli/task/reduce_task.h"
#include "io/costs_file.h"
#include "model/ready/ready_tree.h"
#include "model/reduce/reduce_costs.h"
#include "model/reduce/reduce_bounds.h"
#include "model/reduce/reduce_tree.h"
#include "policy/compound/registry.h"

/* clang-format off */
static const struct cv_option job_options[] = {
    CV_OPTION('N', "--nodes", COUNT, "N", nodes,
        "How many nodes there are, each with a partial: 64 or 1e6.",
        .min = 1, .max = 1e18),
    CV_OPTION('d', "--transfer", TEXT, "TIME", transfer,
        "Time to send a partial: a time such as 0.5 or 500ms, or a law: gamma:MEAN,CV, "
        "exp:MEAN, lognormal:MEAN,CV, uniform:LOW,HIGH, bernoulli:LOW,HIGH,P (HIGH with "
        "probability P) or const:TIME. CV is the standard deviation divided by the mean."),
    CV_OPTION('c', "--compute", TEXT, "TIME", compute,
        "Time to combine two partials: a time or a law."),
    CV_OPTION(0, "--costs", TEXT, "FILE", costs,
        "One exact instance instead of these three, in JSON or YAML: {\"transfer\": "
        "[[...], ...], \"compute\": [...]}, where row i, column j is the time from node "
        "i to node j. - reads standard input."),
    CV_OPTION(0, "--cluster-size", COUNT, "N", cluster,
        "Group nodes into clusters of N, numbered in a row; see --remote.",
        .min = 1, .max = 4294967295.0),
    CV_OPTION(0, "--remote", NUMBER, "FACTOR", remote,
        "Between clusters a transfer takes FACTOR times as long. Default 1.",
        .min = 1e-9, .max = 1e9),
    CV_OPTION(0, "--ready", TEXT, "FILE|LAW", ready,
        "Partials become ready at different times: a file with one time per node, separated "
        "by white space or commas (also a list in JSON; - reads standard input), or a law as "
        "for --transfer, drawn again in every run. Default: all are ready at the start.", .file = CV_FILE_READ),
    CV_OPTION(0, "--ready-model", TEXT, "MODEL", ready_model,
        "Work of a node before its own partial is ready. absent: nothing. early: receive, "
        "but not combine. merge: nothing, and later one thing at a time, without overlap. "
        "Default absent."),
};

static const struct cv_option policy_options[] = {
    CV_OPTION(0, "--policy", TEXT, "NAME", policy,
        "Choose senders and receivers with one of 'cleave policies'. Default greedy for a "
        "plan, or ready with --ready; tree-adapt for a simulation."),
    CV_OPTION(0, "--max-transfers", COUNT, "K", max_transfers,
        "At most K transfers at the same time; the same as --param max_transfers=K.",
        .min = 1, .max = 4294967295.0),
    CV_OPTION(0, "--max-reducers", COUNT, "K", max_reducers,
        "At most K nodes receive anything; the same as --param max_reducers=K.",
        .min = 1, .max = 4294967295.0),
    CV_FLAG(0, "--ordered", 1, ordered,
        "Number the nodes of the tree so that only neighbours are combined, for an "
        "operation that does not commute; the same as --param ordered=1."),
    CV_OPTION(0, "--root", TEXT, "NODE", root,
        "The node that has the result in the end, for policy ready; the same as --param "
        "root=NODE."),
    CV_ROW_PARAM,
};

static const struct cv_option trial_options[] = {
    CV_ROW_RUNS(", each with newly drawn costs"),
    CV_ROW_SEED,
    CV_OPTION(0, "--compute-model", TEXT, "MODEL", model,
        "fresh: every combination draws its own time. fixed: a node takes the same time for "
        "all its combinations, so that some nodes are slow. Default fresh."),
    CV_ROW_THREADS,
    CV_ROW_ENGINE,
    CV_TOPOLOGY_OPTION,
    CV_TOPOLOGY_HOSTS,
    CV_OPTION(0, "--partial", UNITS, "SIZE", where.partial_bytes,
        "On a topology: bytes in a partial. Default 1 MB."),
};

static const struct cv_option seed_option[] = {
    CV_OPTION(0, "--seed", COUNT, "N", seed,
        "For policies that draw random numbers. Default 1."),
};

static const struct cv_option plan_output[] = {
    CV_FLAG(0, "--length-only", 1, length_only,
        "Only the length of the shortest tree, found by counting: for up to 1e18 nodes, "
        "at once."),
    CV_FLAG(0, "--explain", 1, explain,
        "Print the proved facts about the policy for these costs."),
    CV_ROW_JSON("policy, nodes, length, bounds, and parent and transfer start of every "
        "node."),
    CV_FLAG(0, "--tree", 1, tree,
        "Draw the tree if it has at most 32 nodes; this is the default."),
    CV_FLAG(0, "--no-tree", 0, tree, "Draw no tree."),
    CV_ROW_WIDTH("the drawing"),
    CV_ROW_TRACE("Write every event and order"),
};

static const struct cv_option simulate_output[] = {
    CV_ROW_JSON("policy, nodes, runs and the times; with --costs also the tree that came "
        "about."),
    CV_ROW_WIDTH("charts"),
    CV_ROW_TRACE("Write every event and order of the first run"),
};

static const struct cv_option compared_policies[] = {
    CV_OPTION(0, "--policies", TEXT, "A,B,...", policies,
        "The policies to compare, separated by commas. Default: all for reductions; policies "
        "that do not apply are listed with the reason. A named policy must apply."),
    CV_OPTION(0, "--max-transfers", COUNT, "K", max_transfers,
        "The same as --param max_transfers=K.", .min = 1, .max = 4294967295.0),
    CV_OPTION(0, "--max-reducers", COUNT, "K", max_reducers,
        "The same as --param max_reducers=K.", .min = 1, .max = 4294967295.0),
    CV_ROW_PARAM_OF_ALL,
};

static const struct cv_option sweep_options[] = {
    CV_OPTION(0, "--sweep", TEXT, "SWEEP", sweep,
        "Compare for many values of one thing: cv (of both laws, which must be "
        "gamma:MEAN,CV), transfer or compute (their means) or nodes. cv=0.01:10:log "
        "takes four values per factor of ten, cv=0.01:10:log:7 seven in all, "
        "nodes=16:256:16 goes in steps. One row per value, one column per policy."),
};

static const struct cv_option compare_output[] = {
    CV_ROW_JSON("the rows, and what does not apply."),
    CV_ROW_PAGE,
};

static const struct cv_option_rule rules[] = {
    { 0, "--length-only", CV_EXCLUDES, "--costs",
      "--length-only does not go with costs that differ; leave out --costs" },
    { 0, "--length-only", CV_EXCLUDES, "--max-transfers --max-reducers",
      "--length-only does not go with a limit; leave out --max-transfers and "
      "--max-reducers" },
    { 0, "--length-only", CV_EXCLUDES, "--ready",
      "--length-only does not go with ready times; leave out --ready" },
    { 0, "--length-only", CV_EXCLUDES, "--param",
      "--length-only does not go with parameters; leave out --param" },
    { 0, "--length-only", CV_EXCLUDES, "--trace",
      "--length-only does not go with a trace; leave out --trace" },
    { 0, "--topology", CV_EXCLUDES, "--transfer --costs --cluster-size",
      "--topology: what sending takes follows from the topology and --partial; leave out "
      "%2" },
    { 0, "--costs", CV_EXCLUDES, "--nodes --transfer --compute --cluster-size",
      "--costs: the file has all costs; leave out %2" },
    { 0, "--ready-model", CV_NEEDS, "--ready",
      "--ready-model goes with --ready FILE or --ready LAW" },
    { 0, "--sweep", CV_EXCLUDES, "--costs",
      "--sweep: the costs of a file do not vary; leave out --costs" },
    { 0, "--sweep", CV_EXCLUDES, "--ready",
      "--sweep: compares without ready times; leave out --ready" },
    CV_TOPOLOGY_RULES(" --partial"),
    CV_RULES_PAGE,
    { .options = NULL },
};
/* clang-format on */

/* A number, or the form of a law; a file with such a name can be called ./NAME. */
static bool is_law(const char *text)
{
    const size_t name = strspn(text, "abcdefghijklmnopqrstuvwxyz");

    if (strcmp(text, "-") == 0)
        return false;
    return strchr("+-.0123456789", text[0]) != NULL
               ? strchr(text, '/') == NULL && text[0] != '\0'
               : name > 0 && text[name] == ':';
}

static int read_law(const char *option, const char *text)
{
    struct cleave_error err;
    struct cv_distribution distribution;

    if (text != NULL && cv_distribution_parse(text, &distribution, &err) != CLEAVE_OK)
        return cv_refuse("%s: %s", option, err.text);
    return CV_EXIT_DONE;
}

/* Read --ready and --ready-model into the job. Known times determine the number of nodes.
 * Returns an exit status. */
static int read_ready(const struct cv_task_options *options, struct cv_reduce_job *out)
{
    int model = CLEAVE_READY_ABSENT;
    size_t count = 0;
    const uint64_t nodes =
        out->costs != NULL ? cleave_costs_nodes(out->costs) : options->nodes;

    if (options->ready_model != NULL)
        CV_DO(cv_word_read("--ready-model", options->ready_model, cv_ready_models, 3,
                           &model));
    out->job.ready_model = (enum cleave_ready_model)model;
    if (options->ready == NULL)
        return CV_EXIT_DONE;
    if (is_law(options->ready)) {
        CV_DO(read_law("--ready", options->ready));
        out->job.ready = options->ready;
        return CV_EXIT_DONE;
    }
    CV_CALL(cv_ready_load(options->ready, &out->ready_s, &count, &err));
    if (nodes != 0 && nodes != count)
        return cv_refuse("--ready: the file has %zu times, but there are %llu nodes",
                         count, (unsigned long long)nodes);
    out->job.ready_s = out->ready_s;
    if (out->costs == NULL)
        out->job.nodes = (uint32_t)count;
    return CV_EXIT_DONE;
}

static int read_settings(const struct cv_task_options *options, struct cv_arena *arena,
                         struct cleave_reduction *job)
{
    struct cv_settings settings;

    CV_DO(cv_settings_open(&settings, &options->params, 4, arena));
    CV_DO(cv_settings_number(&settings, "max_transfers", (double)options->max_transfers));
    CV_DO(cv_settings_number(&settings, "max_reducers", (double)options->max_reducers));
    CV_DO(cv_settings_number(&settings, "ordered", (double)options->ordered));
    CV_DO(cv_settings_text(&settings, "root", options->root));
    job->settings = settings.items;
    job->nsettings = settings.count;
    return CV_EXIT_DONE;
}

static bool is(const char *swept, const char *name)
{
    return swept != NULL && strcmp(swept, name) == 0;
}

/* On a topology messages take as long as its links need. Policies get the mean time of a message
 * that is alone. */
static int read_transfers(const struct cv_task_options *options, struct cv_arena *arena,
                          struct cleave_reduction *job)
{
    struct cleave_pair_costs pairs;

    if (options->nodes >= UINT32_MAX)
        return cv_refuse("--nodes: expected at most as many as the topology has hosts");
    CV_CALL(cleave_simgrid_measure_pairs(job->simgrid, (uint32_t)options->nodes, &pairs,
                                         &err));
    job->nodes = pairs.nodes;
    job->transfer = cv_arena_print(arena, "%.17g", pairs.mean_s);
    return job->transfer != NULL ? CV_EXIT_DONE : cv_no_memory("the costs");
}

/* Number of nodes and two laws. */
static int read_laws(const struct cv_task_options *options, const char *swept,
                     struct cleave_reduction *job)
{
    if (job->nodes == 0 && options->nodes == 0 && !is(swept, "nodes"))
        return cv_refuse("--nodes N is required, or --costs FILE");
    if (job->transfer == NULL && options->transfer == NULL && !is(swept, "transfer"))
        return cv_refuse("--transfer TIME is required, or --costs FILE");
    if (options->compute == NULL && !is(swept, "compute"))
        return cv_refuse("--compute TIME is required, or --costs FILE");
    if (options->nodes >= UINT32_MAX)
        return cv_refuse("--nodes: expected at most %lu nodes; only 'cleave plan reduce "
                         "--length-only' takes more",
                         (unsigned long)UINT32_MAX - 1);
    CV_DO(read_law("--transfer", options->transfer));
    CV_DO(read_law("--compute", options->compute));
    if (job->transfer == NULL) {
        if (job->nodes == 0)
            job->nodes = (uint32_t)options->nodes;
        job->transfer = options->transfer;
    }
    job->compute = options->compute;
    job->cluster = (uint32_t)options->cluster;
    job->remote = options->remote;
    return CV_EXIT_DONE;
}

/* --length-only: two means and a number of nodes. */
static int open_length(struct cv_task_call *task)
{
    const struct cv_task_options *options = task->options;
    struct cv_reduce_job *reduce = task->job;
    double d = 0, c = 0;

    if (options->policy != NULL && cv_policy_proof(options->policy) != CV_METHOD_OPTIMAL)
        return cv_refuse("--length-only does not go with another policy than greedy");
    if (options->nodes == 0)
        return cv_refuse("--nodes N is required");
    if (options->transfer == NULL)
        return cv_refuse("--transfer TIME is required");
    CV_DO(read_law("--transfer", options->transfer));
    if (options->compute == NULL)
        return cv_refuse("--compute TIME is required");
    CV_DO(read_law("--compute", options->compute));
    reduce->job.transfer = options->transfer;
    reduce->job.compute = options->compute;
    cv_reduce_means(&reduce->job, &d, &c);
    reduce->length_s = cv_reduce_length(options->nodes, d, c);
    reduce->lower_s = cv_reduce_lower(options->nodes, d, c);
    reduce->upper_s = cv_reduce_upper(options->nodes, d, c);
    return CV_EXIT_DONE;
}

static int open_job(struct cv_task_call *task)
{
    static const char *const models[] = {
        [CLEAVE_COMPUTE_FRESH] = "fresh",
        [CLEAVE_COMPUTE_FIXED] = "fixed",
    };
    const struct cv_task_options *options = task->options;
    struct cv_reduce_job *out = task->job;
    int model;

    if (options->length_only)
        return open_length(task);
    CV_DO(read_settings(options, task->arena, &out->job));
    CV_DO(cv_word_read("--compute-model", options->model, models, 2, &model));
    out->job.model = (enum cleave_compute_model)model;
    CV_DO(cv_topology_open(options->engine, &options->where, task->arena,
                           &out->job.simgrid));
    if (options->where.file != NULL)
        CV_DO(read_transfers(options, task->arena, &out->job));
    if (options->costs != NULL)
        CV_CALL(cleave_costs_load(options->costs, &out->costs, &err));
    out->job.costs = out->costs;
    CV_DO(read_ready(options, out));
    if (options->costs == NULL)
        CV_DO(read_laws(options, task->found.sweep.name, &out->job));
    out->job.policy = options->policy;
    out->job.seed = options->seed;
    out->job.trace = task->trace;
    return CV_EXIT_DONE;
}

static void close_job(struct cv_task_call *task)
{
    struct cv_reduce_job *reduce = task->job;

    cleave_tree_free(reduce->tree);
    cleave_costs_free(reduce->costs);
    free(reduce->ready_s);
}

/* Plan a tree; a small one is drawn from its events. */
static int make_tree(struct cv_task_call *task, bool drawn, const char *engine,
                     const char *bound)
{
    struct cv_reduce_job *reduce = task->job;

    if (task->trace == NULL && drawn && cv_reduce_nodes(reduce) <= CV_TREE_DRAWN)
        CV_CALL(cleave_trace_new(&task->trace, &err));
    reduce->job.trace = task->trace;
    CV_CALL(cleave_plan_reduce(&reduce->job, &reduce->tree, &err));
    task->facts = (struct cleave_trace_facts){
        .engine = engine,
        .bound = { isnan(reduce->tree->lower_bound_s) ? NULL : bound,
                   reduce->tree->lower_bound_s },
    };
    task->traced = (struct cv_trace_context){ .nodes = cv_reduce_nodes(reduce),
                                              .policy = reduce->tree->policy };
    return CV_EXIT_DONE;
}

static int plan(struct cv_task_call *task)
{
    const struct cv_task_options *options = task->options;

    return options->length_only ? CV_EXIT_DONE
                                : make_tree(task, !options->json && options->tree,
                                            "native", "lower bound");
}

static void plan_json(struct cv_task_call *task, struct cv_json *json)
{
    const struct cv_reduce_job *reduce = task->job;
    const struct cleave_tree *tree = reduce->tree;
    struct cv_text explanation = { NULL, 0, 0, false };

    if (task->options->length_only) {
        cv_fields(json,
                  "policy %s, nodes %llu, length %g, lower_bound %g, upper_bound %g, "
                  "optimum %g, ratio %u",
                  "greedy", (unsigned long long)task->options->nodes, reduce->length_s,
                  reduce->lower_s, reduce->upper_s, reduce->length_s, 1u);
        return;
    }
    cv_fields(json, "policy %s, nodes %u, length %g, root %u", tree->policy, tree->nodes,
              tree->length_s, tree->root);
    cv_field_bounds(json, tree);
    cv_field_extent(json, reduce);
    cv_field_ready(json, reduce);
    if (task->options->explain) {
        cv_reduce_explain(reduce, task->options, &explanation);
        cv_field_text(json, "explanation", explanation.bytes);
        cv_text_done(&explanation);
    }
    cv_field_tree(json, tree);
}

static void length_text(struct cv_task_call *task, struct cv_text *out)
{
    const struct cv_task_options *options = task->options;
    const struct cv_reduce_job *reduce = task->job;

    cv_text_add(out, "%s, transfer %s, compute %s\n", CV_COUNTED(options->nodes, "node"),
                CV_ECHO(options->transfer), CV_ECHO(options->compute));
    cv_text_add(out, "length    %s s, which no tree can beat\n",
                CV_SHOW_NUMBER(reduce->length_s));
    cv_text_add(out, "bounds    at least %s s, at most %s s\n",
                CV_SHOW_NUMBER(reduce->lower_s), CV_SHOW_NUMBER(reduce->upper_s));
}

static void plan_text(struct cv_task_call *task, struct cv_screen *screen,
                      struct cv_text *out)
{
    if (task->options->length_only) {
        length_text(task, out);
        return;
    }
    cv_screen_narrow(screen, task->options->width);
    cv_tree_text(task, task->options->tree, screen, out);
}

/* Costs of a file do not vary: there is one run, and its tree is shown. */
static int simulate(struct cv_task_call *task)
{
    const struct cv_task_options *options = task->options;
    const char *engine = cv_engine_used(options->engine, &options->where);
    struct cv_reduce_job *reduce = task->job;

    if (reduce->job.policy == NULL)
        reduce->job.policy = "tree-adapt";
    if (reduce->costs != NULL && cv_reduce_is_exact(&reduce->job)) {
        if (options->runs > 1)
            return cv_refuse("--runs: the costs of a file do not vary, so that all runs "
                             "are the same; leave out --runs");
        return make_tree(task, !options->json, engine, "costs at their means");
    }
    CV_CALL(cleave_simulate_reduce(&reduce->job, &task->trial, &task->stats, &err));
    CV_DO(cv_reduce_bound(&reduce->job, &reduce->bound_s));
    task->facts = (struct cleave_trace_facts){
        .engine = engine,
        .bound = { isnan(reduce->bound_s) ? NULL : "costs at their means",
                   reduce->bound_s },
    };
    task->traced = (struct cv_trace_context){ .nodes = cv_reduce_nodes(reduce),
                                              .policy = reduce->job.policy };
    return CV_EXIT_DONE;
}

/* One run, in the form of statistics. */
static struct cleave_stats stats_of_one(double time_s)
{
    return (struct cleave_stats){ .runs = 1,
                                  .mean_s = time_s,
                                  .q10_s = time_s,
                                  .median_s = time_s,
                                  .q90_s = time_s,
                                  .least_s = time_s,
                                  .most_s = time_s };
}

static void simulation_json(struct cv_task_call *task, struct cv_json *json)
{
    const struct cv_task_options *options = task->options;
    const struct cv_reduce_job *reduce = task->job;
    const struct cleave_tree *tree = reduce->tree;
    const struct cleave_stats stats =
        tree != NULL ? stats_of_one(tree->length_s) : task->stats;
    struct cv_markov exact;

    cv_fields(json,
              "policy %s, nodes %u, runs %llu, seed %llu, transfer %s, compute %s, "
              "compute_model %s, ready ?%s, ready_model ?%s, engine %s, topology ?%s",
              tree != NULL ? tree->policy : reduce->job.policy, cv_reduce_nodes(reduce),
              (unsigned long long)stats.runs, (unsigned long long)options->seed,
              reduce->job.transfer, options->compute,
              options->costs != NULL ? NULL : options->model, options->ready,
              options->ready != NULL ? cv_ready_models[reduce->job.ready_model] : NULL,
              cv_engine_used(options->engine, &options->where), options->where.file);
    if (tree != NULL) {
        cv_field_number(json, "length", tree->length_s);
        cv_field_stats(json, &stats);
        cv_field_count(json, "root", tree->root);
        cv_field_bounds(json, tree);
        cv_field_tree(json, tree);
        return;
    }
    cv_field_stats(json, &stats);
    cv_fields(json, "lower_bound %g, over_bound %g", reduce->bound_s,
              cv_over(stats.mean_s, reduce->bound_s));
    if (cv_reduce_closed_form(&reduce->job, &exact))
        cv_fields(json, "closed_form_mean %g, closed_form_stddev %g", exact.mean_s,
                  sqrt(exact.variance));
}

static void simulation_text(struct cv_task_call *task, struct cv_screen *screen,
                            struct cv_text *out)
{
    const struct cv_task_options *options = task->options;
    const struct cv_reduce_job *reduce = task->job;
    const struct cleave_stats *stats = &task->stats;
    struct cv_markov exact;

    cv_screen_narrow(screen, options->width);
    if (reduce->tree != NULL) {
        cv_tree_text(task, true, screen, out);
        return;
    }
    cv_text_add(out, "%s%s of ", CV_BOLD(screen), CV_COUNTED(stats->runs, "run"));
    cv_reduce_words(reduce, out);
    cv_text_add(out, "%s\n", CV_PLAIN(screen));
    cv_policy_line(reduce->job.policy, NULL, NULL, screen->width, out);
    cv_engine_line(options->engine, &options->where, out);
    cv_text_add(out, "length    %s s on average, %.2f%% over the bound\n",
                CV_SHOW_NUMBER(stats->mean_s),
                100 * cv_over(stats->mean_s, reduce->bound_s));
    cv_text_add(out, "bound     at least %s s for costs at their means\n",
                CV_SHOW_NUMBER(reduce->bound_s));
    if (cv_reduce_closed_form(&reduce->job, &exact))
        cv_text_add(out,
                    "exactly   mean %.5g s, standard deviation %.5g s in closed form\n",
                    exact.mean_s, sqrt(exact.variance));
    if (reduce->job.model == CLEAVE_COMPUTE_FIXED)
        cv_text_add(out, "compute   drawn once per node and run\n");
    cv_times_text(stats, screen, out);
}

static int check_comparison(const struct cv_task_options *options)
{
    if (options->where.file != NULL && options->sweep != NULL &&
        strncmp(options->sweep, "compute=", 8) != 0)
        return cv_refuse("--sweep: on a topology only compute can vary");
    if (options->runs > 1 && options->costs != NULL && options->ready == NULL)
        return cv_refuse("--runs: the costs of a file do not vary, so that all runs are "
                         "the same; leave out --runs");
    return cv_engine_check(options->engine);
}

static int apply(struct cv_task_call *task, size_t index)
{
    struct cleave_bound *bound = &task->found.bounds[index];
    struct cv_reduce_job *reduce = task->job;

    reduce->swept = reduce->job;
    CV_DO(cv_sweep_apply(&task->found.sweep, index, task->arena, &reduce->swept));
    CV_DO(cv_task_trial(task, task->options));
    bound->name = "costs at their means";
    if (!cv_reduce_is_exact(&reduce->swept)) {
        task->found.runs = task->trial.runs;
        task->found.noisy = true;
    }
    return cv_reduce_bound(&reduce->swept, &bound->value_s);
}

static enum cleave_status measure_cell(struct cv_task_call *task, size_t index,
                                       struct cv_compare_cell *cell,
                                       struct cleave_error *err)
{
    const struct cv_reduce_job *reduce = task->job;
    struct cleave_reduction job = reduce->swept;
    struct cleave_tree *tree;

    (void)index;
    job.policy = cell->policy->name;
    if (!cv_reduce_is_exact(&job))
        return cleave_simulate_reduce(&job, &task->trial, &cell->stats, err);
    CV_TRY(cleave_plan_reduce(&job, &tree, err));
    cell->stats = stats_of_one(tree->length_s);
    cleave_tree_free(tree);
    return CLEAVE_OK;
}

static void json_head(struct cv_task_call *task, struct cv_json *json)
{
    const struct cv_task_options *options = task->options;
    const struct cv_reduce_job *reduce = task->job;

    if (task->found.sweep.what != CV_SWEEP_NODES)
        cv_field_count(json, "nodes", cv_reduce_nodes(reduce));
    cv_fields(json,
              "transfer %s, compute %s, compute_model %s, ready ?%s, ready_model ?%s, "
              "runs %llu, seed %llu",
              options->transfer, options->compute,
              reduce->costs != NULL ? NULL : options->model, options->ready,
              options->ready != NULL ? cv_ready_models[reduce->job.ready_model] : NULL,
              (unsigned long long)task->found.runs, (unsigned long long)options->seed);
}

static void json_bound(struct cv_task_call *task, struct cv_json *json, size_t index)
{
    cv_field_number(json, "lower_bound", task->found.bounds[index].value_s);
}

static void json_cell(struct cv_task_call *task, struct cv_json *json, size_t index,
                      const struct cv_compare_cell *cell)
{
    cv_field_stats(json, &cell->stats);
    cv_fields(json, "over_bound %g, over_best %g",
              cv_compare_over_bound(&task->found, index, cell),
              cv_compare_over_best(&task->found, index, cell));
}

static void headline(struct cv_task_call *task, struct cv_text *out)
{
    const struct cv_comparison *found = &task->found;

    if (found->runs > 1)
        cv_text_add(out, "%s of each policy, ", CV_COUNTED(found->runs, "run"));
    if (cv_compare_is_sweep(found))
        cv_text_add(out, "mean length in s for %zu values of %s", found->sweep.count,
                    found->sweep.name);
    else
        cv_reduce_words(task->job, out);
}

static void add_bounds(struct cv_task_call *task, const struct cv_screen *screen,
                       struct cv_text *out)
{
    (void)screen;
    cv_text_add(out, "bound     at least %s s%s\n",
                CV_SHOW_NUMBER(task->found.bounds[0].value_s),
                task->found.runs > 1 ? " for costs at their means" : "");
}

static void add_page(struct cv_task_call *task, struct cv_text *title,
                     struct cv_text *facts)
{
    const struct cv_task_options *options = task->options;
    const struct cv_comparison *found = &task->found;

    if (found->sweep.what == CV_SWEEP_NODES)
        cv_text_add(title, "Policies for a reduction, by nodes");
    else
        cv_text_add(title, "A reduction of %s",
                    CV_COUNTED(cv_reduce_nodes(task->job), "node"));
    if (found->noisy)
        cv_text_add(facts, "%s of each policy", CV_COUNTED(found->runs, "run"));
    else
        cv_text_add(facts, "one exact run of each policy");
    if (options->transfer != NULL)
        cv_text_add(facts, ", transfer %s", options->transfer);
    if (options->compute != NULL)
        cv_text_add(facts, ", compute %s", options->compute);
    if (found->noisy)
        cv_text_add(facts, ", seed %llu", (unsigned long long)options->seed);
}

/* clang-format off */
const struct cv_task_kind cv_task_reduce = {
    .kind = CLEAVE_TASK_REDUCE,
    .example = "greedy,tree-dyn",
    .job_size = sizeof(struct cv_reduce_job),
    .open = open_job,
    .close = close_job,
    .planned = &(const struct cv_task_part){ plan, plan_json, plan_text },
    .simulated = &(const struct cv_task_part){ simulate, simulation_json, simulation_text },
    .compared = &(const struct cv_task_comparison){ .time = "length s", .measure = "length, s", .spread_from = 2,
                  .check = check_comparison, .apply = apply,
                  .measure_cell = measure_cell, .json_head = json_head,
                  .json_bound = json_bound, .json_cell = json_cell,
                  .headline = headline, .bounds = add_bounds, .page = add_page },
    .plan = {
        .name = "plan reduce",
        .summary = "combine partial results: who sends to whom, and when",
        .description =
            "Every node holds a partial result; sending one to another node and combining "
            "two take time. Computes a tree along which they are combined so that the last "
            "combination ends as early as the policy can make it. A node receives one "
            "partial at a time, combines one at a time, may do both at once, and sends its "
            "own when it has combined all it receives. Laws are taken at their means; "
            "'cleave simulate reduce' shows what happens when costs vary.",
        .groups = CV_GROUPS(CV_GROUP("Reduction", job_options),
                            CV_GROUP("Policy", policy_options),
                            CV_GROUP("Random numbers", seed_option),
                            CV_GROUP("Output", plan_output)),
        .examples =
            "cleave plan reduce --nodes 16 --transfer 1 --compute 500ms\n"
            "cleave plan reduce -N 1e6 -d 1 -c 1 --max-transfers 1000 --no-tree\n"
            "cleave plan reduce --costs examples/costs.json --policy tree-dyn --explain\n"
            "cleave plan reduce --ready examples/ready.txt -d 2 -c 1 --explain\n"
            "cleave plan reduce -N 1e18 -d 1 -c 0.3 --length-only --json",
        CV_TASK_VERB(cv_task_plan),
    },
    .simulate = {
        .name = "simulate reduce",
        .summary = "reduce many times with costs that vary",
        .description =
            "Runs a policy many times while the cost of each transfer and of each "
            "combination is drawn from a law, and shows how the length is spread. A cost "
            "depends on the seed, the run and the nodes alone: all policies meet the same "
            "platform in the same run, and the result does not depend on the number of "
            "threads. With --costs there is one run, and the tree that came about is shown.",
        .groups = CV_GROUPS(CV_GROUP("Reduction", job_options),
                            CV_GROUP("Policy", policy_options),
                            CV_GROUP("Runs", trial_options),
                            CV_GROUP("Output", simulate_output)),
        .examples =
            "cleave simulate reduce --nodes 64 --transfer gamma:1,0.5 --compute gamma:1,0.5\n"
            "cleave simulate reduce -N 64 -d exp:1 -c 0 --policy tree-dyn --runs 10000\n"
            "cleave simulate reduce --costs examples/costs.json --policy ordered-tree-dyn "
            "--json",
        CV_TASK_VERB(cv_task_simulate),
    },
    .compare = {
        .name = "compare reduce",
        .summary = "several policies for one reduction, in one table",
        .description =
            "Gives the same reduction to several policies and lists them by length, with the "
            "distance of each to a lower bound for every tree and to the best of them. When "
            "costs vary each policy makes many runs and all meet the same costs; exact costs "
            "need one. With --sweep the costs or the number of nodes take many values.",
        .groups = CV_GROUPS(CV_GROUP("Reduction", job_options),
                            CV_GROUP("Policies", compared_policies),
                            CV_GROUP("Sweep", sweep_options),
                            CV_GROUP("Runs", trial_options),
                            CV_GROUP("Output", compare_output)),
        .examples =
            "cleave compare reduce --nodes 64 --transfer gamma:1,0.5 --compute gamma:1,0.5\n"
            "cleave compare reduce --costs examples/costs.json\n"
            "cleave compare reduce -N 64 -d gamma:1,1 -c 0 --sweep cv=0.01:10:log:7 --runs "
            "200",
        CV_TASK_VERB(cv_task_compare),
    },
};
/* clang-format on */
