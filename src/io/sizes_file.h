/* sizes_file.h -- sizes of items from a list or a job log. SPDX-License-Identifier: MIT */
#ifndef CV_SIZES_FILE_H
#define CV_SIZES_FILE_H
#include <cleave/platform.h>
#include <stdint.h>
#include "base/arena.h"

struct cv_sizes {
    double *sizes;      /* count of them, in the arena                                */
    const char **names; /* of the items, in the arena; NULL: they have none           */
    uint64_t count;
};

/* One item per line: its size, as 2000 or 64k, or its name, a tab and its size, or as du
 * writes it, its size, a tab and its name. `column` above 0 says which column has the size,
 * when there are more. "-" is standard input. */
enum cleave_status cv_sizes_read(const char *path, uint64_t column,
                                 struct cv_arena *arena, struct cv_sizes *out,
                                 struct cleave_error *err);

/* The run times of a job log as GNU parallel and cleave write it, in the order of its
 * numbers: of each job the last end that was a success or else the last. Where the host is
 * a worker of the platform, its start is taken away and its speed makes units of the rest;
 * else a second is a unit. Commands are the names. */
enum cleave_status cv_sizes_read_log(const char *path,
                                     const struct cleave_platform *platform,
                                     struct cv_arena *arena, struct cv_sizes *out,
                                     struct cleave_error *err);

#endif
