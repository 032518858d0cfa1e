/* test_handoff_buffer.c -- bytes from one thread to another, which lends the memory. SPDX-License-Identifier: MIT */
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
#include "run/common/threads.h"

enum { ROOM = 1000, ALL = 300000 };

static bool is_readable(const struct cv_handoff_buffer *buffer)
{
    struct pollfd fd = { .fd = cv_handoff_buffer_fd(buffer), .events = POLLIN };

    return poll(&fd, 1, 0) == 1;
}

static void it_can_be_read_when_there_is_something(void **state)
{
    struct cv_handoff_buffer *buffer;
    char bytes[ROOM];
    size_t at = 0;

    (void)state;
    assert_int_equal(cv_handoff_buffer_new(1, &buffer, NULL), CLEAVE_OK);
    assert_true(is_readable(buffer)); /* nothing is lent yet */
    cv_handoff_buffer_lend(buffer, bytes, sizeof bytes);
    assert_int_equal(cv_handoff_buffer_take(buffer, sizeof bytes), -1);
    assert_int_equal(errno, EAGAIN);
    assert_false(is_readable(buffer));
    for (unsigned i = 0; i < 3; i++) {
        assert_true(cv_handoff_buffer_write(buffer, "abcdefg", 7));
        assert_true(is_readable(buffer));
        assert_int_equal(cv_handoff_buffer_take(buffer, 3), 3);
        assert_true(is_readable(buffer));
        assert_int_equal(cv_handoff_buffer_take(buffer, sizeof bytes), 4);
        assert_memory_equal(bytes + at, "abcdefg", 7);
        assert_false(is_readable(buffer));
        at += 7;
        cv_handoff_buffer_lend(buffer, bytes + at, sizeof bytes - at);
    }
    assert_true(cv_handoff_buffer_write(buffer, "x", 1));
    cv_handoff_buffer_close(buffer);
    assert_int_equal(cv_handoff_buffer_take(buffer, sizeof bytes), 1);
    assert_memory_equal(bytes + at, "x", 1);
    assert_true(is_readable(buffer)); /* the end is, for ever */
    assert_int_equal(cv_handoff_buffer_take(buffer, sizeof bytes), 0);
    assert_int_equal(cv_handoff_buffer_take(buffer, sizeof bytes), 0);
    assert_true(is_readable(buffer));
    cv_handoff_buffer_free(buffer);
}

static void small_amounts_wake_no_reader(void **state)
{
    enum { LEAST = 300 };
    struct cv_handoff_buffer *buffer;
    char bytes[2 * ROOM] = "", zeros[ROOM] = "";

    (void)state;
    assert_int_equal(cv_handoff_buffer_new(LEAST, &buffer, NULL), CLEAVE_OK);
    cv_handoff_buffer_lend(buffer, bytes, sizeof bytes);
    assert_int_equal(cv_handoff_buffer_take(buffer, 1), -1);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(cv_handoff_buffer_write(buffer, zeros, LEAST - 1));
        assert_false(is_readable(buffer));
        assert_true(cv_handoff_buffer_write(buffer, zeros, 1));
        assert_true(is_readable(buffer));
        assert_int_equal(cv_handoff_buffer_take(buffer, 100), 100);
        assert_true(is_readable(buffer)); /* the taker is present */
        while (cv_handoff_buffer_take(buffer, ROOM) > 0)
            continue;
        assert_false(is_readable(buffer));
    }
    assert_true(cv_handoff_buffer_write(buffer, zeros, 7));
    assert_false(is_readable(buffer));
    cv_handoff_buffer_close(buffer);
    assert_true(is_readable(buffer));
    assert_int_equal(cv_handoff_buffer_take(buffer, 6), 6);
    assert_int_equal(cv_handoff_buffer_take(buffer, 6), 1);
    assert_int_equal(cv_handoff_buffer_take(buffer, 6), 0);
    cv_handoff_buffer_free(buffer);
}

/* Less than a wake-up is worth, but no more can come. */
static void buffer_is_readable_after_the_last_return(void **state)
{
    struct cv_handoff_buffer *buffer;
    char bytes[7], other[7];

    (void)state;
    assert_int_equal(cv_handoff_buffer_new(ROOM, &buffer, NULL), CLEAVE_OK);
    cv_handoff_buffer_lend(buffer, bytes, sizeof bytes);
    assert_int_equal(cv_handoff_buffer_take(buffer, 1), -1);
    assert_true(cv_handoff_buffer_write(buffer, "abcdef", 6));
    assert_false(is_readable(buffer));
    assert_true(cv_handoff_buffer_write(buffer, "g", 1));
    assert_true(is_readable(buffer));
    assert_int_equal(cv_handoff_buffer_take(buffer, ROOM), 7);
    assert_true(is_readable(buffer)); /* to lend more */
    cv_handoff_buffer_lend(buffer, other, sizeof other);
    assert_int_equal(cv_handoff_buffer_take(buffer, ROOM), -1);
    assert_false(is_readable(buffer));
    assert_true(cv_handoff_buffer_write(buffer, "hijklmn", 7));
    assert_int_equal(cv_handoff_buffer_take(buffer, ROOM), 7);
    assert_memory_equal(bytes, "abcdefg", 7);
    assert_memory_equal(other, "hijklmn", 7);
    cv_handoff_buffer_free(buffer);
}

/* --- two threads ----------------------------------------------------------------------------- */

static uint8_t byte_at(size_t at)
{
    return (uint8_t)(at * 2654435761u >> 13);
}

struct writer {
    struct cv_handoff_buffer *buffer;
    pthread_t thread;
    bool wanted; /* to the end */
};

/* Some of the bytes at a time. */
static size_t write_some(struct writer *writer, size_t at, size_t some)
{
    uint8_t bytes[3 * ROOM];

    for (size_t i = 0; i < some; i++)
        bytes[i] = byte_at(at + i);
    writer->wanted = cv_handoff_buffer_write(writer->buffer, bytes, some);
    return some;
}

static void *write_all(void *context)
{
    struct writer *writer = context;
    struct cv_random random;

    cv_random_at(&random, 1, 0, 0, 0);
    writer->wanted = true;
    for (size_t at = 0; at < ALL && writer->wanted;) {
        const size_t some = (size_t)(cv_random_bits(&random) % (3 * (size_t)ROOM));

        at += write_some(writer, at, some < ALL - at ? some : ALL - at);
    }
    cv_handoff_buffer_close(writer->buffer);
    return NULL;
}

/* The memory ends now and then, as a stretch of a spool does. */
static void come_in_order(size_t min, size_t stretch)
{
    struct writer writer = { .wanted = false };
    struct pollfd fd = { .events = POLLIN };
    struct cv_random random;
    uint8_t bytes[2 * ROOM];
    size_t at = 0;
    ssize_t got;

    cv_random_at(&random, 2, 0, 0, 0);
    assert_int_equal(cv_handoff_buffer_new(min, &writer.buffer, NULL), CLEAVE_OK);
    fd.fd = cv_handoff_buffer_fd(writer.buffer);
    assert_int_equal(pthread_create(&writer.thread, NULL, write_all, &writer), 0);
    do {
        const size_t begin = at % stretch, room = stretch - begin;

        assert_int_equal(poll(&fd, 1, 60000), 1);
        cv_handoff_buffer_lend(writer.buffer, bytes + begin, room < ROOM ? room : ROOM);
        got = cv_handoff_buffer_take(writer.buffer,
                                     1 + (size_t)(cv_random_bits(&random) % ROOM));
        assert_true(got >= 0 || errno == EAGAIN); /* reported bytes were taken before */
        for (ssize_t i = 0; i < got; i++)
            assert_int_equal(bytes[begin + (size_t)i], byte_at(at++));
    } while (got != 0);
    assert_int_equal(at, ALL);
    pthread_join(writer.thread, NULL);
    assert_true(writer.wanted);
    cv_handoff_buffer_free(writer.buffer);
}

static void all_comes_in_order(void **state)
{
    (void)state;
    come_in_order(1, 2 * (size_t)ROOM);
    come_in_order(ROOM / 2, 2 * (size_t)ROOM);
    come_in_order(ROOM, 2 * (size_t)ROOM);
    come_in_order(ROOM / 2, 7);
    come_in_order(1, ROOM + 1);
}

static void writer_is_notified_of_an_exited_reader(void **state)
{
    struct writer writer = { .wanted = true };
    uint8_t bytes[ROOM];

    (void)state;
    assert_int_equal(cv_handoff_buffer_new(1, &writer.buffer, NULL), CLEAVE_OK);
    cv_handoff_buffer_lend(writer.buffer, bytes, sizeof bytes);
    assert_int_equal(pthread_create(&writer.thread, NULL, write_all, &writer), 0);
    cv_handoff_buffer_stop(writer.buffer);
    pthread_join(writer.thread, NULL);
    assert_false(writer.wanted);
    cv_handoff_buffer_free(writer.buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_can_be_read_when_there_is_something),
        cmocka_unit_test(small_amounts_wake_no_reader),
        cmocka_unit_test(buffer_is_readable_after_the_last_return),
        cmocka_unit_test(all_comes_in_order),
        cmocka_unit_test(writer_is_notified_of_an_exited_reader),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
