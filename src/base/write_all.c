/* write_all.c -- complete writes to descriptors, files without a name, and /dev/null.
 * SPDX-License-Identifier: MIT */
#include "base/write_all.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int cv_write_all(int fd, const void *bytes, size_t length)
{
    const char *at = bytes;

    while (length > 0) {
        const ssize_t put = write(fd, at, length);

        if (put < 0 &&
            (errno == EINTR ||
             (errno == EAGAIN &&
              poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1) > 0)))
            continue;
        if (put <= 0)
            return put < 0 ? errno : EIO;
        at += put;
        length -= (size_t)put;
    }
    return 0;
}

int cv_copy_range(int from, uint64_t begin, uint64_t end, int to)
{
    char bytes[1 << 16];

    while (begin < end) {
        const uint64_t left = end - begin;
        const ssize_t got =
            pread(from, bytes, left < sizeof bytes ? (size_t)left : sizeof bytes,
                  (off_t)begin);
        const int error = got > 0   ? cv_write_all(to, bytes, (size_t)got)
                          : got < 0 ? errno
                                    : EIO;

        if (error != 0)
            return error;
        begin += (uint64_t)got;
    }
    return 0;
}

int cv_dev_null_open(int flags)
{
    const int fd = open("/dev/null", flags | O_CLOEXEC);

    return fd >= 0 || errno != ENOENT ? fd : memfd_create("nothing", MFD_CLOEXEC);
}

int cv_nameless_file_open(const char *directory)
{
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char *path;

    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    if (asprintf(&path, "%s/cleave-XXXXXX", directory) < 0) {
        errno = ENOMEM;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    free(path);
    return fd;
}
