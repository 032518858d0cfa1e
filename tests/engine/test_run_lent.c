/* test_run_lent.c -- outputs that are taken from another process, or not.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "run/lent.h"

enum { BYTES = 3000000 };

static struct cv_gather *make_gather(uint64_t memory)
{
    struct cv_gather *gather;

    assert_int_equal(cv_gather_new(&(struct cv_gather_options){ .sink = -1,
                                                                .sink_name = "nowhere",
                                                                .memory = memory },
                                   &gather, NULL),
                     CLEAVE_OK);
    return gather;
}

static unsigned char byte_at(size_t i)
{
    return (unsigned char)(i * 31 + i / 1000);
}

/* A store with known bytes, and where they are. */
static struct cv_store *fill(struct cv_gather *gather, size_t length,
                             struct cv_packer *packer)
{
    unsigned char *bytes = malloc(length + 1);
    struct cv_store *store;
    struct cv_taken taken;

    assert_non_null(bytes);
    for (size_t i = 0; i < length; i++)
        bytes[i] = byte_at(i);
    assert_int_equal(cv_store_open(gather, &store, NULL), CLEAVE_OK);
    assert_int_equal(cv_store_write(store, bytes, length, NULL), CLEAVE_OK);
    assert_int_equal(cv_gather_take(store, &taken, NULL), CLEAVE_OK);
    assert_true(cv_lent_pack(packer, &taken));
    free(bytes);
    return store;
}

static void check_bytes(struct cv_store *store, size_t before, size_t length)
{
    unsigned char *bytes = malloc(length + 1);
    struct cv_taken taken;

    assert_non_null(bytes);
    assert_int_equal(cv_store_size(store), before + length);
    assert_int_equal(cv_gather_take(store, &taken, NULL), CLEAVE_OK);
    assert_int_equal(pread(taken.fd, bytes, length, (off_t)(taken.begin + before)),
                     length);
    for (size_t i = 0; i < length; i++)
        assert_int_equal(bytes[i], byte_at(i));
    free(bytes);
}

/* From memory, and from a file beyond it; behind what is there already. */
static void are_taken(void **state)
{
    static const size_t lengths[] = { 0, 1, 70000, BYTES };

    (void)state;
    for (int i = 0; i < 8; i++) {
        struct cv_gather *from = make_gather(i % 2 == 0 ? 1 << 30 : 1000);
        struct cv_gather *to = make_gather(i % 2 == 0 ? 1000 : 1 << 30);
        struct cv_packer packer = { NULL, 0, 0, false };
        struct cv_store *there = fill(from, lengths[i / 2], &packer), *here;
        bool taken = false;

        assert_int_equal(cv_store_open(to, &here, NULL), CLEAVE_OK);
        assert_int_equal(cv_store_write(here, "abc", 3, NULL), CLEAVE_OK);
        assert_int_equal(cv_lent_take(packer.bytes, packer.length, here, &taken, NULL),
                         CLEAVE_OK);
        assert_true(taken);
        check_bytes(here, 3, lengths[i / 2]);
        cv_store_drop(here);
        cv_store_drop(there);
        cv_pack_done(&packer);
        cv_gather_free(from);
        cv_gather_free(to);
    }
}

/* Another process, descriptor or file than was meant, or words that mean nothing: the
 * store is as it was. */
static void are_not_taken(void **state)
{
    struct cv_gather *gather = make_gather(1 << 30);
    struct cv_packer packer = { NULL, 0, 0, false };
    struct cv_store *there = fill(gather, 70000, &packer), *here;

    (void)state;
    assert_int_equal(cv_store_open(gather, &here, NULL), CLEAVE_OK);
    for (size_t i = 0; i <= packer.length; i++) {
        unsigned char changed[256];
        size_t length = packer.length;
        bool taken = true;

        assert_true(length <= sizeof changed);
        memcpy(changed, packer.bytes, length);
        if (i == packer.length)
            length--;
        else if (i / 8 == 2 || i / 8 == 3) /* other bytes of the right file */
            changed[i] = i % 8 == 7 ? 0xFF : changed[i];
        else
            changed[i] ^= 0x15;
        if (i < packer.length && memcmp(changed, packer.bytes, length) == 0)
            continue;
        assert_int_equal(cv_lent_take(changed, length, here, &taken, NULL), CLEAVE_OK);
        assert_false(taken);
        assert_int_equal(cv_store_size(here), 0);
    }
    cv_store_drop(here);
    cv_store_drop(there);
    cv_pack_done(&packer);
    cv_gather_free(gather);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_taken),
        cmocka_unit_test(are_not_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
