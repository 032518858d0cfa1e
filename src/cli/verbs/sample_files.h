/* sample_files.h -- files of examples/ that the program carries. SPDX-License-Identifier: MIT */
#ifndef CV_SAMPLE_FILES_H
#define CV_SAMPLE_FILES_H
#include <stdbool.h>

struct cv_sample_file {
    const char *name, *what;
    bool program;
    const char *const *lines; /* lines without newlines; NULL after the last */
};

/* Made by tools/make-samples; ends with a NULL name. */
extern const struct cv_sample_file cv_sample_files[];

#endif
