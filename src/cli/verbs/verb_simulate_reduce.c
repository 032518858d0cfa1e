/* verb_simulate_reduce.c -- cleave simulate reduce. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <cleave/trace.h>
#include "cli/common/output.h"
#include "cli/common/counted.h"
#include "cli/common/option_rows.h"
#include "cli/common/progress.h"
#include "cli/reduce/reduce_json.h"
#include "cli/reduce/reduce_options.h"
#include "cli/common/times_text.h"
#include "cli/common/trace_output.h"
#include "cli/reduce/tree_text.h"
#include "io/json_out.h"
#include "model/reduce/reduce_costs.h"
#include "model/reduce/reduce_bounds.h"
#include "policy/compound/registry.h"
#include "report/terminal/table.h"

#define FIELD(name) offsetof(struct cv_reduce_options, name)

/* clang-format off */
static const struct cv_option output_options[] = {
    { .name = "--json", .value = 1, .offset = FIELD(json),
      .help = "Write JSON: policy, nodes, runs and the times; with --costs also the tree "
              "that came about." },
    CV_ROW_WIDTH(FIELD, "charts"),
    CV_ROW_TRACE(FIELD, "Write every event and order of the first run"),
    { .name = NULL },
};
/* clang-format on */

static const struct cv_option_group groups[] = {
    { "Reduction", cv_reduce_job_options },
    { "Policy", cv_reduce_policy_options },
    { "Runs", cv_reduce_trial_options },
    { "Output", output_options },
    { NULL, NULL },
};

static const char preset_policy[] = "tree-adapt";

/* Members that both kinds of result begin with. */
static void json_head(struct cv_json *json, const char *policy, uint32_t nodes,
                      uint64_t runs, const char *transfer,
                      const struct cv_reduce_options *values)
{
    cv_result_open(json);
    cv_field_text(json, "policy", policy);
    cv_field_count(json, "nodes", nodes);
    cv_field_count(json, "runs", runs);
    cv_field_count(json, "seed", values->seed);
    cv_field_text(json, "transfer", transfer);
    cv_field_text(json, "compute", values->compute);
    cv_field_text(json, "compute_model", values->costs != NULL ? NULL : values->model);
    if (values->ready != NULL) {
        cv_field_text(json, "ready", values->ready);
        cv_field_text(json, "ready_model",
                      values->ready_model != NULL ? values->ready_model : "absent");
    }
    cv_field_text(json, "engine", cv_engine_used(values->engine, &values->where));
    if (values->where.file != NULL)
        cv_field_text(json, "topology", values->where.file);
}

/* One exact instance: a run, and the tree that came about. */
static int show_instance(const struct cleave_tree *tree,
                         const struct cv_reduce_job *reduce,
                         const struct cv_reduce_options *values)
{
    const struct cleave_stats stats = cv_stats_of_one(tree->length_s);
    struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false };
    struct cv_json json;

    if (!values->json) {
        cv_screen_narrow(&screen, values->width);
        cv_tree_text(tree, reduce, reduce->job.trace, NULL, &screen, &text);
        return cv_print_take(&text);
    }
    json_head(&json, tree->policy, tree->nodes, 1, reduce->job.transfer, values);
    cv_field_number(&json, "length", tree->length_s);
    cv_field_stats(&json, &stats);
    cv_field_count(&json, "root", tree->root);
    cv_field_bounds(&json, tree);
    cv_field_tree(&json, tree);
    return cv_result_close(&json);
}

static int save_trace(const struct cv_reduce_job *reduce,
                      const struct cv_reduce_options *values, const char *policy,
                      double bound_s)
{
    const struct cleave_trace_facts facts = {
        .engine = cv_engine_used(values->engine, &values->where),
        .bound = { isnan(bound_s) ? NULL : "costs at their means", bound_s },
    };
    const int status = cv_trace_add_facts(reduce->job.trace, &facts);

    return status == CV_EXIT_DONE ? cv_reduce_save_trace(values->trace, reduce, policy)
                                  : status;
}

static int run_instance(struct cv_reduce_job *reduce,
                        const struct cv_reduce_options *values)
{
    struct cleave_tree *tree;
    struct cleave_error err;
    int status;

    if (values->runs > 1)
        return cv_print_error(CV_EXIT_USAGE,
                              "--runs: the costs of a file do not vary, so that "
                              "all runs are the same; leave out --runs");
    /* A drawing needs the events, and a small tree has few. */
    if (reduce->job.trace == NULL && !values->json &&
        cv_reduce_nodes(reduce) <= CV_TREE_DRAWN &&
        cleave_trace_new(&reduce->job.trace, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    if (cleave_plan_reduce(&reduce->job, &tree, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    status = show_instance(tree, reduce, values);
    if (status == CV_EXIT_DONE && values->trace != NULL)
        status = save_trace(reduce, values, tree->policy, tree->lower_bound_s);
    cleave_tree_free(tree);
    return status;
}

/* Mean and standard deviation of tree-dyn in closed form, where costs are exponential and
 * every combination draws its own (or costs nothing); false elsewhere. */
static bool closed_form(const struct cleave_reduction *job, struct cv_markov *out)
{
    enum { MOST_STATES = 5000 };
    struct cv_distribution transfer, compute;

    if (job->simgrid != NULL || job->costs != NULL || job->ready != NULL ||
        job->ready_s != NULL || cv_policy_proof(job->policy) != CV_METHOD_TREE_DYN ||
        job->nsettings > 0 || job->cluster != 0 ||
        cv_distribution_parse(job->transfer, &transfer, NULL) != CLEAVE_OK ||
        cv_distribution_parse(job->compute, &compute, NULL) != CLEAVE_OK ||
        transfer.kind != CV_LAW_GAMMA || transfer.cv != 1 || !(transfer.mean > 0))
        return false;
    if (compute.mean == 0)
        return cv_markov_transfers(job->nodes, 1 / transfer.mean, out, NULL) == CLEAVE_OK;
    return compute.kind == CV_LAW_GAMMA && compute.cv == 1 &&
           job->model == CLEAVE_COMPUTE_FRESH && job->nodes <= MOST_STATES &&
           cv_markov_both(job->nodes, 1 / transfer.mean, 1 / compute.mean, out, NULL) ==
               CLEAVE_OK;
}

static int show_stats(const struct cleave_stats *stats, double bound_s,
                      const struct cv_reduce_job *reduce,
                      const struct cv_reduce_options *values)
{
    struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false };
    char number[CV_NUMBER_ROOM], counted[CV_COUNTED_ROOM], before[CV_COUNTED_ROOM + 8];
    struct cv_markov exact;
    struct cv_json json;

    if (values->json) {
        json_head(&json, reduce->job.policy, cv_reduce_nodes(reduce), stats->runs,
                  reduce->job.transfer, values);
        cv_field_stats(&json, stats);
        cv_field_number(&json, "lower_bound", bound_s);
        cv_field_number(&json, "over_bound", cv_over(stats->mean_s, bound_s));
        if (closed_form(&reduce->job, &exact)) {
            cv_field_number(&json, "closed_form_mean", exact.mean_s);
            cv_field_number(&json, "closed_form_stddev", sqrt(exact.variance));
        }
        return cv_result_close(&json);
    }
    cv_screen_narrow(&screen, values->width);
    snprintf(before, sizeof before, "%s of ", cv_counted(stats->runs, "run", counted));
    cv_reduce_headline(reduce, before, &screen, &text);
    cv_policy_line(reduce->job.policy, NULL, NULL, screen.width, &text);
    cv_engine_line(values->engine, &values->where, &text);
    cv_text_add(&text, "length    %s s on average, %.2f%% over the bound\n",
                cv_show_number(stats->mean_s, number),
                100 * cv_over(stats->mean_s, bound_s));
    cv_text_add(&text, "bound     at least %s s for costs at their means\n",
                cv_show_number(bound_s, number));
    if (closed_form(&reduce->job, &exact))
        cv_text_add(&text,
                    "exactly   mean %.5g s, standard deviation %.5g s in closed form\n",
                    exact.mean_s, sqrt(exact.variance));
    if (reduce->job.model == CLEAVE_COMPUTE_FIXED)
        cv_text_add(&text, "compute   drawn once per node and run\n");
    cv_times_text(stats, &screen, &text);
    return cv_print_take(&text);
}

static int simulate(const struct cv_reduce_job *reduce,
                    const struct cv_reduce_options *values)
{
    struct cleave_trial trial = { .runs =
                                      values->runs > 0 ? values->runs : CV_REDUCE_RUNS,
                                  .threads = (unsigned)values->threads };
    struct cv_progress progress;
    struct cleave_stats stats;
    struct cleave_error err;
    enum cleave_status done;
    double bound_s = 0;
    int status;

    cv_progress_init(&progress, "simulating", trial.runs);
    trial.progress = cv_progress_show;
    trial.context = &progress;
    done = cleave_simulate_reduce(&reduce->job, &trial, &stats, &err);
    cv_progress_done(&progress);
    if (done != CLEAVE_OK)
        return cv_print_status(&err);
    status = cv_reduce_bound(&reduce->job, &bound_s);
    if (status == CV_EXIT_DONE)
        status = show_stats(&stats, bound_s, reduce, values);
    if (status == CV_EXIT_DONE && values->trace != NULL)
        status = save_trace(reduce, values, reduce->job.policy, bound_s);
    return status;
}

static int run(const struct cv_call *call)
{
    const struct cv_reduce_options *values = call->values;
    struct cv_reduce_job reduce;
    int status = cv_reduce_job_open(values, NULL, call->arena, &reduce);

    if (status == CV_EXIT_DONE && reduce.job.policy == NULL)
        reduce.job.policy = preset_policy;
    if (status == CV_EXIT_DONE)
        status = cv_trace_call(reduce.job.trace, call);
    if (status == CV_EXIT_DONE)
        status = reduce.costs != NULL && cv_reduce_exact(&reduce.job)
                     ? run_instance(&reduce, values)
                     : simulate(&reduce, values);
    cv_reduce_job_close(&reduce);
    return status;
}

const struct cv_verb cv_verb_simulate_reduce = {
    .name = "simulate reduce",
    .summary = "reduce many times with costs that vary",
    .description =
        "Runs a policy many times while the cost of each transfer and of each "
        "combination is drawn from a law, and shows how the length is spread. A cost "
        "depends on the seed, the run and the nodes alone: all policies meet the same "
        "platform in the same run, and the result does not depend on the number of "
        "threads. With --costs there is one run, and the tree that came about is shown.",
    .groups = groups,
    .examples =
        "cleave simulate reduce --nodes 64 --transfer gamma:1,0.5 --compute "
        "gamma:1,0.5\n"
        "cleave simulate reduce -N 64 -d exp:1 -c 0 --policy tree-dyn --runs 10000\n"
        "cleave simulate reduce --costs examples/costs.json --policy "
        "ordered-tree-dyn --json",
    .presets = &cv_reduce_presets,
    .values_size = sizeof(struct cv_reduce_options),
    .run = run,
};
