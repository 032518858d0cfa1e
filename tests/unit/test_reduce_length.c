/* test_reduce_length.c -- the least length by counting. SPDX-License-Identifier: MIT */
#include "tree_check.h"

#include "model/reduce/reduce_bounds.h"
#include "model/reduce/reduce_tree.h"

static void logarithms_are_integers(void **state)
{
    (void)state;
    assert_int_equal(cv_ceil_log2(1), 0);
    for (unsigned k = 1; k < 64; k++) {
        assert_int_equal(cv_ceil_log2(UINT64_C(1) << k), k);
        assert_int_equal(cv_ceil_log2((UINT64_C(1) << k) + 1), k + 1);
        if (k > 1)
            assert_int_equal(cv_ceil_log2((UINT64_C(1) << k) - 1), k);
    }
    assert_int_equal(cv_ceil_log2(UINT64_MAX), 64);
}

/* The greedy tree grows node by node, so one tree gives the lengths of all smaller. */
static void counts_agree_with_the_tree(void **state)
{
    enum { MOST = 40000 };
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (size_t p = 0; p < SOME_COSTS; p++) {
        const double d = some_costs[p].d, c = some_costs[p].c;
        const struct cv_greedy_tree tree = greedy_of(MOST, d, c, 0, 0, &arena);

        for (uint32_t n = 1; n <= MOST; n += 1 + n / 50)
            assert_equal(cv_reduce_length(n, d, c), tree.rev_s[n - 1]);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

static void counts_agree_when_sums_are_rounded(void **state)
{
    enum { MOST = 5000 };
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 50; number++) {
        struct cv_random random;
        struct cv_greedy_tree tree;
        double d, c;

        cv_random_at(&random, 9, number, 0, 0);
        d = cv_random_uniform(&random);
        c = cv_random_uniform(&random);
        tree = greedy_of(MOST, d, c, 0, 0, &arena);
        for (uint32_t n = 1; n <= MOST; n += 1 + n / 10)
            assert_near(cv_reduce_length(n, d, c), tree.rev_s[n - 1], 1e-12);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

/* Where the optimum is known: a full binomial tree when either cost is 0, a full
 * Fibonacci tree when both are equal; one more element takes one step more. */
static void known_lengths_of_large_numbers(void **state)
{
    (void)state;
    for (int k = 1; k < 63; k++) {
        const uint64_t n = UINT64_C(1) << k;

        assert_equal(cv_reduce_length(n, 3, 0), 3.0 * k);
        assert_equal(cv_reduce_length(n + 1, 0, 2), 2.0 * (k + 1));
    }
    for (int k = 1; k < 90; k++) {
        const uint64_t n = cv_fibonacci((unsigned)k + 2);

        assert_equal(cv_reduce_length(n, 1, 1), k + 1);
        assert_equal(cv_reduce_length(n + 1, 1, 1), k + 2);
    }
    assert_equal(cv_reduce_length(1000000000, 1, 1), 44);
    assert_equal(cv_reduce_length(UINT64_C(1000000000000000000), 0, 0), 0);
}

/* The most elements whose reduction takes no longer than `time_s`. */
static uint64_t capacity(double time_s, double d, double c)
{
    uint64_t low = 1, high = UINT64_C(1) << 40;

    while (low + 1 < high) {
        const uint64_t middle = low + (high - low) / 2;

        *(cv_reduce_length(middle, d, c) <= time_s ? &low : &high) = middle;
    }
    return low;
}

/* Without the last reduction a schedule falls apart into two shorter ones. */
static void lengths_obey_their_recursion(void **state)
{
    (void)state;
    for (size_t p = 0; p < SOME_COSTS; p++) {
        const double d = some_costs[p].d, c = some_costs[p].c, a = fmax(d, c), b = d + c;

        if (a == 0)
            continue;
        for (int eighths = 0; eighths < 160; eighths += 3) {
            const double t = eighths * b / 8;

            assert_int_equal(capacity(t, d, c),
                             t < b ? 1 : capacity(t - a, d, c) + capacity(t - b, d, c));
        }
    }
}

static void lengths_lie_between_the_bounds(void **state)
{
    (void)state;
    for (size_t p = 0; p < SOME_COSTS; p++) {
        const double d = some_costs[p].d, c = some_costs[p].c;
        double before = 0;

        for (uint64_t n = 1; n < UINT64_MAX / 3; n += 1 + n / 2) {
            const double length = cv_reduce_length(n, d, c);

            assert_true(length >= before);
            assert_true(length >= cv_reduce_lower(n, d, c));
            assert_true(length <= cv_reduce_upper(n, d, c));
            before = length;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithms_are_integers),
        cmocka_unit_test(counts_agree_with_the_tree),
        cmocka_unit_test(counts_agree_when_sums_are_rounded),
        cmocka_unit_test(known_lengths_of_large_numbers),
        cmocka_unit_test(lengths_obey_their_recursion),
        cmocka_unit_test(lengths_lie_between_the_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
