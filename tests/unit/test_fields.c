/* test_fields.c -- fields of the library as options. SPDX-License-Identifier: MIT */
#include "cli/common/output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void check(const char *text, const char *expected)
{
    struct cv_text out = { NULL, 0, 0, false };

    cv_fields_translate(text, &out);
    assert_false(out.failed);
    assert_string_equal(out.bytes, expected);
    cv_text_done(&out);
}

static void fields_become_options(void **state)
{
    (void)state;
    check("input.fetch: expected input.size too", "--fetch: expected --size too");
    check("use input.split fastq (input.header)", "use --split fastq (--header)");
    check("more than 3 (workers.max_load)", "more than 3 (--load)");
}

static void other_text_is_unchanged(void **state)
{
    (void)state;
    check("", "");
    check("no field in here", "no field in here");
    check("input.fetched, myinput.fetch, a/input.fetch, x-input.fetch",
          "input.fetched, myinput.fetch, a/input.fetch, x-input.fetch");
    check("input.unknown", "input.unknown");
}

static void quoted_text_is_unchanged(void **state)
{
    (void)state;
    check("'input.fetch' is not input.fetch", "'input.fetch' is not --fetch");
    check("the user's input.fetch", "the user's --fetch");
    check("got 'a input.fetch b', see input.size", "got 'a input.fetch b', see --size");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_become_options),
        cmocka_unit_test(other_text_is_unchanged),
        cmocka_unit_test(quoted_text_is_unchanged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
