/* listed_files.h -- whether what comes on a descriptor is a list of files.
 * SPDX-License-Identifier: MIT */
#ifndef CV_LISTED_FILES_H
#define CV_LISTED_FILES_H

enum cv_listed_files {
    CV_LISTS_NO_FILES,
    CV_LISTS_LINES, /* a name in each line                      */
    CV_LISTS_NULLS, /* names that end in NUL, as of find -print0 */
};

/* Look at the beginning of a pipe or file, of which nothing is taken: whether all of it is names of
 * files that are there. Bytes of a pipe are waited for so long. */
enum cv_listed_files cv_lists_files(int fd, int wait_ms);

#endif
