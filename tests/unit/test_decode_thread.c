/* test_decode_thread.c -- a thread that decodes gzip into memory of its reader. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <libdeflate.h>

#include "run/decode/decode_ahead.h"

enum { LENGTH = 250000, TIMES = 12, FIRST = 18, MOST = 1 << 20 };

static uint8_t bytes[LENGTH], file[MOST];
static size_t nfile;

/* One member of gzip. */
static int make_file(void **state)
{
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(1);

    (void)state;
    for (unsigned i = 0; i < LENGTH; i++)
        bytes[i] = (uint8_t)('a' + (i * 2654435761u >> 13) % 20);
    nfile = libdeflate_gzip_compress(compressor, bytes, LENGTH, file, MOST);
    libdeflate_free_compressor(compressor);
    return nfile > 0 ? 0 : -1;
}

static struct cv_decode_thread *start(int fd, size_t nfirst)
{
    const struct cv_decode_thread_options options = { .codec = &cv_codec_gzip,
                                                      .name = "input",
                                                      .fd = fd,
                                                      .first = file,
                                                      .nfirst = nfirst };
    struct cv_decode_thread *decoding;

    assert_int_equal(cv_decode_thread_start(&options, &decoding, NULL), CLEAVE_OK);
    return decoding;
}

/* Wait for the next bytes and compare them with the members; returns all that came so far. */
static size_t take(struct cv_decode_thread *decoding, size_t all, bool *over)
{
    static uint8_t some[LENGTH];
    const size_t at = all % sizeof some;
    struct pollfd fd = { .fd = cv_decode_thread_fd(decoding), .events = POLLIN };
    ssize_t got;

    do
        assert_int_equal(poll(&fd, 1, 60000), 1);
    while ((got = cv_decode_thread_read(decoding, some + at, sizeof some - at,
                                        sizeof some)) < 0 &&
           errno == EAGAIN);
    assert_true(got >= 0);
    assert_memory_equal(some + at, bytes + at, (size_t)got);
    *over = got == 0;
    return all + (size_t)got;
}

static void end(struct cv_decode_thread *decoding, size_t all)
{
    bool over, torn;

    assert_int_equal(take(decoding, all, &over), all);
    assert_true(over);
    assert_int_equal(cv_decode_thread_end(decoding, &torn, NULL), CLEAVE_OK);
    assert_false(torn);
    cv_decode_thread_free(decoding);
}

/* The first bytes of the file were read by the caller. */
static void a_file(void **state)
{
    const int fd = memfd_create("gzip", MFD_CLOEXEC);
    struct cv_decode_thread *decoding;
    size_t all = 0;
    bool over;

    (void)state;
    for (unsigned i = 0; i < TIMES; i++)
        assert_int_equal(write(fd, file, nfile), nfile);
    lseek(fd, FIRST, SEEK_SET);
    decoding = start(fd, FIRST);
    while (all < (size_t)TIMES * LENGTH)
        all = take(decoding, all, &over);
    end(decoding, all);
    close(fd);
}

static void *write_rest(void *context)
{
    const int fd = *(int *)context;

    for (unsigned i = 1; i < TIMES; i++)
        for (size_t at = 0; at < nfile;) {
            const ssize_t put = write(fd, file + at, nfile - at);

            at += put > 0 ? (size_t)put : nfile;
        }
    close(fd);
    return NULL;
}

/* A member that came is given out before the next one comes. */
static void a_slow_pipe(void **state)
{
    struct cv_decode_thread *decoding;
    pthread_t writer;
    int ends[2];
    size_t all = 0;
    bool over;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    decoding = start(ends[0], FIRST);
    for (size_t at = FIRST, put; at < nfile; at += put) {
        put = nfile - at < 4096 ? nfile - at : 4096;
        assert_int_equal(write(ends[1], file + at, put), put);
    }
    while (all < LENGTH)
        all = take(decoding, all, &over);
    assert_int_equal(pthread_create(&writer, NULL, write_rest, &ends[1]), 0);
    while (all < (size_t)TIMES * LENGTH)
        all = take(decoding, all, &over);
    pthread_join(writer, NULL);
    end(decoding, all);
    close(ends[0]);
}

static void it_can_be_freed_while_it_waits_for_input(void **state)
{
    struct cv_decode_thread *decoding;
    int ends[2];
    bool over;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], file, 30000), 30000);
    decoding = start(ends[0], 0);
    assert_true(take(decoding, 0, &over) > 0);
    cv_decode_thread_free(decoding);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file),
        cmocka_unit_test(a_slow_pipe),
        cmocka_unit_test(it_can_be_freed_while_it_waits_for_input),
    };

    return cmocka_run_group_tests(tests, make_file, NULL);
}
