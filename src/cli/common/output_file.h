/* output_file.h -- files that the user names, to write results to.
 * SPDX-License-Identifier: MIT
 *
 * A file is there when it is whole: it is written beside and renamed (base/new_file.h).
 * `-` is standard output. */
#ifndef CV_OUTPUT_FILE_H
#define CV_OUTPUT_FILE_H
#include <stdbool.h>
#include <stdio.h>
#include "base/new_file.h"

struct cv_output_file {
    const char *option, *path; /* borrowed, for messages                              */
    FILE *file;                /* to write to; owned unless it is stdout              */
    struct cv_new_file made;
};

/* `how` is of enum cv_new_file_how: with CV_NEW_FILE_ONLY a regular file that exists is
 * kept. Returns an exit status, as all here; what is wrong has been told. */
int cv_output_open(struct cv_output_file *out, const char *option, const char *path,
                   unsigned how);
/* Let it have its name from here on, although more is to come. */
int cv_output_place(struct cv_output_file *out);
/* Give it its name and close it; what could not be written is told. `failed`: something
 * was not, and has been told; then nothing takes the place of an older file. */
int cv_output_close(struct cv_output_file *out, bool failed);
/* Forget it. */
void cv_output_drop(struct cv_output_file *out);

#endif
