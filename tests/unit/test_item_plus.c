/* test_item_plus.c -- places of --plus, against what GNU parallel 20221122 makes of them.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <cleave/error.h>
#include "run/items/item_commands.h"
#include "run/items/item_plus.h"

/* Commands of a word and of items with '|' between them. */
static enum cleave_status make(struct cv_item_commands *out, const char *word,
                               const char *items, bool plus, bool none,
                               struct cleave_error *err)
{
    static const char *words[3] = { "echo" };
    struct cv_item_lists lists = { .items = NULL };

    words[1] = word;
    assert_int_equal(cv_item_lists_begin(&lists, false, NULL), CLEAVE_OK);
    for (;; items++) {
        const size_t length = strcspn(items, "|");

        assert_int_equal(cv_item_lists_add(&lists, items, length, NULL), CLEAVE_OK);
        items += length;
        if (*items == '\0')
            break;
    }
    return cv_item_commands_init(out, &lists, NULL,
                                 &(struct cv_item_options){
                                     .words = words, .plus = plus, .none = none },
                                 err);
}

/* The lines of the commands, without "echo " and with '|' between them. */
static void expect(const char *word, const char *items, bool plus, bool none,
                   const char *expected)
{
    struct cv_item_commands commands;
    struct cv_text got = { NULL, 0, 0, false };
    struct cleave_error err = { .text = "" };

    assert_int_equal(make(&commands, word, items, plus, none, &err), CLEAVE_OK);
    for (uint64_t i = 0; i < commands.count; i++) {
        struct cv_text line = { NULL, 0, 0, false };

        assert_int_equal(cv_item_commands_line(&commands, i, 3, &line, NULL), CLEAVE_OK);
        cv_text_add(&got, "%s%s", i > 0 ? "|" : "", line.bytes + strlen("echo "));
        cv_text_done(&line);
    }
    assert_string_equal(got.bytes, expected);
    cv_text_done(&got);
    cv_item_commands_done(&commands);
}

static void places_do_what_bash_does(void **state)
{
    static const struct {
        const char *word, *items, *expected;
    } cases[] = {
        { "{##} {#} {slot}", "a|b|c", "3 1 3|3 2 3|3 3 3" },
        { "{0#}", "a|b|c|d|e|f|g|h|i|j", "01|02|03|04|05|06|07|08|09|10" },
        { "{:-myval}", "|0|1", "myval|myval|1" },
        { "{:2}", "abcAaAdef|ab|a", "cAaAdef|''|''" },
        { "{:2:3}", "abcAaAdef|abc", "cAa|c" },
        { "{#bc}", "abcAaAdef", "abcAaAdef" },
        { "{#abc}", "abcAaAdef", "AaAdef" },
        { "{##ab*}", "abbbc", "c" },
        { "{%de}", "abcAaAdef", "abcAaAdef" },
        { "{%.tar.gz}.zip", "foo.tar.gz", "foo.zip" },
        { "{%%yz*}", "abyzz", "ab" },
        { "{%_demo}", "mycode_demo|keep_demo_here", "mycode|keep_demo_here" },
        { "{/a/X}", "abab", "Xbab" },
        { "{//a/X}", "abab", "XbXb" },
        { "{/#a/X}", "abab|ba", "Xbab|ba" },
        { "{/%b/X}", "abab|ba", "abaX|ba" },
        { "{/demo_/}", "demo_mycode|remove_demo_here", "mycode|remove_here" },
        { "{^a}", "abcAaAdef", "AbcAaAdef" },
        { "{^^a}", "abcAaAdef", "AbcAAAdef" },
        { "{,A}", "AbcAaAdef", "abcAaAdef" },
        { "{,,A}", "AbcAaAdef", "abcaaadef" },
        { "{1%a}-{-1#b}-{1/}", "ba", "b-a-ba" },
        /* These stay what they are. */
        { "{/} {//} {/.} {#}", "d/x.c", "x.c d x 1" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i].word, cases[i].items, true, false, cases[i].expected);
    /* Without --plus they are text, as a shell has uses for it. */
    expect("x{,.bak} {##} {0#}", "a", false, false, "x{,.bak} {##} {0#} a");
    /* The end of another name is none. */
    expect("${myhost}", "a", true, false, "${myhost} a");
}

static void what_is_not_known_is_refused(void **state)
{
    static const struct {
        const char *word, *text;
    } cases[] = {
        { "{uniq}", "--plus: there is no place '{uniq}' here; instead: a test in the "
                    "command: 'if [ {1} != {2} ]; then ...; fi'" },
        { "{2choose_k}",
          "--plus: there is no place '{choose_k}' here; instead: a test in the "
          "command: 'if [[ {1} < {2} ]]; then ...; fi'" },
        { "{#a*}",
          "--plus: '{#a*}': expected an expression that matches in one way only, "
          "or '#' twice, which takes the longest" },
        { "{%(}", "--plus: '(.*)($': Unmatched ( or \\(" },
        { "{:99999}", "--plus: '^.{0,99999}': expected an expression with fewer "
                      "repetitions" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cleave_error err = { .text = "" };
        struct cv_item_commands commands;

        assert_int_equal(make(&commands, cases[i].word, "a", true, false, &err),
                         CLEAVE_EINPUT);
        assert_string_equal(err.text, cases[i].text);
    }
    assert_null(cv_item_plus_end("{}"));
    assert_null(cv_item_plus_end("{%"));
    assert_null(cv_item_plus_end("{:a}"));
    assert_null(cv_item_plus_end("{/a}"));
    assert_null(cv_item_plus_end("{0:1}"));
}

/* -n 0: a command for each item, without it. */
static void commands_may_have_no_items(void **state)
{
    (void)state;
    expect("foo", "1|2|3", false, true, "foo|foo|foo");
    expect("x{}y{#}", "1|2", false, true, "xy1|xy2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_do_what_bash_does),
        cmocka_unit_test(what_is_not_known_is_refused),
        cmocka_unit_test(commands_may_have_no_items),
    };

    return cmocka_run_group_tests_name("places of --plus", tests, NULL, NULL);
}
