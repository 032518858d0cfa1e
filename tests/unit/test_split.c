/* test_split.c -- splitters by name, their records, refused input.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/random.h"
#include "run/split/split_kind.h"
#include "run/split/split_mask.h"
#include "split_check.h"

static struct cv_splitter *parse(const char *text)
{
    struct cv_splitter *splitter = NULL;
    struct cleave_error err;

    if (cv_splitter_parse(text, &splitter, &err) != CLEAVE_OK)
        fail_msg("%s: %s", text, err.text);
    return splitter;
}

static void names(void **state)
{
    static const char *const good[] = {
        "lines",   "nul",   "csv",        "csv:;",   "jsonl",     "csv:tab",
        "fasta",   "fastq", "fixed:64Ki", "fixed:1", "paragraph", "regex:^(a|b):[0-9]{2}",
        "regex::", "json",  "warc",       "xml:a",   "tar",       "bam",
        "pcap"
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct cv_splitter *splitter = parse(good[i]);

        assert_string_equal(cv_splitter_text(splitter), good[i]);
        assert_int_equal(splitter->kind->needs_pass,
                         good[i][0] == 'c' || strncmp(good[i], "json", 5) == 0 ||
                             strcmp(good[i], "warc") == 0 || good[i][0] == 'x' ||
                             strcmp(good[i], "tar") == 0 || strcmp(good[i], "bam") == 0 ||
                             strcmp(good[i], "pcap") == 0);
        assert_int_equal(splitter->kind->pairs, strcmp(good[i], "fastq") == 0);
        cv_splitter_free(splitter);
    }
    cv_splitter_free(NULL);
}

/* A kind of splitter without a reference would never be tried on random inputs. */
static void every_kind_has_a_reference(void **state)
{
    (void)state;
    assert_string_equal(cv_splitter_name(0), "lines"); /* the default */
    for (size_t i = 0; i < cv_splitter_kinds(); i++) {
        const char *name = cv_splitter_name(i);
        size_t found = 0;

        for (size_t k = 0; k < REFERENCE_CASES; k++)
            found += strcspn(reference_cases[k].splitter, ":") == strlen(name) &&
                     strncmp(reference_cases[k].splitter, name, strlen(name)) == 0;
        if (found == 0)
            fail_msg("split_reference.h has no case for '%s'", name);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(cv_splitter_name(k), name);
    }
}

/* A wrong name is answered with all names. */
static void unknown_names(void **state)
{
    static const char *const unknown[] = { "pickle", "" };

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct cv_splitter *splitter = NULL;
        struct cleave_error err;
        char expected[512];
        size_t length = (size_t)snprintf(expected, sizeof expected,
                                         "unknown splitter '%s'; known: ", unknown[k]);

        for (size_t i = 0; i < cv_splitter_kinds(); i++)
            length += (size_t)snprintf(expected + length, sizeof expected - length,
                                       "%s%s", i > 0 ? ", " : "", cv_splitter_name(i));
        assert_int_equal(cv_splitter_parse(unknown[k], &splitter, &err), CLEAVE_EINPUT);
        assert_string_equal(err.text, expected);
    }
}

static void mistakes(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "line", "unknown splitter 'line'; did you mean 'lines'?" },
        { "fastaq", "unknown splitter 'fastaq'; did you mean 'fasta' or 'fastq'?" },
        { "tsv", "unknown splitter 'tsv': its records are lines, or csv:tab where quotes "
                 "hold ends of lines" },
        { "ndjson", "unknown splitter 'ndjson': its records are jsonl" },
        { "fq", "unknown splitter 'fq': its records are fastq" },
        { "vcf", "unknown splitter 'vcf': its records are lines with input.header '#'" },
        { "lines:3", "expected 'lines' with nothing after its name, got 'lines:3'" },
        { "fixed", "expected 'fixed:BYTES', got 'fixed'" },
        { "regex:", "expected 'regex:RE', got 'regex:'" },
        { "fixed:0", "expected 'fixed:BYTES' with a whole number of bytes, 1 or more, "
                     "such as 4096 or 64Ki, got '0'" },
        { "fixed:1.5", "expected 'fixed:BYTES' with a whole number of bytes, 1 or more, "
                       "such as 4096 or 64Ki, got '1.5'" },
        { "fixed:-7", "expected 'fixed:BYTES' with a whole number of bytes, 1 or more, "
                      "such as 4096 or 64Ki, got '-7'" },
        { "fixed:1e300",
          "expected 'fixed:BYTES' with a whole number of bytes, 1 or more, "
          "such as 4096 or 64Ki, got '1e300'" },
        { "csv:ab", "expected 'csv:' and one character between fields, or 'tab', "
                    "got 'ab'" },
        { "csv:\"", "expected 'csv:' and one character between fields, or 'tab', "
                    "got '\"'" },
        /* The reason is in the words of the C library. */
        { "regex:a)(b", "expected an extended regular expression, got 'a)(b': " },
        /* Misleading expressions. */
        { "regex:^\\d+", "expected an extended regular expression, as of grep -E, got "
                         "'\\d', which there is the letter d (a digit is [0-9])" },
        { "regex:(a|\\tb)", "expected an extended regular expression, as of grep -E, got "
                            "'\\t', which there is the letter t (write the tab itself)" },
        { "xml", "expected 'xml:ELEMENT', got 'xml'" },
        { "xml:<a>",
          "expected 'xml:' and the name of an element, as in xml:page, got '<a>'" },
        { "json:lines", "expected 'json' or 'json:values', got 'lines'" },
        { "regex:[", "expected an extended regular expression, got '[': " },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cv_splitter *splitter = NULL;
        struct cleave_error err;

        assert_int_equal(cv_splitter_parse(cases[i].text, &splitter, &err),
                         CLEAVE_EINPUT);
        assert_null(splitter);
        if (strncmp(cases[i].text, "regex:", 6) == 0)
            err.text[strlen(cases[i].message)] = '\0';
        assert_string_equal(err.text, cases[i].message);
    }
}

/* Inputs with a bar at every boundary within. */
static void definitions(void **state)
{
    static const struct {
        const char *splitter, *marked;
    } cases[] = {
        { "lines", "a\r\n|\n|\xff\x80\n|b" },
        { "jsonl", "{\"a\": \"x\\ny\"}\n|[1,\"\"]\n" },
        { "csv", "a,b\n|\"1\n2\",3\r\n|\"say \"\"hi\"\"\n\",4\n|5\" pipe,6\n|,\"\"\n|7" },
        { "csv", "\xef\xbb\xbf\"a\nb\",c\n|d\n" },
        { "csv", "\xef\"a\n|\"b\n" },
        { "csv", "a\n|\xef\xbb\xbf\"b\nc\",\xef\xbb\xbf\"d\n|\xef\xbb\"e\n|f\n" },
        { "csv", "a, \"b\n|c\"\n|\"d\"e\"\n|f\"\"\n" },
        { "csv", "a,b\n|c,\"never closed\n1,2\n" },
        { "csv:;", "a,\"b\n|c;\"d\ne\"\n" },
        { "csv:tab", "a\t\"d\ne\"\n|f" },
        { "fasta", ">a\nAC>GT\n\n|>b\r\nAC\r\n|>c" },
        { "fasta", "; what comes before\n>a\nAC\n|>b\nGT\n" },
        { "fasta", "no record at all\n" },
        { "fastq", "@a\nACGT\n+\n@@++\n|@b\nAC\nGT\n+b\n@I\n+I\n|@c\n\n+\n\n|@d\n+\n" },
        { "fastq", "\n@a\r\nA\r\n+\r\n@\r\n\r\n|@b\r\nAC\r\n+\r\nI" },
        { "paragraph", "\n\na\nb\n\n|c\r\n\r\n\r\n|d\n \ne\n\n" },
        { "fixed:4", "abcd|\n\n\n\n|ef" },
        { "regex:[0-9]+:", "x\n1: a\n  2:\n|23: b\n\n|4:5:" },
        { "regex:^From ", "From a\n>From b\n|From c\n From d\n|From \n" },
        { "regex:ab?c|d$", "ac\n|d\r\n|abc\nabbc\n" },
        { "regex:ab?c", "x\nac\n|abc\nab\n|ac" },
        { "regex:(.)\\1", "aa\nab\n|bb" },
        { "regex:\\w\\\\n\\.", "a\\n.\nan.\n|b\\n." },
        { "regex:[]n\\]", "x\nn\n|]\n|\\" },
        { "regex:a\\nb", "a\na\nb\na\n|a\nb\n|a\nb" },
        { "regex:a\nb$", "a\nb\na\nbc\n|a\nb\n" },
        { "regex:[^x]\\r?\\n.$", "x\nb\r\nc\r\n\nd\n|e\nx\nf" },
        { "json", "\n[ 1|, 2\n|, {\"a\": [3, \",]\\\"\"]} |,\"x,y\"|,[4,5]\n]\n" },
        { "json", "\xef\xbb\xbf[]" },
        { "json", "{\"a\": 1,\n \"b\": [2, 3]}\n|{}|[4]\n|\"x y\"\t|12 |true|\"\"|{}\n" },
        { "json:values", "[1, 2]\n|[3,\n4]\n" },
        { "json", " \n" },
        { "xml:p",
          "<?xml?>\n<r>\n<p id='1'>x</p>\n|<p/>|<p a=\"/>\">\n<q><p>in</p></q></p> "
          "<!-- <p> --><![CDATA[<p>]]>\n|<p\n></p ></r>\n" },
        { "xml:p", "<!DOCTYPE r [ <!ENTITY p '<p>'> ]><r><pp/><p>1</p>|<p>2</p></r>" },
        { "warc",
          "WARC/1.0\r\nContent-Length: 9\r\n\r\nWARC/1.0\n\r\n\r\n|WARC/1.1\n"
          "A: b\ncontent-length:0\n\n\n\n|WARC/1.0\nContent-Length: 3\nX: y\n\nabc" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cv_splitter *splitter = parse(cases[i].splitter);
        struct split_input input;
        char bytes[200];
        bool is[200] = { false };
        size_t n = 0;

        for (const char *at = cases[i].marked; *at != '\0'; at++)
            if (*at == '|')
                is[n] = true;
            else
                bytes[n++] = *at;
        split_input_open(&input, splitter, bytes, n);
        memcpy(input.is, is, n);
        input.is[0] = input.is[n] = true;
        check_file(&input, 4096, 1);
        check_file(&input, 2, 0);
        for (size_t wanted = 0; wanted <= n + 1; wanted++)
            for (size_t piece = 1; piece <= n + 1; piece++)
                check_stream(&input, piece, wanted);
        split_input_close(&input);
        cv_splitter_free(splitter);
    }
}

/* Files with a mark, one after the other: at every position of the mark in a block. */
static void marks_of_joined_files(void **state)
{
    static const char joined[] = "\n\xef\xbb\xbf\"b\nc\"\nd\n";
    struct cv_splitter *splitter = parse("csv");

    (void)state;
    for (size_t before = 0; before < 140; before++) {
        struct split_input input;
        char bytes[200];
        const size_t n = before + sizeof joined - 1;

        memset(bytes, 'a', before);
        memcpy(bytes + before, joined, sizeof joined - 1);
        split_input_open(&input, splitter, bytes, n);
        assert_true(reference_csv(bytes, n, input.is));
        assert_false(input.is[before + 7]); /* between quotes */
        check_file(&input, 4096, 1);
        split_input_close(&input);
    }
    cv_splitter_free(splitter);
}

/* Zero bytes are bytes like others, but for nul. */
static void binary(void **state)
{
    static const char bytes[] = "a\0b\n\0\0c\n\n\0";
    static const struct {
        const char *splitter;
        size_t records;
    } cases[] = { { "lines", 4 }, { "nul", 4 }, { "fixed:3", 4 }, { "regex:a.b$", 1 } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cv_splitter *splitter = parse(cases[i].splitter);
        uint64_t records = 0;

        assert_int_equal(cv_splitter_count_from(splitter, 0, 0, bytes, sizeof bytes - 1,
                                                &records, NULL),
                         CLEAVE_OK);
        assert_int_equal(records, cases[i].records);
        cv_splitter_free(splitter);
    }
}

/* The place of an error in a FASTQ file is reported, for a file and for a stream. */
static void bad_fastq(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "ACGT\n", "byte 0: expected '@' at the start of a FASTQ record, got 'A'" },
        { "@a\nAC\n+\nIII\n",
          "the FASTQ record at byte 0: expected a quality of 2 bytes, "
          "as long as the sequence, got 3" },
        { "@a\nAC\n+\nII\nx", "byte 11: expected '@' at the start of a FASTQ record, "
                              "got 'x'" },
        { "@a\nAC\n+\nII\n@b\n@c\n", "byte 14: expected a sequence or '+', got '@'" },
        { "@a\nA\n+\nI\n\r\r\n@", "byte 9: expected '@' at the start of a FASTQ record, "
                                  "got byte 0x0d" },
    };
    struct cv_splitter *splitter = parse("fastq");

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const size_t n = strlen(cases[i].text);
        struct cleave_error err;
        struct split_input input;
        struct cv_cut_file file;
        struct cv_cut_window window;
        uint64_t at = 5;
        size_t cut = 5;

        split_input_open(&input, splitter, cases[i].text, n);
        cv_cut_file_init(&file, splitter, "reads.fq", input.fd, n);
        assert_int_equal(cv_cut_file_at(&file, n - 1, &at, &err), CLEAVE_EINPUT);
        assert_string_equal(err.text, cases[i].message);
        assert_string_equal(err.file, "reads.fq");
        assert_int_equal(at, 5);
        cv_cut_window_init(&window, splitter);
        assert_int_equal(cv_cut_window_find(&window, cases[i].text, n, true, n, &cut,
                                            &err),
                         CLEAVE_EINPUT);
        assert_string_equal(err.text, cases[i].message);
        assert_int_equal(cut, 5);
        cv_cut_file_done(&file);
        split_input_close(&input);
    }
    cv_splitter_free(splitter);
}

/* A bad record is found near the cut too, without a search of all bytes before it. */
static void bad_fastq_near_a_cut(void **state)
{
    static const char record[] = "@a\nACGT\n+\n@@@@\n";
    const size_t size = sizeof record - 1, count = 4000;
    struct cv_splitter *splitter = parse("fastq");
    char *bytes = malloc(count * size);
    struct cleave_error err;
    struct split_input input;
    struct cv_cut_file file;
    uint64_t at = 0;

    (void)state;
    assert_non_null(bytes);
    for (size_t i = 0; i < count; i++)
        memcpy(bytes + i * size, record, size);
    bytes[3000 * size + 5] = '\n'; /* its sequence is a byte shorter now */
    split_input_open(&input, splitter, bytes, count * size);
    cv_cut_file_init(&file, splitter, "reads.fq", input.fd, count * size);
    file.near = 64;
    assert_int_equal(cv_cut_file_at(&file, 2000 * size - 3, &at, &err), CLEAVE_OK);
    assert_int_equal(at, 2000 * size);
    assert_int_equal(cv_cut_file_at(&file, 3001 * size + 3, &at, &err), CLEAVE_EINPUT);
    assert_string_equal(err.text, "the FASTQ record at byte 45000: expected a quality of "
                                  "3 bytes, as long as the sequence, got 4");
    assert_int_equal(cv_cut_file_at(&file, 3500 * size - 3, &at, &err), CLEAVE_OK);
    assert_int_equal(at, 3500 * size);
    cv_cut_file_done(&file);
    split_input_close(&input);
    free(bytes);
    cv_splitter_free(splitter);
}

static void records_cut_short(void **state)
{
    static const struct {
        const char *splitter, *text;
        uint64_t torn;
    } cases[] = {
        { "csv", "a,b\n\"c\n", 4 },
        { "csv", "a,b\n\"c\"", UINT64_MAX },
        { "csv", "\"", 0 },
        { "fastq", "@a\nA\n+\nI", UINT64_MAX },
        { "fastq", "@a\nAC\n+\nI", 0 },
        { "fastq", "@a\nA\n+\nI\n@b\n", 9 },
        { "fastq", "@a\n+", UINT64_MAX },
        { "fastq", "@a\nA\n+\nI\r", UINT64_MAX },
        { "warc", "WARC/1.0\nContent-Length: 3\n\nab", 0 },
        { "warc", "WARC/1.0\nContent-Length: 2\n\nab\n\nWARC", 32 },
        { "xml:p", "<r><p>1</p><p>2", 11 },
        { "json", "[1, \"2", 2 },
        { "json", "[1]\n", UINT64_MAX },
        { "json", "{} {\"a\": 1", 3 },
        { "lines", "a", UINT64_MAX },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cv_splitter *splitter = parse(cases[i].splitter);
        const size_t n = strlen(cases[i].text);
        struct split_input input;
        struct cv_cut_file file;
        struct cv_cut_window window;
        uint64_t records;
        size_t cut;

        split_input_open(&input, splitter, cases[i].text, n);
        cv_cut_file_init(&file, splitter, "input", input.fd, n);
        assert_int_equal(cv_cut_file_count(&file, 0, n, &records, NULL), CLEAVE_OK);
        assert_int_equal(file.torn, cases[i].torn);
        cv_cut_window_init(&window, splitter);
        assert_int_equal(cv_cut_window_find(&window, cases[i].text, n, true, n, &cut,
                                            NULL),
                         CLEAVE_OK);
        assert_int_equal(cut, n);
        assert_int_equal(window.torn, cases[i].torn);
        cv_cut_file_done(&file);
        split_input_close(&input);
        cv_splitter_free(splitter);
    }
}

/* A chunk need not be taken as it was asked for first. */
static void smaller_chunks_after_all(void **state)
{
    static const struct {
        const char *splitter, *text;
    } cases[] = {
        { "lines", "a\nb\nc\nd\n" },
        { "csv", "1\n2\n3\n4\n" },
        { "fastq", "@\n+\n@\n+\n@\n+\n@\n+\n" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cv_splitter *splitter = parse(cases[i].splitter);
        const size_t n = strlen(cases[i].text), record = n / 4;
        struct cv_cut_window window;

        cv_cut_window_init(&window, splitter);
        for (size_t wanted = n; wanted-- > 0;) {
            const size_t expected = wanted < record ? record : wanted / record * record;
            size_t cut = 0;

            assert_int_equal(cv_cut_window_find(&window, cases[i].text, n, false, wanted,
                                                &cut, NULL),
                             CLEAVE_OK);
            assert_int_equal(cut, expected);
        }
        cv_splitter_free(splitter);
    }
}

static void files_that_cannot_be_read(void **state)
{
    struct cv_splitter *splitter = parse("lines");
    struct split_input input;
    struct cv_cut_file file;
    struct cleave_error err;
    uint64_t at = 3;

    (void)state;
    split_input_open(&input, splitter, "abc", 3);
    cv_cut_file_init(&file, splitter, "shrunk", input.fd, 10);
    assert_int_equal(cv_cut_file_at(&file, 5, &at, &err), CLEAVE_EINPUT);
    assert_string_equal(err.file, "shrunk");
    assert_string_equal(err.text, "expected 10 bytes, got 3");
    cv_cut_file_done(&file);
    cv_cut_file_init(&file, splitter, "closed", -1, 10);
    assert_int_equal(cv_cut_file_at(&file, 5, &at, &err), CLEAVE_EINPUT);
    assert_string_equal(err.text, "cannot read at byte 0: Bad file descriptor");
    assert_int_equal(at, 3);
    cv_cut_file_done(&file);
    split_input_close(&input);
    cv_splitter_free(splitter);
}

static void bytes_compared_and_counted(void **state)
{
    struct cv_random random;
    char *bytes = malloc(70000);

    (void)state;
    assert_non_null(bytes);
    cv_random_at(&random, 4, 0, 0, 0);
    for (size_t i = 0; i < 70000; i++)
        bytes[i] = (char)(cv_random_bits(&random) % 256);
    for (size_t at = 0; at < 3000; at++) {
        const char byte = at % 2 == 0 ? bytes[at] : (char)at;
        uint64_t expected = 0;

        for (unsigned i = 0; i < 64; i++)
            expected |= (uint64_t)(bytes[at + i] == byte) << i;
        assert_true(cv_mask64(bytes + at, byte) == expected);
        assert_true(cv_mask64_plain(bytes + at, byte) == expected);
    }
    for (size_t turn = 0; turn < 100; turn++) {
        /* The bytes of one kind alone fill their lanes. */
        const size_t start = turn, length = turn < 80 ? turn * 7 : 70000 - turn;
        const char byte = turn % 3 == 0 ? 'x' : bytes[turn];
        uint64_t expected = 0;

        if (turn == 90)
            memset(bytes, 'x', 70000);
        for (size_t i = 0; i < length; i++)
            expected += bytes[start + i] == byte;
        assert_int_equal(cv_count_byte(bytes + start, length, byte), expected);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(every_kind_has_a_reference),
        cmocka_unit_test(unknown_names),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(definitions),
        cmocka_unit_test(marks_of_joined_files),
        cmocka_unit_test(binary),
        cmocka_unit_test(bad_fastq),
        cmocka_unit_test(bad_fastq_near_a_cut),
        cmocka_unit_test(records_cut_short),
        cmocka_unit_test(smaller_chunks_after_all),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(bytes_compared_and_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
