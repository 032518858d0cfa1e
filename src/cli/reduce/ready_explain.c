/* ready_explain.c -- what is known about known ready times. SPDX-License-Identifier: MIT */
#include "cli/reduce/ready_explain.h"

#include <math.h>
#include <stdlib.h>
#include "model/ready/ready_times.h"
#include "model/reduce/reduce_costs.h"
#include "report/terminal/table.h"

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

double cv_ready_shown_bound(const struct cv_reduce_job *reduce, double d, double c)
{
    double *times = planned_times(reduce), bound = NAN;
    const struct cv_ready_job job = { cv_reduce_nodes(reduce), times, d, c,
                                      reduce->job.ready_model };

    if (times != NULL && cv_ready_is_exact(&job))
        bound = cv_ready_kraft(&job);
    free(times);
    return bound;
}

static void explain_merge(double bound, double b, struct cv_text *out)
{
    char low[CV_NUMBER_ROOM], rate[CV_NUMBER_ROOM];

    cv_text_add(
        out,
        "One thing at a time, a schedule is a binary tree whose length is the "
        "greatest of ready + (d + c) depth. T is enough if and only if the sum of "
        "2^-floor((T - ready) / (d + c)) is at most 1, and combining the two that "
        "are there first is optimal: tree-dyn does that without knowing any time. "
        "The bound is ln(sum of exp(s ready)) / s = %s s with s = ln 2 / (d + c) "
        "= %s.",
        cv_show_number(bound, low), cv_show_number(log(2) / b, rate));
}

void cv_ready_explain(const struct cleave_tree *tree, const struct cv_reduce_job *reduce,
                      double d, double c, struct cv_text *out)
{
    const struct cv_ready_job job = { .d = d, .c = c, .model = reduce->job.ready_model };
    const struct cv_ready_steps steps = cv_ready_steps(&job);
    const double bound = cv_ready_shown_bound(reduce, d, c);
    const double rate = cv_ready_rate(steps.a, steps.b);
    char shown[CV_NUMBER_ROOM], low[CV_NUMBER_ROOM], high[CV_NUMBER_ROOM];

    if (!cv_ready_is_exact(&job)) {
        cv_text_add(out,
                    "Nodes receive before their own partials are ready, and transfers "
                    "cost more than combinations: whether the tree is optimal is not "
                    "known. No tree is shorter than %s s.",
                    cv_show_number(tree->lower_bound_s, low));
    } else if (!(steps.b > 0)) {
        cv_text_add(out, "Nothing costs any time: the result is there with the last "
                         "partial.");
    } else if (job.model == CLEAVE_READY_MERGE) {
        explain_merge(bound, steps.b, out);
    } else {
        cv_text_add(out,
                    "Let A = max(d, c), B = d + c and s = %s, the root of exp(-s A) + "
                    "exp(-s B) = 1. The shortest tree takes at least ln(sum of exp(s "
                    "ready)) / s = %s s and at most B more, %s s.",
                    cv_show_number(rate, shown), cv_show_number(bound, low),
                    cv_show_number(bound + steps.b, high));
        cv_text_add(out,
                    " Policy 'ready' finds it: in reversed time, nodes take places by "
                    "increasing deadline, and of those a node may have it takes the "
                    "latest.");
    }
}
