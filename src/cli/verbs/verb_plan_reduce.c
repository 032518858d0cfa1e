/* verb_plan_reduce.c -- cleave plan reduce. SPDX-License-Identifier: MIT */
#include <math.h>
#include <cleave/trace.h>
#include "cli/common/output.h"
#include "cli/common/counted.h"
#include "cli/common/option_rows.h"
#include "cli/reduce/ready_explain.h"
#include "cli/reduce/ready_options.h"
#include "cli/reduce/reduce_explain.h"
#include "cli/reduce/reduce_json.h"
#include "cli/reduce/reduce_options.h"
#include "cli/common/trace_output.h"
#include "cli/reduce/tree_text.h"
#include "io/json_out.h"
#include "model/reduce/reduce_costs.h"
#include "model/reduce/reduce_bounds.h"
#include "model/reduce/reduce_tree.h"
#include "policy/compound/registry.h"
#include "report/terminal/table.h"

#define FIELD(name) offsetof(struct cv_reduce_options, name)

/* clang-format off */
static const struct cv_option output_options[] = {
    { .name = "--length-only", .value = 1, .offset = FIELD(length_only),
      .help = "Only the length of the shortest tree, found by counting: for up to 1e18 "
              "nodes, at once." },
    { .name = "--explain", .value = 1, .offset = FIELD(explain),
      .help = "Say what is proved about the policy for these costs." },
    { .name = "--json", .value = 1, .offset = FIELD(json),
      .help = "Write JSON: policy, nodes, length, bounds, and parent and transfer start "
              "of every node." },
    { .name = "--tree", .value = 1, .offset = FIELD(tree),
      .help = "Draw the tree if it has at most 32 nodes; this is the default." },
    { .name = "--no-tree", .value = 0, .offset = FIELD(tree),
      .help = "Draw no tree." },
    CV_ROW_WIDTH(FIELD, "the drawing"),
    CV_ROW_TRACE(FIELD, "Write every event and order"),
    { .name = NULL },
};
/* clang-format on */

static const struct cv_option_group groups[] = {
    { "Reduction", cv_reduce_job_options },
    { "Policy", cv_reduce_policy_options },
    { "Random numbers", cv_reduce_seed_option },
    { "Output", output_options },
    { NULL, NULL },
};

/* Which model of ready times, and the bound that goes with it, if there are such times. */
static void ready_fields(struct cv_json *json, const struct cv_reduce_job *reduce)
{
    struct cv_distribution d, c;

    if (reduce->job.ready == NULL && reduce->job.ready_s == NULL)
        return;
    cv_field_text(json, "ready_model", cv_ready_model_name(reduce->job.ready_model));
    if (reduce->costs != NULL ||
        cv_distribution_parse(reduce->job.transfer, &d, NULL) != CLEAVE_OK ||
        cv_distribution_parse(reduce->job.compute, &c, NULL) != CLEAVE_OK)
        return;
    cv_field_number(json, "kraft_bound",
                    cv_ready_shown_bound(reduce, cv_distribution_mean(&d),
                                         cv_distribution_mean(&c)));
}

/* With costs that differ neither says how long the tree takes. */
static void extent_fields(struct cv_json *json, const struct cleave_tree *tree,
                          const struct cv_reduce_job *reduce)
{
    struct cv_distribution d, c;

    if (reduce->costs != NULL ||
        cv_distribution_parse(reduce->job.transfer, &d, NULL) != CLEAVE_OK ||
        cv_distribution_parse(reduce->job.compute, &c, NULL) != CLEAVE_OK)
        cv_field_extent(json, tree, NAN, NAN);
    else
        cv_field_extent(json, tree, cv_distribution_mean(&d), cv_distribution_mean(&c));
}

static int show_json(const struct cleave_tree *tree, const struct cv_reduce_job *reduce,
                     const char *explanation)
{
    struct cv_json json;

    cv_result_open(&json);
    cv_field_text(&json, "policy", tree->policy);
    cv_field_count(&json, "nodes", tree->nodes);
    cv_field_number(&json, "length", tree->length_s);
    cv_field_count(&json, "root", tree->root);
    cv_field_bounds(&json, tree);
    extent_fields(&json, tree, reduce);
    ready_fields(&json, reduce);
    if (explanation != NULL)
        cv_field_text(&json, "explanation", explanation);
    cv_field_tree(&json, tree);
    return cv_result_close(&json);
}

static int show_tree(const struct cleave_tree *tree, const struct cv_reduce_job *reduce,
                     const struct cleave_trace *trace,
                     const struct cv_reduce_options *values)
{
    struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false }, why = { NULL, 0, 0, false };
    int status;

    if (values->explain)
        cv_reduce_explain(tree, values, reduce, &why);
    if (values->json) {
        status = show_json(tree, reduce, why.bytes);
    } else {
        cv_screen_narrow(&screen, values->width);
        cv_tree_text(tree, reduce, values->tree ? trace : NULL, why.bytes, &screen,
                     &text);
        status = cv_print_take(&text);
    }
    if (status == CV_EXIT_DONE && why.failed)
        status = cv_print_error(CV_EXIT_FAILED, "out of memory for the explanation");
    cv_text_done(&why);
    return status;
}

static int make_plan(struct cv_reduce_job *reduce, const struct cv_reduce_options *values)
{
    const bool drawn =
        !values->json && values->tree && cv_reduce_nodes(reduce) <= CV_TREE_DRAWN;
    struct cleave_trace *trace = reduce->job.trace;
    struct cleave_tree *tree;
    struct cleave_error err;
    int status;

    /* A drawing needs the events, and a small tree has few. */
    if (trace == NULL && drawn && cleave_trace_new(&reduce->job.trace, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    if (cleave_plan_reduce(&reduce->job, &tree, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    status = show_tree(tree, reduce, reduce->job.trace, values);
    if (status == CV_EXIT_DONE && values->trace != NULL)
        status =
            cv_trace_add_facts(reduce->job.trace,
                               &(struct cleave_trace_facts){
                                   .engine = "native",
                                   .bound = { isnan(tree->lower_bound_s) ? NULL
                                                                         : "lower bound",
                                              tree->lower_bound_s } });
    if (status == CV_EXIT_DONE && values->trace != NULL)
        status = cv_reduce_save_trace(values->trace, reduce, tree->policy);
    cleave_tree_free(tree);
    return status;
}

/* What --length-only cannot go with. */
static const char *length_conflict(const struct cv_reduce_options *values)
{
    if (values->costs != NULL)
        return "costs that differ; leave out --costs";
    if (values->max_transfers > 0 || values->max_reducers > 0)
        return "a limit; leave out --max-transfers and --max-reducers";
    if (values->ready != NULL)
        return "ready times; leave out --ready";
    if (values->params.count > 0)
        return "parameters; leave out --param";
    if (values->policy != NULL && cv_policy_proof(values->policy) != CV_METHOD_OPTIMAL)
        return "another policy than greedy";
    if (values->trace != NULL)
        return "a trace; leave out --trace";
    return NULL;
}

static int read_mean(const char *option, const char *text, double *out)
{
    struct cleave_error err;
    struct cv_distribution distribution;

    if (text == NULL)
        return cv_print_error(CV_EXIT_USAGE, "%s TIME is required", option);
    if (cv_distribution_parse(text, &distribution, &err) != CLEAVE_OK)
        return cv_print_error(CV_EXIT_USAGE, "%s: %s", option, err.text);
    *out = cv_distribution_mean(&distribution);
    return CV_EXIT_DONE;
}

static int show_length(const struct cv_reduce_options *values, double d, double c)
{
    const double length = cv_reduce_length(values->nodes, d, c);
    const double lower = cv_reduce_lower(values->nodes, d, c);
    const double upper = cv_reduce_upper(values->nodes, d, c);
    char number[CV_NUMBER_ROOM], low[CV_NUMBER_ROOM], high[CV_NUMBER_ROOM];
    char counted[CV_COUNTED_ROOM], transfer[CV_ECHO_ROOM], compute[CV_ECHO_ROOM];
    struct cv_text text = { NULL, 0, 0, false };
    struct cv_json json;

    if (values->json) {
        cv_result_open(&json);
        cv_field_text(&json, "policy", "greedy");
        cv_field_count(&json, "nodes", values->nodes);
        cv_field_number(&json, "length", length);
        cv_field_number(&json, "lower_bound", lower);
        cv_field_number(&json, "upper_bound", upper);
        cv_field_number(&json, "optimum", length);
        cv_field_number(&json, "ratio", 1);
        return cv_result_close(&json);
    }
    cv_text_add(&text, "%s, transfer %s, compute %s\n",
                cv_counted(values->nodes, "node", counted),
                cv_echo(values->transfer, transfer), cv_echo(values->compute, compute));
    cv_text_add(&text, "length    %s s, which no tree can beat\n",
                cv_show_number(length, number));
    cv_text_add(&text, "bounds    at least %s s, at most %s s\n",
                cv_show_number(lower, low), cv_show_number(upper, high));
    return cv_print_take(&text);
}

static int count_length(const struct cv_reduce_options *values)
{
    const char *conflict = length_conflict(values);
    double d = 0, c = 0;
    int status;

    if (conflict != NULL)
        return cv_print_error(CV_EXIT_USAGE, "--length-only does not go with %s",
                              conflict);
    if (values->nodes == 0)
        return cv_print_error(CV_EXIT_USAGE, "--nodes N is required");
    status = read_mean("--transfer", values->transfer, &d);
    if (status == CV_EXIT_DONE)
        status = read_mean("--compute", values->compute, &c);
    return status == CV_EXIT_DONE ? show_length(values, d, c) : status;
}

static int run(const struct cv_call *call)
{
    const struct cv_reduce_options *values = call->values;
    struct cv_reduce_job reduce;
    int status;

    if (values->length_only)
        return count_length(values);
    status = cv_reduce_job_open(values, NULL, call->arena, &reduce);
    if (status == CV_EXIT_DONE)
        status = cv_trace_call(reduce.job.trace, call);
    if (status == CV_EXIT_DONE)
        status = make_plan(&reduce, values);
    cv_reduce_job_close(&reduce);
    return status;
}

const struct cv_verb cv_verb_plan_reduce = {
    .name = "plan reduce",
    .summary = "combine partial results: who sends to whom, and when",
    .description =
        "Every node holds a partial result; sending one to another node and combining "
        "two take time. Computes a tree along which they are combined so that the last "
        "combination ends as early as the policy can make it. A node receives one "
        "partial at a time, combines one at a time, may do both at once, and sends its "
        "own when it has combined all it receives. Laws are taken at their means; "
        "'cleave simulate reduce' shows what happens when costs vary.",
    .groups = groups,
    .examples =
        "cleave plan reduce --nodes 16 --transfer 1 --compute 500ms\n"
        "cleave plan reduce -N 1e6 -d 1 -c 1 --max-transfers 1000 --no-tree\n"
        "cleave plan reduce --costs examples/costs.json --policy tree-dyn --explain\n"
        "cleave plan reduce --ready examples/ready.txt -d 2 -c 1 --explain\n"
        "cleave plan reduce -N 1e18 -d 1 -c 0.3 --length-only --json",
    .presets = &cv_reduce_presets,
    .values_size = sizeof(struct cv_reduce_options),
    .run = run,
};
