/* test_reduce_tree.c -- trees: how long one takes, how inputs are ordered.
 * SPDX-License-Identifier: MIT */
#include "tree_check.h"

#include <string.h>

#define NONE CV_NO_NODE

/* No recursion: a chain is as deep as a tree can be. */
static void runs_a_deep_chain(void **state)
{
    const uint32_t n = 1000000;
    uint32_t *parent = malloc(n * sizeof *parent);
    struct cv_arena arena;

    (void)state;
    assert_non_null(parent);
    cv_arena_init(&arena);
    for (uint32_t i = 0; i < n; i++)
        parent[i] = i + 1 < n ? i + 1 : NONE;
    assert_equal(length_of(parent, n, 1, 2, &arena), 3.0 * (n - 1));
    cv_arena_done(&arena);
    free(parent);
}

static void lengths_follow_the_formula(void **state)
{
    uint32_t parent[120];
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 400; number++) {
        const struct cost_pair cost = some_costs[number % SOME_COSTS];
        const struct cv_tree_costs costs = { .transfer_s = cost.d, .compute_s = cost.c };
        struct cv_random random;
        struct cv_tree_run run;
        struct cleave_error err;
        uint32_t n;

        cv_random_at(&random, 5, number, 0, 0);
        n = 1 + random_below(&random, number < 200 ? 12 : 120);
        random_tree(&random, n, parent);
        assert_ok(cv_tree_run(parent, n, &costs, &arena, &run, &err), &err);
        for (uint32_t i = 0; i < n; i++)
            assert_equal(run.ready_s[i], ready_by_formula(parent, n, cost.d, cost.c, i));
        assert_equal(length_of(parent, n, cost.c, cost.d, &arena), run.length_s);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

/* Each port serves one transfer at a time, first come first served. */
static void ports_serve_in_order(void **state)
{
    enum { N = 300 };
    uint32_t parent[N];
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 60; number++) {
        const struct cv_tree_costs costs = { .transfer_s = 3, .compute_s = 2 };
        struct cv_random random;
        struct cv_tree_run run;
        struct cleave_error err;
        uint32_t root = 0;

        cv_random_at(&random, 6, number, 0, 0);
        random_tree(&random, N, parent);
        /* Many senders to the root, so that they are sorted in bulk. */
        for (uint32_t i = 0; number % 2 == 1 && i < N; i++)
            if (parent[i] == NONE)
                root = i;
        for (uint32_t i = 0; number % 2 == 1 && i < N; i++)
            if (i != root && random_below(&random, 3) == 0)
                parent[i] = root;
        assert_ok(cv_tree_run(parent, N, &costs, &arena, &run, &err), &err);
        for (uint32_t i = 0; i < N; i++) {
            double free_s = 0;

            for (uint32_t k = run.first[i]; k < run.first[i + 1]; k++) {
                const uint32_t sender = run.sender[k], before = run.sender[k - (k > 0)];

                assert_int_equal(parent[sender], i);
                assert_equal(run.start_s[sender], fmax(free_s, run.ready_s[sender]));
                free_s = run.start_s[sender] + 3;
                if (k > run.first[i])
                    assert_true(before < sender
                                    ? run.ready_s[before] <= run.ready_s[sender]
                                    : run.ready_s[before] < run.ready_s[sender]);
            }
        }
        assert_true(isnan(run.start_s[run.root]));
        assert_int_equal(run.first[N], N - 1);
        assert_true(number % 2 == 0 || run.first[root + 1] - run.first[root] > 50);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

static void own_compute_costs_are_used(void **state)
{
    const uint32_t parent[] = { NONE, 0, 0, 1 };
    const double each[] = { 10, 4, 100, 100 };
    const struct cv_tree_costs costs = { .transfer_s = 1, .compute = each };
    struct cv_tree_run run;
    struct cleave_error err;
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    assert_ok(cv_tree_run(parent, 4, &costs, &arena, &run, &err), &err);
    /* 2 arrives at 0 at 1 and is reduced till 11; 1 is ready at 5, waits its turn. */
    assert_equal(run.ready_s[1], 5);
    assert_equal(run.start_s[1], 5);
    assert_equal(run.length_s, 21);
    cv_arena_done(&arena);
}

/* Fold intervals along a tree as it runs: each step must append the one next to it. */
static void assert_folds_in_order(const struct cv_tree_run *run, const uint32_t *position)
{
    uint32_t *end = malloc(run->n * sizeof *end); /* end of the interval that a node
                                                   * holds */

    assert_non_null(end);
    for (uint32_t i = run->n; i-- > 0;) {
        const uint32_t node = run->order[i];

        end[node] = position[node] + 1;
        for (uint32_t k = run->first[node]; k < run->first[node + 1]; k++) {
            assert_int_equal(end[node], position[run->sender[k]]);
            end[node] = end[run->sender[k]];
        }
    }
    assert_int_equal(position[run->root], 0);
    assert_int_equal(end[run->root], run->n);
    free(end);
}

static void layout_keeps_the_order(void **state)
{
    enum { MOST = 200 };
    uint32_t parent[MOST], renamed[MOST], *position, *again;
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 200; number++) {
        const struct cost_pair cost = some_costs[number % SOME_COSTS];
        const struct cv_tree_costs costs = { .transfer_s = cost.d, .compute_s = cost.c };
        struct cv_tree_run run, other;
        struct cv_random random;
        struct cleave_error err;
        uint32_t n;

        cv_random_at(&random, 7, number, 0, 0);
        n = 1 + random_below(&random, MOST);
        random_tree(&random, n, parent);
        if (number % 2 == 0)
            memcpy(parent, greedy_of(n, cost.d, cost.c, 0, 0, &arena).parent,
                   n * sizeof *parent);
        assert_ok(cv_tree_run(parent, n, &costs, &arena, &run, &err), &err);
        assert_ok(cv_tree_layout(&run, &arena, &position, &err), &err);
        assert_folds_in_order(&run, position);
        /* By position: the same schedule, and nothing left to rename. */
        cv_tree_rename(parent, position, n, renamed);
        assert_ok(cv_tree_run(renamed, n, &costs, &arena, &other, &err), &err);
        assert_ok(cv_tree_layout(&other, &arena, &again, &err), &err);
        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(again[i], i);
            assert_equal(other.ready_s[position[i]], run.ready_s[i]);
        }
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

/* With text: the operation does not commute, and the result is in order. */
static void texts_are_joined_in_order(void **state)
{
    const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    const struct cv_tree_costs costs = { .transfer_s = 3, .compute_s = 2 };
    struct cv_greedy_tree tree;
    struct cv_tree_run run;
    struct cleave_error err;
    struct cv_arena arena;
    char held[26][28] = { "" }; /* zeros end every text */
    uint32_t *position;

    (void)state;
    cv_arena_init(&arena);
    tree = greedy_of(26, 3, 2, 0, 0, &arena);
    assert_ok(cv_tree_run(tree.parent, 26, &costs, &arena, &run, &err), &err);
    assert_ok(cv_tree_layout(&run, &arena, &position, &err), &err);
    for (uint32_t i = 26; i-- > 0;) {
        const uint32_t node = run.order[i];

        held[node][0] = letters[position[node]];
        for (uint32_t k = run.first[node]; k < run.first[node + 1]; k++) {
            const char *sent = held[run.sender[k]];

            memcpy(held[node] + strlen(held[node]), sent, strlen(sent));
        }
    }
    assert_string_equal(held[run.root], letters);
    cv_arena_done(&arena);
}

static void bad_costs_are_refused(void **state)
{
    const uint32_t parent[] = { NONE, 0, 1 };
    const double each[] = { 1, -1, 1 };
    const struct cv_tree_costs bad[] = {
        { .transfer_s = -1, .compute_s = 1 },
        { .transfer_s = 1, .compute_s = NAN },
        { .transfer_s = INFINITY, .compute_s = 1 },
        { .transfer_s = 1, .compute = each },
        { .transfer_s = 1e308, .compute_s = 1e308 },
    };
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct cv_tree_run run = { .n = 5 };
        struct cleave_error err = { 0 };

        assert_int_equal(cv_tree_run(parent, 3, &bad[i], &arena, &run, &err),
                         CLEAVE_EINPUT);
        assert_int_equal(run.n, 5);
        assert_non_null(strstr(err.text, "expected"));
    }
    cv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_a_deep_chain),
        cmocka_unit_test(lengths_follow_the_formula),
        cmocka_unit_test(ports_serve_in_order),
        cmocka_unit_test(own_compute_costs_are_used),
        cmocka_unit_test(layout_keeps_the_order),
        cmocka_unit_test(texts_are_joined_in_order),
        cmocka_unit_test(bad_costs_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
