/* test_item_placeholders.c -- placeholders and expressions, with results of GNU parallel 20221122.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <cleave/error.h>
#include "run/items/item_commands.h"

/* Commands of a word, and of items separated by '|'. */
static enum cleave_status make(struct cv_item_commands *out, const char *word,
                               const char *items, const struct cv_item_options *options,
                               struct cleave_error *err)
{
    static const char *words[2];
    static char line[300];
    struct cv_item_lists lists = { .items = NULL };
    struct cv_item_options with = *options;

    /* One word is a line. */
    snprintf(line, sizeof line, "echo %s", word);
    words[0] = line;
    assert_int_equal(cv_item_lists_begin(&lists, false, NULL), CLEAVE_OK);
    for (;; items++) {
        const size_t length = strcspn(items, "|");

        assert_int_equal(cv_item_lists_add(&lists, items, length, NULL), CLEAVE_OK);
        items += length;
        if (*items == '\0')
            break;
    }
    with.words = words;
    return cv_item_commands_init(out, &lists, NULL, &with, err);
}

static const struct cv_item_options usual = { .per = 1 },
                                    plus = { .replacements.plus = true },
                                    none = { .no_arguments = true };

/* Compare the lines of commands, without "echo " and separated by '|'. */
static void expect_with(const struct cv_item_options *options, const char *word,
                        const char *items, const char *expected)
{
    struct cv_item_commands commands;
    struct cv_text got = { NULL, 0, 0, false };
    struct cleave_error err = { .text = "" };

    if (make(&commands, word, items, options, &err) != CLEAVE_OK)
        fail_msg("%s: %s", word, err.text);
    for (uint64_t i = 0; i < commands.count; i++) {
        struct cv_text line = { NULL, 0, 0, false };

        if (cv_item_commands_line(&commands, i, 3, &line, &err) != CLEAVE_OK)
            fail_msg("%s: %s", word, err.text);
        cv_text_add(&got, "%s%s", i > 0 ? "|" : "", line.bytes + strlen("echo "));
        cv_text_done(&line);
    }
    assert_string_equal(got.bytes, expected);
    cv_text_done(&got);
    cv_item_commands_done(&commands);
}

/* The result of a substitution in {= =}, and in a definition of the user. */
static void expect(const char *expression, const char *item, const char *expected)
{
    char text[256];
    const char *const definition = text;

    snprintf(text, sizeof text, "{= %s =}", expression);
    expect_with(&usual, text, item, expected);
    snprintf(text, sizeof text, "{x} %s", expression);
    expect_with(&(struct cv_item_options){ .replacements = { .definitions = &definition,
                                                             .ndefinitions = 1 } },
                "{x}", item, expected);
}

static void expect_error(const struct cv_item_options *options, const char *word,
                         const char *text)
{
    struct cleave_error err = { .text = "" };
    struct cv_item_commands commands;

    assert_int_equal(make(&commands, word, "a", options, &err), CLEAVE_EINPUT);
    assert_string_equal(err.text, text);
}

static void plus_has_the_expansions_of_bash(void **state)
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
        { "{#a*b} {#[*]} {#a+?}", "aab|*b|ab", "'' aab ab|'*b' b '*b'|'' ab b" },
        { "{#z.*z.} {##z.*z.}", "z.z.z.foo", "z.foo foo" },
        { "{%.z.*z} {%%.z.*z}", "foo.z.z.z", "foo.z foo" },
        { "{/a(b)/X$1}", "ab", "'X$1'" },
        { "{/b/\\\\U&}", "ab", "'a\\\\U&'" },
        { "{:-a/b$}", "", "'a/b$'" },
        /* Not of plus. */
        { "{/} {//} {/.} {#}", "d/x.c", "x.c d x 1" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_with(&plus, cases[i].word, cases[i].items, cases[i].expected);
    /* A shell has uses for them. */
    expect_with(&usual, "x{,.bak} {##} {0#}", "a", "x{,.bak} {##} {0#} a");
    /* The end of another name is not a placeholder. */
    expect_with(&plus, "${myhost}", "a", "${myhost} a");
}

static void unknown_placeholders_are_refused(void **state)
{
    (void)state;
    expect_error(&plus, "{uniq}",
                 "items.plus: expected no placeholder '{uniq}'; instead: a test in the "
                 "command: 'if [ {1} != {2} ]; then ...; fi'");
    expect_error(
        &plus, "{2choose_k}",
        "items.plus: expected no placeholder '{choose_k}'; instead: a test in the "
        "command: 'if [[ {1} < {2} ]]; then ...; fi'");
    expect_error(&plus, "{%(}", "items.plus: '{%(}': missing closing parenthesis");
    expect_error(&plus, "{:99999}",
                 "items.plus: '{:99999}': number too big in {} quantifier");
    for (const char *const *at =
             (const char *const[]){ "{%", "{:a}", "{/a}", "{0:1}", NULL };
         *at != NULL; at++) {
        char line[32];

        snprintf(line, sizeof line, "%s a", *at);
        expect_with(&plus, *at, "a", line);
    }
}

static void parts_of_names_agree_with_gnu_parallel(void **state)
{
    static const struct {
        const char *item, *expected;
    } cases[] = {
        { "d/b.c.d", "d/b.c d/b d/b.c.d b.c.d d b.c b b.c.d d d c.d ''" },
        { "a", "a a a a . a a a '' '' '' ''" },
        { "a/.x/y", "a/.x/y a/.x/y a/.x/y y a/.x y y y a/.x x/y '' ''" },
        { "/", "/ / / '' / '' '' '' '' '' '' ''" },
        { "/a", "/a /a /a a / a a a '' '' '' ''" },
        { "//a//", "//a// //a// //a// '' / '' '' '' //a/ '' '' ''" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_with(&usual,
                    "{.} {..} {...} {/} {//} {/.} {/..} {/...} {+/} {+.} {+..} {+...}",
                    cases[i].item, cases[i].expected);
}

static void expressions_agree_with_perl(void **state)
{
    static const struct {
        const char *expression, *item, *expected;
    } cases[] = {
        { "s/\\bfoo\\b/x/", "a foo", "'a x'" },
        { "s/\\d+//g; s/\\D\\z//", "a1b22c", "ab" },
        { "s/<.+?>/X/", "<a><b>", "'X<b>'" },
        { "s/a(?=b)/x/", "aab", "axb" },
        { "s/a(?!b)/x/", "aba", "abx" },
        { "s/(?<=a)b/x/", "bab", "bax" },
        { "s/(?<!a)b/x/", "abb", "abx" },
        { "s/(?<y>\\d+)-(?<m>\\d+)/$+{m}.$+{y}/", "1999-12", "12.1999" },
        { "s/(.)(.)/$2$1/", "abc", "bac" },
        { "s/(.)(.)/\\2\\1/", "abc", "bac" },
        { "s/(.)\\1/${1}0/", "abbc", "ab0c" },
        { "s/b/[$&]/", "abc", "'a[b]c'" },
        { "s/(a)|(b)/<$1$2>/g", "ab", "'<a><b>'" },
        { "s/(x)?b/[$1]/", "ab", "'a[]'" },
        { "s/A/x/", "aA", "ax" },
        { "s/A/x/i", "aA", "xA" },
        { "s/a/x/gi", "aA", "xx" },
        { "s/^b/x/m", "a\nb", "'a\nx'" },
        { "s/a.b/x/", "a\nb", "'a\nb'" },
        { "s/a.b/x/s", "a\nb", "x" },
        { "s/ a # letter\n b /x/x", "ab", "x" },
        { "s|a/b|c/d|", "a/b", "c/d" },
        { "s,/,_,g", "a/b/c", "a_b_c" },
        { "s#a#b#", "a", "b" },
        { "s{a{2}}{b}", "aaa", "ba" },
        { "s(a) [b]", "a", "b" },
        { "s<a>/b/", "a", "b" },
        { "s/a\\/b/c\\/d/", "a/b", "c/d" },
        { "s/x*/-/g", "abc", "-a-b-c-" },
        { "s/(.*)/\\U$1/", "ab", "AB" },
        { "s/(\\w+) (\\w+)/\\u$1 \\U$2\\E!/", "ab cd", "'Ab CD!'" },
        { "s/(\\w+)/\\u\\L$1/g", "ab CD eF", "'Ab Cd Ef'" },
        { "s/(\\w+)/\\L\\u$1/", "AB CD", "'Ab CD'" },
        { "s/(\\w+) (\\w+)/\\l\\U$1 $2\\E$1/", "Ab cd", "'aB CDAb'" },
        { "s/b/\\t\\x41/", "abc", "'a\tAc'" },
        { "s/a/x/ || s/b/y/", "ab", "xb" },
        { "s/a/x/ || s/b/y/", "bb", "yb" },
        { "s/a/x/;;s/b/y/; ", "ab", "xy" },
        { "s/^\\s+|\\s+$//g", " a b ", "'a b'" },
        { "s/a/$5/", "ab", "b" },
        { "s/a$/b$/", "a", "'b$'" },
        { "s/a|ab/x/", "ab", "xb" },
        { "s/(?i)A(?-i)B/x/", "aB", "x" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i].expression, cases[i].item, cases[i].expected);
    expect_with(&usual, "{=1 s/a/x/ =}-{=-1 s/a/y/ =}", "a", "x-y");
    expect_with(&usual, "{==}", "a", "a");
}

static void names_of_definitions_may_have_groups(void **state)
{
    static const char *const definitions[] = { "{%(\\w+)} s/$$1$//", "% s/a/x/",
                                               "%% s/a/y/",
                                               "{a(\\d)b([a-z]*)} s/$$1/$$2/",
                                               "{t} s/a/z/" };
    const struct cv_item_options options = {
        .replacements = { .definitions = definitions,
                          .ndefinitions = sizeof definitions / sizeof *definitions }
    };

    (void)state;
    expect_with(&options, "{%txt} {a1bxy}", "f1txt", "f1 fxytxt");
    expect_with(&options, "%-%%", "a", "x-y"); /* the longer one first */
    expect_with(&options, "{1t}-{2t}-{-1t}", "a", "z--z");
}

static void bad_expressions_are_refused(void **state)
{
    static const struct {
        const char *expression, *why;
    } cases[] = {
        { "s/a/b/e", "flag e runs Perl code, which cleave cannot" },
        { "s/a/b/q", "expected flags g, i, m, s or x" },
        { "s/a/$x/", "expected $1, $& or $+{name}: there are no variables" },
        { "s/a/\\Qb/", "expected \\U, \\L, \\u, \\l, \\E, \\n, \\t or \\x in the text" },
        { "s/a/\\0/", "expected \\U, \\L, \\u, \\l, \\E, \\n, \\t or \\x in the text" },
        { "s/a/\\x{0}/", "expected \\x01 to \\xff" },
        { "s/a/$$1/", "$$N needs a group in the name, as in '{%(.+?)} s/$$1$//'" },
        { "$_++",
          "expected s/REGEX/TEXT/, or several separated by ';': cleave does not run "
          "Perl code" },
        { "s/a",
          "expected s/REGEX/TEXT/, or several separated by ';': cleave does not run "
          "Perl code" },
        { "s/a/b/ || ",
          "expected s/REGEX/TEXT/, or several separated by ';': cleave does not "
          "run Perl code" },
        { "s/(/b/", "missing closing parenthesis" },
    };
    char word[64], text[256];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(word, sizeof word, "{= %s =}", cases[i].expression);
        snprintf(text, sizeof text, "{= =}: '%s': %s", word, cases[i].why);
        expect_error(&usual, word, text);
    }
    for (size_t i = 0; i < 2; i++) {
        const char *const definitions[] = { i == 0 ? "{x}" : " s/a/b/" };

        snprintf(text, sizeof text,
                 "items.replacements: expected '{NAME} s/REGEX/TEXT/', got '%s'",
                 definitions[0]);
        expect_error(&(struct cv_item_options){ .replacements = { .definitions =
                                                                      definitions,
                                                                  .ndefinitions = 1 } },
                     "{y}", text);
    }
    expect_error(&(struct cv_item_options){ .separator = "(" }, "{}",
                 "items.columns: '(': missing closing parenthesis");
}

/* With and without JIT, whose stack is small. */
static void no_expression_runs_for_ever(void **state)
{
    char item[2001];
    struct cv_item_commands commands;
    struct cleave_error err = { .text = "" };
    struct cv_text line = { NULL, 0, 0, false };

    (void)state;
    memset(item, 'a', sizeof item - 1);
    item[sizeof item - 1] = '\0';
    expect("s/^(?:a|b(?=(c)))+//", item, "''");
    assert_int_equal(make(&commands, "{= s/^(a|aa)+$/x/ =}",
                          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
                          &usual, &err),
                     CLEAVE_OK);
    assert_int_equal(cv_item_commands_line(&commands, 0, 1, &line, &err), CLEAVE_EINPUT);
    assert_string_equal(
        err.text, "{= =}: '{= s/^(a|aa)+$/x/ =}' failed on the item "
                  "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab': "
                  "match limit exceeded");
    cv_text_done(&line);
    cv_item_commands_done(&commands);
}

static void columns_are_split_by_expressions_of_perl(void **state)
{
    static const struct {
        const char *separator, *item, *expected;
    } cases[] = {
        { "\\t", "x\t y z \t", "x-'y z'-''" },
        { "[,;]", "a,b;c", "a-b-c" },
        { "\\s*,\\s*", "a , b,,", "a-b-''" },
        { "(?<=\\d)(?=[a-z])", "1a2b3", "1-a2-b3" },
        { "x*", "abc", "a-b-c" },
        { "q", "abc", "abc--" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_with(&(struct cv_item_options){ .separator = cases[i].separator },
                    "{1}-{2}-{3}", cases[i].item, cases[i].expected);
}

static void commands_may_have_no_arguments(void **state)
{
    (void)state;
    expect_with(&none, "foo", "1|2|3", "foo|foo|foo");
    expect_with(&none, "x{}y{#}", "1|2", "xy1|xy2");
}

static void formats_agree_with_printf(void **state)
{
    static const struct {
        const char *word, *items, *expected;
    } cases[] = {
        { "{:%5d}", "3|-3|3.9", "'    3'|'   -3'|'    3'" },
        { "{:%-5d}_{:%05d}", "3", "'3    '_00003" },
        { "{:%x}{:%X}{:%o}{:%u}", "255", "ffFF377255" },
        { "{:%g}_{:%e}_{:%.1f}", "0.25", "0.25_2.500000e-01_0.2" },
        { "{:%d}", "9007199254740993| 7 ", "9007199254740993|7" },
        { "{.:%7s}{/:%-4s}", "d/a.c", "'    d/a''a.c '" },
        { "{:%.2s}", "abc|a", "ab|a" },
        { "{#:%03d}-{%:%02d}", "a|b", "001-03|002-03" },
        { "{= s/a/1/ =}", "a", "1" },
        /* Text after all. */
        { "{x:5d}", "a", "{x:5d} a" },
        { "{:%d", "1", "{:%d 1" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_with(&usual, cases[i].word, cases[i].items, cases[i].expected);
    expect_with(&plus, "{%.c:%4s}{slot-1:%02d}{0#:%3s}", "a.c", "'   a'02'  1'");
    expect_error(&usual, "{:%c}",
                 "'{:%c}': expected a format of printf for one value, such as {:%.3f}, "
                 "{#:%03d} or {/:%12s}");
    expect_error(&usual, "{.:% 0-++5.2d}x{:%s%s}",
                 "'{.:% 0-++5.2d}': expected a format of printf for one value, such as "
                 "{:%.3f}, {#:%03d} or {/:%12s}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plus_has_the_expansions_of_bash),
        cmocka_unit_test(unknown_placeholders_are_refused),
        cmocka_unit_test(parts_of_names_agree_with_gnu_parallel),
        cmocka_unit_test(expressions_agree_with_perl),
        cmocka_unit_test(names_of_definitions_may_have_groups),
        cmocka_unit_test(bad_expressions_are_refused),
        cmocka_unit_test(no_expression_runs_for_ever),
        cmocka_unit_test(columns_are_split_by_expressions_of_perl),
        cmocka_unit_test(commands_may_have_no_arguments),
        cmocka_unit_test(formats_agree_with_printf),
    };

    return cmocka_run_group_tests_name("placeholders", tests, NULL, NULL);
}
