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

/* Check all files that a call names, and `others`, before any of them is opened. A file that is
 * written must not be another of them, by any name (device and inode decide, so links and
 * standard input count), and it must be possible to make it. Returns an exit status. */
int cv_files_check(const struct cv_call *call, const struct cv_other_file *others,
                   size_t count);

/* Expand patterns such as 'part-*.csv' and, with --recursive, directories in all options whose
 * files are inputs; `values` are those of the call. Names are in the order of their bytes.
 * Returns an exit status. */
int cv_inputs_expand(const struct cv_call *call, void *values);

#endif
