/* call_files.h -- the files that a call names: patterns are expanded, and no file is both read
 * and written. SPDX-License-Identifier: MIT */
#ifndef CV_CALL_FILES_H
#define CV_CALL_FILES_H
#include "cli/common/verb.h"

/* A file that no option names. */
struct cv_other_file {
    const char *option, *path; /* for messages */
    bool written;
};

/* Check the files of a call, and `others`, before any is opened. A written file must
 * not be another one of them (by device and inode, including standard streams), and it
 * must be possible to make it. */
int cv_files_check(const struct cv_call *call, const struct cv_other_file *others,
                   size_t count);

/* Expand patterns and, with --recursive, directories in options for inputs; names are
 * sorted. */
int cv_inputs_expand(const struct cv_call *call, void *values);

#endif
