/* test_range_set.c -- sets of byte ranges against a plain list of bytes.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "base/random.h"
#include "run/common/range_set.h"

enum { BYTES = 400, STEPS = 20000 };

static void must_put(struct cv_range_set *set, uint64_t begin, uint64_t end)
{
    assert_int_equal(cv_range_set_put(set, begin, end, NULL), CLEAVE_OK);
}

static void must_remove(struct cv_range_set *set, uint64_t begin, uint64_t end)
{
    assert_int_equal(cv_range_set_remove(set, begin, end, NULL), CLEAVE_OK);
}

static void assert_range(struct cv_range range, uint64_t begin, uint64_t end)
{
    assert_int_equal(range.begin, begin);
    assert_int_equal(range.end, end);
}

static void assert_first(const struct cv_range_set *set, uint64_t begin, uint64_t end)
{
    struct cv_range range;

    assert_true(cv_range_set_find(set, 0, &range));
    assert_range(range, begin, end);
}

static size_t count_of(const struct cv_range_set *set)
{
    struct cv_range range;
    size_t count = 0;

    for (uint64_t at = 0; cv_range_set_find(set, at, &range); at = range.end)
        count++;
    return count;
}

/* Remove the first bytes, at most `max` and from one range. */
static bool take(struct cv_range_set *set, uint64_t max, struct cv_range *out)
{
    if (max == 0 || !cv_range_set_find(set, 0, out))
        return false;
    if (out->end - out->begin > max)
        out->end = out->begin + max;
    must_remove(set, out->begin, out->end);
    return true;
}

static void an_input_is_taken_from_its_front(void **state)
{
    struct cv_range_set set;
    struct cv_range range;

    (void)state;
    cv_range_set_init(&set);
    assert_false(take(&set, 1, &range));
    must_put(&set, 0, 1000);
    assert_true(take(&set, 300, &range));
    assert_range(range, 0, 300);
    assert_true(take(&set, 300, &range));
    assert_range(range, 300, 600);
    assert_int_equal(set.total, 400);
    assert_false(take(&set, 0, &range));

    /* A chunk failed: its bytes come first, and are not joined with distant ones. */
    must_put(&set, 0, 300);
    assert_int_equal(count_of(&set), 2);
    assert_true(take(&set, UINT64_MAX, &range));
    assert_range(range, 0, 300);
    assert_true(take(&set, UINT64_MAX, &range));
    assert_range(range, 600, 1000);
    assert_false(take(&set, UINT64_MAX, &range));
    assert_int_equal(set.total, 0);
    cv_range_set_done(&set);
    cv_range_set_done(NULL);
}

static void ranges_that_touch_are_one(void **state)
{
    struct cv_range_set set;
    struct cv_range range;

    (void)state;
    cv_range_set_init(&set);
    must_put(&set, 20, 30);
    must_put(&set, 0, 10);
    must_put(&set, 40, 50);
    must_put(&set, 7, 7);
    assert_int_equal(count_of(&set), 3);
    must_put(&set, 10, 20);
    assert_int_equal(count_of(&set), 2);
    assert_first(&set, 0, 30);
    must_put(&set, 5, 60);
    assert_int_equal(count_of(&set), 1);
    assert_first(&set, 0, 60);
    assert_int_equal(set.total, 60);

    must_remove(&set, 10, 20);
    assert_true(cv_range_set_find(&set, 0, &range));
    assert_range(range, 0, 10);
    assert_true(cv_range_set_find(&set, 9, &range));
    assert_range(range, 0, 10);
    assert_true(cv_range_set_find(&set, 10, &range));
    assert_range(range, 20, 60);
    assert_false(cv_range_set_find(&set, 60, &range));
    cv_range_set_done(&set);
}

static void offsets_past_4_gib_are_kept(void **state)
{
    const uint64_t far = UINT64_C(1) << 52;
    struct cv_range_set set;
    struct cv_range range;

    (void)state;
    cv_range_set_init(&set);
    must_put(&set, 0, far);
    must_remove(&set, (UINT64_C(1) << 32) - 1, (UINT64_C(1) << 32) + 1);
    assert_int_equal(set.total, far - 2);
    assert_true(take(&set, UINT64_MAX, &range));
    assert_range(range, 0, (UINT64_C(1) << 32) - 1);
    assert_first(&set, (UINT64_C(1) << 32) + 1, far);
    cv_range_set_done(&set);
}

/* The set must be what the list of bytes says, in as few ranges as possible. */
static void compare(const struct cv_range_set *set, const bool *bytes)
{
    struct cv_range range;
    size_t index = 0;
    uint64_t total = 0, before = 0;

    for (size_t at = 0; at < BYTES;) {
        size_t end = at;

        while (end < BYTES && bytes[end])
            end++;
        if (end == at) {
            at++;
            continue;
        }
        assert_true(cv_range_set_find(set, before, &range));
        assert_range(range, at, end);
        assert_true(cv_range_set_find(set, end - 1, &range));
        assert_range(range, at, end);
        before = end;
        index++;
        total += end - at;
        at = end;
    }
    assert_false(cv_range_set_find(set, before, &range));
    assert_int_equal(count_of(set), index);
    assert_int_equal(set->total, total);
}

static void random_steps_agree_with_a_list_of_bytes(void **state)
{
    bool bytes[BYTES] = { false };
    struct cv_range_set set;
    struct cv_random random;

    (void)state;
    cv_range_set_init(&set);
    cv_random_at(&random, 1, 0, 0, 0);
    for (size_t step = 0; step < STEPS; step++) {
        const uint64_t begin = cv_random_bits(&random) % BYTES;
        const uint64_t max = BYTES - begin < 40 ? BYTES - begin : 40;
        const uint64_t end = begin + cv_random_bits(&random) % (max + 1);
        struct cv_range range;

        switch (cv_random_bits(&random) % 5) {
        case 0:
        case 1:
            must_put(&set, begin, end);
            memset(bytes + begin, 1, end - begin);
            break;
        case 2:
        case 3:
            must_remove(&set, begin, end);
            memset(bytes + begin, 0, end - begin);
            break;
        default:
            if (take(&set, end - begin, &range)) {
                assert_in_range(range.end - range.begin, 1, end - begin);
                assert_null(memchr(bytes, 1, range.begin));
                for (uint64_t i = range.begin; i < range.end; i++)
                    assert_true(bytes[i]);
                memset(bytes + range.begin, 0, range.end - range.begin);
            } else {
                assert_true(begin == end || memchr(bytes, 1, BYTES) == NULL);
            }
        }
        compare(&set, bytes);
    }
    cv_range_set_done(&set);
}

/* Items that end in any order: most of them touch nothing that has ended, or two that
 * have. The steps are those for a tree, not for a list: 46 on average, where a way down
 * is 2 ln n. */
static void any_order_costs_a_tree(void **state)
{
    enum { MANY = 1 << 17 };
    struct cv_range_set set;
    size_t max = 0;

    (void)state;
    cv_range_set_init(&set);
    for (uint64_t i = 0; i < MANY; i++) { /* an odd number steps through all of them */
        const uint64_t item = i * 40503 % MANY;

        must_put(&set, item, item + 1);
        if (i % 4096 == 0)
            max = count_of(&set) > max ? count_of(&set) : max;
    }
    assert_true(max > MANY / 8);
    assert_int_equal(count_of(&set), 1);
    assert_int_equal(set.total, MANY);
    assert_true(set.steps < (uint64_t)MANY * 5 * 17);
    for (uint64_t i = 0; i < MANY; i++) {
        const uint64_t item = i * 81919 % MANY;

        must_remove(&set, item, item + 1);
    }
    assert_int_equal(count_of(&set), 0);
    assert_true(set.steps < (uint64_t)MANY * 10 * 17);
    assert_true(set.used <= max + MANY / 4 + 2); /* nodes are used again */
    cv_range_set_done(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_input_is_taken_from_its_front),
        cmocka_unit_test(ranges_that_touch_are_one),
        cmocka_unit_test(offsets_past_4_gib_are_kept),
        cmocka_unit_test(random_steps_agree_with_a_list_of_bytes),
        cmocka_unit_test(any_order_costs_a_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
