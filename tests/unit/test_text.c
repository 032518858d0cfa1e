/* test_text.c -- suggestions, growing text, UTF-8, text for messages.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/text.h"

static const char *const policies[] = { "one-round", "umr",       "rumr",
                                        "xmi",       "factoring", "weighted-factoring" };

static const char *policy_at(const void *context, size_t index)
{
    (void)context;
    return policies[index];
}

static void distance_counts_edits(void **state)
{
    static const struct {
        const char *a, *b;
        unsigned edits;
    } cases[] = {
        { "", "", 0 },
        { "", "abc", 3 },
        { "abc", "", 3 },
        { "same", "same", 0 },
        { "port", "prot", 1 },
        { "bandwith", "bandwidth", 1 },
        { "kitten", "sitting", 3 },
        { "ca", "abc", 3 },
        { "abcd", "badc", 2 },
        { "a", "b", 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(cv_edit_distance(cases[i].a, cases[i].b), cases[i].edits);
        assert_int_equal(cv_edit_distance(cases[i].b, cases[i].a), cases[i].edits);
    }
}

static void distance_of_long_names(void **state)
{
    char a[200], b[200];

    (void)state;
    memset(a, 'x', sizeof a);
    memset(b, 'x', sizeof b);
    a[64] = b[64] = '\0';
    b[63] = 'y';
    assert_int_equal(cv_edit_distance(a, b), 1);
    a[64] = 'x';
    a[150] = '\0';
    assert_int_equal(cv_edit_distance(a, b), 150);
    assert_int_equal(cv_edit_distance(a, a), 0);
}

static void suggests(void **state)
{
    static const struct {
        const char *typed, *hint;
    } cases[] = {
        { "umrr", "; did you mean 'umr' or 'rumr'?" },
        { "UMR", "; did you mean 'umr' or 'rumr'?" },
        { "factorign", "; did you mean 'factoring'?" },
        { "weighted", "; did you mean 'weighted-factoring'?" },
        { "zzzzz", "; known: one-round, umr, rumr, xmi, factoring, weighted-factoring" },
        { "", "; known: one-round, umr, rumr, xmi, factoring, weighted-factoring" },
    };
    char hint[128];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cv_suggest(cases[i].typed, 6, policy_at, NULL, hint, sizeof hint);
        assert_string_equal(hint, cases[i].hint);
    }
}

static void suggestion_fits_any_buffer(void **state)
{
    static const char *const typed[] = { "umrr", "nothing like it", "" };
    char hint[160];

    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (size_t size = 1; size < 100; size++) {
            memset(hint, '#', sizeof hint);
            cv_suggest(typed[i], 6, policy_at, NULL, hint, size);
            assert_non_null(memchr(hint, '\0', size));
            assert_int_equal(hint[size], '#');
        }
    cv_suggest("qqqqq", 6, policy_at, NULL, hint, 30);
    assert_string_equal(hint, "; known: one-round, umr, ...");
}

static void text_grows(void **state)
{
    struct cv_text text = { 0 };

    (void)state;
    for (int i = 0; i < 1000; i++)
        cv_text_add(&text, "%d,", i);
    assert_false(text.failed);
    assert_int_equal(text.length, 10 * 2 + 90 * 3 + 900 * 4);
    assert_int_equal(strlen(text.bytes), text.length);
    assert_string_equal(text.bytes + text.length - 4, "999,");
    cv_text_done(&text);
    assert_null(text.bytes);
    cv_text_done(NULL);
}

static void text_moves_to_an_arena(void **state)
{
    struct cv_text text = { 0 };
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    cv_text_add(&text, "nice -n %d", 19);
    assert_string_equal(cv_text_take(&text, &arena), "nice -n 19");
    assert_null(text.bytes);
    text.failed = true;
    assert_null(cv_text_take(&text, &arena));
    cv_arena_done(&arena);
}

static void utf8_is_strict(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
        uint32_t code;
    } cases[] = {
        { "a", 1, 'a' },
        { "\xc3\xa9", 2, 0xe9 },
        { "\xe2\x82\xac", 3, 0x20ac },
        { "\xf0\x9f\x98\x80", 4, 0x1f600 },
        { "\xf4\x8f\xbf\xbf", 4, 0x10ffff },
        { "\xc0\x80", 0, 0 },         /* too long for 0       */
        { "\xe0\x80\xaf", 0, 0 },     /* too long for '/'     */
        { "\xed\xa0\x80", 0, 0 },     /* a surrogate          */
        { "\xf4\x90\x80\x80", 0, 0 }, /* beyond U+10FFFF      */
        { "\xf8\x88\x80\x80", 0, 0 }, /* five bytes           */
        { "\x80", 0, 0 },             /* a second byte alone  */
        { "\xc3(", 0, 0 },            /* no second byte       */
        { "\xff", 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t code = 0;

        assert_int_equal(cv_utf8(cases[i].bytes, strlen(cases[i].bytes), &code),
                         cases[i].length);
        assert_int_equal(code, cases[i].code);
    }
    assert_int_equal(cv_utf8("\xe2\x82\xac", 2, NULL), 0); /* cut */
    assert_int_equal(cv_utf8("", 0, NULL), 0);
}

static void printable_means_visible(void **state)
{
    (void)state;
    assert_true(cv_printable("node-3.example", 14, false));
    assert_true(cv_printable("\xc3\xa9t\xc3\xa9", 5, false));
    assert_true(cv_printable("a b", 3, true));
    assert_false(cv_printable("a b", 3, false));
    assert_false(cv_printable("a\tb", 3, true));
    assert_false(cv_printable("a\0b", 3, true));
    assert_false(cv_printable("a\x7f", 2, true));
    assert_false(cv_printable("\xc2\xa0", 2, true)); /* no-break space       */
    /* NOLINTNEXTLINE(misc-misleading-bidirectional): that is the case to be refused */
    assert_false(cv_printable("\xe2\x80\xae", 3, true)); /* right-to-left mark   */
    assert_false(cv_printable("\xef\xbf\xbe", 3, true)); /* U+FFFE               */
    assert_false(cv_printable("\xff", 1, true));
    assert_true(cv_printable("", 0, false));
}

static void shown_text_is_safe_and_fits(void **state)
{
    char shown[32];

    (void)state;
    assert_string_equal(cv_shown("plain", 5, shown, sizeof shown), "plain");
    assert_string_equal(cv_shown("a\nb\0c\x1b", 6, shown, sizeof shown),
                        "a\\x0ab\\x00c\\x1b");
    assert_string_equal(cv_shown("\xc3\xa9\xff", 3, shown, sizeof shown),
                        "\xc3\xa9\\xff");
    assert_string_equal(cv_shown("0123456789", 10, shown, 8), "0123...");
    assert_string_equal(cv_shown("0123456", 7, shown, 8), "0123456");
    /* A character of several bytes is cut as a whole. */
    assert_string_equal(cv_shown("abc\xc3\xa9zzzzzz", 11, shown, 8), "abc...");
    for (size_t size = 1; size < sizeof shown; size++) {
        memset(shown, '#', sizeof shown);
        cv_shown("\x01\x02\xc3\xa9 and more of it", 20, shown, size);
        assert_non_null(memchr(shown, '\0', size));
        assert_int_equal(shown[size], '#');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distance_counts_edits),
        cmocka_unit_test(distance_of_long_names),
        cmocka_unit_test(suggests),
        cmocka_unit_test(suggestion_fits_any_buffer),
        cmocka_unit_test(text_grows),
        cmocka_unit_test(text_moves_to_an_arena),
        cmocka_unit_test(utf8_is_strict),
        cmocka_unit_test(printable_means_visible),
        cmocka_unit_test(shown_text_is_safe_and_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
