/* test_arena.c -- arrays that grow, and memory that is released at once.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/arena.h"

static void room_is_made_when_it_lacks(void **state)
{
    uint64_t *numbers = NULL, *before;
    size_t room = 0;

    (void)state;
    for (size_t i = 0; i < 1000; i++) {
        assert_true(CV_ROOM(numbers, &room, i + 1));
        assert_true(room > i);
        numbers[i] = i * i;
    }
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(numbers[i], i * i);
    before = numbers;
    assert_true(CV_ROOM(numbers, &room, room));
    assert_ptr_equal(numbers, before);
    free(numbers);
}

/* The content stays, and can be released. */
static void too_much_room_changes_nothing(void **state)
{
    uint64_t *numbers = NULL, *before;
    size_t room = 0, had;

    (void)state;
    assert_true(CV_ROOM(numbers, &room, 3));
    numbers[2] = 42;
    before = numbers;
    had = room;
    assert_false(CV_ROOM(numbers, &room, SIZE_MAX));
    assert_false(CV_ROOM(numbers, &room, SIZE_MAX / sizeof *numbers + 1));
    assert_ptr_equal(numbers, before);
    assert_int_equal(room, had);
    assert_int_equal(numbers[2], 42);
    free(numbers);
}

static void arrays_are_zero_and_checked(void **state)
{
    struct cv_arena arena;
    const unsigned char *bytes;

    (void)state;
    cv_arena_init(&arena);
    for (int turn = 0; turn < 3; turn++) {
        unsigned char *some = cv_array(&arena, 1000, 1);

        bytes = some;
        assert_non_null(bytes);
        for (size_t i = 0; i < 1000; i++)
            assert_int_equal(bytes[i], 0);
        some[turn] = 1; /* zeroed again for the next */
        assert_null(cv_array(&arena, SIZE_MAX / 2, 3));
        assert_string_equal(cv_arena_text(&arena, "kept"), "kept");
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(room_is_made_when_it_lacks),
        cmocka_unit_test(too_much_room_changes_nothing),
        cmocka_unit_test(arrays_are_zero_and_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
