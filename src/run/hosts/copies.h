/* copies.h -- copies of cleave for the processors of hosts. SPDX-License-Identifier: MIT
 *
 * The ELF header of a program names its processor, and `uname -m` the processor of a
 * machine: a host gets the right program or none. */
#ifndef CV_COPIES_H
#define CV_COPIES_H
#include <cleave/error.h>
#include "base/arena.h"
#include "run/common/piece_part.h"

enum { CV_PROCESSORS = 6 };

struct cv_copy {
    const char *file; /* in the arena; NULL: there is none */
    long long size;
    char hash[CV_CONTENT_HASH_TEXT];
};

struct cv_copies {
    struct cv_copy of[CV_PROCESSORS]; /* in the order of cv_processor_name */
};

/* "x86_64", as printed by `uname -m`. */
const char *cv_processor_name(size_t processor);

/* Find a copy for each processor: first in the named files and directories, then next to this
 * program, then this program itself. */
enum cleave_status cv_copies_find(const char *const *named, size_t count,
                                  struct cv_arena *arena, struct cv_copies *out,
                                  struct cleave_error *err);

#endif
