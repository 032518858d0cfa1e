/* sizes_file.h -- sizes of items from a list or a job log. SPDX-License-Identifier: MIT */
#ifndef CV_SIZES_FILE_H
#define CV_SIZES_FILE_H
#include <cleave/platform.h>
#include <stdint.h>
#include "base/arena.h"

struct cv_sizes {
    double *sizes;      /* in the arena                         */
    const char **names; /* in the arena; NULL: items have no names */
    uint64_t count;
};

/* One item per line: its size, such as 2000 or 64k; or name, tab and size; or size, tab and
 * name, as du writes it. `column` above 0 is the column of the sizes, if there are more.
 * "-" is standard input. */
enum cleave_status cv_sizes_read(const char *path, uint64_t column,
                                 struct cv_arena *arena, struct cv_sizes *out,
                                 struct cleave_error *err);

/* The run times of a job log as GNU parallel and cleave write it, by job number: for each
 * job the time of its last success, or of its last line if it never succeeded. If the
 * host is a worker of the platform, its compute latency is subtracted and its speed turns
 * the rest into units; else a second is a unit. Commands are the names. */
enum cleave_status cv_sizes_read_log(const char *path,
                                     const struct cleave_platform *platform,
                                     struct cv_arena *arena, struct cv_sizes *out,
                                     struct cleave_error *err);

#endif
