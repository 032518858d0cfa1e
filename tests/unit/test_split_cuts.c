/* test_split_cuts.c -- cuts of files and streams are at boundaries, for any input.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/random.h"
#include "split_check.h"

enum { MOST = 4096 };

static struct cv_splitter *parse(const char *text)
{
    struct cv_splitter *splitter = NULL;

    assert_int_equal(cv_splitter_parse(text, &splitter, NULL), CLEAVE_OK);
    return splitter;
}

static size_t below(struct cv_random *random, size_t max)
{
    return (size_t)(cv_random_bits(random) % max);
}

/* All cuts of an input by all means. */
static void check(const struct reference_case *test, const char *bytes, size_t n,
                  struct cv_random *random)
{
    struct cv_splitter *splitter = parse(test->splitter);
    struct split_input input;

    split_input_open(&input, splitter, bytes, n);
    if (test->reference(bytes, n, input.is)) {
        check_file(&input, 4096, 1);
        check_file(&input, 1 + below(random, 32), 0);
        check_file(&input, 1 + below(random, 32), 1 + below(random, 16));
        for (int turn = 0; turn < 4; turn++)
            check_stream(&input, 1 + below(random, n / 2 + 3), 1 + below(random, n + 9));
        check_stream(&input, 1, 1 + below(random, 16));
        check_stream(&input, n + 1, 1 + below(random, 16));
        check_stream(&input, 3, n);
    }
    split_input_close(&input);
    cv_splitter_free(splitter);
}

/* Short inputs of few letters come upon every ending and every pair of neighbours. */
static void any_letters(void **state)
{
    struct cv_random random;
    char bytes[400];

    (void)state;
    cv_random_at(&random, 1, 0, 0, 0);
    for (size_t k = 0; k < REFERENCE_CASES; k++)
        for (size_t number = 0; number < 160; number++) {
            const struct reference_case *test = &reference_cases[k];
            const size_t n = number < 40 ? number % 8 : below(&random, sizeof bytes);
            const size_t few = number % 5 == 0 && test->nletters > 2 ? 2 : test->nletters;

            for (size_t i = 0; i < n; i++)
                bytes[i] = test->letters[below(&random, few)];
            check(test, bytes, n, &random);
        }
}

/* Every input of up to six letters. */
static void all_short_inputs(void **state)
{
    (void)state;
    for (size_t k = 0; k < REFERENCE_CASES; k++) {
        const struct reference_case *test = &reference_cases[k];
        struct cv_splitter *splitter = parse(test->splitter);
        const size_t letters = test->nletters < 4 ? test->nletters : 4;
        size_t inputs = 1;

        for (size_t n = 0; n <= 6; n++, inputs *= letters)
            for (size_t number = 0; number < inputs; number++) {
                struct split_input input;
                char bytes[6];
                size_t rest = number;

                for (size_t i = 0; i < n; i++, rest /= letters)
                    bytes[i] = test->letters[rest % letters];
                split_input_open(&input, splitter, bytes, n);
                if (test->reference(bytes, n, input.is)) {
                    check_file(&input, 1, 1);
                    check_stream(&input, 1, 1);
                    check_stream(&input, n + 1, 3);
                }
                split_input_close(&input);
            }
        cv_splitter_free(splitter);
    }
}

static size_t add(char *bytes, size_t n, const char *text)
{
    while (*text != '\0')
        bytes[n++] = *text++;
    return n;
}

/* Quotes at their place are done 64 bytes at a time; now and then a misplaced one. */
static void orderly_csv(void **state)
{
    const struct reference_case *test = &reference_cases[2];
    struct cv_random random;
    char bytes[MOST];

    (void)state;
    cv_random_at(&random, 5, 0, 0, 0);
    assert_string_equal(test->splitter, "csv");
    for (size_t number = 0; number < 60; number++) {
        const size_t room = 200 + below(&random, 2000), widest = 2 + number % 40;
        size_t n = 0;

        while (n < room) {
            const bool quoted = below(&random, 3) == 0;

            n = add(bytes, n, quoted ? "\"" : "");
            for (size_t width = below(&random, widest); width > 0; width--)
                n = add(bytes, n,
                        quoted ? (const char *[]){ "x", ",", "\n",
                                                   "\"\"" }[below(&random, 4)]
                               : "x");
            n = add(bytes, n, quoted ? "\"" : "");
            if (number % 3 == 0 && below(&random, 30) == 0)
                bytes[n++] = '"';
            n = add(bytes, n,
                    (const char *[]){ ",", ",", "\n", "\r\n" }[below(&random, 4)]);
        }
        check(test, bytes, n, &random);
    }
}

/* FASTQ records with sequences of several lines and qualities made to mislead: lines that
 * look like names, like +, like sequences. */
static size_t hostile_fastq(struct cv_random *random, char *bytes, size_t room)
{
    const bool four_lines = below(random, 3) == 0, crlf = below(random, 2) == 0;
    const char *newline = crlf ? "\r\n" : "\n";
    size_t n = 0;

    while (n + 200 < room) {
        const size_t lines = four_lines ? 1 : below(random, 7);
        size_t width[8];

        n = add(bytes, n, below(random, 4) == 0 ? "@" : "@r");
        n = add(bytes, n, newline);
        for (size_t i = 0; i < lines; i++) {
            width[i] = below(random, 4);
            for (size_t k = 0; k < width[i]; k++)
                bytes[n++] = 'A';
            n = add(bytes, n, newline);
        }
        n = add(bytes, n, "+");
        n = add(bytes, n, newline);
        for (size_t i = 0; i < lines; i++) {
            for (size_t k = 0; k < width[i]; k++)
                bytes[n++] = k > 0 ? 'A' : "@+A"[below(random, 3)];
            n = add(bytes, n, newline);
        }
        if (below(random, 8) == 0)
            n = add(bytes, n, newline);
    }
    if (below(random, 3) == 0) /* cut short anywhere */
        n -= below(random, 20);
    return n;
}

static void misleading_fastq(void **state)
{
    const struct reference_case *test = &reference_cases[5];
    struct cv_random random;
    unsigned good = 0;
    char bytes[MOST];

    (void)state;
    cv_random_at(&random, 3, 0, 0, 0);
    assert_string_equal(test->splitter, "fastq");
    for (size_t number = 0; number < 100; number++) {
        const size_t n = hostile_fastq(&random, bytes, 300 + below(&random, 1200));
        bool is[MOST + 1] = { false };

        good += test->reference(bytes, n, is);
        check(test, bytes, n, &random);
    }
    assert_in_range(good, 95, 100);
}

/* A record start within a quality of three lines cannot be detected by looking ahead. */
static void quality_that_reads_as_a_record(void **state)
{
    static const char record[] =
        "@r\nAAAAA\nAAAA\nAAAA\nAAAA\n+\n@IIII\nIIII\n+III\nIIII\n";
    const size_t size = sizeof record - 1;
    struct cv_splitter *splitter = parse("fastq");
    struct split_input input;
    char bytes[40 * sizeof record];

    (void)state;
    for (size_t i = 0; i < 40; i++)
        memcpy(bytes + i * size, record, size);
    split_input_open(&input, splitter, bytes, 40 * size);
    for (size_t i = 0; i <= 40; i++)
        input.is[i * size] = true;
    check_file(&input, 16, 1);
    check_stream(&input, 50, 120);
    split_input_close(&input);
    cv_splitter_free(splitter);
}

/* Records larger than every block that is read, and blocks that end anywhere. */
static void records_larger_than_blocks(void **state)
{
    static const struct {
        const char *splitter, *start, *body, *end;
    } cases[] = {
        { "lines", "", "x", "\n" },         { "nul", "", "\n", "" },
        { "csv", "a,\"", "x\n", "\"\n" },   { "fasta", ">a\n", "A>", "\n" },
        { "paragraph", "a", "x\n", "\n" },  { "regex:[0-9]+ ", "12 ", "x1 \n", "\n" },
        { "regex:a.*b$", "a", "x", "b\n" },
    };
    const size_t half = 700000;

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct cv_splitter *splitter = parse(cases[k].splitter);
        const size_t body = strlen(cases[k].body);
        char *bytes = malloc(3 * half);
        struct split_input input;
        size_t n = 0;

        assert_non_null(bytes);
        split_input_open(&input, splitter, "", 0);
        input.is = realloc(input.is, 3 * half);
        assert_non_null(input.is);
        memset(input.is, 0, 3 * half);
        for (int record = 0; record < 2; record++) {
            input.is[n] = true;
            n = add(bytes, n, cases[k].start);
            while (n < half * ((size_t)record + 1)) {
                memcpy(bytes + n, cases[k].body, body);
                n += body;
            }
            n = add(bytes, n, cases[k].end);
            if (cases[k].end[0] == '\0')
                bytes[n++] = '\0';
        }
        /* An expression that looks for the end of a line sees 64 KiB of it. */
        if (strcmp(cases[k].splitter, "regex:a.*b$") == 0)
            memset(input.is + 1, 0, n);
        input.is[n] = true;
        input.bytes = bytes;
        input.n = n;
        assert_int_equal(pwrite(input.fd, bytes, n, 0), n);
        check_file(&input, 4096, n / 7);
        check_stream(&input, 65537, 100000);
        check_stream(&input, 300000, n);
        split_input_close(&input);
        free(bytes);
        cv_splitter_free(splitter);
    }
}

/* Records around 4 GiB of a file that has nothing elsewhere: only what is near may be
 * read, or this would take long. */
static void past_four_gigabytes(void **state)
{
    static const struct {
        const char *splitter, *record;
    } cases[] = {
        { "lines", "0123456789\n" },         { "nul", "012345678\n" },
        { "jsonl", "{\"a\": \"\\n\"}\r\n" }, { "fasta", ">a\nACGT\nACGT\n" },
        { "fastq", "@a\nACGT\n+\n@+@+\n" },  { "paragraph", "a\nb\n\n" },
        { "regex:[a-c]:", "b: x\n  y\n" },
    };
    const uint64_t middle = UINT64_C(1) << 32, count = 2000;

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct cv_splitter *splitter = parse(cases[k].splitter);
        const bool nul = strcmp(cases[k].splitter, "nul") == 0;
        const size_t size = strlen(cases[k].record) + nul;
        const uint64_t first = middle - count / 2 * size - size / 2;
        struct cv_cut_file file;
        uint64_t cut, records;
        int fd = memfd_create("sparse", 0);

        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, 5 * (off_t)(middle / 4)), 0);
        /* A record begins, so that the start is as it should be. */
        assert_int_equal(pwrite(fd, cases[k].record, 3, 0), 3);
        for (uint64_t i = 0; i < count; i++)
            assert_int_equal(pwrite(fd, cases[k].record, size, (off_t)(first + i * size)),
                             size);
        cv_cut_file_init(&file, splitter, "sparse", fd, 5 * (middle / 4));
        for (uint64_t i = 1; i < 200; i++) {
            const uint64_t record = first + (count / 2 - 100 + i) * size;

            for (uint64_t back = 0; back < size; back += 3) {
                assert_int_equal(cv_cut_file_at(&file, record - back, &cut, NULL),
                                 CLEAVE_OK);
                assert_int_equal(cut, record);
            }
        }
        assert_int_equal(cv_cut_file_count(&file, first + 20 * size,
                                           first + (count - 20) * size, &records, NULL),
                         CLEAVE_OK);
        assert_int_equal(records, count - 40);
        cv_cut_file_done(&file);
        close(fd);
        cv_splitter_free(splitter);
    }
}

/* For walks, which count bytes from their start. */
static void streams_past_four_gigabytes(void **state)
{
    static const char text[] = "a,\"b\nc\"\n1,2\n";
    struct cv_splitter *splitter = parse("csv");
    struct cv_cut_window window;
    size_t cut = 0;

    (void)state;
    cv_cut_window_init(&window, splitter);
    cv_cut_window_take(&window, 0xfffffffb); /* five bytes before 4 GiB */
    assert_int_equal(cv_cut_window_find(&window, text, sizeof text - 1, false, 10, &cut,
                                        NULL),
                     CLEAVE_OK);
    assert_int_equal(cut, 8);
    cv_cut_window_take(&window, cut);
    assert_int_equal(cv_cut_window_find(&window, text + 8, 4, false, 1, &cut, NULL),
                     CLEAVE_OK);
    assert_int_equal(cut, 4);
    cv_splitter_free(splitter);
}

/* Every group is a piece. Were each searched from a known cut far before it, this would take
 * 10^13 steps. */
static void cuts_of_small_groups_are_not_searched_again(void **state)
{
    enum { RECORDS = 3000000, SIZE = 2 };
    const size_t all = (size_t)RECORDS * SIZE;
    char *bytes = malloc(all);

    (void)state;
    assert_non_null(bytes);
    memset(bytes, '\n', all);
    for (uint64_t i = 0; i < RECORDS; i++)
        bytes[i * SIZE] = 'a';
    for (uint64_t group = 1; group <= 4096; group *= 8) {
        struct cv_splitter *splitter = parse("lines");
        const int fd = memfd_create("records", 0);
        const uint64_t size = group * SIZE;
        struct cv_cut_file file;
        uint64_t cut = 0;

        assert_true(fd >= 0);
        assert_int_equal(write(fd, bytes, all), all);
        assert_int_equal(cv_splitter_set_records(splitter, group, NULL), CLEAVE_OK);
        cv_cut_file_init(&file, splitter, "records", fd, all);
        for (uint64_t at = size; at < all; at += size) {
            assert_int_equal(cv_cut_file_at(&file, cut + 1, &cut, NULL), CLEAVE_OK);
            assert_int_equal(cut, at);
        }
        /* Where the last cut was does not matter. */
        for (uint64_t i = 0; i < 100; i++) {
            const uint64_t at = (i * 7919 * size) % (RECORDS / group * size);

            assert_int_equal(cv_cut_file_at(&file, at + 1, &cut, NULL), CLEAVE_OK);
            assert_int_equal(cut, at + size);
            assert_int_equal(cv_cut_file_at(&file, at, &cut, NULL), CLEAVE_OK);
            assert_int_equal(cut, at);
        }
        cv_cut_file_done(&file);
        close(fd);
        cv_splitter_free(splitter);
    }
    free(bytes);
}

/* A record that grows byte by byte is looked at once. Were it searched from its start each
 * time, this would take 10^11 steps. */
static void large_records_are_not_searched_again(void **state)
{
    static const char *const splitters[] = { "lines", "nul",       "csv",    "fasta",
                                             "fastq", "paragraph", "regex:b" };
    const size_t n = 300000;
    char *bytes = malloc(n + 1);

    (void)state;
    assert_non_null(bytes);
    for (size_t k = 0; k < sizeof splitters / sizeof splitters[0]; k++) {
        struct cv_splitter *splitter = parse(splitters[k]);
        struct cv_cut_window window;
        size_t cut = 0;

        for (size_t i = 0; i < n; i++)
            bytes[i] = i % 10 == 9 ? '\n' : 'a';
        bytes[0] = splitters[k][0] == 'c' ? '"' : '@';
        if (splitters[k][0] == 'l')
            memset(bytes, 'a', n);
        cv_cut_window_init(&window, splitter);
        for (size_t length = 1; length <= n; length++) {
            assert_int_equal(cv_cut_window_find(&window, bytes, length, false, 1000, &cut,
                                                NULL),
                             CLEAVE_OK);
            assert_int_equal(cut, 0);
        }
        assert_int_equal(cv_cut_window_find(&window, bytes, n, true, 1000, &cut, NULL),
                         CLEAVE_OK);
        assert_int_equal(cut, n);
        cv_splitter_free(splitter);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_letters),
        cmocka_unit_test(all_short_inputs),
        cmocka_unit_test(orderly_csv),
        cmocka_unit_test(misleading_fastq),
        cmocka_unit_test(quality_that_reads_as_a_record),
        cmocka_unit_test(records_larger_than_blocks),
        cmocka_unit_test(past_four_gigabytes),
        cmocka_unit_test(streams_past_four_gigabytes),
        cmocka_unit_test(cuts_of_small_groups_are_not_searched_again),
        cmocka_unit_test(large_records_are_not_searched_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
