/* test_answer_head.c -- the first bytes of answers of persistent commands.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "run/slot/persistent_slot.h"

static struct cv_answer_head read_head(const char bytes[CV_FRAME])
{
    struct cv_answer_head head;

    assert_true(cv_answer_head_read((const unsigned char *)bytes, &head));
    return head;
}

static void answers_without_a_number_have_a_length_of_seven_bytes(void **state)
{
    struct cv_answer_head head = read_head("\0\1\0\0\0\0\0\2");

    (void)state;
    assert_int_equal(head.kind, CV_ANSWER_BYTES);
    assert_false(head.numbered);
    assert_true(head.value == (UINT64_C(1) << 48) + 2);
    head = read_head("\377\377\377\377\377\377\377\377");
    assert_true(head.kind == CV_ANSWER_FAILED && !head.numbered);
    head = read_head("\2\0\0\0\0\0\1\0");
    assert_true(head.kind == CV_ANSWER_LATER && !head.numbered && head.value == 256);
}

static void answers_with_a_number_have_a_length_of_five_bytes(void **state)
{
    struct cv_answer_head head = read_head("\200\377\376\1\0\0\0\7");

    (void)state;
    assert_true(head.kind == CV_ANSWER_BYTES && head.numbered);
    assert_int_equal(head.number, 65534);
    assert_true(head.value == (UINT64_C(1) << 32) + 7);
    head = read_head("\201\0\5\0\0\0\0\0");
    assert_true(head.kind == CV_ANSWER_FAILED && head.numbered && head.number == 5);
    head = read_head("\202\0\6\0\0\0\0\11");
    assert_true(head.kind == CV_ANSWER_LATER && head.number == 6 && head.value == 9);
}

static void other_bytes_begin_no_answer(void **state)
{
    static const char *const heads[] = {
        "hello, w",           " 12345\n ",          "\1\0\0\0\0\0\0\0",
        "\201\0\5\0\0\0\0\1", "\203\0\0\0\0\0\0\0", "\377\377\377\377\377\377\377\0",
        "\100\0\0\0\0\0\0\1",
    };
    struct cv_answer_head head;

    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        assert_false(cv_answer_head_read((const unsigned char *)heads[i], &head));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_without_a_number_have_a_length_of_seven_bytes),
        cmocka_unit_test(answers_with_a_number_have_a_length_of_five_bytes),
        cmocka_unit_test(other_bytes_begin_no_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
