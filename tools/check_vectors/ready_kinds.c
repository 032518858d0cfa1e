/* ready_kinds.c -- cases of reductions whose partials become ready at given times.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cleave/reduce.h>
#include "kinds.h"
#include "model/ready/ready_ordered.h"
#include "model/ready/ready_tree.h"
#include "model/reduce/reduce_tree.h"

bool case_ready_model(struct vector_case *c, enum cleave_ready_model *out)
{
    static const char *const names[] = { [CLEAVE_READY_ABSENT] = "absent",
                                         [CLEAVE_READY_EARLY] = "early",
                                         [CLEAVE_READY_MERGE] = "merge" };
    const struct json *model = json_get(c->in, "model");

    for (int i = CLEAVE_READY_ABSENT; i <= CLEAVE_READY_MERGE; i++)
        if (model != NULL && model->text != NULL && strcmp(model->text, names[i]) == 0) {
            *out = (enum cleave_ready_model)i;
            return true;
        }
    case_fail(c, "input model: expected merge, absent or early");
    return false;
}

static bool read_job(struct vector_case *c, struct cv_ready_job *job)
{
    size_t n;

    job->ready_s = case_numbers(c, "a", &n);
    job->n = (uint32_t)n;
    job->d = case_number(c, "d");
    job->c = case_number(c, "c");
    if (c->result == CASE_PASSED && n == 0)
        case_fail(c, "input a: expected a node");
    return c->result == CASE_PASSED && case_ready_model(c, &job->model);
}

static bool execute(struct vector_case *c, const struct cv_ready_job *job,
                    const uint32_t *parent, const uint32_t *turn, double *out)
{
    struct cleave_error err;
    struct cv_tree_run run;

    if (!case_ok(c, cv_ready_execute(job, parent, turn, c->arena, &run, &err), &err))
        return false;
    *out = run.length_s;
    return true;
}

/* A policy, by the engine. */
static double by_policy(struct vector_case *c, const struct cv_ready_job *job,
                        const char *policy)
{
    struct cleave_reduction reduction = { .nodes = job->n,
                                          .ready_s = job->ready_s,
                                          .ready_model = job->model,
                                          .policy = policy };
    char transfer[32], compute[32];
    struct cleave_tree *tree;
    struct cleave_error err;
    double length_s = NAN;

    snprintf(transfer, sizeof transfer, "%.17g", job->d);
    snprintf(compute, sizeof compute, "%.17g", job->c);
    reduction.transfer = transfer;
    reduction.compute = compute;
    if (case_ok(c, cleave_plan_reduce(&reduction, &tree, &err), &err)) {
        length_s = tree->length_s;
        cleave_tree_free(tree);
    }
    return length_s;
}

/* The shortest tree for equal times, its first nodes the latest. */
static void expect_latest_first(struct vector_case *c, const struct cv_ready_job *job)
{
    const struct json *listed = json_get(c->out, "alg1_latest_first");
    const uint32_t n = job->n;
    uint32_t *name = cv_array(c->arena, n, sizeof *name);
    uint32_t *parent = cv_array(c->arena, n, sizeof *parent);
    struct cv_greedy_limit limit = { 0, 0 };
    struct cv_greedy_tree tree;
    struct cleave_error err;
    double length_s = NAN;

    if (listed == NULL || listed->kind != JSON_NUMBER) {
        expect_nothing(c, "alg1_latest_first");
        return;
    }
    if (name == NULL || parent == NULL || !cv_greedy_tree_room(&tree, c->arena, n)) {
        case_fail(c, "out of memory");
        return;
    }
    if (!case_ok(c, cv_greedy_tree_plan(&tree, job->d, job->c, &limit, &err), &err))
        return;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i;

        for (; at > 0 && job->ready_s[name[at - 1]] < job->ready_s[i]; at--)
            name[at] = name[at - 1];
        name[at] = i;
    }
    cv_tree_rename(tree.parent, name, n, parent);
    if (execute(c, job, parent, NULL, &length_s))
        expect_number(c, "alg1_latest_first", length_s);
}

static void expect_binomial(struct vector_case *c, const struct cv_ready_job *job)
{
    uint32_t *parent = cv_array(c->arena, job->n, sizeof *parent);
    double length_s;

    if (parent == NULL) {
        case_fail(c, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < job->n; i++)
        parent[i] = i == 0 ? CV_NO_NODE : i & (i - 1);
    if (execute(c, job, parent, NULL, &length_s))
        expect_number(c, "binomial_index_order", length_s);
}

static void expect_bounds(struct vector_case *c, const struct cv_ready_job *job,
                          double length_s)
{
    const double exact = c->rel;
    double *room = cv_array(c->arena, 2 * (size_t)job->n, sizeof *room);

    if (room == NULL) {
        case_fail(c, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < job->n; i++) {
        uint32_t at = i;

        for (; at > 0 && room[at - 1] < job->ready_s[i]; at--)
            room[at] = room[at - 1];
        room[at] = job->ready_s[i];
    }
    expect_number(c, "bound_prefix", cv_ready_prefix(job, room, room + job->n));
    c->rel = c->rel > 1e-9 ? c->rel : 1e-9;
    expect_number(c, "bound_kraft", cv_ready_kraft(job));
    c->rel = exact;
    if (cv_ready_bound(job) > length_s * (1 + 1e-9))
        case_fail(c, "the bound is above the length");
}

static void run_ready(struct vector_case *c)
{
    const struct json *given = json_get(c->in, "root");
    struct cv_ready_planner *planner;
    struct cv_ready_job job;
    uint32_t *parent, root = CV_NO_NODE;
    double length_s = NAN;

    if (!read_job(c, &job))
        return;
    if (given != NULL && given->kind == JSON_NUMBER)
        root = case_count(c, "root");
    planner = cv_ready_planner_new(c->arena, job.n, cv_ready_is_exact(&job));
    parent = cv_array(c->arena, job.n, sizeof *parent);
    if (planner == NULL || parent == NULL) {
        case_fail(c, "out of memory");
        return;
    }
    cv_ready_tree(planner, &job, root, parent);
    if (!execute(c, &job, parent, NULL, &length_s))
        return;
    if (root != CV_NO_NODE && parent[root] != CV_NO_NODE)
        case_fail(c, "node %u is not the root", root);
    expect_number(c, "optimum", length_s);
    expect_nothing(c, "optimum_by");
    expect_number(c, "algorithm", length_s);
    expect_nothing(c, "parent_example");
    expect_number(c, "tree_dyn", by_policy(c, &job, "tree-dyn"));
    if (root == CV_NO_NODE)
        expect_number(c, "algorithm", by_policy(c, &job, "ready"));
    expect_latest_first(c, &job);
    expect_binomial(c, &job);
    expect_bounds(c, &job, length_s);
}

static void run_decide(struct vector_case *c)
{
    struct cv_ready_planner *planner;
    struct cv_ready_job job;
    uint32_t *parent;
    double needed_s, length_s;

    if (!read_job(c, &job))
        return;
    planner = cv_ready_planner_new(c->arena, job.n, cv_ready_is_exact(&job));
    parent = cv_array(c->arena, job.n, sizeof *parent);
    if (planner == NULL || parent == NULL) {
        case_fail(c, "out of memory");
        return;
    }
    needed_s = cv_ready_tree(planner, &job, CV_NO_NODE, parent);
    expect_flag(c, "feasible", needed_s <= case_number(c, "T"));
    if (execute(c, &job, parent, NULL, &length_s) && !(length_s <= needed_s))
        case_fail(c, "the tree takes %g, not %g", length_s, needed_s);
}

static void run_ordered(struct vector_case *c)
{
    struct cv_ordered_tree tree;
    struct cv_ready_job job;
    struct cleave_error err;
    double planned_s, length_s;

    if (!read_job(c, &job))
        return;
    tree.parent = cv_array(c->arena, job.n, sizeof *tree.parent);
    tree.turn = cv_array(c->arena, job.n, sizeof *tree.turn);
    if (tree.parent == NULL || tree.turn == NULL) {
        case_fail(c, "out of memory");
        return;
    }
    if (!case_ok(c, cv_ready_ordered(&job, &tree, &planned_s, &err), &err) ||
        !execute(c, &job, tree.parent, tree.turn, &length_s))
        return;
    expect_number(c, "optimum", planned_s);
    expect_number(c, "optimum", length_s);
    expect_number(c, "ordered_tree_dyn", by_policy(c, &job, "ordered-tree-dyn"));
}

const struct case_kind ready_kinds[] = {
    { "ready", run_ready },
    { "decide", run_decide },
    { "ordered", run_ordered },
    { NULL, NULL },
};
