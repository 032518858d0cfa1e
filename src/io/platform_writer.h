/* platform_writer.h -- write a platform file. SPDX-License-Identifier: MIT */
#ifndef CV_PLATFORM_WRITER_H
#define CV_PLATFORM_WRITER_H
#include <stdio.h>
#include <cleave/platform.h>

/* Write YAML from which the reader makes the same platform, to the last bit of every
 * number. Each line of `comment` goes on top behind "# "; NULL: none. */
enum cleave_status cv_platform_write(const struct cleave_platform *platform,
                                     const char *comment, FILE *file,
                                     struct cleave_error *err);

#endif
