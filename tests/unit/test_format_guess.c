/* test_format_guess.c -- guessed formats of text. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "run/split/format_guess.h"

#define BYTES(text) sizeof(text) - 1, text

static const struct {
    const char *what; /* NULL: nothing */
    size_t length;
    const char *bytes;
} cases[] = {
    { NULL, BYTES("@name\nis a word\nof nobody\n") },
    { NULL, BYTES("@name\n") },
    { NULL, BYTES("> quoted\n> mail with words\n") },
    { NULL, BYTES(">redirect\nshort\n") },
    { NULL, BYTES(">redirect\na line of words\n") },
    { NULL, BYTES("WARC/1.0 is a format\n") },
    { NULL, BYTES("<?php echo 1;\n") },
    { NULL, BYTES("{\"a\": 1}\n{\"a\": 2}\n") },
    { NULL, BYTES("[1, 2]\n[3, 4]\n") },
    { NULL, BYTES("{\"a\": \"{\\\"[\"}\n{}\n") },
    { NULL, BYTES("[INFO] started,\n[INFO] ended\n") },
    { NULL, BYTES("[INFO] started\n[INFO] ended\n") },
    { NULL, BYTES("[3] (of 4\n") },
    { "GenBank", BYTES("LOCUS       NC_005816\nDEFINITION  Yersinia\n") },
    { NULL, BYTES("LOCUS  is a word\nof Latin\n") },
    { "mail", BYTES("From me@here Thu Jan  1 00:00:00 1970\nReturn-Path: <me@here>\n") },
    { NULL, BYTES("From here\nto there\n") },
    { "UTF-16", BYTES("a\0;\0b\0\r\0\n\0") },
    { "UTF-16", BYTES("\0a\0;\0b\0\r\0\n") },
    { "no text, as it has zero bytes", BYTES("a\0b") },
    { "no text, as it has zero bytes", BYTES("\0\0\0\0\0\0\0\0") },
    { NULL, BYTES("") },
    { NULL, BYTES("a,b\n1,2\n") },
    { NULL, BYTES("\xef\xbb\xbf") },
};

/* Each in separate memory, so that a read after its end is noticed. */
static const struct cv_format_guess *find(const char *bytes, size_t length)
{
    char *copy = malloc(length > 0 ? length : 1);
    const struct cv_format_guess *found;

    assert_non_null(copy);
    memcpy(copy, bytes, length);
    found = cv_format_guess_find(copy, length);
    free(copy);
    return found;
}

static void formats_are_distinguished(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cv_format_guess *found = find(cases[i].bytes, cases[i].length);

        if (cases[i].what == NULL) {
            assert_null(found);
            continue;
        }
        assert_non_null(found);
        assert_string_equal(found->what, cases[i].what);
    }
}

/* Wherever the bytes end that are seen, it is that or nothing. */
static void beginnings_are_that_or_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t length = 0; length < cases[i].length; length++) {
            const struct cv_format_guess *found = find(cases[i].bytes, length);

            if (found != NULL && strncmp(found->what, "no text", 7) != 0) {
                assert_non_null(cases[i].what);
                assert_string_equal(found->what, cases[i].what);
            }
        }
}

/* Input without a line end in its first MiB is one line, in any format. */
static void input_without_line_ends_is_reported(void **state)
{
    char *bytes = malloc(CV_GUESS_LINE);

    (void)state;
    assert_non_null(bytes);
    memset(bytes, 'x', CV_GUESS_LINE);
    assert_string_equal(cv_format_guess_endless(bytes, CV_GUESS_LINE)->what, "one line");
    assert_true(cv_format_guess_endless(bytes, CV_GUESS_LINE)->endless);
    assert_null(cv_format_guess_endless(bytes, CV_GUESS_LINE - 1));
    bytes[CV_GUESS_LOOK - 1] = '\r';
    assert_string_equal(cv_format_guess_endless(bytes, CV_GUESS_LINE)->what,
                        "text whose lines end in CR");
    bytes[0] = '[';
    assert_string_equal(cv_format_guess_endless(bytes, CV_GUESS_LINE)->what,
                        "a JSON array");
    bytes[CV_GUESS_LINE - 1] = '\n';
    assert_null(cv_format_guess_endless(bytes, CV_GUESS_LINE));
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(input_without_line_ends_is_reported),
        cmocka_unit_test(formats_are_distinguished),
        cmocka_unit_test(beginnings_are_that_or_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
