/* test_split_group.c -- records that stay together are never cut apart.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/random.h"
#include "run/split/split_kind.h"
#include "split_check.h"

enum { MOST = 400 };

/* Forget the boundaries between records that belong together. */
static void group(struct split_input *input, size_t records, size_t lead,
                  struct cv_key_text (*key)(const char *record, size_t length))
{
    size_t count = 0, before = 0;

    for (size_t i = 0; i < lead; i++)
        input->is[i] = i == 0;
    input->is[lead] = true;
    for (size_t i = lead, end; i < input->n; i = end) {
        const struct cv_key_text one = key(input->bytes + before, i - before);

        for (end = i + 1; !input->is[end];)
            end++;
        if (i > lead && records > 0)
            input->is[i] = count % records == 0;
        if (i > lead && records == 0) {
            const struct cv_key_text two = key(input->bytes + i, end - i);

            input->is[i] =
                one.length != two.length || memcmp(one.bytes, two.bytes, one.length) != 0;
        }
        before = i;
        count++;
    }
}

/* The first byte, the first column without its line end, the text within <>. */
static struct cv_key_text first_byte(const char *record, size_t length)
{
    (void)length;
    return (struct cv_key_text){ record, 1 };
}

static struct cv_key_text first_column(const char *record, size_t length)
{
    size_t end = 0;

    while (end < length && record[end] != '\t' && record[end] != '\n')
        end++;
    if (end > 0 && record[end - 1] == '\r' && (end == length || record[end] == '\n'))
        end--;
    return (struct cv_key_text){ record, end };
}

struct test {
    const char *splitter, *together;
    size_t records;
    const char *header;
    reference *reference;
    const char *letters;
    struct cv_key_text (*key)(const char *record, size_t length);
};

static void check(const struct test *test, const char *bytes, size_t n)
{
    struct cv_splitter *splitter = NULL;
    struct split_input input;
    size_t lead = 0;
    bool found;

    assert_int_equal(cv_splitter_parse(test->splitter, &splitter, NULL), CLEAVE_OK);
    assert_int_equal(cv_splitter_set_records(splitter, test->records, NULL), CLEAVE_OK);
    assert_int_equal(cv_splitter_set_together(splitter, test->together, NULL), CLEAVE_OK);
    if (test->header != NULL) {
        assert_int_equal(cv_splitter_set_header(splitter, test->header, NULL), CLEAVE_OK);
        assert_int_equal(cv_splitter_head(splitter, bytes, n, true, &found, &lead, NULL),
                         CLEAVE_OK);
    }
    split_input_open(&input, splitter, bytes, n);
    if (test->reference(bytes + lead, n - lead, input.is + lead)) {
        group(&input, test->records, lead, test->key);
        check_file(&input, 4096, 1 + n / 40);
        check_file(&input, 30, 0);
        if (test->header == NULL)
            for (size_t wanted = 0; wanted < 5; wanted++)
                check_stream(&input, 1 + n / (1 + wanted), wanted * wanted * 9);
    }
    split_input_close(&input);
    cv_splitter_free(splitter);
}

static void any_records(void **state)
{
    static const struct test tests[] = {
        { "lines", "1", 0, NULL, reference_newline, "aab\t\n\n\r", first_column },
        { "lines", "^(.|\n)", 0, NULL, reference_newline, "ab\n\n", first_byte },
        { "lines", NULL, 3, NULL, reference_newline, "ab\n\n", first_byte },
        { "csv", NULL, 2, NULL, reference_csv, "a\",\n\n", first_byte },
        { "csv", "^(.|\n)", 0, NULL, reference_csv, "ab\"\n\n", first_byte },
        { "fasta", NULL, 2, NULL, reference_fasta, ">>A\n\n", first_byte },
        { "paragraph", "^(.|\n)", 0, NULL, reference_paragraph, "ab\n\n", first_byte },
        { "json:values", "^(.)", 0, NULL, reference_json_values, "11[]{}\" \n",
          first_byte },
        { "lines", NULL, 2, "2", reference_newline, "ab\n\n", first_byte },
        { "csv", "^(.|\n)", 0, "#", reference_csv, "#a\"\n\n", first_byte },
    };

    (void)state;
    for (size_t k = 0; k < sizeof tests / sizeof *tests; k++)
        for (unsigned turn = 0; turn < 60; turn++) {
            struct cv_random random;
            char bytes[MOST];
            size_t n;

            cv_random_at(&random, 21, turn, (uint32_t)k, 0);
            n = (size_t)(cv_random_bits(&random) % (turn % 2 == 0 ? 25 : MOST));
            for (size_t i = 0; i < n; i++)
                bytes[i] =
                    tests[k].letters[cv_random_bits(&random) % strlen(tests[k].letters)];
            check(&tests[k], bytes, n);
        }
}

static void keys(void **state)
{
    static const struct {
        const char *splitter, *together, *record, *key;
    } cases[] = {
        { "lines", "2", "a\tb c\td\n", "b c" },
        { "lines", "3", "a\tb c\td\r\n", "d" },
        { "lines", "4", "a\tb c\td\n", "" },
        { "csv", "2", "a,\"x,\n\"\"y\",d\n", "\"x,\n\"\"y\"" },
        { "csv:;", "1", "a,b;c\n", "a,b" },
        { "jsonl", "\"user\": *\"[^\"]*\"", "{\"user\": \"me\", \"n\": 1}\n",
          "\"user\": \"me\"" },
        { "fastq", "^@([^/ ]*)", "@read/1 x\nA\n+\nI\n", "read" },
        { "lines", "z+", "abc\n", "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cv_splitter *splitter = NULL;
        struct cv_key_text key;

        assert_int_equal(cv_splitter_parse(cases[i].splitter, &splitter, NULL),
                         CLEAVE_OK);
        assert_int_equal(cv_splitter_set_together(splitter, cases[i].together, NULL),
                         CLEAVE_OK);
        key = cv_group_key_text(splitter, cases[i].record, strlen(cases[i].record));
        assert_int_equal(key.length, strlen(cases[i].key));
        assert_memory_equal(key.bytes, cases[i].key, key.length);
        cv_splitter_free(splitter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_records),
        cmocka_unit_test(keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
