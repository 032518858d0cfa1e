/* tree_check.h -- trees to try, and ways to find their length that share no code with the
 * library. SPDX-License-Identifier: MIT */
#ifndef TREE_CHECK_H
#define TREE_CHECK_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <cmocka.h>

#include "base/fail.h"
#include "base/random.h"
#include "model/reduce/reduce_tree.h"

struct cost_pair {
    double d, c;
};

/* Sums of these are exact. */
static const struct cost_pair some_costs[] = {
    { 1, 1 }, { 1, 0 }, { 0, 1 },       { 2, 1 }, { 1, 2 }, { 3, 2 },
    { 5, 2 }, { 1, 4 }, { 0.5, 0.375 }, { 7, 3 }, { 0, 0 },
};
enum { SOME_COSTS = sizeof some_costs / sizeof *some_costs };

static inline void assert_near(double got, double pending, double relative)
{
    if (!(fabs(got - pending) <= relative * fabs(pending) + 1e-13))
        fail_msg("expected %.17g within %g, got %.17g", pending, relative, got);
}

static inline void assert_equal(double got, double pending)
{
    if (!(got == pending))
        fail_msg("expected %.17g, got %.17g", pending, got);
}

static inline void assert_ok(enum cleave_status status, const struct cleave_error *err)
{
    if (status != CLEAVE_OK)
        fail_msg("expected a result, got: %s", err->text);
}

static inline uint32_t random_below(struct cv_random *random, uint32_t n)
{
    return (uint32_t)(cv_random_uniform(random) * n);
}

/* Any tree, its nodes in any order. */
static inline void random_tree(struct cv_random *random, uint32_t n, uint32_t *parent)
{
    uint32_t *name = malloc(n * sizeof *name);

    assert_non_null(name);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t j = random_below(random, i + 1);

        name[i] = name[j];
        name[j] = i;
    }
    parent[name[0]] = CV_NO_NODE;
    for (uint32_t i = 1; i < n; i++)
        parent[name[i]] = name[random_below(random, i)];
    free(name);
}

static inline int ascending(const void *left, const void *right)
{
    const double *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/* When a node is ready, by the formula, for parent[i] < i or any other order. O(n^2). */
static inline double ready_by_formula(const uint32_t *parent, uint32_t n, double d,
                                      double c, uint32_t node)
{
    double *request = malloc((n + 1) * sizeof *request), ready = 0;
    const double max = d > c ? d : c;
    size_t m = 0;

    assert_non_null(request);
    for (uint32_t i = 0; i < n; i++)
        if (parent[i] == node)
            request[m++] = ready_by_formula(parent, n, d, c, i);
    qsort(request, m, sizeof *request, ascending);
    for (size_t j = 0; j < m; j++)
        ready = fmax(ready, request[j] + d + c + (double)(m - 1 - j) * max);
    free(request);
    return ready;
}

/* The length of a tree by the library. */
static inline double length_of(const uint32_t *parent, uint32_t n, double d, double c,
                               struct cv_arena *arena)
{
    const struct cv_tree_costs costs = { .transfer_s = d, .compute_s = c };
    struct cv_tree_run run;
    struct cleave_error err;

    assert_ok(cv_tree_run(parent, n, &costs, arena, &run, &err), &err);
    return run.length_s;
}

static inline struct cv_greedy_tree greedy_of(uint32_t n, double d, double c,
                                              uint32_t transfers, uint32_t reducers,
                                              struct cv_arena *arena)
{
    const struct cv_greedy_limit limit = { transfers, reducers };
    struct cv_greedy_tree tree;
    struct cleave_error err;

    assert_true(cv_greedy_tree_room(&tree, arena, n));
    assert_ok(cv_greedy_tree_plan(&tree, d, c, &limit, &err), &err);
    return tree;
}

/* Go to the next tree with parent[i] < i; starting with all parents 0. False after the
 * last. */
static inline int next_tree(uint32_t *parent, uint32_t n)
{
    for (uint32_t i = n; i-- > 2;) {
        if (++parent[i] < i)
            return 1;
        parent[i] = 0;
    }
    return 0;
}

static inline void first_tree(uint32_t *parent, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        parent[i] = i == 0 ? CV_NO_NODE : 0;
}

#endif
