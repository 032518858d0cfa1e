/* test_input_coverage.c -- the fate of every byte of the input. SPDX-License-Identifier:
 * MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/random.h"
#include "run/master/order_queue.h"
#include "run/master/input_coverage.h"

enum { FIRST = 100, SECOND = 60, TOTAL = FIRST + SECOND };

static char paths[2][32] = { "/tmp/cleave-ledger-XXXXXX", "/tmp/cleave-ledger-XXXXXX" };

struct fixture {
    struct cv_splitter *splitter;
    struct cv_source *source;
    struct cv_input_coverage coverage;
};

static void make_file(char *path, int bytes)
{
    const int fd = mkstemp(path);

    assert_true(fd >= 0);
    for (int i = 0; i < bytes; i++)
        assert_int_equal(write(fd, i % 10 == 9 ? "\n" : "x", 1), 1);
    close(fd);
}

static int make_files(void **state)
{
    (void)state;
    make_file(paths[0], FIRST);
    make_file(paths[1], SECOND);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    return unlink(paths[0]) + unlink(paths[1]);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    const char *const names[] = { paths[0], paths[1] };

    fixture = (struct fixture){ .source = NULL };
    assert_int_equal(cv_splitter_parse("lines", &fixture.splitter, NULL), CLEAVE_OK);
    assert_int_equal(cv_source_open(names, 2,
                                    &(struct cv_source_options){ .splitter =
                                                                     fixture.splitter },
                                    &fixture.source, NULL),
                     CLEAVE_OK);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    cv_input_coverage_done(&fixture->coverage);
    cv_source_free(fixture->source);
    cv_splitter_free(fixture->splitter);
    return 0;
}

static void add(struct fixture *fixture, uint64_t begin, uint64_t end)
{
    assert_int_equal(cv_input_coverage_add(&fixture->coverage, begin, end, NULL),
                     CLEAVE_OK);
}

/* The check fails, and says this of the file. */
static void expect(struct fixture *fixture, bool ended_well, const char *bytes, int file,
                   const char *what)
{
    struct cleave_error err = { .text = "" };
    char line[300];

    snprintf(line, sizeof line, "bytes %s of '%s' %s: a defect of cleave", bytes,
             paths[file], what);
    assert_int_equal(cv_input_coverage_check(&fixture->coverage, fixture->source,
                                             ended_well, &err),
                     CLEAVE_EACCOUNT);
    assert_int_equal(err.status, CLEAVE_EACCOUNT);
    assert_string_equal(err.text, line);
}

static void expect_good(struct fixture *fixture, bool ended_well)
{
    struct cleave_error err = { .text = "" };

    if (cv_input_coverage_check(&fixture->coverage, fixture->source, ended_well, &err) !=
        CLEAVE_OK)
        fail_msg("%s", err.text);
}

static void all_of_it_is_good(void **state)
{
    struct fixture *fixture = *state;

    add(fixture, 40, 100);
    add(fixture, 0, 40);
    assert_int_equal(cv_input_coverage_fail(&fixture->coverage, 100, 130, NULL),
                     CLEAVE_OK);
    add(fixture, 130, TOTAL);
    expect_good(fixture, true);
    assert_int_equal(fixture->coverage.failed.total, 30);
}

static void a_gap_is_named(void **state)
{
    struct fixture *fixture = *state;

    expect(fixture, true, "0 to 100", 0, "were neither done nor failed");
    add(fixture, 0, 30);
    add(fixture, 50, 120);
    expect(fixture, true, "30 to 50", 0, "were neither done nor failed");
    /* A stopped run leaves exactly that. */
    expect_good(fixture, false);
    add(fixture, 30, 50);
    expect(fixture, true, "20 to 60", 1, "were neither done nor failed");
    add(fixture, 120, 159);
    expect(fixture, true, "59 to 60", 1, "were neither done nor failed");
}

static void twice_is_named(void **state)
{
    struct fixture *fixture = *state;

    add(fixture, 0, 110);
    assert_int_equal(cv_input_coverage_fail(&fixture->coverage, 105, 130, NULL),
                     CLEAVE_OK);
    expect(fixture, true, "5 to 10", 1, "were settled twice");
    expect(fixture, false, "5 to 10", 1, "were settled twice");
    /* The first one stays, for any later ones. */
    add(fixture, 0, TOTAL);
    expect(fixture, true, "5 to 10", 1, "were settled twice");
}

static void lost_input_is_done_again(void **state)
{
    struct fixture *fixture = *state;

    add(fixture, 0, TOTAL);
    assert_int_equal(cv_input_coverage_lose(&fixture->coverage, 20, 50, NULL), CLEAVE_OK);
    expect(fixture, true, "20 to 50", 0, "were neither done nor failed");
    add(fixture, 20, 50);
    expect_good(fixture, true);
    assert_int_equal(cv_input_coverage_lose(&fixture->coverage, 20, 50, NULL), CLEAVE_OK);
    assert_int_equal(cv_input_coverage_lose(&fixture->coverage, 40, 60, NULL), CLEAVE_OK);
    expect(fixture, false, "40 to 60", 0, "were lost without having been done");
}

static void failed_input_cannot_be_lost(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(cv_input_coverage_fail(&fixture->coverage, 0, 20, NULL), CLEAVE_OK);
    assert_int_equal(cv_input_coverage_lose(&fixture->coverage, 0, 20, NULL), CLEAVE_OK);
    expect(fixture, false, "0 to 20", 0, "were lost without having been done");
}

static void more_than_there_is(void **state)
{
    struct fixture *fixture = *state;
    struct cleave_error err;

    add(fixture, 0, TOTAL + 1);
    assert_int_equal(cv_input_coverage_check(&fixture->coverage, fixture->source, true,
                                             &err),
                     CLEAVE_EACCOUNT);
    assert_string_equal(err.text, "161 bytes were done of an input that has 160: a "
                                  "defect of cleave");
}

/* Against a table of bytes: left ones, and whether one was entered twice. */
static void agrees_with_a_table(void **state)
{
    struct fixture *fixture = *state;
    struct cv_random random;

    for (uint32_t trial = 0; trial < 300; trial++) {
        bool settled[TOTAL] = { false }, twice = false;
        struct cv_range_set left;
        struct cv_range range;
        uint64_t total = 0;

        cv_random_at(&random, 11, trial, 0, 0);
        cv_input_coverage_done(&fixture->coverage);
        for (int i = 0; i < 12; i++) {
            const uint64_t begin = cv_random_bits(&random) % TOTAL;
            const uint64_t end = begin + cv_random_bits(&random) % (TOTAL - begin) / 4;

            add(fixture, begin, end);
            for (uint64_t at = begin; at < end; at++) {
                twice = twice || settled[at];
                settled[at] = true;
            }
        }
        assert_int_equal(cv_input_coverage_check(&fixture->coverage, fixture->source,
                                                 false, NULL) != CLEAVE_OK,
                         twice);
        cv_range_set_init(&left);
        assert_int_equal(cv_input_coverage_left(&fixture->coverage, TOTAL, &left, NULL),
                         CLEAVE_OK);
        for (uint64_t from = 0; cv_range_set_find(&left, from, &range);
             from = range.end) {
            total += range.end - range.begin;
            for (uint64_t at = range.begin; at < range.end; at++)
                assert_false(settled[at]);
        }
        for (int at = 0; at < TOTAL; at++)
            total += settled[at];
        assert_int_equal(total, TOTAL);
        cv_range_set_done(&left);
    }
}

/* Orders that were neither begun nor called off are found, too. */
static void books_balance(void **state)
{
    struct cv_order_queue queue = { .wanted = 0 };
    struct cleave_error err;

    (void)state;
    assert_int_equal(cv_order_queue_check(&queue, &err), CLEAVE_OK);
    queue.wanted = 7;
    assert_int_equal(cv_order_queue_check(&queue, &err), CLEAVE_EACCOUNT);
    assert_non_null(strstr(err.text, "0 orders for 7 bytes"));
    queue = (struct cv_order_queue){ .running = 1 };
    assert_int_equal(cv_order_queue_check(&queue, &err), CLEAVE_EACCOUNT);
    queue = (struct cv_order_queue){ .pending = 1 };
    assert_int_equal(cv_order_queue_check(&queue, &err), CLEAVE_EACCOUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_of_it_is_good, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_gap_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(twice_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lost_input_is_done_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_input_cannot_be_lost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(more_than_there_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(agrees_with_a_table, set_up, tear_down),
        cmocka_unit_test(books_balance),
    };

    return cmocka_run_group_tests(tests, make_files, remove_files);
}
