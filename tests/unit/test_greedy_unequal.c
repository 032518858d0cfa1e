/* test_greedy_unequal.c -- trees for nodes of different speed.
 * SPDX-License-Identifier: MIT */
#include "tree_check.h"

#include "model/reduce/reduce_tree.h"

static struct cv_greedy_tree unequal_of(uint32_t n, double d, const double *c,
                                        struct cv_arena *arena)
{
    struct cv_greedy_tree tree;
    struct cleave_error err;

    assert_true(cv_greedy_tree_room(&tree, arena, n));
    assert_ok(cv_greedy_unequal_plan(&tree, d, c, &err), &err);
    return tree;
}

static double execute(const uint32_t *parent, uint32_t n, double d, const double *c,
                      struct cv_arena *arena)
{
    const struct cv_tree_costs costs = { .transfer_s = d, .compute = c };
    struct cv_tree_run run;
    struct cleave_error err;

    assert_ok(cv_tree_run(parent, n, &costs, arena, &run, &err), &err);
    return run.length_s;
}

static void equal_costs_give_the_optimum(void **state)
{
    double c[200];
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (size_t p = 0; p < SOME_COSTS; p++)
        for (uint32_t n = 1; n <= 200; n++) {
            const struct cv_greedy_tree best =
                greedy_of(n, some_costs[p].d, some_costs[p].c, 0, 0, &arena);
            struct cv_greedy_tree tree;

            for (uint32_t i = 0; i < n; i++)
                c[i] = some_costs[p].c;
            tree = unequal_of(n, some_costs[p].d, c, &arena);
            assert_memory_equal(tree.rev_s, best.rev_s, n * sizeof *best.rev_s);
            assert_memory_equal(tree.parent, best.parent, n * sizeof *best.parent);
            cv_arena_reset(&arena);
        }
    cv_arena_done(&arena);
}

/* Every tree over every placement of the costs: all permutations of the costs over the
 * trees with parent[i] < i. */
static double best_of_all(uint32_t n, double d, double *c, uint32_t at,
                          struct cv_arena *arena)
{
    double best = INFINITY;

    if (at == n) {
        uint32_t parent[8];

        first_tree(parent, n);
        do {
            best = fmin(best, execute(parent, n, d, c, arena));
            cv_arena_reset(arena);
        } while (next_tree(parent, n));
        return best;
    }
    for (uint32_t i = at; i < n; i++) {
        const double swapped = c[at];

        c[at] = c[i];
        c[i] = swapped;
        best = fmin(best, best_of_all(n, d, c, at + 1, arena));
        c[i] = c[at];
        c[at] = swapped;
    }
    return best;
}

static void small_trees_are_nearly_optimal(void **state)
{
    const uint32_t n = 6;
    struct cv_arena arena;
    unsigned optimal = 0;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 40; number++) {
        struct cv_random random;
        double d, c[8], got, best;

        cv_random_at(&random, 10, number, 0, 0);
        d = 1 + random_below(&random, 8);
        for (uint32_t i = 0; i < n; i++)
            c[i] = random_below(&random, 12);
        got = unequal_of(n, d, c, &arena).length_s;
        cv_arena_reset(&arena);
        best = best_of_all(n, d, c, 0, &arena);
        assert_true(got >= best);
        assert_true(got <= 1.15 * best);
        optimal += got == best;
    }
    assert_in_range(optimal, 36, 40);
    cv_arena_done(&arena);
}

/* The plan reserves times backwards; forwards no node needs to wait longer. */
static void execution_is_no_longer_than_planned(void **state)
{
    enum { N = 500 };
    double c[N];
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 80; number++) {
        struct cv_random random;
        struct cv_greedy_tree tree;
        uint32_t fastest = 0;
        double d;

        cv_random_at(&random, 11, number, 0, 0);
        d = random_below(&random, 20);
        for (uint32_t i = 0; i < N; i++) {
            c[i] = random_below(&random, 30);
            fastest = c[i] < c[fastest] ? i : fastest;
        }
        tree = unequal_of(N, d, c, &arena);
        assert_int_equal(tree.parent[fastest], CV_NO_NODE);
        for (uint32_t i = 0; i < N; i++)
            assert_true(i == fastest ? isnan(tree.start_s[i]) : tree.start_s[i] >= 0);
        assert_true(execute(tree.parent, N, d, c, &arena) <= tree.length_s);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

static void bad_input_is_refused(void **state)
{
    const double c[] = { 1, NAN };
    struct cv_greedy_tree tree;
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    assert_true(cv_greedy_tree_room(&tree, &arena, 2));
    assert_int_equal(cv_greedy_unequal_plan(&tree, 1, c, NULL), CLEAVE_EINPUT);
    assert_int_equal(cv_greedy_unequal_plan(&tree, -1, c, NULL), CLEAVE_EINPUT);
    tree.n = 0;
    assert_int_equal(cv_greedy_unequal_plan(&tree, 1, c, NULL), CLEAVE_EINPUT);
    cv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_costs_give_the_optimum),
        cmocka_unit_test(small_trees_are_nearly_optimal),
        cmocka_unit_test(execution_is_no_longer_than_planned),
        cmocka_unit_test(bad_input_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
