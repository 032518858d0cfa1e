/* tree_strategy.c -- trees that ignore the costs: binomial and Fibonacci.
 * SPDX-License-Identifier: MIT */
#include "model/reduce/tree_strategy.h"

#include <math.h>

#include "base/fail.h"
#include "model/reduce/reduce_length.h"
#include "model/reduce/reduce_tree.h"

uint64_t cv_fibonacci(unsigned k)
{
    uint64_t now = 0, next = 1;

    if (k > CV_MOST_FIBONACCI)
        return UINT64_MAX;
    for (; k > 0; k--) {
        const uint64_t sum = now + next; /* wraps only past the last one asked for */

        now = next;
        next = sum;
    }
    return now;
}

uint64_t cv_strategy_full_size(enum cv_strategy which, int order)
{
    if (order <= 0)
        return 1;
    if (which == CV_STRATEGY_FIBONACCI)
        return cv_fibonacci((unsigned)order + 2);
    return order < 64 ? UINT64_C(1) << order : UINT64_MAX;
}

double cv_strategy_full_length(enum cv_strategy which, int order, double d, double c)
{
    if (order <= 0)
        return 0;
    if (which == CV_STRATEGY_BINOMIAL)
        return order * (d + c);
    return d + (order - 1) * (d > c ? d : c) + c;
}

int cv_strategy_order(enum cv_strategy which, uint64_t n)
{
    int order = 0;

    if (which == CV_STRATEGY_BINOMIAL)
        return (int)cv_ceil_log2(n);
    while (cv_strategy_full_size(which, order) < n)
        order++;
    return order;
}

void cv_strategy_tree(enum cv_strategy which, enum cv_ties ties, uint32_t n,
                      uint32_t *parent)
{
    /* Nodes present at t, and those inserted so far, of which some come later. */
    uint64_t present = 1, inserted = 1;

    parent[0] = CV_NO_NODE;
    while (inserted < n) {
        const uint64_t before = inserted;

        for (uint64_t k = 0; k < present && inserted < n; k++)
            parent[inserted++] = (uint32_t)(ties == CV_TIES_LOW ? k : present - 1 - k);
        present = which == CV_STRATEGY_BINOMIAL ? inserted : before;
    }
}

enum cleave_status cv_strategy_length(enum cv_strategy which, enum cv_ties ties,
                                      uint32_t n, double d, double c,
                                      struct cv_arena *arena, double *out,
                                      struct cleave_error *err)
{
    const struct cv_tree_costs costs = { .transfer_s = d, .compute_s = c };
    struct cv_tree_run run;
    uint32_t *parent;

    if (n == 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected at least one node to reduce, got none");
    parent = cv_array(arena, n, sizeof *parent);
    if (parent == NULL)
        return cv_fail_memory(err, "a tree");
    cv_strategy_tree(which, ties, n, parent);
    CV_TRY(cv_tree_run(parent, n, &costs, arena, &run, err));
    *out = run.length_s;
    return CLEAVE_OK;
}

double cv_strategy_ratio(enum cv_strategy which, double d, double c)
{
    const double max = d > c ? d : c, min = d > c ? c : d;

    if (max == 0)
        return 1;
    return which == CV_STRATEGY_BINOMIAL ? 1 + min / max : 2;
}

double cv_strategy_ratio_limit(enum cv_strategy which, double d, double c)
{
    const double max = d > c ? d : c, min = d > c ? c : d;
    const double phi = (1 + sqrt(5)) / 2;
    double r, low, high;

    if (max == 0)
        return 1;
    /* With max(d, c) = 1 and min(d, c) = r, rho is between ln phi (r = 1) and ln 2. */
    r = min / max;
    low = log(phi) * (1 - 1e-9);
    high = log(2) * (1 + 1e-9);
    for (int i = 0; i < 60; i++) {
        const double rho = (low + high) / 2;

        if (exp(-rho) + exp(-(1 + r) * rho) > 1)
            low = rho;
        else
            high = rho;
    }
    return which == CV_STRATEGY_BINOMIAL ? (1 + r) * low / log(2) : low / log(phi);
}
