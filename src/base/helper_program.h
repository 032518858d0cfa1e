/* helper_program.h -- programs that come with cleave and are started by it.
 * SPDX-License-Identifier: MIT */
#ifndef CV_HELPER_PROGRAM_H
#define CV_HELPER_PROGRAM_H
#include <stdbool.h>
#include <stddef.h>
#include <cleave/error.h>

struct cv_helper_program {
    const char *program; /* "cleave-simgrid"                                    */
    const char *what;    /* the missing feature: "engine 'simgrid'"             */
    const char *remedy;  /* "which is in the Debian package cleave-simgrid"     */
};

/* Find the program in the directory $CLEAVE_LIBEXEC or, if that is not set, next to the
 * running program and where cleave was installed. `path`, if not NULL, is filled. If the
 * program is missing: CLEAVE_EENGINE, with the package to install. */
enum cleave_status cv_helper_program_find(const struct cv_helper_program *helper,
                                          char *path, size_t size,
                                          struct cleave_error *err);

/* The path of the running program. False: not known, `out` is unchanged. */
bool cv_own_program(char *out, size_t size);

#endif
