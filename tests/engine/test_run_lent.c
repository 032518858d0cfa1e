/* test_run_lent.c -- outputs that lie with another process, or are copied from it.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <sys/resource.h>

#include "run/wire/lent.h"
#include "run/kit/process.h"
#include "plumbing_check.h"

enum { BYTES = 3000000 };

static struct cv_gather *make_gather(uint64_t memory, int sink, bool separate)
{
    struct cv_gather *gather;

    must(cv_gather_new(&(struct cv_gather_options){ .sink = sink,
                                                    .sink_name = "the sink",
                                                    .memory = memory,
                                                    .separate = separate },
                       &gather, &err));
    return gather;
}

static struct cv_store *open_store(struct cv_gather *gather)
{
    struct cv_store *store;

    must(cv_store_open(gather, &store, &err));
    return store;
}

/* A store with known bytes, and where they are. */
static struct cv_store *fill(struct cv_gather *gather, const char *bytes, size_t length,
                             struct cv_packer *packer)
{
    struct cv_store *store = open_store(gather);
    struct cv_taken parts[CV_STORE_PARTS];

    must(cv_store_write(store, bytes, length, &err));
    assert_true(cv_lent_pack(packer, parts, cv_store_parts(store, parts)));
    return store;
}

/* Counts how often it is told that a loan is over, and knows which one. */
static void count_over(const struct cv_loan *loan)
{
    uint64_t *counts = loan->lender;

    counts[loan->chunk] += loan->seat;
}

static struct cv_loan loan_of(uint64_t *counts, uint64_t chunk)
{
    return (struct cv_loan){ count_over, counts, 1, chunk };
}

/* Let `store` have what the payload says. */
static enum cv_lent take(const struct cv_packer *packer, struct cv_store *store,
                         const struct cv_loan *loan)
{
    struct cv_unpacker unpacker = { packer->bytes, packer->length, false };
    enum cv_lent how;

    must(cv_lent_take(&unpacker, store, loan, &how, &err));
    assert_int_equal(unpacker.left, 0);
    return how;
}

static void assert_bytes(struct cv_store *store, const char *expected, size_t length)
{
    struct cv_taken taken;

    assert_int_equal(cv_store_size(store), length);
    must(cv_gather_take(store, &taken, &err));
    assert_int_equal(taken.end - taken.begin, length);
    assert_file(taken.fd, taken.begin, taken.end, expected);
}

/* In memory, on disk, and in parts of both; the first byte is not that of the file. */
static void are_left_where_they_are(void **state)
{
    static const size_t lengths[] = { 0, 1, 70000, BYTES };
    static const uint64_t memories[] = { 1 << 30, 0, 100000 };
    const size_t before = open_descriptors();
    char *text = make_text(1, BYTES);

    (void)state;
    for (int i = 0; i < 12; i++) {
        const size_t length = lengths[i / 3];
        struct cv_gather *from = make_gather(memories[i % 3], -1, false);
        struct cv_gather *to = make_gather(1 << 30, -1, false);
        struct cv_packer packer = { NULL, 0, 0, false };
        struct cv_store *first = open_store(from), *there, *here = open_store(to);
        uint64_t over[1] = { 0 };

        must(cv_store_write(first, "abc", 3, &err));
        assert_int_equal(cv_store_parts(first, (struct cv_taken[CV_STORE_PARTS]){ 0 }),
                         1);
        there = fill(from, text, length, &packer);
        assert_int_equal(take(&packer, here, &(struct cv_loan){ count_over, over, 1, 0 }),
                         CV_LENT_LEFT);
        assert_int_equal(cv_gather_usage(to).memory + cv_gather_usage(to).disk, 0);
        assert_int_equal(over[0], 0);
        /* What has to be in one piece is, whatever it takes. */
        assert_bytes(here, text, length);
        cv_store_drop(here);
        assert_int_equal(over[0], 1);
        cv_store_drop(there);
        cv_store_drop(first);
        cv_pack_done(&packer);
        cv_gather_free(from);
        cv_gather_free(to);
    }
    free(text);
    assert_int_equal(open_descriptors(), before);
}

/* They are written in their turn, from where they are, among others; the loans end one by
 * one. Files are opened once. */
static void are_written_in_their_turn(void **state)
{
    enum { COUNT = 40 };
    const size_t each = 100000;
    const size_t before = open_descriptors();
    char *text = make_text(2, COUNT * each);
    /* Into memory and, for the rest, to disk: all of an output but of one. */
    struct cv_gather *from = make_gather((COUNT * each) / 2 + 50000, -1, false);
    const int sink = make_file("", 0);
    struct cv_gather *to = make_gather(1 << 20, sink, false);
    uint64_t over[COUNT] = { 0 };
    size_t files = 0;

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        struct cv_packer packer = { NULL, 0, 0, false };
        struct cv_store *here = open_store(to);
        const struct cv_loan loan = loan_of(over, i);

        fill(from, text + i * each, each, &packer);
        if (i % 10 == 9) {
            must(cv_store_write(here, text + i * each, each, &err));
        } else {
            files = open_descriptors();
            assert_int_equal(take(&packer, here, &loan), CV_LENT_LEFT);
            files = open_descriptors() - files;
            assert_in_range(files, 0, 2);
        }
        /* The last one first. */
        must(cv_gather_finish(to, here, COUNT - 1 - i, COUNT - i, &err));
        cv_pack_done(&packer);
    }
    /* Now the one at position 0 is there. The file holds them from the last on. */
    for (size_t i = COUNT; i-- > 0;) {
        enum cv_gather_state how = CV_GATHER_BUSY;

        assert_int_equal(over[i], 0);
        while (cv_gather_position(to) < COUNT - i && how == CV_GATHER_BUSY)
            must(cv_gather_pump(to, each, &how, &err));
        assert_file(sink, (COUNT - 1 - i) * each, (COUNT - i) * each, text + i * each);
    }
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(over[i], i % 10 != 9);
    assert_false(cv_gather_pending(to));
    cv_gather_free(to);
    cv_gather_free(from);
    close(sink);
    free(text);
    assert_int_equal(open_descriptors(), before);
}

/* Who lent them has ended, without a word: they are still there. */
static void outlive_their_owner(void **state)
{
    const int sink = make_file("", 0);
    struct cv_gather *from = make_gather(1 << 20, -1, false);
    struct cv_gather *to = make_gather(1 << 20, sink, false);
    struct cv_packer packer = { NULL, 0, 0, false };
    char *text = make_text(3, BYTES);
    enum cv_gather_state how = CV_GATHER_BUSY;
    struct cv_store *here = open_store(to);
    uint64_t over[1] = { 0 };
    const struct cv_loan loan = loan_of(over, 0);

    (void)state;
    fill(from, text, BYTES, &packer);
    assert_int_equal(take(&packer, here, &loan), CV_LENT_LEFT);
    cv_gather_free(from);
    must(cv_gather_finish(to, here, 0, 1, &err));
    while (how == CV_GATHER_BUSY)
        must(cv_gather_pump(to, 1 << 20, &how, &err));
    assert_int_equal(how, CV_GATHER_IDLE);
    assert_file(sink, 0, BYTES, text);
    assert_int_equal(over[0], 1);
    cv_pack_done(&packer);
    cv_gather_free(to);
    close(sink);
    free(text);
}

/* Nothing is written in place of what is not there any more. */
static void are_missed_when_cut(void **state)
{
    const int sink = make_file("", 0);
    struct cv_gather *to = make_gather(1 << 20, sink, false);
    char *text = make_text(4, 200000);
    const int file = make_file(text, 200000);
    const struct cv_taken part = { file, 0, 200000 };
    struct cleave_error why = { .text = "" };
    struct cv_store *here = open_store(to);
    enum cv_gather_state how;
    uint64_t over[1] = { 0 };
    const struct cv_loan loan = loan_of(over, 0);
    int error;

    (void)state;
    assert_true(cv_store_adopt(here, &part, 1, &loan));
    must(cv_gather_finish(to, here, 0, 1, &err));
    assert_int_equal(ftruncate(file, 100000), 0);
    assert_int_equal(cv_gather_pump(to, 1 << 20, &how, &why), CLEAVE_EENGINE);
    assert_string_equal(why.text, "the output of a worker was cut short");
    assert_int_equal(cv_gather_status(to, &error, NULL), CLEAVE_EENGINE);
    assert_file(sink, 0, 100000, text);
    cv_gather_free(to);
    close(file);
    close(sink);
    free(text);
}

/* Behind what is there already, for files of their own, and past what may be open. */
static void are_copied_where_they_have_to_be(void **state)
{
    struct rlimit limit, less;
    char *text = make_text(5, 80000);
    uint64_t over[1] = { 0 };
    const struct cv_loan loan = loan_of(over, 0);

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    less = limit;
    less.rlim_cur = 64;
    for (int i = 0; i < 3; i++) {
        struct cv_gather *from = make_gather(i == 1 ? 1000 : 1 << 30, -1, true);
        struct cv_gather *to = make_gather(i == 1 ? 1 << 30 : 1000, -1, i == 1);
        size_t left = 0;

        if (i == 2)
            assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
        for (int k = 0; k < (i == 2 ? 20 : 1); k++) {
            struct cv_packer packer = { NULL, 0, 0, false };
            struct cv_store *here = open_store(to);
            enum cv_lent how;

            if (i == 0)
                must(cv_store_write(here, text, 3, &err));
            fill(from, i == 0 ? text + 3 : text, i == 0 ? 80000 - 3 : 80000, &packer);
            how = take(&packer, here, &loan);
            assert_true(how == CV_LENT_COPIED || (i == 2 && k < 16));
            left += how == CV_LENT_LEFT;
            assert_bytes(here, text, 80000);
            cv_pack_done(&packer);
        }
        assert_int_equal(left, i == 2 ? 16 : 0);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        cv_gather_free(from);
        cv_gather_free(to);
    }
    assert_int_equal(over[0], 0);
    free(text);
}

/* Another process, descriptor or file than was meant, or words that mean nothing: the
 * store is as it was. */
static void are_not_reached(void **state)
{
    const size_t before = open_descriptors();
    struct cv_gather *gather = make_gather(50000, -1, false);
    struct cv_packer packer = { NULL, 0, 0, false };
    char *text = make_text(6, 70000);
    struct cv_store *there = fill(gather, text, 70000, &packer);
    struct cv_store *here = open_store(gather);
    uint64_t over[1] = { 0 };
    const struct cv_loan loan = loan_of(over, 0);

    (void)state;
    assert_int_equal(packer.length, 8 + 2 * 6 * 8);
    for (size_t i = 0; i <= packer.length; i++) {
        unsigned char changed[256];
        const size_t field = i < 8 ? 0 : 1 + (i / 8 - 1) % 6;
        struct cv_unpacker unpacker = { changed, packer.length, false };
        enum cv_lent how = CV_LENT_LEFT;

        assert_true(packer.length <= sizeof changed);
        memcpy(changed, packer.bytes, packer.length);
        if (i == packer.length)
            unpacker.left--;
        else if (field == 3 || field == 4) /* other bytes of the right file */
            changed[i] = i % 8 == 7 ? 0xFF : changed[i];
        else
            changed[i] ^= 0x15;
        if (i < packer.length && memcmp(changed, packer.bytes, packer.length) == 0)
            continue;
        must(cv_lent_take(&unpacker, here, &loan, &how, &err));
        assert_int_equal(how, CV_LENT_UNREACHED);
        assert_int_equal(cv_store_size(here), 0);
    }
    cv_store_drop(here);
    assert_int_equal(over[0], 0);
    cv_store_drop(there);
    cv_pack_done(&packer);
    cv_gather_free(gather);
    free(text);
    assert_int_equal(open_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_left_where_they_are),
        cmocka_unit_test(are_written_in_their_turn),
        cmocka_unit_test(outlive_their_owner),
        cmocka_unit_test(are_missed_when_cut),
        cmocka_unit_test(are_copied_where_they_have_to_be),
        cmocka_unit_test(are_not_reached),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
