/* test_byte_ring.c -- bytes from one thread to another. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "run/kit/byte_ring.h"

enum { ROOM = 1000, ALL = 300000 };

static bool is_readable(const struct cv_byte_ring *ring)
{
    struct pollfd fd = { .fd = cv_byte_ring_fd(ring), .events = POLLIN };

    return poll(&fd, 1, 0) == 1;
}

static void it_can_be_read_when_there_is_something(void **state)
{
    struct cv_byte_ring *ring;
    char bytes[ROOM];

    (void)state;
    assert_int_equal(cv_byte_ring_new(ROOM, 1, &ring, NULL), CLEAVE_OK);
    assert_false(is_readable(ring));
    assert_int_equal(cv_byte_ring_read(ring, bytes, sizeof bytes), -1);
    assert_int_equal(errno, EAGAIN);
    for (unsigned i = 0; i < 3; i++) { /* the ring begins elsewhere each time */
        assert_true(cv_byte_ring_write(ring, "abcdefg", 7));
        assert_true(is_readable(ring));
        assert_int_equal(cv_byte_ring_read(ring, bytes, 3), 3);
        assert_memory_equal(bytes, "abc", 3);
        assert_true(is_readable(ring));
        assert_int_equal(cv_byte_ring_read(ring, bytes, sizeof bytes), 4);
        assert_memory_equal(bytes, "defg", 4);
        assert_false(is_readable(ring));
    }
    assert_true(cv_byte_ring_write(ring, "x", 1));
    cv_byte_ring_close(ring);
    assert_int_equal(cv_byte_ring_read(ring, bytes, sizeof bytes), 1);
    assert_true(is_readable(ring)); /* the end is, for ever */
    assert_int_equal(cv_byte_ring_read(ring, bytes, sizeof bytes), 0);
    assert_int_equal(cv_byte_ring_read(ring, bytes, sizeof bytes), 0);
    assert_true(is_readable(ring));
    cv_byte_ring_free(ring);
}

static void nobody_is_woken_for_little(void **state)
{
    enum { LEAST = 500 };
    struct cv_byte_ring *ring;
    char bytes[ROOM] = "";

    (void)state;
    assert_int_equal(cv_byte_ring_new(ROOM, LEAST, &ring, NULL), CLEAVE_OK);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(cv_byte_ring_write(ring, bytes, LEAST - 1));
        assert_false(is_readable(ring));
        assert_true(cv_byte_ring_write(ring, bytes, 1));
        assert_true(is_readable(ring));
        assert_int_equal(cv_byte_ring_read(ring, bytes, 100), 100);
        assert_true(is_readable(ring)); /* who reads is there */
        while (cv_byte_ring_read(ring, bytes, ROOM) > 0)
            continue;
        assert_false(is_readable(ring));
    }
    assert_true(cv_byte_ring_write(ring, bytes, 7));
    assert_false(is_readable(ring));
    cv_byte_ring_close(ring);
    assert_true(is_readable(ring));
    assert_int_equal(cv_byte_ring_read(ring, bytes, 6), 6);
    assert_int_equal(cv_byte_ring_read(ring, bytes, 6), 1);
    assert_int_equal(cv_byte_ring_read(ring, bytes, 6), 0);
    cv_byte_ring_free(ring);
}

/* --- two threads ----------------------------------------------------------------------------- */

static uint8_t byte_at(size_t at)
{
    return (uint8_t)(at * 2654435761u >> 13);
}

struct writer {
    struct cv_byte_ring *ring;
    pthread_t thread;
    bool wanted; /* to the end */
};

static void *write_all(void *context)
{
    struct writer *writer = context;
    struct cv_random random;
    uint8_t bytes[3 * ROOM];

    cv_random_at(&random, 1, 0, 0, 0);
    writer->wanted = true;
    for (size_t at = 0; at < ALL && writer->wanted;) {
        size_t some = (size_t)(cv_random_bits(&random) % sizeof bytes);

        some = some < ALL - at ? some : ALL - at;
        for (size_t i = 0; i < some; i++)
            bytes[i] = byte_at(at + i);
        writer->wanted = cv_byte_ring_write(writer->ring, bytes, some);
        at += some;
    }
    cv_byte_ring_close(writer->ring);
    return NULL;
}

static void come_in_order(size_t least)
{
    struct writer writer = { .wanted = false };
    struct pollfd fd = { .events = POLLIN };
    struct cv_random random;
    uint8_t bytes[ROOM];
    size_t at = 0;
    ssize_t got;

    cv_random_at(&random, 2, 0, 0, 0);
    assert_int_equal(cv_byte_ring_new(ROOM, least, &writer.ring, NULL), CLEAVE_OK);
    fd.fd = cv_byte_ring_fd(writer.ring);
    assert_int_equal(pthread_create(&writer.thread, NULL, write_all, &writer), 0);
    do {
        assert_int_equal(poll(&fd, 1, 60000), 1);
        got = cv_byte_ring_read(writer.ring, bytes,
                                1 + (size_t)(cv_random_bits(&random) % sizeof bytes));
        assert_true(got >= 0 || errno == EAGAIN); /* what was told has been read before */
        for (ssize_t i = 0; i < got; i++)
            assert_int_equal(bytes[i], byte_at(at++));
    } while (got != 0);
    assert_int_equal(at, ALL);
    pthread_join(writer.thread, NULL);
    assert_true(writer.wanted);
    cv_byte_ring_free(writer.ring);
}

static void all_comes_in_order(void **state)
{
    (void)state;
    come_in_order(1);
    come_in_order(ROOM / 2);
    come_in_order(ROOM);
}

static void who_writes_is_told_that_nobody_reads(void **state)
{
    struct writer writer = { .wanted = true };

    (void)state;
    assert_int_equal(cv_byte_ring_new(ROOM, 1, &writer.ring, NULL), CLEAVE_OK);
    assert_int_equal(pthread_create(&writer.thread, NULL, write_all, &writer), 0);
    cv_byte_ring_stop(writer.ring);
    pthread_join(writer.thread, NULL);
    assert_false(writer.wanted);
    cv_byte_ring_free(writer.ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_can_be_read_when_there_is_something),
        cmocka_unit_test(nobody_is_woken_for_little),
        cmocka_unit_test(all_comes_in_order),
        cmocka_unit_test(who_writes_is_told_that_nobody_reads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
