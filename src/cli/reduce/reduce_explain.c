/* reduce_explain.c -- what is known about how good a tree can be.
 * SPDX-License-Identifier: MIT */
#include "cli/reduce/reduce_explain.h"

#include <math.h>
#include <string.h>
#include "cli/reduce/ready_explain.h"
#include "model/reduce/reduce_bounds.h"
#include "model/reduce/reduce_costs.h"
#include "model/reduce/reduce_tree.h"
#include "policy/compound/registry.h"
#include "report/terminal/table.h"

/* From the cheapest transfer and combination to the dearest. */
struct range {
    double least_d, most_d, least_c, most_c;
};

static struct range find_range(const struct cv_reduce_job *reduce)
{
    const struct cleave_costs *costs = reduce->costs;
    struct range range = { INFINITY, 0, INFINITY, 0 };
    struct cv_distribution d = cv_distribution_constant(0), c = d;

    if (costs == NULL) { /* a plan takes every cost at its mean */
        cv_distribution_parse(reduce->job.transfer, &d, NULL);
        cv_distribution_parse(reduce->job.compute, &c, NULL);
        return (struct range){ cv_distribution_mean(&d), cv_distribution_mean(&d),
                               cv_distribution_mean(&c), cv_distribution_mean(&c) };
    }
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
    char number[CV_NUMBER_ROOM];

    if (range->least_d != range->most_d || range->least_c != range->most_c) {
        cv_text_add(out,
                    "What is proved about the %s strategy is for transfers that all cost "
                    "the same and combinations that all cost the same.",
                    name);
        return;
    }
    cv_text_add(
        out,
        "The %s strategy is the greedy tree for c = %s, whatever the costs are. It "
        "takes at most %s times the optimum: %s, for any number of nodes.",
        name, binomial ? "0" : "d",
        cv_show_number(cv_strategy_ratio(binomial ? CV_STRATEGY_BINOMIAL
                                                  : CV_STRATEGY_FIBONACCI,
                                         range->least_d, range->least_c),
                       number),
        binomial ? "1 + min(d, c) / max(d, c)" : "2");
}

static void explain_greedy(const struct cleave_tree *tree,
                           const struct cv_reduce_options *options,
                           const struct range *range, struct cv_text *out)
{
    const uint64_t limit =
        options->max_transfers > 0 ? options->max_transfers : options->max_reducers;
    const double d = range->least_d, c = range->least_c;
    char low[CV_NUMBER_ROOM], high[CV_NUMBER_ROOM], max[CV_NUMBER_ROOM];

    if (range->least_d != range->most_d || range->least_c != range->most_c) {
        cv_text_add(out,
                    "The greedy tree is optimal when all transfers cost the same and "
                    "all combinations cost the same. Here they do not: the tree is "
                    "the one for the mean of the transfers and for what each node "
                    "takes to combine, and nothing is known about how far it is from "
                    "the optimum.");
        return;
    }
    cv_text_add(
        out,
        "All transfers cost the same, d, and all combinations, c: then the greedy "
        "tree is optimal, each node being put below the one that can receive from "
        "it latest. Without limits the optimum for n nodes lies between "
        "ceil(log2 n) max(d, c) = %s s and ceil(log2 n) (d + c) = %s s.",
        cv_show_number(cv_reduce_lower(tree->nodes, d, c), low),
        cv_show_number(cv_reduce_upper(tree->nodes, d, c), high));
    if (limit > 0)
        cv_text_add(
            out,
            "\nWith at most K = %llu %s the tree is optimal among those within the "
            "limit, and no longer than (l + ceil((n - 2^l) / K)) (d + c) = %s s, "
            "where l = ceil(log2 K) and K counts as at most n / 2.",
            (unsigned long long)limit,
            options->max_transfers > 0 ? "transfers at a time" : "reducers",
            cv_show_number(cv_reduce_upper_limited(tree->nodes, d, c, limit), max));
}

static void explain_method(const struct cleave_tree *tree, enum cv_reduce_method method,
                           const struct range *range, struct cv_text *out)
{
    struct cv_reduce_guarantee guarantee;
    char from[CV_NUMBER_ROOM], to[CV_NUMBER_ROOM], number[CV_NUMBER_ROOM];

    if (tree->nodes < 2) {
        cv_text_add(out, "A single node has nothing to combine.");
        return;
    }
    if (range->least_c != range->most_c) {
        cv_text_add(
            out,
            "What is proved about '%s' is for combinations that all cost the same; "
            "here they cost from %s s to %s s.",
            tree->policy, cv_show_number(range->least_c, from),
            cv_show_number(range->most_c, to));
        return;
    }
    if (!cv_reduce_guarantee(method, tree->nodes, range->least_d, range->most_d,
                             range->least_c, &guarantee)) {
        cv_text_add(
            out,
            "The guarantee of '%s' grows with Delta, the dearest transfer divided "
            "by the cheapest; here the cheapest costs nothing, so there is none.",
            tree->policy);
        return;
    }
    cv_text_add(out,
                "Without knowing the costs, '%s' takes at most %s times the optimum: %s, "
                "for %s, where d = %s s is the cheapest transfer",
                tree->policy, cv_show_number(guarantee.ratio, number), guarantee.formula,
                guarantee.when, cv_show_number(range->least_d, from));
    cv_text_add(out, " and Delta = %s how much dearer the dearest is.",
                cv_show_number(range->most_d / range->least_d, to));
    if (guarantee.theorem > 0)
        cv_text_add(out,
                    " This is theorem %u of Benoit, Canon and Marchal, Non-clairvoyant "
                    "reduction algorithms for heterogeneous platforms.",
                    guarantee.theorem);
}

void cv_reduce_explain(const struct cleave_tree *tree,
                       const struct cv_reduce_options *options,
                       const struct cv_reduce_job *reduce, struct cv_text *out)
{
    const struct range range = find_range(reduce);
    const enum cv_reduce_method method = cv_policy_proof(tree->policy);

    if (reduce->job.ready != NULL || reduce->job.ready_s != NULL) {
        cv_ready_explain(tree, reduce, range.least_d, range.least_c, out);
        return;
    }
    if (method == CV_METHOD_READY) {
        cv_text_add(out, "All partials are there from the beginning: the tree is one of "
                         "the shortest, as that of 'greedy'.");
        return;
    }
    if (method == CV_METHOD_OPTIMAL && strategy_of(reduce) != NULL) {
        explain_strategy(strategy_of(reduce), &range, out);
        return;
    }
    if (method == CV_METHOD_OPTIMAL) {
        explain_greedy(tree, options, &range, out);
        return;
    }
    if (method != CV_METHOD_UNPROVED) {
        explain_method(tree, method, &range, out);
        return;
    }
    cv_text_add(out,
                "No bound on how much longer than the optimum '%s' can take has been "
                "proved.",
                tree->policy);
}
