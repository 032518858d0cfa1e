/* test_split_pairs.c -- two files of mates cut side by side. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/random.h"
#include "base/text.h"
#include "run/input/cut_file.h"
#include "split_check.h"

enum { RECORDS = 3000 };

/* One file of reads, and where each begins. */
struct reads {
    struct cv_text text;
    uint64_t start[RECORDS + 1];
    int fd;
    struct cv_cut_file file;
};

static void make_reads(struct reads *reads, const struct cv_splitter *splitter,
                       const char *name, uint32_t seed, size_t count)
{
    static const char bases[] = "ACGTACGTACGTACGTACGT", marks[] = "@I+I@I+I@I+I@I+I@I+I";
    struct cv_random random;

    cv_random_at(&random, seed, 0, 0, 0);
    *reads = (struct reads){ .fd = memfd_create("reads", 0) };
    assert_true(reads->fd >= 0);
    for (size_t i = 0; i < count; i++) {
        const int length = (int)(cv_random_bits(&random) % 20);
        const int half = length / 2;

        reads->start[i] = reads->text.length;
        cv_text_add(&reads->text, "@r%zu\n%.*s\n%.*s\n+\n%.*s\n%.*s\n", i, half, bases,
                    length - half, bases, length - half, marks, half, marks);
    }
    reads->start[count] = reads->text.length;
    assert_false(reads->text.failed);
    assert_int_equal(write(reads->fd, reads->text.bytes, reads->text.length),
                     reads->text.length);
    cv_cut_file_init(&reads->file, splitter, name, reads->fd, reads->text.length);
}

static void drop_reads(struct reads *reads)
{
    cv_cut_file_done(&reads->file);
    cv_text_done(&reads->text);
    close(reads->fd);
}

static void mates_stay_together(void **state)
{
    static struct reads one, two;
    struct cv_splitter *splitter = NULL;
    struct cv_cut_pairs pairs;
    struct cv_random random;

    (void)state;
    assert_int_equal(cv_splitter_parse("fastq", &splitter, NULL), CLEAVE_OK);
    make_reads(&one, splitter, "one", 1, RECORDS);
    make_reads(&two, splitter, "two", 2, RECORDS);
    assert_int_equal(cv_cut_pairs_init(&pairs, &one.file, &two.file, NULL), CLEAVE_OK);
    pairs.grain = 1000;
    cv_random_at(&random, 3, 0, 0, 0);
    for (size_t turn = 0; turn < 2000; turn++) {
        /* First some in order, then anywhere. */
        const uint64_t offset =
            turn < 50 ? turn * 777 : cv_random_bits(&random) % (one.text.length + 10);
        struct cv_pair_cut cut;
        size_t i = 0;

        while (i < RECORDS && one.start[i] < offset)
            i++;
        assert_int_equal(cv_cut_pairs_at(&pairs, offset, &cut, NULL), CLEAVE_OK);
        assert_int_equal(cut.first, one.start[i]);
        assert_int_equal(cut.second, two.start[i]);
        assert_int_equal(cut.records, i);
    }
    cv_cut_pairs_done(&pairs);
    drop_reads(&one);
    drop_reads(&two);
    cv_splitter_free(splitter);
}

static void files_of_unequal_length(void **state)
{
    static const struct {
        size_t one, two;
        const char *message;
    } cases[] = {
        { 20, 19, "expected 20 records, as many as one has, got 19" },
        { 19, 20, "expected 19 records, as many as one has, got 20" },
        { 19, 900, "expected 19 records, as many as one has, got 900" },
        { 0, 1, "expected 0 records, as many as one has, got 1" },
        { 1, 0, "expected 1 records, as many as one has, got 0" },
    };
    struct cv_splitter *splitter = NULL;

    (void)state;
    assert_int_equal(cv_splitter_parse("fastq", &splitter, NULL), CLEAVE_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static struct reads one, two;
        struct cv_cut_pairs pairs;
        struct cv_pair_cut cut = { 1, 2, 3 };
        struct cleave_error err;

        make_reads(&one, splitter, "one", 1, cases[i].one);
        make_reads(&two, splitter, "two", 2, cases[i].two);
        assert_int_equal(cv_cut_pairs_init(&pairs, &one.file, &two.file, NULL),
                         CLEAVE_OK);
        assert_int_equal(cv_cut_pairs_at(&pairs, one.text.length, &cut, &err),
                         CLEAVE_EINPUT);
        assert_string_equal(err.file, "two");
        assert_string_equal(err.text, cases[i].message);
        assert_int_equal(cut.records, 3);
        cv_cut_pairs_done(&pairs);
        drop_reads(&one);
        drop_reads(&two);
    }
    cv_splitter_free(splitter);
}

static void only_fastq_comes_in_pairs(void **state)
{
    struct cv_splitter *splitter = NULL;
    struct cv_cut_pairs pairs;
    struct cv_cut_file file;
    struct cleave_error err;

    (void)state;
    assert_int_equal(cv_splitter_parse("csv", &splitter, NULL), CLEAVE_OK);
    cv_cut_file_init(&file, splitter, "one", -1, 0);
    assert_int_equal(cv_cut_pairs_init(&pairs, &file, &file, &err), CLEAVE_EINPUT);
    assert_string_equal(err.text, "expected the splitter 'fastq' for pairs, got 'csv'");
    cv_cut_pairs_done(&pairs);
    cv_cut_file_done(&file);
    cv_splitter_free(splitter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mates_stay_together),
        cmocka_unit_test(files_of_unequal_length),
        cmocka_unit_test(only_fastq_comes_in_pairs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
