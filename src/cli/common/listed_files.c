/* listed_files.c -- whether what comes on a descriptor is a list of files.
 * SPDX-License-Identifier: MIT */
#include "cli/common/listed_files.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BEGINNING = 4096 };

/* tee() copies what a pipe has into another pipe, and leaves it there. */
static ssize_t look_into_pipe(int fd, int wait_ms, char *bytes)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    ssize_t length = 0;
    int copy[2];

    if (poll(&ready, 1, wait_ms) <= 0 || pipe2(copy, O_CLOEXEC) != 0)
        return 0;
    if (tee(fd, copy[1], BEGINNING, SPLICE_F_NONBLOCK) > 0)
        length = read(copy[0], bytes, BEGINNING);
    close(copy[0]);
    close(copy[1]);
    return length;
}

static ssize_t look(int fd, int wait_ms, char *bytes)
{
    struct stat facts;

    if (fstat(fd, &facts) != 0)
        return 0;
    if (S_ISFIFO(facts.st_mode))
        return look_into_pipe(fd, wait_ms, bytes);
    return S_ISREG(facts.st_mode) ? pread(fd, bytes, BEGINNING, lseek(fd, 0, SEEK_CUR))
                                  : 0;
}

enum cv_listed_files cv_lists_files(int fd, int wait_ms)
{
    char bytes[BEGINNING];
    const ssize_t length = look(fd, wait_ms, bytes);
    char *name = bytes, *end;
    bool nulls;

    if (length <= 0)
        return CV_LISTS_NO_FILES;
    nulls = memchr(bytes, '\0', (size_t)length) != NULL;
    /* The last one may go on behind what is seen. */
    while ((end = memchr(name, nulls ? '\0' : '\n', (size_t)(bytes + length - name))) !=
           NULL) {
        *end = '\0';
        if (access(name, F_OK) != 0)
            return CV_LISTS_NO_FILES;
        name = end + 1;
    }
    if (name == bytes)
        return CV_LISTS_NO_FILES;
    return nulls ? CV_LISTS_NULLS : CV_LISTS_LINES;
}
