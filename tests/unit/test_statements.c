/* test_statements.c -- wrong statements of old documents, and their corrections.
 * SPDX-License-Identifier: MIT */
#include "tree_check.h"

#include <cleave/reduce.h>
#include <cleave/run.h>

#include "base/random.h"

/* docs/theory/bounds.md: max(alpha + K beta + W / B, (W / S + K alpha + beta N (N + 1) / 2) / N)
 * bounds schedules of K or more chunks if K >= N. For fewer the second part is 25.7 s here, and
 * a schedule takes 5.075 s. */
static void few_chunks_need_not_wait_for_all_messages(void **state)
{
    enum { N = 50 };
    struct cleave_worker workers[N];
    struct cleave_platform *platform = NULL;
    struct cleave_schedule *schedule = NULL;
    struct cleave_job job = { .load = 10 };

    (void)state;
    for (int i = 0; i < N; i++)
        workers[i] = (struct cleave_worker){ 1, 0, 100, 1, 100, 1 };
    assert_int_equal(cleave_platform_new(CLEAVE_PORT_ONE, workers, N, &platform, NULL),
                     CLEAVE_OK);
    job.platform = platform;
    assert_int_equal(cleave_plan_load(&job, &schedule, NULL), CLEAVE_OK);
    assert_true(schedule->makespan_s <= 5.0753 && schedule->nchunks < N);
    for (size_t i = 0; i < schedule->nbounds; i++)
        assert_true(schedule->bounds[i].value_s <= schedule->makespan_s * (1 + 1e-9));
    cleave_schedule_free(schedule);
    cleave_platform_free(platform);
}

static double tree_dyn_s(uint32_t n, const double *transfer, const double *compute)
{
    struct cleave_costs *costs = NULL;
    struct cleave_tree *tree = NULL;
    struct cleave_reduction job = { .policy = "tree-dyn" };
    double length_s;

    assert_int_equal(cleave_costs_new(n, transfer, compute, &costs, NULL), CLEAVE_OK);
    job.costs = costs;
    assert_int_equal(cleave_plan_reduce(&job, &tree, NULL), CLEAVE_OK);
    length_s = tree->length_s;
    cleave_tree_free(tree);
    cleave_costs_free(costs);
    return length_s;
}

/* docs/guide/policies/tree-dyn.md: transfers between d and Delta d, all combinations the same:
 * at most Delta + 1 times the optimum, Delta for combinations that cost nothing. The optimum is at
 * least that for transfers of d. */
static void tree_dyn_is_within_delta_and_one_of_the_optimum(void **state)
{
    enum { MOST = 24 };

    (void)state;
    for (uint32_t number = 0; number < 200; number++) {
        double transfer[MOST * MOST], compute[MOST], delta, c, least_s;
        struct cv_random random;
        struct cv_arena arena;
        uint32_t n;

        cv_random_at(&random, 94, number, 0, 0);
        n = 2 + (uint32_t)(cv_random_uniform(&random) * (MOST - 2));
        delta = 1 + 5 * cv_random_uniform(&random);
        c = number % 3 == 0 ? 0 : 3 * cv_random_uniform(&random);
        for (uint32_t i = 0; i < n * n; i++)
            transfer[i] = 1 + (delta - 1) * cv_random_uniform(&random);
        for (uint32_t i = 0; i < n; i++)
            compute[i] = c;
        cv_arena_init(&arena);
        least_s = greedy_of(n, 1, c, 0, 0, &arena).length_s;
        cv_arena_done(&arena);
        assert_true(tree_dyn_s(n, transfer, compute) <=
                    (delta + (c > 0)) * least_s * (1 + 1e-9));
    }
}

/* ... and not if combinations differ: it does not know that node 1 combines for
 * nothing. */
static void unequal_combinations_have_no_such_bound(void **state)
{
    static const double transfer[4] = { 0, 1, 1, 0 }, compute[2] = { 100, 0 };

    (void)state;
    assert_true(tree_dyn_s(2, transfer, compute) == 101); /* the optimum is 1 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_chunks_need_not_wait_for_all_messages),
        cmocka_unit_test(tree_dyn_is_within_delta_and_one_of_the_optimum),
        cmocka_unit_test(unequal_combinations_have_no_such_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
