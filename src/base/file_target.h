/* file_target.h -- targets of paths, and names in paths. SPDX-License-Identifier: MIT */
#ifndef CV_FILE_TARGET_H
#define CV_FILE_TARGET_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <cleave/error.h>

/* The end of a path when symbolic links are followed. */
struct cv_file_target {
    char *path;     /* owned: not a link, except one of /proc (see `magic`)         */
    bool exists;    /* `info` is filled                                             */
    bool magic;     /* a link of /proc, which is an open file and not a name        */
    int descriptor; /* descriptor of this process; -1: none */
    struct stat info;
};

/* Fails, with the reason, if the target cannot be examined. A missing target is not an
 * error. */
enum cleave_status cv_file_target_find(const char *path, struct cv_file_target *out,
                                       struct cleave_error *err);
void cv_file_target_done(struct cv_file_target *target);

/* The identity of a file, to find paths of the same file. */
struct cv_file_identity {
    bool known;      /* false: two uses do no harm, such as of a terminal             */
    bool descriptor; /* the path is an open descriptor                                */
    dev_t device;    /* the file or, if it does not exist, its directory              */
    ino_t number;
    char name[256]; /* in that directory; "" if the file exists                      */
};

/* A path without a target is not known. */
void cv_file_identify(const char *path, struct cv_file_identity *out);
void cv_descriptor_identify(int fd, struct cv_file_identity *out);
bool cv_file_same(const struct cv_file_identity *a, const struct cv_file_identity *b);

/* Length of the directory part of a path, with its last '/'. */
size_t cv_folder_length(const char *path);
/* The rest. */
const char *cv_file_name(const char *path);
/* Whether a name has this suffix, and something before it. */
bool cv_name_ends_in(const char *name, const char *end);

#endif
