/* helper_program.h -- programs that come with cleave and are started by it.
 * SPDX-License-Identifier: MIT */
#ifndef CV_HELPER_PROGRAM_H
#define CV_HELPER_PROGRAM_H
#include <stdbool.h>
#include <stddef.h>
#include <cleave/error.h>

struct cv_helper_program {
    const char *program; /* "cleave-simgrid"                                    */
    const char *what;    /* what is missing without it: "engine 'simgrid'"      */
    const char *remedy;  /* "which is in the Debian package cleave-simgrid"     */
};

/* Where it is: in the folder that the variable CLEAVE_LIBEXEC names or, without it,
 * beside the running program and where cleave was installed. `path`, if not NULL, is
 * filled. Without the program: CLEAVE_EENGINE, and err says what to install. */
enum cleave_status cv_helper_program_find(const struct cv_helper_program *companion,
                                          char *path, size_t size,
                                          struct cleave_error *err);

/* The file that this process runs. False: that is not known, and `out` is as it was. */
bool cv_own_program(char *out, size_t size);

#endif
