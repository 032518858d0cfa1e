/* cannot_run.h -- why a command cannot be started, and what was meant.
 * SPDX-License-Identifier: MIT */
#ifndef CV_CANNOT_RUN_H
#define CV_CANNOT_RUN_H
#include <stdbool.h>
#include <cleave/error.h>

/* "cannot run 'NAME': WHY". Always CLEAVE_EINPUT. */
enum cleave_status cv_cannot_run(const char *name, const char *why,
                                 struct cleave_error *err);
/* No program of that name is in PATH: what it may be instead. */
enum cleave_status cv_cannot_find(const char *name, struct cleave_error *err);
/* The file is there, and the kernel has refused it with this error. */
enum cleave_status cv_cannot_start(const char *name, const char *path, int error,
                                   struct cleave_error *err);
/* Whether it is a program for the kernel, which no shell can read. */
bool cv_is_elf(const char *path);

#endif
