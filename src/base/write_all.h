/* write_all.h -- all bytes to a descriptor. SPDX-License-Identifier: MIT */
#ifndef CV_WRITE_ALL_H
#define CV_WRITE_ALL_H
#include <stddef.h>
#include <stdint.h>

/* 0, or errno: then not all of them were taken. */
int cv_write_all(int fd, const void *bytes, size_t length);
/* The same with the bytes [begin, end) of a file, which has to have them. */
int cv_copy_range(int from, uint64_t begin, uint64_t end, int to);

/* /dev/null, opened with these flags and closed on exec; where there is no /dev, an empty file
 * in memory, which is as good to read from. -1 and errno: neither is to be had. */
int cv_dev_null_open(int flags);

#endif
