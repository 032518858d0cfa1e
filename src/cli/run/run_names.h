/* run_names.h -- workers of this machine by their names. SPDX-License-Identifier: MIT */
#ifndef CV_RUN_NAMES_H
#define CV_RUN_NAMES_H
#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"

enum { CV_MOST_WORKERS = 4096 };

struct cv_members {
    const char **names, **prefixes; /* of the arena */
    uint32_t count;
};

/* Whether the word is meant as a count, be it a good one or not. */
bool cv_looks_counted(const char *word);
/* What --workers expects. Returns the exit status for having got something else. */
int cv_expected_workers(const char *got);
/* "fast,slow:nice -n 19,gpu[0-1]:env CUDA_VISIBLE_DEVICES={i},cpu*14". Returns an exit
 * status; what is wrong has been told. */
int cv_members_read(const char *text, struct cv_arena *arena, struct cv_members *out);

#endif
