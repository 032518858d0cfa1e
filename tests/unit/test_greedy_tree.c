/* test_greedy_tree.c -- greedy trees against their definition and against all trees.
 * SPDX-License-Identifier: MIT */
#include "tree_check.h"

#include <string.h>

enum { MOST = 64 };

/* The algorithm as defined, looking for the least s among all nodes in turn. */
static void by_definition(uint32_t n, double d, double c, uint32_t transfers,
                          uint32_t reducers, uint32_t *parent, double *rev)
{
    double s[MOST] = { 0 };

    parent[0] = CV_NO_NODE;
    rev[0] = 0;
    for (uint32_t i = 1; i < n; i++) {
        uint32_t min = 0;

        for (uint32_t j = 1; j < i && (reducers == 0 || j < reducers); j++)
            if (s[j] < s[min])
                min = j;
        parent[i] = min;
        if (transfers == 0) {
            rev[i] = s[min] + c + d;
            s[min] += fmax(d, c);
        } else {
            rev[i] = fmax(s[min] + c, i > transfers ? rev[i - transfers] : 0) + d;
            s[min] = fmax(s[min] + c, rev[i] - c);
        }
        s[i] = rev[i];
    }
}

static void assert_as_defined(uint32_t n, struct cost_pair cost, uint32_t transfers,
                              uint32_t reducers, int exact, struct cv_arena *arena)
{
    const struct cv_greedy_tree tree =
        greedy_of(n, cost.d, cost.c, transfers, reducers, arena);
    uint32_t parent[MOST];
    double rev[MOST];

    by_definition(n, cost.d, cost.c, transfers, reducers, parent, rev);
    for (uint32_t i = 0; i < n; i++) {
        assert_equal(tree.rev_s[i], rev[i]);
        if (exact && transfers == 0)
            assert_int_equal(tree.parent[i], parent[i]);
        if (i > 0)
            assert_equal(tree.start_s[i], tree.length_s - rev[i]);
    }
    assert_equal(tree.length_s, rev[n - 1]);
    assert_true(isnan(tree.start_s[0]));
    cv_arena_reset(arena);
}

static void queues_do_what_the_definition_says(void **state)
{
    static const uint32_t limits[] = { 1, 2, 3, 5, 8, 31, 40 };
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (size_t p = 0; p < SOME_COSTS; p++)
        for (uint32_t n = 1; n <= MOST; n++) {
            assert_as_defined(n, some_costs[p], 0, 0, 1, &arena);
            for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
                assert_as_defined(n, some_costs[p], limits[k], 0, 1, &arena);
                assert_as_defined(n, some_costs[p], 0, limits[k], 1, &arena);
            }
        }
    cv_arena_done(&arena);
}

/* Rounding keeps the order of times, so the times are the same to the last bit. */
static void rounding_changes_no_time(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 600; number++) {
        struct cv_random random;
        struct cost_pair cost;
        uint32_t k;

        cv_random_at(&random, 8, number, 0, 0);
        cost.d = cv_random_uniform(&random);
        cost.c = cv_random_uniform(&random) * (number % 2 == 0 ? 1 : 0.01);
        k = 1 + random_below(&random, MOST);
        assert_as_defined(MOST, cost, 0, 0, 0, &arena);
        assert_as_defined(MOST, cost, k, 0, 0, &arena);
        assert_as_defined(MOST, cost, 0, k, 0, &arena);
    }
    cv_arena_done(&arena);
}

static uint32_t receivers(const uint32_t *parent, uint32_t n)
{
    unsigned char receives[MOST] = { 0 };
    uint32_t count = 0;

    for (uint32_t i = 0; i < n; i++)
        if (parent[i] != CV_NO_NODE && !receives[parent[i]]) {
            receives[parent[i]] = 1;
            count++;
        }
    return count;
}

/* Every tree of up to 7 nodes, with its best schedule; by the number of its receivers. */
static void no_tree_is_shorter(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (size_t p = 0; p < SOME_COSTS; p++)
        for (uint32_t n = 1; n <= 7; n++) {
            const double d = some_costs[p].d, c = some_costs[p].c;
            double best[8];
            uint32_t parent[8];

            for (uint32_t k = 0; k < 8; k++)
                best[k] = INFINITY;
            first_tree(parent, n);
            do {
                const uint32_t k = receivers(parent, n);

                best[k] = fmin(best[k], ready_by_formula(parent, n, d, c, 0));
            } while (next_tree(parent, n));
            for (uint32_t k = 1; k < 8; k++) {
                best[k] = fmin(best[k], best[k - 1]);
                assert_equal(greedy_of(n, d, c, 0, k, &arena).length_s, best[k]);
            }
            assert_equal(greedy_of(n, d, c, 0, 0, &arena).length_s, best[7]);
            cv_arena_reset(&arena);
        }
    cv_arena_done(&arena);
}

/* --- at most K transfers at a time --------------------------------------------------------- */

/* The shortest schedule of a tree in which transfers begin in some given order, each as
 * early as it can; every schedule can be moved earlier into one of these. */
struct search {
    uint32_t n, k, done, parent[8], left[8]; /* left: senders not yet begun */
    double d, c, best;
    double port[8], busy[8], begun[8]; /* begun: by place in the order */
};

static void search_orders(struct search *search)
{
    const uint32_t at = search->done;

    if (at == search->n - 1) {
        search->best = fmin(search->best, search->busy[0]);
        return;
    }
    for (uint32_t i = 1; i < search->n; i++) {
        const uint32_t to = search->parent[i];
        const struct search saved = *search;
        double begin;

        if (search->left[i] != 0)
            continue;
        begin = fmax(search->busy[i], search->port[to]);
        if (at > 0)
            begin = fmax(begin, search->begun[at - 1]);
        if (at >= search->k)
            begin = fmax(begin, search->begun[at - search->k] + search->d);
        search->begun[at] = begin;
        search->port[to] = begin + search->d;
        search->busy[to] = fmax(search->busy[to], search->port[to]) + search->c;
        search->left[to]--;
        search->left[i] = UINT32_MAX; /* begun */
        search->done++;
        search_orders(search);
        {
            const double best = search->best;

            *search = saved;
            search->best = best;
        }
    }
}

static double best_limited(uint32_t n, double d, double c, uint32_t k)
{
    struct search search = { .n = n, .k = k, .d = d, .c = c, .best = INFINITY };

    first_tree(search.parent, n);
    do {
        for (uint32_t i = 0; i < n; i++)
            search.left[i] = 0;
        for (uint32_t i = 1; i < n; i++)
            search.left[search.parent[i]]++;
        search_orders(&search);
    } while (next_tree(search.parent, n));
    return search.best;
}

static void no_limited_schedule_is_shorter(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (size_t p = 0; p < SOME_COSTS; p++)
        for (uint32_t n = 1; n <= 6; n++)
            for (uint32_t k = 1; k <= 3; k++) {
                const double d = some_costs[p].d, c = some_costs[p].c;

                assert_equal(greedy_of(n, d, c, k, 0, &arena).length_s,
                             best_limited(n, d, c, k));
                cv_arena_reset(&arena);
            }
    cv_arena_done(&arena);
}

/* Follow the start times: ports, nodes and the limit must allow them. */
static void assert_feasible(const struct cv_greedy_tree *tree, double d, double c,
                            uint32_t k)
{
    double port[MOST] = { 0 }, busy[MOST] = { 0 };

    /* Backwards by index is forwards in time. */
    for (uint32_t i = tree->n - 1; i > 0; i--) {
        const uint32_t to = tree->parent[i];

        assert_true(tree->start_s[i] >= busy[i]);
        assert_true(tree->start_s[i] >= port[to]);
        if (i + k < tree->n)
            assert_true(tree->start_s[i] >= tree->start_s[i + k] + d);
        port[to] = tree->start_s[i] + d;
        busy[to] = fmax(busy[to], port[to]) + c;
    }
    assert_equal(busy[0], tree->length_s);
}

static void limited_schedules_can_be_followed(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (size_t p = 0; p < SOME_COSTS; p++)
        for (uint32_t n = 1; n <= MOST; n++)
            for (uint32_t k = 1; k <= n; k++) {
                const double d = some_costs[p].d, c = some_costs[p].c;
                const struct cv_greedy_tree tree = greedy_of(n, d, c, k, 0, &arena);

                assert_feasible(&tree, d, c, k);
                for (uint32_t i = 1; i < n; i++)
                    assert_true(tree.parent[i] < i);
                cv_arena_reset(&arena);
            }
    cv_arena_done(&arena);
}

/* n nodes make at most n / 2 pairs, so that many transfers are as good as any number. */
static void half_as_many_transfers_are_no_limit(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (size_t p = 0; p < SOME_COSTS; p++)
        for (uint32_t n = 2; n <= 300; n += 1 + n / 20) {
            const double d = some_costs[p].d, c = some_costs[p].c;
            const struct cv_greedy_tree whole = greedy_of(n, d, c, 0, 0, &arena);
            const uint32_t limits[] = { n / 2, n - 1, n, 3 * n, UINT32_MAX };

            for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
                const struct cv_greedy_tree tree =
                    greedy_of(n, d, c, limits[k], 0, &arena);

                assert_memory_equal(tree.rev_s, whole.rev_s, n * sizeof *whole.rev_s);
                assert_memory_equal(tree.parent, whole.parent, n * sizeof *whole.parent);
            }
            cv_arena_reset(&arena);
        }
    cv_arena_done(&arena);
}

/* When transfers are the longer part, a reducer receives all the time, so that one limit
 * implies the other. */
static void either_limit_costs_the_same_when_transfers_are_longer(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (size_t p = 0; p < SOME_COSTS; p++)
        for (uint32_t n = 1; some_costs[p].d >= some_costs[p].c && n <= 100; n++)
            for (uint32_t k = 1; k <= n; k++) {
                const double d = some_costs[p].d, c = some_costs[p].c;

                assert_equal(greedy_of(n, d, c, 0, k, &arena).length_s,
                             greedy_of(n, d, c, k, 0, &arena).length_s);
                cv_arena_reset(&arena);
            }
    cv_arena_done(&arena);
}

/* --- plan and execution --------------------------------------------------------------------- */

static void execution_takes_as_long_as_planned(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (size_t p = 0; p < SOME_COSTS; p++)
        for (uint32_t n = 1; n <= 3000; n += 1 + n / 8)
            for (uint32_t k = 0; k <= 40; k += 1 + k / 2) {
                const double d = some_costs[p].d, c = some_costs[p].c;
                const struct cv_greedy_tree tree = greedy_of(n, d, c, 0, k, &arena);

                assert_equal(length_of(tree.parent, n, d, c, &arena), tree.length_s);
                cv_arena_reset(&arena);
            }
    cv_arena_done(&arena);
}

static void large_trees_are_trees(void **state)
{
    const uint32_t n = 1000000;
    struct cv_arena arena;
    struct cv_greedy_tree tree;

    (void)state;
    cv_arena_init(&arena);
    tree = greedy_of(n, 3, 2, 0, 0, &arena);
    assert_equal(length_of(tree.parent, n, 3, 2, &arena), tree.length_s);
    cv_arena_reset(&arena);
    tree = greedy_of(n, 0.1, 0.3, 0, 1000, &arena);
    assert_near(length_of(tree.parent, n, 0.1, 0.3, &arena), tree.length_s, 1e-9);
    cv_arena_done(&arena);
}

static void bad_input_is_refused(void **state)
{
    static const struct {
        uint32_t n;
        double d, c;
        struct cv_greedy_limit limit;
        const char *text;
    } cases[] = {
        { 0, 1, 1, { 0, 0 }, "at least one node" },
        { 4, 1, 1, { 2, 2 }, "got both" },
        { 4, -1, 1, { 0, 0 }, "transfer cost" },
        { 4, 1, NAN, { 0, 0 }, "compute cost" },
        { 4, 1e308, 1e308, { 0, 0 }, "finite" },
    };
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cv_greedy_tree tree;
        struct cleave_error err;

        assert_true(cv_greedy_tree_room(&tree, &arena, cases[i].n));
        assert_int_equal(cv_greedy_tree_plan(&tree, cases[i].d, cases[i].c,
                                             &cases[i].limit, &err),
                         CLEAVE_EINPUT);
        assert_non_null(strstr(err.text, cases[i].text));
    }
    cv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queues_do_what_the_definition_says),
        cmocka_unit_test(rounding_changes_no_time),
        cmocka_unit_test(no_tree_is_shorter),
        cmocka_unit_test(no_limited_schedule_is_shorter),
        cmocka_unit_test(limited_schedules_can_be_followed),
        cmocka_unit_test(half_as_many_transfers_are_no_limit),
        cmocka_unit_test(either_limit_costs_the_same_when_transfers_are_longer),
        cmocka_unit_test(execution_takes_as_long_as_planned),
        cmocka_unit_test(large_trees_are_trees),
        cmocka_unit_test(bad_input_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
