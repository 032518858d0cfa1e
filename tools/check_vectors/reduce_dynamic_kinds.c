/* reduce_dynamic_kinds.c -- cases of reductions that are run on an engine.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cleave/reduce.h>
#include "kinds.h"

enum { MOST_RUNS = 300000 };

/* Algorithms as the files name them. */
struct algorithm {
    const char *name, *policy;
    struct cleave_setting setting; /* key NULL: none */
};

static const struct algorithm algorithms[] = {
    { "binomial_stat", "binomial", { NULL, NULL } },
    { "fibonacci_stat", "fibonacci", { NULL, NULL } },
    { "fibonacci_stat_one", "fibonacci", { "buffer", "1" } },
    { "tree_dyn", "tree-dyn", { NULL, NULL } },
    { "noncommut_tree_dyn", "ordered-tree-dyn", { NULL, NULL } },
    { "noncommut_right", "ordered-tree-dyn", { "prefer", "1" } },
};

static const struct algorithm *find_algorithm(const char *name)
{
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
        if (strcmp(algorithms[i].name, name) == 0)
            return &algorithms[i];
    return NULL;
}

static struct cleave_reduction job_of(const struct algorithm *algorithm,
                                      const struct cleave_costs *costs)
{
    return (struct cleave_reduction){
        .costs = costs,
        .policy = algorithm->policy,
        .settings = &algorithm->setting,
        .nsettings = algorithm->setting.key != NULL,
        .seed = 1,
    };
}

static void expect_tree(struct vector_case *c, const struct cleave_tree *tree)
{
    double *parent = cv_array(c->arena, tree->nodes, sizeof *parent);

    if (parent == NULL) {
        case_fail(c, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < tree->nodes; i++)
        parent[i] = (double)tree->parent[i];
    expect_number(c, "length", tree->length_s);
    expect_number(c, "root", tree->root);
    expect_numbers(c, "parent", parent, tree->nodes);
    expect_numbers(c, "start", tree->start_s, tree->nodes);
    expect_nothing(c, "order_independent_of_ties");
}

/* One algorithm of a platform: a separate case, with its listed results. */
static void run_algorithm(struct vector_case *c, const char *name, const struct json *out,
                          const struct cleave_costs *costs)
{
    const struct algorithm *algorithm = find_algorithm(name);
    struct vector_case part = *c;
    struct cleave_reduction job;
    struct cleave_tree *tree = NULL;
    struct cleave_error err;

    if (algorithm == NULL) {
        case_skip(c, "no policy for algorithm '%s'", name);
        return;
    }
    job = job_of(algorithm, costs);
    if (!case_ok(c, cleave_plan_reduce(&job, &tree, &err), &err))
        return;
    part.out = out;
    memset(part.compared, 0, sizeof part.compared);
    expect_tree(&part, tree);
    if (part.result != CASE_PASSED)
        case_fail(c, "%s: %s", name, part.text);
    cleave_tree_free(tree);
}

/* The matrix D as one list, row by row; NULL after the case has failed. */
static double *read_matrix(struct vector_case *c, uint32_t n)
{
    const struct json *rows = json_get(c->in, "D");
    double *cells = cv_array(c->arena, (size_t)n * n, sizeof *cells);

    if (cells == NULL || rows == NULL || rows->kind != JSON_LIST || rows->count != n) {
        case_fail(c, "input D: expected %u rows", n);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (rows->items[i].kind != JSON_LIST || rows->items[i].count != n) {
            case_fail(c, "input D[%u]: expected %u numbers", i, n);
            return NULL;
        }
        for (uint32_t j = 0; j < n; j++)
            cells[(size_t)i * n + j] = rows->items[i].items[j].number;
    }
    return cells;
}

static void run_platform(struct vector_case *c)
{
    uint32_t n = case_count(c, "n");
    double *transfer = read_matrix(c, n);
    size_t ncompute;
    double *compute = case_numbers(c, "C", &ncompute);
    struct cleave_costs *costs = NULL;
    struct cleave_error err;

    if (transfer == NULL || compute == NULL || ncompute != n ||
        !case_ok(c, cleave_costs_new(n, transfer, compute, &costs, &err), &err))
        return;
    for (size_t i = 0; i < c->out->count; i++) {
        run_algorithm(c, c->out->keys[i], &c->out->items[i], costs);
        expect_nothing(c, c->out->keys[i]);
    }
    cleave_costs_free(costs);
}

/* Towards a lower index a transfer costs D, towards a higher one d. */
static void run_theorem1(struct vector_case *c)
{
    uint32_t n = case_count(c, "n");
    double d = case_number(c, "d"), dear = case_number(c, "D");
    double *transfer = cv_array(c->arena, (size_t)n * n, sizeof *transfer);
    double *compute = cv_array(c->arena, n, sizeof *compute);
    struct cleave_costs *costs = NULL;
    struct cleave_error err;

    if (transfer == NULL || compute == NULL) {
        case_fail(c, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            transfer[(size_t)i * n + j] = i > j ? dear : d;
    if (!case_ok(c, cleave_costs_new(n, transfer, compute, &costs, &err), &err))
        return;
    for (size_t i = 0; i < c->out->count; i++) {
        const struct algorithm *algorithm = find_algorithm(c->out->keys[i]);
        struct cleave_reduction job;
        struct cleave_tree *tree = NULL;

        if (algorithm == NULL)
            continue;
        job = job_of(algorithm, costs);
        if (case_ok(c, cleave_plan_reduce(&job, &tree, &err), &err))
            expect_number(c, c->out->keys[i], tree->length_s);
        cleave_tree_free(tree);
    }
    /* Every tree that only sends towards higher indices; the lower bound is reached. */
    expect_number(c, "optimum", d * ceil(log2(n)));
    cleave_costs_free(costs);
}

static void run_monte_carlo(struct vector_case *c)
{
    const struct json *name = json_get(c->in, "algorithm"), *law = json_get(c->in, "law");
    const struct json *model = json_get(c->in, "c_model");
    const struct algorithm *algorithm = name == NULL ? NULL : find_algorithm(name->text);
    double cv = case_number(c, "cv"), expected, error;
    char transfer[64], compute[64];
    struct cleave_trial trial = { .runs = MOST_RUNS };
    struct cleave_reduction job;
    struct cleave_stats stats;
    struct cleave_error err;

    if (algorithm == NULL || law == NULL || strcmp(law->text, "gamma") != 0) {
        case_skip(c, "no policy or law for this case");
        return;
    }
    snprintf(transfer, sizeof transfer, "gamma:%.17g,%.17g", case_number(c, "mu_d"), cv);
    snprintf(compute, sizeof compute, "gamma:%.17g,%.17g", case_number(c, "mu_c"), cv);
    job = job_of(algorithm, NULL);
    job.nodes = case_count(c, "n");
    job.transfer = transfer;
    job.compute = compute;
    job.model = model != NULL && strcmp(model->text, "fixed") == 0 ? CLEAVE_COMPUTE_FIXED
                                                                   : CLEAVE_COMPUTE_FRESH;
    if (!case_ok(c, cleave_simulate_reduce(&job, &trial, &stats, &err), &err))
        return;
    expected = json_get(c->out, "mean")->number;
    error = json_get(c->out, "se")->number;
    /* The rule in words is |m - mean| <= 5 sqrt(se^2 + se_m^2). */
    if (fabs(stats.mean_s - expected) > 5 * hypot(error, stats.stderr_s))
        case_fail(c, "mean: expected %.17g (se %.3g), got %.17g (se %.3g)", expected,
                  error, stats.mean_s, stats.stderr_s);
    for (size_t i = 0; i < c->out->count; i++)
        expect_nothing(c, c->out->keys[i]);
}

const struct case_kind reduce_dynamic_kinds[] = {
    { "platform", run_platform },
    { "theorem1", run_theorem1 },
    { "monte_carlo", run_monte_carlo },
    { NULL, NULL },
};
