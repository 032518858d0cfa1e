/* test_named_reduction.c -- reductions that cleave does itself. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "run/fold/named_reduction.h"

enum { ROOM = 1 << 16, PARTS = 8 };

static const atomic_bool never;
static struct cleave_error err;

/* The result of a call, in a buffer that lasts; its length in *out_length. */
static char *reduce(const char *name, const struct cv_named_part *parts, size_t count,
                    bool last, size_t *out_length)
{
    struct cv_named_reduction how;
    struct stat facts;
    const int fd = memfd_create("result", MFD_CLOEXEC);
    char *bytes;

    assert_true(fd >= 0);
    assert_int_equal(cv_named_reduction_parse(name, &how, &err), CLEAVE_OK);
    if (cv_named_reduce(&how, parts, count, last, fd, &never, &err) != CLEAVE_OK) {
        close(fd);
        return NULL;
    }
    assert_int_equal(fstat(fd, &facts), 0);
    *out_length = (size_t)facts.st_size;
    bytes = malloc(*out_length + 1);
    assert_non_null(bytes);
    assert_int_equal(pread(fd, bytes, *out_length, 0), facts.st_size);
    bytes[*out_length] = '\0';
    close(fd);
    return bytes;
}

static void outputs_become_one(void **state)
{
    /* Outputs end at a '|'. */
    static const struct {
        const char *name, *outputs, *expected;
    } cases[] = {
        { "sum", "1\n2\n|3\n", "6\n" },
        { "sum", "1|2", "3\n" }, /* the end of an output ends its line */
        { "sum", "", "0\n" },
        { "sum", "||\n\n", "0\n" },
        { "sum", "1\r\n|2\r\n", "3\n" },
        { "sum", "-5\n|+3\n|-0\n", "-2\n" },
        { "sum", "-1\n|1\n", "0\n" },
        { "sum", "0.1\n|0.2\n", "0.3\n" },
        { "sum", "1.5\n|2.5\n", "4\n" },
        { "sum", "1.50\n|2.25\n|.25\n", "4.00\n" },
        { "sum", "-0.25\n|0.125\n", "-0.125\n" },
        { "sum", "1e3\n|2.5E-1\n|1e+0\n", "1001.25\n" },
        { "sum", "9223372036854775807\n|9223372036854775807\n|2\n",
          "18446744073709551616\n" },
        { "sum", "-99999999999999999999999999\n|1\n", "-99999999999999999999999998\n" },
        { "sum", "1000000000\n|-1\n", "999999999\n" },
        { "sum", "0.000000001\n|-1\n", "-0.999999999\n" },
        { "sum", "1 2 x\n|3\t4 x\n", "4 6 x\n" },
        { "sum", "1 2\n|3\n", "4 2\n" },
        { "sum", "      1       2\n|      3 1234567\n", "      4 1234569\n" },
        { "sum", "      9\n|1234567\n", "1234576\n" },
        { "sum", "total: 1\n|total: 2\n", "total: 3\n" },
        { "count", "a\nb\n|c", "3\n" },
        { "count", "", "0\n" },
        { "count", "|\n|x\0y", "2\n" },
        { "min", "3\n1 x\n|1.0 y\n2\n", "1 x\n" },
        { "max", "3\n1 x\n|-7 y\n 3.00 z\n", "3\n" },
        { "max", "-3\n|-2.5\n|-1e1", "-2.5\n" },
        { "min", "0\n|-0\n|1e-400\n", "0\n" },
        { "max", "999999999999999999999\n|1e21\n", "1e21\n" },
        { "min", "\n|", "" },
        { "uniq", "a\na\n|a\nb\n|b\na", "a\nb\na\n" },
        { "uniq", "\n\n|\nx", "\nx\n" },
        { "counts", "      2 b\n      1 c\n|      3 a\n      4 b\n",
          "      3 a\n      6 b\n      1 c\n" },
        { "counts", "2\tb b\n|10\tb b\n|1\t\n", "1\t\n12\tb b\n" },
        { "counts", "1 ab\n|2 a\n", "2 a\n1 ab\n" },
        { "first", "|a\nb\n|c\n", "a\n" },
        { "first", "a", "a" },
        { "last", "a\nb\n|c|", "c" },
        { "last", "a\n|\n", "\n" },
        { "head:3", "a\n|b|c\nd\n", "a\nb\nc\n" },
        { "first", "a|b\n", "a\n" },
        { "head", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n",
          "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n" },
        { "tail:3", "a\nb\n|c|d\n", "b\nc\nd\n" },
        { "tail:9", "a\nb", "a\nb" },
        { "tail:1", "", "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cv_named_part parts[PARTS] = { { "", 0, false } };
        const char *at = cases[i].outputs;
        size_t count = 0, length;
        char *result;

        for (;; at++) {
            parts[count] =
                (struct cv_named_part){ .bytes = at, .length = strcspn(at, "|") };
            at += parts[count++].length;
            if (*at == '\0')
                break;
        }
        result = reduce(cases[i].name, parts, count, true, &length);
        assert_non_null(result);
        if (strcmp(result, cases[i].expected) != 0)
            fail_msg("%s of '%s': expected '%s', got '%s'", cases[i].name,
                     cases[i].outputs, cases[i].expected, result);
        free(result);
    }
}

static void unexpected_lines_are_reported(void **state)
{
    static const struct {
        const char *name, *output, *expected;
    } cases[] = {
        { "sum", "1\nabc\n", "sum: expected a number in column 1, got 'abc'" },
        { "sum", "x 1\nx 0x10\n", "sum: expected a number in column 2, got '0x10'" },
        { "sum", "a\nb\n", "sum: expected a number in column 1, got 'b'" },
        { "sum", "1e\n2\n", "sum: expected a number in column 1, got '1e'" },
        { "sum", "1e600\n",
          "sum: expected numbers of at most 567 digits before and after the point" },
        { "max", "nan\n", "max: expected a number in column 1, got 'nan'" },
        { "counts", "3x a\n",
          "counts: expected a count and a key, as 'uniq -c' writes, got '3x a'" },
        { "counts", "18446744073709551615 a\n1 a\n",
          "counts: the count of 'a' is above 2^64 - 1" },
    };
    size_t length;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cv_named_part part = { cases[i].output, strlen(cases[i].output),
                                            false };

        assert_null(reduce(cases[i].name, &part, 1, true, &length));
        assert_string_equal(err.text, cases[i].expected);
    }
}

static uint32_t draw(uint32_t below)
{
    static uint64_t state = 88172645463325252u;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32) % below;
}

/* Outputs in lines, which may lack the last end. */
static size_t make_output(bool counts, char *out)
{
    size_t length = 0;

    for (uint32_t n = draw(6); n > 0; n--) {
        if (counts)
            length += (size_t)sprintf(out + length, "%7u k%u\n", draw(2000000), draw(9));
        else
            length += (size_t)sprintf(out + length, "%*d.%0*u %d\n", (int)draw(8),
                                      (int)draw(20) - 10, 1 + (int)draw(3), draw(10),
                                      (int)draw(1000000) - 500000);
    }
    return length > 0 && draw(4) == 0 ? length - 1 : length;
}

static void free_bytes(const struct cv_named_part *part)
{
    char *bytes; /* not const */

    memcpy(&bytes, &part->bytes, sizeof bytes);
    free(bytes);
}

/* Fold the parts by a random tree. */
static char *fold(const char *name, const struct cv_named_part *outputs, size_t count,
                  size_t *out_length)
{
    struct cv_named_part parts[PARTS];
    char *result;

    memcpy(parts, outputs, count * sizeof *parts);
    while (count > 1 || draw(3) > 0) {
        const size_t most = count < 4 ? count : 4, taken = 1 + draw((uint32_t)most);
        const size_t at = draw((uint32_t)(count - taken + 1));
        size_t length;

        result = reduce(name, parts + at, taken, false, &length);
        assert_non_null(result);
        for (size_t i = at; i < at + taken; i++)
            if (parts[i].is_partial)
                free_bytes(&parts[i]);
        parts[at] = (struct cv_named_part){ result, length, true };
        memmove(parts + at + 1, parts + at + taken, (count - at - taken) * sizeof *parts);
        count -= taken - 1;
    }
    result = reduce(name, parts, count, true, out_length);
    if (parts[0].is_partial)
        free_bytes(&parts[0]);
    return result;
}

static void every_tree_gives_one_result(void **state)
{
    static const char *const names[] = { "sum",  "count", "min",    "max",    "uniq",
                                         "last", "first", "head:7", "tail:7", "counts" };
    static char texts[PARTS][1024];

    (void)state;
    for (int turn = 0; turn < 3000; turn++) {
        const char *name = names[turn % 10];
        struct cv_named_part outputs[PARTS];
        const size_t count = 1 + draw(PARTS);
        size_t expected_length, length;
        char *expected, *got;

        for (size_t i = 0; i < count; i++)
            outputs[i] = (struct cv_named_part){
                texts[i], make_output(strcmp(name, "counts") == 0, texts[i]), false
            };
        expected = reduce(name, outputs, count, true, &expected_length);
        got = fold(name, outputs, count, &length);
        assert_non_null(expected);
        assert_non_null(got);
        assert_string_equal(got, expected);
        assert_int_equal(length, expected_length);
        free(expected);
        free(got);
    }
}

static void names_are_parsed(void **state)
{
    static const struct {
        const char *text;
        enum cv_named_kind kind;
        uint64_t lines;
    } good[] = {
        { "sum", CV_NAMED_SUM, 1 },          { "first", CV_NAMED_HEAD, 1 },
        { "head", CV_NAMED_HEAD, 10 },       { "tail:25", CV_NAMED_TAIL, 25 },
        { "sort", CV_NAMED_SORT, 0 },        { "sort:-k2,2n -t, -u", CV_NAMED_SORT, 0 },
        { "sort:-nrk 2", CV_NAMED_SORT, 0 }, { "sum ", CV_NAMED_NONE, 0 },
        { "./sum", CV_NAMED_NONE, 0 },       { "head -n 3", CV_NAMED_NONE, 0 },
        { "summ", CV_NAMED_NONE, 0 },        { "", CV_NAMED_NONE, 0 },
    };
    static const char *const bad[] = {
        "sum:",       "head:",
        "head:0",     "head:-1",
        "tail:1x",    "tail:1000000000000000000000",
        "sort:x",     "sort:-o",
        "sort:-no x", "sort:--output=x",
        "sort:-",     "sort:-R",
        "sort:-c",
    };
    struct cv_named_reduction how;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(cv_named_reduction_parse(good[i].text, &how, &err), CLEAVE_OK);
        assert_int_equal(how.kind, good[i].kind);
        if (how.kind != CV_NAMED_NONE && how.kind != CV_NAMED_SORT)
            assert_int_equal(how.lines, good[i].lines);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(cv_named_reduction_parse(bad[i], &how, &err), CLEAVE_EINPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_become_one),
        cmocka_unit_test(unexpected_lines_are_reported),
        cmocka_unit_test(every_tree_gives_one_result),
        cmocka_unit_test(names_are_parsed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
