/* test_format_choice.c -- the format of an input by its name and first bytes.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "run/split/format_choice.h"

#define BYTES(text) sizeof(text) - 1, text

static const struct {
    const char *split, *header; /* NULL: none */
    size_t length;
    const char *bytes;
} cases[] = {
    { "fastq", NULL, BYTES("@read/1\nACGTN\n+\nIIIII\n@read/2\n") },
    { "fastq", NULL, BYTES("@read/1\r\nACGTN\r\n+read/1\r\n@IIII\r\n") },
    { "lines", NULL, BYTES("@name\nis a word\nof a line\n") },
    { "lines", NULL, BYTES("@name\n") },
    { "fasta", NULL, BYTES(">chr1 of something\nACGTACGTACGT\nACGT\n") },
    { "fasta", NULL, BYTES("\xef\xbb\xbf>p\r\nMKV*LL-WERTY\r\n") },
    { "lines", NULL, BYTES("> quoted\n> mail with words\n") },
    { "lines", NULL, BYTES(">redirect\nshort\n") },
    { "warc", NULL, BYTES("WARC/1.0\r\nWARC-Type: warcinfo\r\n") },
    { "lines", NULL, BYTES("WARSAW\n") },
    { "lines", NULL, BYTES("<?php echo 1;\n") },
    { "json:values", NULL, BYTES("[\n  {\"a\": 1},\n") },
    { "json:values", NULL, BYTES("[{\"a\": \"]}\"},\n {\"a\": 2}]\n") },
    { "json:values", NULL, BYTES("{\r\n  \"a\": 1\r\n}\r\n") },
    { "jsonl", NULL, BYTES("{\"a\": 1}\n{\"a\": 2}\n") },
    { "jsonl", NULL, BYTES("[1, 2]\n[3, 4]\n") },
    { "jsonl", NULL, BYTES("{\"a\": \"{\\\"[\"}\n{}\n") },
    { "json:values", NULL, BYTES("[1, 2]\n") },
    { "lines", NULL, BYTES("[INFO] started,\n[INFO] ended\n") },
    { "lines", NULL, BYTES("[3] (of 4\n") },
    { "lines", NULL, BYTES("[Mon] [error] x\n") },
    { "lines", "#", BYTES("##fileformat=VCFv4.2\n#CHROM\tPOS\n") },
    { "lines", "@", BYTES("@HD\tVN:1.6\n@SQ\tSN:c\tLN:100\n") },
    { "bam", NULL, BYTES("BAM\1\0\0\0\0") },
    { "csv", "", BYTES("id,name\n1,x\n2,y\n") },
    { "csv", "", BYTES("id,name\r\n1,\"x\r\n,y\"\r\n2,y\r\n") },
    { "csv:tab", "", BYTES("id\tname\n1\tx\n2\ty\n") },
    { "csv:;", "", BYTES("id;name\n1;x\n2;y\n") },
    /* No names, no numbers, other numbers of columns, one column. */
    { "lines", NULL, BYTES("1,2\n3,4\n") },
    { "lines", NULL, BYTES("Hello, world\nBye, 1\n") },
    { "lines", NULL, BYTES("red,blue\na,b\n") },
    { "lines", NULL, BYTES("a,b\n1,2\n3\n") },
    { "lines", NULL, BYTES("a,a\n1,2\n3,4\n") },
    { "lines", NULL, BYTES("a\n1\n") },
    { "lines", NULL, BYTES("\"a,\nb\",c\n1,2\n") },
    { "lines", NULL, BYTES("a\0b") },
    { "lines", NULL, BYTES("") },
    { "lines", NULL, BYTES("\xef\xbb\xbf") },
};

/* In its own memory, so that a read after its end is noticed. */
static enum cleave_status choose(const char *name, const char *bytes, size_t length,
                                 bool ends, struct cv_format_choice *out, bool *decided)
{
    char *copy = malloc(length > 0 ? length : 1);
    enum cleave_status status;

    assert_non_null(copy);
    memcpy(copy, bytes, length);
    *out = (struct cv_format_choice){ 0 };
    status = cv_format_choose(name, copy, length, ends, out, decided, NULL);
    free(copy);
    return status;
}

static void first_bytes_show_the_format(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cv_format_choice choice;
        bool decided;

        assert_int_equal(choose(NULL, cases[i].bytes, cases[i].length, true, &choice,
                                &decided),
                         CLEAVE_OK);
        assert_true(decided);
        assert_string_equal(choice.split, cases[i].split);
        assert_int_equal(choice.header != NULL, cases[i].header != NULL);
        if (choice.header != NULL)
            assert_string_equal(choice.header, cases[i].header);
    }
}

/* A pipe gives the bytes in any pieces: an early decision is that for all bytes. */
static void early_choice_is_the_last(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t length = 0; length < cases[i].length; length++) {
            struct cv_format_choice choice;
            bool decided;

            assert_int_equal(choose(NULL, cases[i].bytes, length, false, &choice,
                                    &decided),
                             CLEAVE_OK);
            if (decided)
                assert_string_equal(choice.split, cases[i].split);
        }
}

/* Pieces of any bytes: an early decision by name and bytes is the last one. */
static void early_choice_by_name_is_the_last(void **state)
{
    static const char letters[] = "abz,;\t\n\r\"{}[]@>#+019. \\:<";
    static const char *const names[] = { NULL,      "a.csv",   "a.tsv", "a.json",
                                         "a.jsonl", "a.fastq", "a.fa",  "a.vcf" };
    unsigned random = 1;

    (void)state;
    for (size_t k = 0; k < 20000; k++) {
        const char *name = names[k % (sizeof names / sizeof *names)];
        struct cv_format_choice all, early;
        char bytes[40];
        bool decided;
        enum cleave_status status;

        for (size_t i = 0; i < sizeof bytes; i++) {
            random = random * 1664525u + 1013904223u;
            bytes[i] = letters[(random >> 16) % (sizeof letters - 1)];
        }
        status = choose(name, bytes, sizeof bytes, true, &all, &decided);
        for (size_t length = 0; length < sizeof bytes; length++) {
            const enum cleave_status then =
                choose(name, bytes, length, false, &early, &decided);

            if (then != CLEAVE_OK || decided)
                assert_int_equal(then, status);
            if (then == CLEAVE_OK && decided)
                assert_string_equal(early.split, all.split);
        }
    }
}

static void name_and_bytes_must_agree(void **state)
{
    static const struct {
        const char *name, *split, *bytes; /* split NULL: an error */
    } rows[] = {
        { "a.fastq", "fastq", "@r\nAC\n" },
        { "a.fq.gz", "fastq", "@r\nAC\nGT\n+\nIIII\n" },
        { "a.fastq", NULL, "r\n" },
        { "a.fasta", "fasta", ">r\nAC\n" },
        { "a.fa", NULL, "@r\nAC\n+\nII\n" },
        { "a.csv", "csv", "1,2\n" },
        { "A.CSV", "csv", "x\n" },
        { "a.csv", "csv:;", "a;b\n" },
        { "a.csv", "csv:tab", "a\tb\n" },
        { "a.csv", NULL, "@r\nAC\n+\nII\n" },
        { "a.csv", NULL, "{\"a\": 1}\n" },
        { "a.tsv", "csv:tab", "a b\n" },
        { "a.tsv", NULL, "a,b\n1,2\n" },
        { "a.jsonl", "jsonl", "{\"a\": 1}\n" },
        { "a.ndjson", NULL, "a: 1\n" },
        { "a.jsonl", NULL, "[\n1,\n" },
        { "a.json", "json:values", "{\"a\": 1}\n" },
        { "a.json", "json:values", " [1,\n2]" },
        { "a.json", NULL, "a: 1\n" },
        { "a.vcf", "lines", "#x\n" },
        { "a.vcf", NULL, "x\n" },
        { "a.sam", "lines", "r\t0\n" },
        { "a.bam", NULL, "@HD\t\n" },
        { "a.bam", "bam", "" },
        { "a.warc", NULL, "x\n" },
        { "a.xml", NULL, "<a/>\n" },
        { "a.txt", NULL, "<?xml version=\"1.0\"?>\n" },
        { "a.txt", "fastq", "@r\nAC\n+\nII\n" },
        { ".csv", "lines", "1,2\n" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cv_format_choice choice;
        bool decided = false;
        const enum cleave_status status =
            choose(rows[i].name, rows[i].bytes, strlen(rows[i].bytes), true, &choice,
                   &decided);

        assert_int_equal(status == CLEAVE_OK, rows[i].split != NULL);
        if (rows[i].split != NULL)
            assert_string_equal(choice.split, rows[i].split);
    }
}

static void other_files_must_agree(void **state)
{
    static const struct {
        const char *name, *bytes;
        bool agrees;
    } rows[] = {
        { "b.csv", "x\n", true },     { "b", "1,2\n", true },
        { "b.txt", "x\n", true },     { "b", "@r\nAC\n+\nII\n", false },
        { "b.fastq", "@r\n", false }, { "b.tsv", "a\tb\n", false },
        { "b.fastq", "", true },
    };
    struct cv_format_choice csv;
    bool decided;

    (void)state;
    assert_int_equal(choose("a.csv", "a,b\n", 4, true, &csv, &decided), CLEAVE_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(cv_format_agree(&csv, "a.csv", rows[i].name, rows[i].bytes,
                                         strlen(rows[i].bytes), NULL) == CLEAVE_OK,
                         rows[i].agrees);
}

/* Bytes of no line at all are decided once there are CV_CHOICE_LOOK. */
static void enough_bytes_decide(void **state)
{
    char *bytes = malloc(CV_CHOICE_LOOK);
    struct cv_format_choice choice;
    bool decided;

    (void)state;
    assert_non_null(bytes);
    memset(bytes, 'x', CV_CHOICE_LOOK);
    choose(NULL, bytes, CV_CHOICE_LOOK - 1, false, &choice, &decided);
    assert_false(decided);
    choose(NULL, bytes, CV_CHOICE_LOOK, false, &choice, &decided);
    assert_true(decided);
    assert_string_equal(choice.split, "lines");
    bytes[0] = '[';
    bytes[1] = '{';
    bytes[2] = '"';
    choose(NULL, bytes, CV_CHOICE_LOOK, false, &choice, &decided);
    assert_string_equal(choice.split, "json:values");
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_bytes_show_the_format),
        cmocka_unit_test(early_choice_is_the_last),
        cmocka_unit_test(early_choice_by_name_is_the_last),
        cmocka_unit_test(name_and_bytes_must_agree),
        cmocka_unit_test(other_files_must_agree),
        cmocka_unit_test(enough_bytes_decide),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
