/* write_all.h -- complete writes to descriptors, files without a name, and /dev/null.
 * SPDX-License-Identifier: MIT */
#ifndef CV_WRITE_ALL_H
#define CV_WRITE_ALL_H
#include <stddef.h>
#include <stdint.h>

/* Write all bytes. Returns 0, or errno: not all bytes were written. */
int cv_write_all(int fd, const void *bytes, size_t length);
/* Copy the bytes [begin, end) of a file. Returns 0 or errno. */
int cv_copy_range(int from, uint64_t begin, uint64_t end, int to);

/* A new file without a name in the directory, which disappears with its descriptor. -1 and errno on
 * failure. */
int cv_nameless_file_open(const char *directory);

/* Open /dev/null with O_CLOEXEC and these flags or, if there is no /dev, an empty file in
 * memory. -1 and errno on failure. */
int cv_dev_null_open(int flags);

#endif
