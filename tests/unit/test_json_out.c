/* test_json_out.c -- JSON that is written. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "io/json_in.h"
#include "io/json_out.h"

/* Everything a value can hold. */
static void write_all(struct cv_json *json)
{
    cv_json_object(json);
    cv_json_key(json, "text");
    cv_json_text(json, "a");
    cv_json_key(json, "none");
    cv_json_text(json, NULL);
    cv_json_key(json, "empty");
    cv_json_list(json);
    cv_json_end(json);
    cv_json_key(json, "nothing");
    cv_json_object(json);
    cv_json_end(json);
    cv_json_key(json, "list");
    cv_json_list(json);
    cv_json_number(json, 0.5);
    cv_json_whole(json, -7);
    cv_json_on_line(json);
    cv_json_object(json);
    cv_json_key(json, "x");
    cv_json_count(json, 1);
    cv_json_key(json, "y");
    cv_json_list(json);
    cv_json_bool(json, true);
    cv_json_bool(json, false);
    cv_json_end(json);
    cv_json_end(json);
    cv_json_text(json, NULL);
    cv_json_end(json);
    cv_json_end(json);
}

static char *write_to_text(bool pretty, void (*write)(struct cv_json *json))
{
    struct cv_json json;
    size_t length;
    char *text;
    FILE *file = open_memstream(&text, &length);

    assert_non_null(file);
    cv_json_init(&json, file, pretty);
    write(&json);
    assert_true(cv_json_close(&json));
    fclose(file);
    return text;
}

static void pretty_is_indented(void **state)
{
    char *text = write_to_text(true, write_all);

    (void)state;
    assert_string_equal(text, "{\n"
                              "  \"text\": \"a\",\n"
                              "  \"none\": null,\n"
                              "  \"empty\": [],\n"
                              "  \"nothing\": {},\n"
                              "  \"list\": [\n"
                              "    0.5,\n"
                              "    -7,\n"
                              "    {\"x\": 1, \"y\": [true, false]},\n"
                              "    null\n"
                              "  ]\n"
                              "}\n");
    free(text);
}

static void compact_is_one_line(void **state)
{
    char *text = write_to_text(false, write_all);

    (void)state;
    assert_string_equal(text, "{\"text\":\"a\",\"none\":null,\"empty\":[],\"nothing\":{},"
                              "\"list\":[0.5,-7,{\"x\":1,\"y\":[true,false]},null]}\n");
    free(text);
}

static void write_numbers(struct cv_json *json)
{
    cv_json_list(json);
    cv_json_number(json, 0.1);
    cv_json_number(json, 1e300);
    cv_json_number(json, -0.0);
    cv_json_number(json, NAN);
    cv_json_number(json, INFINITY);
    cv_json_number(json, -INFINITY);
    cv_json_whole(json, INT64_MIN);
    cv_json_count(json, UINT64_MAX);
    cv_json_end(json);
}

static void numbers_are_exact(void **state)
{
    char *text = write_to_text(false, write_numbers);

    (void)state;
    assert_string_equal(text,
                        "[0.10000000000000001,1.0000000000000001e+300,-0,null,null,null,"
                        "-9223372036854775808,18446744073709551615]\n");
    free(text);
}

static void write_strings(struct cv_json *json)
{
    cv_json_list(json);
    cv_json_text(json, "q\" b\\ /");
    cv_json_text(json, "\b\f\n\r\t\x01\x1f\x7f");
    cv_json_text(json, "\xc3\xa9 \xf0\x9f\x98\x80");
    cv_json_text(json, "a\xff\xc3(\xed\xa0\x80z");
    cv_json_text(json, "");
    cv_json_end(json);
}

static void strings_are_escaped(void **state)
{
    char *text = write_to_text(false, write_strings);

    (void)state;
    assert_string_equal(
        text, "[\"q\\\" b\\\\ /\","
              "\"\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\","
              "\"\xc3\xa9 \xf0\x9f\x98\x80\","
              "\"a\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\","
              "\"\"]\n");
    free(text);
}

static void values_may_follow_each_other(void **state)
{
    struct cv_json json;
    size_t length;
    char *text;
    FILE *file = open_memstream(&text, &length);

    (void)state;
    assert_non_null(file);
    cv_json_init(&json, file, false);
    for (int i = 0; i < 3; i++) {
        cv_json_list(&json);
        cv_json_whole(&json, i);
        cv_json_end(&json);
        assert_true(cv_json_close(&json));
    }
    fclose(file);
    assert_string_equal(text, "[0]\n[1]\n[2]\n");
    free(text);
}

static void failure_is_remembered(void **state)
{
    struct cv_json json;
    FILE *full = fopen("/dev/full", "wb");

    (void)state;
    if (full == NULL)
        skip();
    setvbuf(full, NULL, _IONBF, 0);
    cv_json_init(&json, full, true);
    cv_json_text(&json, "x");
    assert_true(json.failed);
    clearerr(full);
    assert_false(cv_json_close(&json));
    fclose(full);
}

/* Written strings are read back: every byte except 0, as text. */
static void strings_are_read_back(void **state)
{
    struct cv_json json;
    struct cv_json_in in;
    size_t length;
    char *line;
    FILE *file = open_memstream(&line, &length);
    char text[2 * 0x80] = "";
    const char *again;

    (void)state;
    for (int c = 1; c < 0x80; c++)
        text[c - 1] = (char)c;
    assert_non_null(file);
    cv_json_init(&json, file, false);
    cv_json_text(&json, text);
    cv_json_close(&json);
    fclose(file);
    cv_json_in_init(&in, "memory", NULL);
    cv_json_in_line(&in, line, length - 1);
    assert_int_equal(cv_json_in_text(&in, &again), CLEAVE_OK);
    assert_string_equal(again, text);
    assert_int_equal(cv_json_in_end(&in), CLEAVE_OK);
    cv_json_in_done(&in);
    free(line);
}

static void escapes_are_read(void **state)
{
    static const struct {
        const char *json, *text; /* NULL: refused */
    } cases[] = {
        { "\"\\u00e9\\u20AC\\ud83d\\ude00\"", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
        { "\"\\/\\\\\\\"\\b\\f\\n\\r\\t\"", "/\\\"\b\f\n\r\t" },
        { "\"\"", "" },
        { "\"\\u0000\"", NULL },
        { "\"\\ud83d\"", NULL },
        { "\"\\ude00\"", NULL },
        { "\"\\ud83d\\u0041\"", NULL },
        { "\"\\x41\"", NULL },
        { "\"\\u12\"", NULL },
        { "\"\\u12g4\"", NULL },
        { "\"\\", NULL },
        { "\"abc", NULL },
        { "\"a\tb\"", NULL },
        { "\"\xff\"", NULL },
        { "abc", NULL },
        { "", NULL },
        { "'a'", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cv_json_in in;
        struct cleave_error err;
        const char *text = NULL;
        enum cleave_status status;

        cv_json_in_init(&in, "memory", &err);
        cv_json_in_line(&in, cases[i].json, strlen(cases[i].json));
        status = cv_json_in_text(&in, &text);
        assert_int_equal(status, cases[i].text == NULL ? CLEAVE_EINPUT : CLEAVE_OK);
        if (cases[i].text != NULL)
            assert_string_equal(text, cases[i].text);
        else
            assert_int_equal(err.line, 1);
        cv_json_in_done(&in);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pretty_is_indented),
        cmocka_unit_test(compact_is_one_line),
        cmocka_unit_test(numbers_are_exact),
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(values_may_follow_each_other),
        cmocka_unit_test(failure_is_remembered),
        cmocka_unit_test(strings_are_read_back),
        cmocka_unit_test(escapes_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
