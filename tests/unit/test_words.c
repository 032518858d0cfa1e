/* test_words.c -- words of a command that is put together. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/shell_word.h"

static void texts_are_split_at_blanks(void **state)
{
    static const char *const expected[] = {
        "ssh", "-p", "22", "two words", "exec x", NULL
    };
    struct cv_arena arena;
    struct cv_words words = { .arena = &arena };
    struct cv_text line = { NULL, 0, 0, false };
    const char **list;

    (void)state;
    cv_arena_init(&arena);
    cv_words_split(&words, " ssh\t -p  22 ");
    cv_words_split(&words, "");
    cv_words_add(&words, "two words");
    cv_text_add(&line, "exec %s", "x");
    cv_words_take(&words, &line);
    assert_null(line.bytes);
    list = cv_words_done(&words);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(list[i], expected[i]);
    assert_null(list[5]);
    cv_arena_done(&arena);
}

/* There is always room for the end, whatever their number. */
static void any_number_of_words_fits(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (size_t n = 0; n < 70; n++) {
        struct cv_words words = { .arena = &arena };
        const char **list;
        char word[32];

        for (size_t i = 0; i < n; i++) {
            snprintf(word, sizeof word, "%zu", i);
            cv_words_add(&words, word);
        }
        list = cv_words_done(&words);
        assert_non_null(list);
        for (size_t i = 0; i < n; i++)
            assert_int_equal((int)i, list[i][1] == '\0'
                                         ? list[i][0] - '0'
                                         : (list[i][0] - '0') * 10 + list[i][1] - '0');
        assert_null(list[n]);
        assert_true(words.room > n);
    }
    cv_arena_done(&arena);
}

static void a_missing_word_is_reported(void **state)
{
    struct cv_arena arena;
    struct cv_words words = { .arena = &arena };
    struct cv_text line = { NULL, 0, 0, true };

    (void)state;
    cv_arena_init(&arena);
    cv_words_add(&words, "a");
    cv_words_add(&words, NULL);
    cv_words_add(&words, "b");
    assert_null(cv_words_done(&words));
    words = (struct cv_words){ .arena = &arena };
    cv_words_take(&words, &line);
    assert_null(cv_words_done(&words));
    cv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_split_at_blanks),
        cmocka_unit_test(any_number_of_words_fits),
        cmocka_unit_test(a_missing_word_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
