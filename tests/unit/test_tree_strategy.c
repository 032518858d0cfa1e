/* test_tree_strategy.c -- binomial and Fibonacci trees. SPDX-License-Identifier: MIT */
#include "tree_check.h"

#include "model/reduce/reduce_tree.h"

static const enum cv_strategy both[] = { CV_STRATEGY_BINOMIAL, CV_STRATEGY_FIBONACCI };

static void fibonacci_numbers(void **state)
{
    (void)state;
    assert_int_equal(cv_fibonacci(0), 0);
    assert_int_equal(cv_fibonacci(1), 1);
    assert_int_equal(cv_fibonacci(2), 1);
    for (unsigned k = 2; k <= CV_MOST_FIBONACCI; k++)
        assert_true(cv_fibonacci(k) == cv_fibonacci(k - 1) + cv_fibonacci(k - 2));
    assert_true(cv_fibonacci(93) == UINT64_C(12200160415121876738));
    assert_true(cv_fibonacci(94) == UINT64_MAX);
}

static void orders_and_sizes(void **state)
{
    (void)state;
    for (int order = -1; order < 60; order++) {
        const uint64_t pairs = cv_strategy_full_size(CV_STRATEGY_BINOMIAL, order);
        const uint64_t rabbits = cv_strategy_full_size(CV_STRATEGY_FIBONACCI, order);

        assert_true(pairs == (order <= 0 ? 1 : UINT64_C(1) << order));
        assert_true(rabbits == cv_fibonacci((unsigned)(order + 2)));
        if (order < 0)
            continue;
        assert_int_equal(cv_strategy_order(CV_STRATEGY_BINOMIAL, pairs), order);
        assert_int_equal(cv_strategy_order(CV_STRATEGY_FIBONACCI, rabbits), order);
        assert_int_equal(cv_strategy_order(CV_STRATEGY_BINOMIAL, pairs + 1), order + 1);
        assert_int_equal(cv_strategy_order(CV_STRATEGY_FIBONACCI, rabbits + 1),
                         order + 1);
    }
    assert_int_equal(cv_strategy_order(CV_STRATEGY_FIBONACCI, UINT64_MAX), 92);
    assert_true(cv_strategy_full_size(CV_STRATEGY_BINOMIAL, 64) == UINT64_MAX);
    assert_equal(cv_strategy_full_length(CV_STRATEGY_FIBONACCI, 0, 3, 2), 0);
    assert_equal(cv_strategy_full_length(CV_STRATEGY_FIBONACCI, 4, 3, 2), 14);
    assert_equal(cv_strategy_full_length(CV_STRATEGY_BINOMIAL, 4, 3, 2), 20);
}

/* The greedy algorithm at its fixed costs, looking for the least in turn. */
static void trees_are_greedy_at_fixed_costs(void **state)
{
    enum { N = 400 };
    uint32_t parent[N];

    (void)state;
    for (size_t w = 0; w < 2; w++)
        for (int high = 0; high < 2; high++) {
            const double a = 1, b = both[w] == CV_STRATEGY_BINOMIAL ? 1 : 2;
            double s[N] = { 0 };

            cv_strategy_tree(both[w], high ? CV_TIES_HIGH : CV_TIES_LOW, N, parent);
            assert_int_equal(parent[0], CV_NO_NODE);
            for (uint32_t i = 1; i < N; i++) {
                uint32_t min = 0;

                for (uint32_t j = 1; j < i; j++)
                    if (s[j] < s[min] || (high && s[j] == s[min]))
                        min = j;
                assert_int_equal(parent[i], min);
                s[i] = s[min] + b;
                s[min] += a;
            }
        }
}

static double strategy_length(enum cv_strategy which, enum cv_ties ties, uint32_t n,
                              struct cost_pair cost, struct cv_arena *arena)
{
    struct cleave_error err;
    double length;

    assert_ok(cv_strategy_length(which, ties, n, cost.d, cost.c, arena, &length, &err),
              &err);
    cv_arena_reset(arena);
    return length;
}

static void full_trees_have_their_length(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (size_t w = 0; w < 2; w++)
        for (size_t p = 0; p < SOME_COSTS; p++)
            for (int order = 0; order <= 14; order++)
                for (int ties = 0; ties < 2; ties++) {
                    const uint32_t n = (uint32_t)cv_strategy_full_size(both[w], order);

                    assert_equal(strategy_length(both[w], (enum cv_ties)ties, n,
                                                 some_costs[p], &arena),
                                 cv_strategy_full_length(both[w], order, some_costs[p].d,
                                                         some_costs[p].c));
                }
    cv_arena_done(&arena);
}

/* Between the optimum and the proven multiple of it, and no longer than the full tree;
 * optimal at their own costs. */
static void ratios_hold(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (size_t w = 0; w < 2; w++)
        for (size_t p = 0; p < SOME_COSTS; p++)
            for (uint32_t n = 1; n < 2500; n += 1 + n / 12)
                for (int ties = 0; ties < 2; ties++) {
                    const double d = some_costs[p].d, c = some_costs[p].c;
                    const double min = cv_reduce_length(n, d, c);
                    const double got = strategy_length(both[w], (enum cv_ties)ties, n,
                                                       some_costs[p], &arena);

                    assert_true(got >= min);
                    assert_true(got <= cv_strategy_ratio(both[w], d, c) * min);
                    assert_true(got <= cv_strategy_full_length(
                                           both[w], cv_strategy_order(both[w], n), d, c));
                    if (both[w] == CV_STRATEGY_BINOMIAL ? fmin(d, c) == 0 : d == c)
                        assert_equal(got, min);
                }
    cv_arena_done(&arena);
}

static void ratios_for_many_nodes(void **state)
{
    const double log2_phi = log2((1 + sqrt(5)) / 2);
    const double even = 1 / log2_phi - 1; /* where both are equally good */

    (void)state;
    assert_near(cv_strategy_ratio_limit(CV_STRATEGY_BINOMIAL, 1, 0), 1, 1e-9);
    assert_near(cv_strategy_ratio_limit(CV_STRATEGY_FIBONACCI, 2, 2), 1, 1e-9);
    assert_near(cv_strategy_ratio_limit(CV_STRATEGY_BINOMIAL, 2, 2), 2 * log2_phi, 1e-9);
    assert_near(cv_strategy_ratio_limit(CV_STRATEGY_FIBONACCI, 0, 3), 1 / log2_phi, 1e-9);
    assert_near(cv_strategy_ratio_limit(CV_STRATEGY_FIBONACCI, 1, even),
                cv_strategy_ratio_limit(CV_STRATEGY_BINOMIAL, 1, even), 1e-9);
    assert_near(cv_strategy_ratio_limit(CV_STRATEGY_FIBONACCI, 0, 0), 1, 0);
    /* The lengths of full trees come near it. */
    for (size_t w = 0; w < 2; w++) {
        const int order = both[w] == CV_STRATEGY_BINOMIAL ? 60 : 86;
        const double d = 4, c = 3;
        const double ratio =
            cv_strategy_full_length(both[w], order, d, c) /
            cv_reduce_length(cv_strategy_full_size(both[w], order), d, c);

        assert_near(ratio, cv_strategy_ratio_limit(both[w], d, c), 0.03);
    }
}

/* Ratios of lengths to the optimum that were found by other code; the last where ties
 * decide. */
static void known_ratios(void **state)
{
    static const struct {
        uint32_t n;
        double low, high;       /* binomial, d = c     */
        double threaded, fhigh; /* Fibonacci, c = 0  */
    } cases[] = {
        { 3, 1, 4.0 / 3, 1, 1 },
        { 4, 1, 1, 1.5, 1 },
        { 16, 8.0 / 7, 8.0 / 7, 1.5, 1.25 },
        { 64, 1.2, 1.2, 1.5, 4.0 / 3 },
        { 1024, 1.25, 1.25, 1.5, 1.4 },
        { 10000, 1.3, 1.35, 19.0 / 14, 9.0 / 7 },
    };
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cost_pair same = { 1, 1 }, nothing = { 1, 0 };
        const uint32_t n = cases[i].n;
        const double one = cv_reduce_length(n, 1, 1), other = cv_reduce_length(n, 1, 0);

        assert_near(strategy_length(both[0], CV_TIES_LOW, n, same, &arena) / one,
                    cases[i].low, 1e-15);
        assert_near(strategy_length(both[0], CV_TIES_HIGH, n, same, &arena) / one,
                    cases[i].high, 1e-15);
        assert_near(strategy_length(both[1], CV_TIES_LOW, n, nothing, &arena) / other,
                    cases[i].threaded, 1e-15);
        assert_near(strategy_length(both[1], CV_TIES_HIGH, n, nothing, &arena) / other,
                    cases[i].fhigh, 1e-15);
    }
    cv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fibonacci_numbers),
        cmocka_unit_test(orders_and_sizes),
        cmocka_unit_test(trees_are_greedy_at_fixed_costs),
        cmocka_unit_test(full_trees_have_their_length),
        cmocka_unit_test(ratios_hold),
        cmocka_unit_test(ratios_for_many_nodes),
        cmocka_unit_test(known_ratios),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
