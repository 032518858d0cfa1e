/* call_files.h -- no file is read and written by one call. SPDX-License-Identifier: MIT */
#ifndef CV_CALL_FILES_H
#define CV_CALL_FILES_H
#include "cli/common/verb.h"

/* Look at all files that a call names, before any of them is opened: one that is written
 * must not be another of them, whatever it is called there (by device and number, so links
 * and standard input count), and it must be possible to make it. Returns an exit status;
 * what is wrong has been told. */
int cv_files_check(const struct cv_call *call);

/* A file that no option names as one. */
struct cv_other_file {
    const char *option, *path; /* as messages name it                                  */
    bool written;
};

/* The same, with these among them. */
int cv_files_check_with(const struct cv_call *call, const struct cv_other_file *others,
                        size_t count);

/* Put names in the place of what stands for several of them, in every option whose files are
 * inputs: a pattern that is no file itself, as 'part-*.csv', and with --recursive a folder, for
 * all files below it. Names come in the order of their bytes. Returns an exit status; what is
 * wrong has been told. */
int cv_inputs_expand(const struct cv_verb *verb, struct cv_arena *arena, void *values);

#endif
