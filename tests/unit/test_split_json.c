/* test_split_json.c -- values of JSON and records of archives cut apart, whatever is in them.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/random.h"
#include "split_check.h"

enum { MOST = 3000 };

struct text {
    char bytes[MOST + 400];
    size_t n;
};

static void add(struct text *text, const char *more)
{
    const size_t length = strlen(more);

    memcpy(text->bytes + text->n, more, length);
    text->n += length;
}

static unsigned chance(struct cv_random *random, unsigned sides)
{
    return (unsigned)(cv_random_bits(random) % sides);
}

static void add_space(struct cv_random *random, struct text *text)
{
    static const char *const spaces[] = { "", "", "", " ", "\n", "\t\r\n", "      " };

    add(text, spaces[chance(random, 7)]);
}

static void add_string(struct cv_random *random, struct text *text)
{
    static const char *const parts[] = {
        "a", "\\\"", "\\\\",    "[",  "]", "{",
        "}", ",",    "\\u00e9", ": ", " ", "text of some length"
    };

    add(text, "\"");
    for (unsigned i = chance(random, 12); i > 0; i--)
        add(text, parts[chance(random, 12)]);
    add(text, "\"");
}

static void add_value(struct cv_random *random, struct text *text, unsigned depth)
{
    static const char *const plain[] = { "0", "-1.5e300", "true", "null" };
    const unsigned kind = text->n > MOST || depth > 6 ? 0 : chance(random, 4);

    if (kind == 0) {
        add(text, plain[chance(random, 4)]);
    } else if (kind == 1) {
        add_string(random, text);
    } else {
        add(text, kind == 2 ? "[" : "{");
        for (unsigned i = chance(random, 5), first = i; i > 0 && text->n < MOST; i--) {
            add_space(random, text);
            if (i < first)
                add(text, ",");
            if (kind == 3) {
                add_string(random, text);
                add(text, ":");
            }
            add_value(random, text, depth + 1);
        }
        add(text, kind == 2 ? "]" : "}");
    }
}

static void make(struct cv_random *random, bool array, struct text *text)
{
    const size_t size = chance(random, MOST);

    text->n = 0;
    add_space(random, text);
    add(text, array ? "[" : "");
    for (bool first = true; first || text->n < size; first = false) {
        add_space(random, text);
        if (!first)
            add(text, array ? "," : " ");
        add_space(random, text);
        add_value(random, text, 0);
    }
    add_space(random, text);
    add(text, array ? "]\n" : "");
}

/* Arrays and sequences, with brackets, commas and quotes in strings, across 64 bytes and
 * more, cut as files and as streams. */
static void any_values(void **state)
{
    (void)state;
    for (unsigned turn = 0; turn < 300; turn++) {
        const bool array = turn % 2 == 0;
        struct cv_splitter *splitter = NULL;
        struct split_input input;
        struct cv_random random;
        static struct text text;

        cv_random_at(&random, 20, turn, 0, 0);
        make(&random, array, &text);
        assert_int_equal(cv_splitter_parse(array ? "json" : "json:values", &splitter,
                                           NULL),
                         CLEAVE_OK);
        split_input_open(&input, splitter, text.bytes, text.n);
        assert_true(reference_json(text.bytes, text.n, input.is, !array));
        check_file(&input, 4096, 1 + text.n / 50);
        check_file(&input, 30, 1 + text.n / 200);
        check_stream(&input, 1 + chance(&random, 300), chance(&random, 500));
        check_stream(&input, text.n, 1);
        split_input_close(&input);
        cv_splitter_free(splitter);
    }
}

/* Invalid JSON is reported, with its place, by a few bytes and by many at a time. */
static void no_values(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "[1, 2]\n[3]", "byte 7: expected the end of the input after its array "
                         "(json:values: arrays are values), got '['" },
        { "{}]", "byte 2: expected a JSON value, got ']'" },
        { "1,2", "byte 1: expected a JSON value, got ','" },
        { "[1,,2]", "byte 3: expected a JSON value, got ','" },
        { "[{}, \n ,2]", "byte 7: expected a JSON value, got ','" },
        { "[1, ]", "byte 4: expected a JSON value, got ']'" },
        { "[ ,1]", "byte 2: expected a JSON value, got ','" },
    };
    struct cv_splitter *splitter = NULL;

    (void)state;
    assert_int_equal(cv_splitter_parse("json", &splitter, NULL), CLEAVE_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char padded[300];
        struct cleave_error err;
        uint64_t records;

        assert_int_equal(cv_splitter_count_from(splitter, 0, 0, cases[i].text,
                                                strlen(cases[i].text), &records, &err),
                         CLEAVE_EINPUT);
        assert_string_equal(err.text, cases[i].message);
        memset(padded, ' ', sizeof padded);
        memcpy(padded, cases[i].text, strlen(cases[i].text));
        assert_int_equal(cv_splitter_count_from(splitter, 0, 0, padded, sizeof padded,
                                                &records, &err),
                         CLEAVE_EINPUT);
        assert_string_equal(err.text, cases[i].message);
    }
    cv_splitter_free(splitter);
}

/* A value that is missing far behind the start of an array, at any place of 64 bytes. */
static void values_left_out(void **state)
{
    static const char *const gaps[] = { ",", ", ", ",\n\t ", ",                       " };
    struct cv_splitter *splitter = NULL;

    (void)state;
    assert_int_equal(cv_splitter_parse("json", &splitter, NULL), CLEAVE_OK);
    for (unsigned turn = 0; turn < 256; turn++) {
        static struct text text;
        struct cleave_error err;
        char message[80];
        uint64_t records;

        text.n = 0;
        add(&text, "[");
        for (unsigned i = 0; i < 60 + turn % 64; i++)
            add(&text, " ");
        for (unsigned i = 0; i < 60; i++)
            add(&text, "{\"a\": 1}, ");
        add(&text, "[2]");
        add(&text, gaps[turn / 64]);
        snprintf(message, sizeof message, "byte %zu: expected a JSON value, got ','",
                 text.n);
        for (unsigned i = 0; i < 60; i++)
            add(&text, ", {\"a\": 1}");
        add(&text, "]");
        assert_int_equal(cv_splitter_count_from(splitter, 0, 0, text.bytes, text.n,
                                                &records, &err),
                         CLEAVE_EINPUT);
        assert_string_equal(err.text, message);
    }
    cv_splitter_free(splitter);
}

/* Elements among comments, sections, instructions and values that look like them. */
static void any_elements(void **state)
{
    static const char *const parts[] = { "<ab>",
                                         "</ab>",
                                         "<ab/>",
                                         "<ab x='>'>",
                                         "<abc>",
                                         "<b y=\"<ab>\">",
                                         "text",
                                         "<!-- <ab> -->",
                                         "<![CDATA[<ab>]]]>",
                                         "<?ab <ab>?>",
                                         "<!X [<ab>]>",
                                         "<ab\n",
                                         ">",
                                         "/>",
                                         "--->",
                                         "<!-",
                                         "<![" };
    struct cv_splitter *splitter = NULL;

    (void)state;
    assert_int_equal(cv_splitter_parse("xml:ab", &splitter, NULL), CLEAVE_OK);
    for (unsigned turn = 0; turn < 300; turn++) {
        struct split_input input;
        struct cv_random random;
        static struct text text;

        cv_random_at(&random, 23, turn, 0, 0);
        for (text.n = 0; text.n < 10 + turn;)
            add(&text, parts[chance(&random, 17)]);
        split_input_open(&input, splitter, text.bytes, text.n);
        assert_true(reference_xml(text.bytes, text.n, input.is));
        check_file(&input, 4096, 1 + text.n / 50);
        check_file(&input, 30, 0);
        check_stream(&input, 1 + chance(&random, 30), chance(&random, 200));
        check_stream(&input, text.n, 1 + chance(&random, 200));
        split_input_close(&input);
    }
    cv_splitter_free(splitter);
}

/* Blocks of archives hold anything; their content is not looked at. */
static void any_blocks(void **state)
{
    (void)state;
    for (unsigned turn = 0; turn < 100; turn++) {
        struct cv_splitter *splitter = NULL;
        struct split_input input;
        struct cv_random random;
        static struct text text;

        cv_random_at(&random, 22, turn, 0, 0);
        text.n = 0;
        while (text.n < MOST / 3) {
            static const char *const blocks[] = { "", "\r\n\r\nWARC/1.0\r\n", "a\nb",
                                                  "WARC/1.0\nContent-Length: 9\n\n" };
            const char *block = blocks[chance(&random, 4)];
            const char *end = chance(&random, 2) == 0 ? "\n" : "\r\n";
            char line[100];

            snprintf(line, sizeof line, "WARC/1.0%sType: x%scontent-LENGTH: %zu%s%s", end,
                     end, strlen(block), end, end);
            add(&text, line);
            add(&text, block);
            add(&text, "\r\n\r\n");
        }
        assert_int_equal(cv_splitter_parse("warc", &splitter, NULL), CLEAVE_OK);
        split_input_open(&input, splitter, text.bytes, text.n);
        assert_true(reference_warc(text.bytes, text.n, input.is));
        check_file(&input, 4096, 1 + text.n / 50);
        check_file(&input, 30, 1 + text.n / 200);
        check_stream(&input, 1 + chance(&random, 300), chance(&random, 500));
        split_input_close(&input);
        cv_splitter_free(splitter);
    }
}

static void no_archives(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "GET /", "byte 0: expected 'WARC/' at the start of a record, got 'G'" },
        { "WARC/1.0\nContent-Length: 0\n\nx",
          "byte 28: expected 'WARC/' at the start of a record, got 'x'" },
        { "WARC/1.0\nA: b\n\n",
          "the WARC record at byte 0: expected a field Content-Length, got none" },
        { "WARC/1.0\nContent-Length: 0x9\n\n",
          "byte 26: expected a number of bytes as Content-Length, got 'x'" },
    };
    struct cv_splitter *splitter = NULL;

    (void)state;
    assert_int_equal(cv_splitter_parse("warc", &splitter, NULL), CLEAVE_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cleave_error err;
        uint64_t records;

        assert_int_equal(cv_splitter_count_from(splitter, 0, 0, cases[i].text,
                                                strlen(cases[i].text), &records, &err),
                         CLEAVE_EINPUT);
        assert_string_equal(err.text, cases[i].message);
    }
    cv_splitter_free(splitter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_values),      cmocka_unit_test(no_values),
        cmocka_unit_test(values_left_out), cmocka_unit_test(any_elements),
        cmocka_unit_test(any_blocks),      cmocka_unit_test(no_archives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
