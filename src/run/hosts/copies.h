/* copies.h -- copies of cleave for the processors that hosts have.
 * SPDX-License-Identifier: MIT
 *
 * A program runs on one kind of processor only. Which one it is for stands in its head (ELF),
 * and `uname -m` says what a machine has, so that a host is taken the right one or none. */
#ifndef CV_COPIES_H
#define CV_COPIES_H
#include <cleave/error.h>
#include "base/arena.h"
#include "run/common/piece_part.h"

enum { CV_PROCESSORS = 6 }; /* that copies can be for */

struct cv_copy {
    const char *file; /* of the arena; NULL: there is none */
    long long size;
    char hash[CV_CONTENT_HASH_TEXT];
};

struct cv_copies {
    struct cv_copy of[CV_PROCESSORS]; /* as cv_processor_name numbers them */
};

/* "x86_64", as `uname -m` says it. */
const char *cv_processor_name(size_t processor);

/* Find copies for as many processors as there are: files and folders that are named go
 * before what lies beside this program, and that before this program itself. */
enum cleave_status cv_copies_find(const char *const *named, size_t count,
                                  struct cv_arena *arena, struct cv_copies *out,
                                  struct cleave_error *err);

#endif
