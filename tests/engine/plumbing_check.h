/* plumbing_check.h -- helpers of the tests of processes, feeds and outputs.
 * SPDX-License-Identifier: MIT
 *
 * To be included after cmocka.h. */
#ifndef PLUMBING_CHECK_H
#define PLUMBING_CHECK_H
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cleave/error.h>

/* A call, given &err, that has to succeed. */
#define must(call)                                       \
    do {                                                 \
        struct cleave_error err = { .text = "no text" }; \
        if ((call) != CLEAVE_OK)                         \
            fail_msg("%s: %s", #call, err.text);         \
    } while (0)

/* Whether a child has ended; it stays to be reaped. */
static inline bool has_ended(pid_t pid)
{
    siginfo_t info = { 0 };

    return pid > 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid;
}

/* Descriptors that this process has open. */
static inline size_t open_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

/* Bytes that show their source. */
static inline char *make_text(uint64_t seed, size_t length)
{
    char *text = malloc(length + 1);

    assert_non_null(text);
    for (size_t i = 0; i < length; i++) {
        const uint64_t mixed = (i + 1) * UINT64_C(0x9E3779B97F4A7C15) + seed * 0x51;

        text[i] = (char)((mixed >> 56 ^ mixed >> 33) & 0xFF);
    }
    text[length] = '\0';
    return text;
}

/* A file in memory with `length` bytes. */
static inline int make_file(const char *bytes, size_t length)
{
    const int fd = memfd_create("test", MFD_CLOEXEC);

    assert_true(fd >= 0);
    for (size_t done = 0; done < length;) {
        const ssize_t put = write(fd, bytes + done, length - done);

        assert_true(put > 0);
        done += (size_t)put;
    }
    return fd;
}

/* Whether bytes [begin, end) of the file are `bytes`. */
static inline void assert_file(int fd, uint64_t begin, uint64_t end, const char *bytes)
{
    char *got = malloc(end - begin + 1);
    size_t done = 0;

    assert_non_null(got);
    while (done < end - begin) {
        const ssize_t more =
            pread(fd, got + done, end - begin - done, (off_t)(begin + done));

        assert_true(more > 0);
        done += (size_t)more;
    }
    if (memcmp(got, bytes, end - begin) != 0)
        fail_msg("other bytes than expected in a file, of %zu", done);
    free(got);
}

#endif
