/* test_reduce_bounds.c -- bounds against what the greedy trees take.
 * SPDX-License-Identifier: MIT */
#include "../../tools/check_vectors/reduce_printed.h"
#include "tree_check.h"

#include "model/reduce/reduce_bounds.h"
#include "model/reduce/reduce_tree.h"

enum { MOST_N = 130 };

static void bounds_hold_on_a_grid(void **state)
{
    unsigned printed_fails = 0;
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (size_t p = 0; p < SOME_COSTS; p++)
        for (uint32_t n = 1; n <= MOST_N; n++)
            for (uint32_t k = 1; k <= n; k++) {
                const double d = some_costs[p].d, c = some_costs[p].c;
                const double limited = cv_reduce_upper_limited(n, d, c, k);
                const double transfers = greedy_of(n, d, c, k, 0, &arena).length_s;
                const double reducers = greedy_of(n, d, c, 0, k, &arena).length_s;
                const double printed = reduce_upper_printed(n, d, c, k);

                assert_true(transfers <= limited);
                assert_true(reducers <= limited);
                assert_true(transfers >= cv_reduce_lower(n, d, c));
                if (k <= n / 2 && (k & (k - 1)) == 0)
                    assert_true(fmax(transfers, reducers) <= printed);
                else if (k <= n / 2)
                    printed_fails += fmax(transfers, reducers) > printed;
                cv_arena_reset(&arena);
            }
    assert_true(printed_fails > 1000);
    cv_arena_done(&arena);
}

/* The smallest case in which the printed bound is below the optimum. */
static void printed_bound_fails_at_six(void **state)
{
    (void)state;
    assert_equal(reduce_upper_printed(6, 1, 0, 3), 2);
    assert_equal(cv_reduce_lower(6, 1, 0), 3);
    assert_equal(cv_reduce_upper_limited(6, 1, 0, 3), 3);
    assert_equal(cv_reduce_upper_limited(1, 1, 1, 5), 0);
    assert_equal(cv_reduce_upper_limited(9, 1, 1, 1), 16);
    assert_equal(cv_reduce_upper_limited(UINT64_C(1) << 60, 1, 0, UINT64_C(1) << 60), 60);
}

static void ordered_rounds_are_exact(void **state)
{
    (void)state;
    assert_int_equal(cv_reduce_ordered_rounds(0), 0);
    assert_int_equal(cv_reduce_ordered_rounds(1), 0);
    assert_int_equal(cv_reduce_ordered_rounds(2), 1);
    assert_int_equal(cv_reduce_ordered_rounds(3), 2);
    /* 1.5^k in powers of 3 and 2, which fit up to k = 33 for n below 2^20. */
    for (uint32_t n = 2; n < 1u << 20; n += 1 + n / 100) {
        uint64_t three = 1, two = 1;
        unsigned k = 0;

        while (three * 3 <= (n - 1) * two * 2) {
            three *= 3;
            two *= 2;
            k++;
        }
        assert_int_equal(cv_reduce_ordered_rounds(n), k + 1);
    }
    assert_int_equal(cv_reduce_ordered_rounds(UINT32_MAX), 55);
    assert_equal(cv_reduce_ordered_upper(3, 2, 1), 6);
    assert_equal(cv_reduce_ordered_upper(1, 2, 1), 0);
}

/* A path of values of which the adversary lets pairs that leave most alone go first, in
 * rounds that all end together. */
static void ordered_bound_holds_against_stranding(void **state)
{
    (void)state;
    for (uint32_t n = 2; n < 100000; n += 1 + n / 30) {
        uint32_t left = n;
        unsigned rounds = 0;

        /* k pairs among 3 k + 1 values: no two neighbours stay idle. */
        while (left > 1) {
            left -= (left - 1 + 2) / 3;
            rounds++;
        }
        assert_true(rounds <= cv_reduce_ordered_rounds(n));
    }
}

static void guarantee_of(enum cv_reduce_method method, uint32_t n, double min, double max,
                         double c, double ratio, unsigned theorem, const char *when)
{
    struct cv_reduce_guarantee got;

    assert_true(cv_reduce_guarantee(method, n, min, max, c, &got));
    assert_near(got.ratio, ratio, 1e-12);
    assert_int_equal(got.theorem, theorem);
    assert_string_equal(got.when, when);
    assert_non_null(got.formula);
}

static void guarantees_follow_the_table(void **state)
{
    const double phi = log2((1 + sqrt(5)) / 2);
    struct cv_reduce_guarantee got;

    (void)state;
    guarantee_of(CV_METHOD_BINOMIAL_STAT, 64, 2, 6, 0, 3, 1, "c = 0");
    guarantee_of(CV_METHOD_BINOMIAL_STAT, 64, 2, 6, 1, 4, 3, "any c");
    guarantee_of(CV_METHOD_BINOMIAL_STAT, 64, 2, 6, 2, 4 * (1 + 1.0 / 6) * phi, 4,
                 "c = d");
    /* For few nodes the ratio for any c is the better one. */
    guarantee_of(CV_METHOD_TREE_DYN, 4, 2, 6, 2, 4, 3, "any c");
    guarantee_of(CV_METHOD_TREE_DYN, 64, 2, 6, 0, 3, 1, "c = 0");
    guarantee_of(CV_METHOD_FIBONACCI_STAT, 64, 2, 6, 0, 3 / phi + 3.0 / 6, 2, "c = 0");
    guarantee_of(CV_METHOD_FIBONACCI_STAT, 64, 2, 6, 1, 3 / phi + 1, 5, "any c");
    guarantee_of(CV_METHOD_FIBONACCI_STAT, 64, 2, 6, 2, 3, 5, "c = d");
    guarantee_of(CV_METHOD_ORDERED_TREE_DYN, 64, 2, 6, 0, 11.0 / 6 * 3, 0, "c = 0");
    guarantee_of(CV_METHOD_ORDERED_TREE_DYN, 64, 2, 6, 5, 11.0 / 6 * 4, 0, "any c");
    guarantee_of(CV_METHOD_TREE_DYN, 1, 0, 0, 0, 1, 0, "n = 1");
    assert_false(cv_reduce_guarantee(CV_METHOD_TREE_DYN, 4, 0, 1, 0, &got));
}

/* With equal transfers the static algorithms are the strategies; their ratio to the
 * optimum must be within the guarantee. */
static void guarantees_hold_for_equal_costs(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (size_t p = 0; p < SOME_COSTS; p++)
        for (uint32_t n = 2; n <= 600; n++) {
            const double d = some_costs[p].d, c = some_costs[p].c;
            const double min = cv_reduce_length(n, d, c);
            struct cv_reduce_guarantee got;

            if (d == 0)
                continue;
            assert_true(cv_reduce_guarantee(CV_METHOD_BINOMIAL_STAT, n, d, d, c, &got));
            assert_true(cv_reduce_upper(n, d, c) <= got.ratio * min * (1 + 1e-12));
            assert_true(cv_reduce_guarantee(CV_METHOD_FIBONACCI_STAT, n, d, d, c, &got));
            assert_true(
                cv_strategy_full_length(CV_STRATEGY_FIBONACCI,
                                        cv_strategy_order(CV_STRATEGY_FIBONACCI, n), d,
                                        c) <= got.ratio * min * (1 + 1e-12));
        }
    cv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_hold_on_a_grid),
        cmocka_unit_test(printed_bound_fails_at_six),
        cmocka_unit_test(ordered_rounds_are_exact),
        cmocka_unit_test(ordered_bound_holds_against_stranding),
        cmocka_unit_test(guarantees_follow_the_table),
        cmocka_unit_test(guarantees_hold_for_equal_costs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
