/* test_shell_word.c -- words as a shell would take them. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/shell_word.h"

static void words_are_quoted(void **state)
{
    static const struct {
        const char *word, *expected;
    } cases[] = {
        { "", "''" },
        { "plain-word_1./=:,+@%^", "plain-word_1./=:,+@%^" },
        { "two words", "'two words'" },
        { "~", "'~'" },
        { "#", "'#'" },
        { "$HOME", "'$HOME'" },
        { "a*", "'a*'" },
        { "it's", "'it'\\''s'" },
        { "a\nb", "$'a\\nb'" },
        { "\t\x1f\x7f", "$'\\t\\037\\177'" },
        { "'\\\n", "$'\\'\\\\\\n'" },
        { "gr\xc3\xbc\xc3\x9f", "'gr\xc3\xbc\xc3\x9f'" },
        { "\xff", "$'\\377'" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cv_text text = { NULL, 0, 0, false };

        cv_shell_word_add(&text, cases[i].word);
        assert_string_equal(text.bytes, cases[i].expected);
        cv_text_done(&text);
    }
}

/* A shell that knows all of them reads the same bytes. */
static void bash_reads_them(void **state)
{
    char every[256] = "", command[2000], got[600] = "";
    struct cv_text text = { NULL, 0, 0, false };
    const char *const words[] = { "printf", "%s|", every, "it's \\ so", "", NULL };
    FILE *pipe;
    size_t n;

    (void)state;
    for (int i = 1; i < 256; i++)
        every[i - 1] = (char)i;
    cv_shell_words_add(&text, words);
    snprintf(command, sizeof command, "exec bash --norc <<'END'\n%s\nEND\n", text.bytes);
    cv_text_done(&text);
    pipe = popen(command, "r"); // NOLINT(cert-env33-c): made here
    assert_non_null(pipe);
    n = fread(got, 1, sizeof got - 1, pipe);
    assert_int_equal(pclose(pipe), 0);
    assert_int_equal(n, 255 + 1 + 9 + 1 + 1);
    assert_memory_equal(got, every, 255);
    assert_string_equal(got + 255, "|it's \\ so||");
}

/* `shell` reads the line as the same script, for any content. */
static void assert_reads(const char *shell, const char *script, const char *expected)
{
    char command[3000], got[600] = "";
    struct cv_text line = { NULL, 0, 0, false };
    FILE *pipe;

    cv_login_line_add(&line, script);
    assert_false(line.failed);
    snprintf(command, sizeof command, "command -v %s >/dev/null || exit 77\nexec %s -c ",
             shell, shell);
    {
        struct cv_text whole = { NULL, 0, 0, false };

        cv_text_add(&whole, "%s", command);
        cv_sh_words_add(&whole, (const char *const[]){ line.bytes, NULL });
        pipe = popen(whole.bytes, "r"); // NOLINT(cert-env33-c): made here
        cv_text_done(&whole);
    }
    cv_text_done(&line);
    assert_non_null(pipe);
    (void)!fread(got, 1, sizeof got - 1, pipe);
    if (pclose(pipe) != 77 << 8)
        assert_string_equal(got, expected);
}

static void any_login_shell_has_sh_do_it(void **state)
{
    static const char *const shells[] = { "sh",  "bash", "dash", "zsh",
                                          "csh", "tcsh", "fish" };
    struct cv_text line = { NULL, 0, 0, false };

    (void)state;
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        assert_reads(shells[i], "exec printf a/b-c", "a/b-c");
        assert_reads(shells[i], "case x in x) a=\"$(echo y)\";; esac; printf %s \"$a\"",
                     "y");
        assert_reads(shells[i], "printf %s 'it'\\''s \\\\ `x` $y \"z\"!\n{1}'",
                     "it's \\\\ `x` $y \"z\"!\n{1}");
    }
    /* Words that all of them understand stay unchanged. */
    cv_login_line_add(&line, "exec  /opt/cleave worker");
    assert_string_equal(line.bytes, "exec  /opt/cleave worker");
    cv_text_done(&line);
    /* The rest is for sh, also where none of the odd ones is installed. */
    cv_login_line_add(&line, "a=\"$b\"; c");
    assert_string_equal(line.bytes, "exec sh -c 'a=\"$b\"; c'");
    cv_text_done(&line);
    cv_login_line_add(&line, "a 'b'");
    assert_string_equal(line.bytes, "exec sh -c 'eval \"$(printf %b \"$1\")\"' sh "
                                    "'a \\0047b\\0047'");
    cv_text_done(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_quoted),
        cmocka_unit_test(bash_reads_them),
        cmocka_unit_test(any_login_shell_has_sh_do_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
