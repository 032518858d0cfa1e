/* test_sorted.c -- heaps, searches and selections, compared with sorting.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/bisect.h"
#include "base/compare.h"
#include "base/heap.h"
#include "base/nth.h"
#include "base/random.h"

enum { MOST = 40, ROUNDS = 50 };

struct entry {
    double key;
    int next;
};

static bool comes_first(const double *a, const double *b)
{
    return *a < *b;
}

CV_HEAP(heap, double, comes_first)
CV_ORDER_BY(by_key, struct entry, key)
CV_ORDER_BY_TWO(by_two, struct entry, key, next)
CV_ORDER_DOWN_BY(down, struct entry, key, next)

/* `count` values of which many are equal, and the same sorted. */
static void draw(struct cv_random *random, size_t count, double *values, double *sorted)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (double)(cv_random_bits(random) % (1 + count / 2));
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, cv_compare_doubles);
}

static void a_heap_gives_back_in_order(void **state)
{
    double values[MOST], sorted[MOST], heap[MOST];
    struct cv_random random;

    (void)state;
    cv_random_at(&random, 1, 0, 0, 0);
    for (size_t n = 1; n <= MOST; n++) {
        draw(&random, n, values, sorted);
        for (size_t i = 0; i < n; i++)
            heap_push(heap, i, values[i]);
        for (size_t i = 0; i < n; i++)
            assert_float_equal(heap_pop(heap, n - i), sorted[i], 0);
    }
}

static void selection_finds_what_sorting_does(void **state)
{
    double values[MOST], sorted[MOST];
    struct cv_random random;

    (void)state;
    cv_random_at(&random, 2, 0, 0, 0);
    for (size_t i = 0; i < (size_t)MOST * ROUNDS; i++) {
        const size_t n = 1 + i % MOST, place = cv_random_bits(&random) % n;

        draw(&random, n, values, sorted);
        assert_float_equal(cv_nth(values, n, place), sorted[place], 0);
    }
}

static void a_search_finds_every_place(void **state)
{
    (void)state;
    for (uint32_t n = 0; n <= MOST; n++)
        for (uint32_t place = 0; place <= n; place++) {
            uint32_t found;

            CV_BISECT(found, n, i, i < place);
            assert_int_equal(found, place);
        }
}

static void ties_keep_their_order(void **state)
{
    const struct entry a = { 1, 1 }, b = { 1, 2 }, c = { 2, 0 };
    const double less = -1, more = 1;

    (void)state;
    assert_true(by_key(&a, &c) < 0 && by_key(&c, &a) > 0 && by_key(&a, &b) == 0);
    assert_true(by_two(&a, &c) < 0 && by_two(&c, &b) > 0);
    assert_true(by_two(&a, &b) < 0 && by_two(&b, &a) > 0 && by_two(&a, &a) == 0);
    assert_true(down(&c, &a) < 0 && down(&a, &c) > 0);
    assert_true(down(&a, &b) < 0 && down(&b, &a) > 0);
    assert_true(cv_compare_doubles(&less, &more) < 0);
    assert_true(cv_compare_doubles_down(&less, &more) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_heap_gives_back_in_order),
        cmocka_unit_test(selection_finds_what_sorting_does),
        cmocka_unit_test(a_search_finds_every_place),
        cmocka_unit_test(ties_keep_their_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
