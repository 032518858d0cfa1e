/* test_ready.c -- trees for ready times against a search over all trees, and bounds.
 * SPDX-License-Identifier: MIT */
#include "tree_check.h"

#include <stdio.h>
#include <string.h>

#include <cleave/reduce.h>
#include "model/ready/ready_ordered.h"
#include "model/ready/ready_tree.h"

enum { MOST = 64, TRIALS = 250 };

/* --- all trees, tried ---------------------------------------------------------------------- */

struct held {
    double port_s, done_s;
    bool is_root;
};

static struct held receive(const struct cv_ready_job *job, struct held to, double asks_s)
{
    double arrives_s;

    if (job->model == CLEAVE_READY_MERGE) {
        to.done_s = fmax(to.done_s, asks_s) + job->d + job->c;
        return to;
    }
    arrives_s = fmax(to.port_s, asks_s) + job->d;
    to.port_s = arrives_s;
    to.done_s = fmax(arrives_s, to.done_s) + job->c;
    return to;
}

/* The least time in which these become one; `ordered`: neighbours only. */
static double try_all(const struct cv_ready_job *job, const struct held *held, uint32_t n,
                      bool ordered)
{
    double best = INFINITY;

    if (n == 1)
        return held[0].done_s;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            struct held rest[8];
            uint32_t count = 0;

            if (i == j || held[j].is_root || (ordered && i + 1 != j && j + 1 != i))
                continue;
            for (uint32_t k = 0; k < n; k++)
                if (k == i)
                    rest[count++] = receive(job, held[i], held[j].done_s);
                else if (k != j)
                    rest[count++] = held[k];
            best = fmin(best, try_all(job, rest, count, ordered));
        }
    return best;
}

static double best_of_all(const struct cv_ready_job *job, uint32_t root, bool ordered)
{
    struct held held[8];

    for (uint32_t i = 0; i < job->n; i++)
        held[i] =
            (struct held){ job->model == CLEAVE_READY_EARLY ? -INFINITY : job->ready_s[i],
                           job->ready_s[i], i == root };
    return try_all(job, held, job->n, ordered);
}

/* --- the planner --------------------------------------------------------------------------- */

static void draw_job(struct cv_random *random, uint32_t max, double *ready_s,
                     struct cv_ready_job *job)
{
    static const uint32_t spreads[] = { 5, 13, 26 };
    const uint32_t spread = spreads[random_below(random, 3)];

    *job = (struct cv_ready_job){ 1 + random_below(random, max), ready_s,
                                  random_below(random, 7), random_below(random, 7),
                                  (enum cleave_ready_model)random_below(random, 3) };
    for (uint32_t i = 0; i < job->n; i++)
        ready_s[i] = random_below(random, spread);
}

static double shortest(const struct cv_ready_job *job, uint32_t root,
                       struct cv_arena *arena)
{
    struct cv_ready_planner *planner =
        cv_ready_planner_new(arena, job->n, cv_ready_is_exact(job));
    uint32_t parent[MOST];
    struct cv_tree_run run;
    struct cleave_error err;
    double needed_s;

    assert_non_null(planner);
    needed_s = cv_ready_tree(planner, job, root, parent);
    assert_ok(cv_ready_execute(job, parent, NULL, arena, &run, &err), &err);
    assert_true(run.length_s <= needed_s);
    if (root != CV_NO_NODE)
        assert_int_equal(run.root, root);
    return run.length_s;
}

static void shortest_of_all_trees(void **state)
{
    struct cv_random random;
    struct cv_arena arena;
    double ready_s[MOST];
    struct cv_ready_job job;

    (void)state;
    cv_random_at(&random, 5, 0, 0, 0);
    cv_arena_init(&arena);
    for (int trial = 0; trial < TRIALS; trial++) {
        uint32_t root;

        draw_job(&random, 5, ready_s, &job);
        root = random_below(&random, job.n);
        /* In these cases it holds without a proof. */
        assert_equal(shortest(&job, CV_NO_NODE, &arena),
                     best_of_all(&job, CV_NO_NODE, false));
        assert_equal(shortest(&job, root, &arena), best_of_all(&job, root, false));
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

/* A possible length, and an impossible one just below it. */
static void bounds_are_not_beaten(void **state)
{
    struct cv_random random;
    struct cv_arena arena;
    double ready_s[MOST];
    struct cv_ready_job job;

    (void)state;
    cv_random_at(&random, 7, 0, 0, 0);
    cv_arena_init(&arena);
    for (int trial = 0; trial < TRIALS; trial++) {
        double best_s;

        draw_job(&random, 60, ready_s, &job);
        best_s = shortest(&job, CV_NO_NODE, &arena);
        assert_true(cv_ready_bound(&job) <= best_s * (1 + 1e-12));
        if (cv_ready_is_exact(&job))
            assert_true(best_s <= cv_ready_kraft(&job) + job.d + job.c + 1e-9);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

/* --- neighbours only ----------------------------------------------------------------------- */

static void shortest_of_ordered_trees(void **state)
{
    struct cv_random random;
    struct cv_arena arena;
    double ready_s[MOST];
    struct cv_ready_job job;

    (void)state;
    cv_random_at(&random, 8, 0, 0, 0);
    cv_arena_init(&arena);
    for (int trial = 0; trial < TRIALS; trial++) {
        uint32_t parent[MOST], turn[MOST];
        struct cv_ordered_tree tree = { parent, turn };
        struct cv_tree_run run;
        struct cleave_error err;
        double planned_s;

        draw_job(&random, 6, ready_s, &job);
        assert_ok(cv_ready_ordered(&job, &tree, &planned_s, &err), &err);
        assert_ok(cv_ready_execute(&job, parent, turn, &arena, &run, &err), &err);
        assert_equal(planned_s, best_of_all(&job, CV_NO_NODE, true));
        assert_equal(run.length_s, planned_s);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

/* --- among policies ------------------------------------------------------------------------ */

static double by_policy(const struct cv_ready_job *job, const char *policy,
                        const struct cleave_setting *setting, double *out_bound_s)
{
    struct cleave_reduction reduction = { .nodes = job->n,
                                          .ready_s = job->ready_s,
                                          .ready_model = job->model,
                                          .policy = policy,
                                          .settings = setting,
                                          .nsettings = setting != NULL };
    char transfer[32], compute[32];
    struct cleave_tree *tree;
    struct cleave_error err;
    double length_s;

    snprintf(transfer, sizeof transfer, "%.17g", job->d);
    snprintf(compute, sizeof compute, "%.17g", job->c);
    reduction.transfer = transfer;
    reduction.compute = compute;
    assert_ok(cleave_plan_reduce(&reduction, &tree, &err), &err);
    length_s = tree->length_s;
    *out_bound_s = tree->lower_bound_s;
    assert_true(length_s <= tree->upper_bound_s * (1 + 1e-12));
    if (!isnan(tree->optimum_s))
        assert_true(tree->optimum_s <= length_s);
    cleave_tree_free(tree);
    return length_s;
}

static void no_policy_is_shorter(void **state)
{
    const struct cleave_setting ordered = { "ordered", "1" };
    struct cv_random random;
    double ready_s[MOST];
    struct cv_ready_job job;

    (void)state;
    cv_random_at(&random, 9, 0, 0, 0);
    for (int trial = 0; trial < TRIALS; trial++) {
        double ready, in_order, bound_s;

        draw_job(&random, 40, ready_s, &job);
        ready = by_policy(&job, "ready", NULL, &bound_s);
        in_order = by_policy(&job, "ready", &ordered, &bound_s);
        assert_true(bound_s <= ready * (1 + 1e-12) && ready <= in_order);
        for (size_t i = 0; i < cleave_policy_count(); i++) {
            const struct cleave_policy *policy = cleave_policy_at(i);
            double other;

            if (policy->task != CLEAVE_TASK_REDUCE)
                continue;
            other = by_policy(&job, policy->name, NULL, &bound_s);
            if (cv_ready_is_exact(&job) && ready > other)
                fail_msg("%s: %g s, ready: %g s", policy->name, other, ready);
            if (policy->keeps_order)
                assert_true(in_order <= other);
        }
    }
}

/* Without overlap no knowledge is needed: the first two available are combined,
 * always. */
static void tree_dyn_is_optimal_without_overlap(void **state)
{
    struct cv_random random;
    double ready_s[MOST], bound_s;
    struct cv_ready_job job;

    (void)state;
    cv_random_at(&random, 10, 0, 0, 0);
    for (int trial = 0; trial < TRIALS; trial++) {
        draw_job(&random, 60, ready_s, &job);
        job.model = CLEAVE_READY_MERGE;
        assert_equal(by_policy(&job, "tree-dyn", NULL, &bound_s),
                     by_policy(&job, "ready", NULL, &bound_s));
    }
}

/* --- on line ---------------------------------------------------------------------------- */

/* The mean over the same random ready times for all: uniform over `spread` times d + c. */
static double mean_of(const char *policy, bool ordered, double c, double spread)
{
    const struct cleave_setting setting = { "ordered", "1" };
    const struct cleave_trial trial = { .runs = 20, .threads = 1 };
    struct cleave_reduction job = { .nodes = 64,
                                    .transfer = "1",
                                    .policy = policy,
                                    .settings = &setting,
                                    .nsettings = ordered,
                                    .seed = 11 };
    char compute[32], ready[64];
    struct cleave_stats stats;
    struct cleave_error err;

    snprintf(compute, sizeof compute, "%g", c);
    snprintf(ready, sizeof ready, "uniform:0,%g", spread * (1 + c));
    job.compute = compute;
    job.ready = ready;
    assert_ok(cleave_simulate_reduce(&job, &trial, &stats, &err), &err);
    return stats.mean_s;
}

/* Sending to a node that combines only when it has at most a transfer to go is close to
 * full knowledge, if overlap is worth little; and new plans on every arrival are close if
 * it is worth much. */
static void overlap_comes_close(void **state)
{
    static const double spreads[] = { 1, 2, 4, 8 };

    (void)state;
    for (size_t i = 0; i < sizeof spreads / sizeof *spreads; i++) {
        const double w = spreads[i];

        assert_true(mean_of("tree-adapt", false, 10, w) <=
                    1.01 * mean_of("ready", false, 10, w));
        assert_true(mean_of("tree-adapt", false, 0.1, w) <=
                    1.01 * mean_of("ready", false, 0.1, w));
        assert_true(mean_of("tree-replan", false, 1, w) <=
                    1.06 * mean_of("ready", false, 1, w));
        assert_true(mean_of("ordered-adapt", false, 10, w) <=
                    1.03 * mean_of("ready", true, 10, w));
        assert_true(mean_of("ordered-adapt", false, 1, w) <=
                    1.03 * mean_of("ready", true, 1, w));
        assert_true(mean_of("ordered-adapt", false, 0.3, w) <=
                    1.03 * mean_of("ready", true, 0.3, w));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shortest_of_all_trees),
        cmocka_unit_test(bounds_are_not_beaten),
        cmocka_unit_test(shortest_of_ordered_trees),
        cmocka_unit_test(no_policy_is_shorter),
        cmocka_unit_test(tree_dyn_is_optimal_without_overlap),
        cmocka_unit_test(overlap_comes_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
