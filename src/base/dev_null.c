/* dev_null.c -- a file in which there is nothing. SPDX-License-Identifier: MIT */
#include "base/dev_null.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

int cv_dev_null_open(int flags)
{
    const int fd = open("/dev/null", flags | O_CLOEXEC);

    return fd >= 0 || errno != ENOENT ? fd : memfd_create("nothing", MFD_CLOEXEC);
}
