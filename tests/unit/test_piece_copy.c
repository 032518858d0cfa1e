/* test_piece_copy.c -- bytes of one file into another. SPDX-License-Identifier: MIT */
#include "run/pieces/piece_file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/* More than two windows, and no page ends with it. */
enum { BYTES = (20 << 20) + 12345 };

static char bytes[BYTES]; /* bytes of the file `from` */
static char found[BYTES + 1];
static int from;
static char folder[] = "/tmp/cleave-copy-XXXXXX";

static int new_file(const char *name)
{
    const int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    return fd;
}

/* The bytes [begin, end) are at `skip` of the file, and nothing follows. */
static void check_file(int fd, size_t begin, size_t end, off_t skip)
{
    struct stat info;

    assert_true(fstat(fd, &info) == 0);
    assert_true(info.st_size == skip + (off_t)(end - begin));
    assert_true(pread(fd, found, end - begin, skip) == (ssize_t)(end - begin));
    assert_true(memcmp(found, bytes + begin, end - begin) == 0);
}

static void test_ranges(void **state)
{
    static const size_t ranges[][2] = { { 0, BYTES },      { 1, BYTES - 1 },
                                        { 4095, 8 << 20 }, { 4096, (8 << 20) + 4096 },
                                        { 7, 7 },          { 5000, 6000 },
                                        { 3, 1 << 18 } };

    (void)state;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        struct cv_copying copying = { .from = from,
                                      .to = new_file("to"),
                                      .at = (off_t)ranges[i][0],
                                      .end = ranges[i][1] };

        assert_true(write(copying.to, "head", 4) == 4);
        assert_true(cv_piece_copy(&copying) == CV_COPY_DONE);
        assert_true(copying.at == (off_t)copying.end);
        check_file(copying.to, ranges[i][0], ranges[i][1], 4);
        close(copying.to);
    }
}

/* Bytes that existed at the cut no longer exist. */
static void test_shorter(void **state)
{
    static const uint64_t begins[] = { 0, 4097, (16 << 20) + 1, BYTES + 10 };

    (void)state;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        struct cv_copying copying = { .from = from,
                                      .to = new_file("to"),
                                      .at = (off_t)begins[i],
                                      .end = BYTES + (30 << 20) };

        errno = EBADF;
        assert_true(cv_piece_copy(&copying) == CV_COPY_SHORT);
        assert_true(errno == 0);
        close(copying.to);
    }
}

/* A file that may not be mapped is copied in another way. */
static void test_not_mapped(void **state)
{
    struct cv_copying copying = { .from = from, .to = new_file("to"), .end = BYTES };
    struct rlimit now;

    (void)state;
    assert_true(getrlimit(RLIMIT_AS, &now) == 0);
    assert_true(setrlimit(RLIMIT_AS, &(struct rlimit){ 1, now.rlim_max }) == 0);
    assert_true(cv_piece_copy(&copying) == CV_COPY_DONE);
    assert_true(setrlimit(RLIMIT_AS, &now) == 0);
    check_file(copying.to, 0, BYTES, 0);
    close(copying.to);
}

static void test_refused(void **state)
{
    struct cv_copying copying = { .from = from, .to = new_file("to"), .end = BYTES };
    struct rlimit now;

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_true(getrlimit(RLIMIT_FSIZE, &now) == 0);
    assert_true(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 9 << 20, now.rlim_max }) == 0);
    assert_true(cv_piece_copy(&copying) == CV_COPY_REFUSED);
    assert_true(errno == EFBIG);
    assert_true(setrlimit(RLIMIT_FSIZE, &now) == 0);
    close(copying.to);
}

/* A folder with a file of those bytes. */
static int enter(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        return -1;
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (char)(i * 2654435761U >> 24);
    from = new_file("from");
    return write(from, bytes, BYTES) == BYTES ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    close(from);
    return unlink("from") + unlink("to") + chdir("/") + rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_shorter),
        cmocka_unit_test(test_not_mapped),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, enter, leave);
}
