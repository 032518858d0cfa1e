/* file_target.h -- what a name of a file leads to. SPDX-License-Identifier: MIT */
#ifndef CV_FILE_TARGET_H
#define CV_FILE_TARGET_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <cleave/error.h>

/* Where a path ends when symbolic links are followed. */
struct cv_file_target {
    char *path;     /* owned: no link itself, but for one of /proc (see `magic`)    */
    bool exists;    /* `info` is filled                                             */
    bool magic;     /* a link of /proc that is an open file, not a name             */
    int descriptor; /* the one of this process that it is; -1: none                 */
    struct stat info;
};

/* A target that does not exist is no error, one that cannot be looked at is: its text is
 * the reason. */
enum cleave_status cv_file_target_find(const char *path, struct cv_file_target *out,
                                       struct cleave_error *err);
void cv_file_target_done(struct cv_file_target *target);

/* What a path leads to, to tell whether two lead to the same. */
struct cv_file_identity {
    bool known;      /* false: nothing that can be mistaken, such as a terminal       */
    bool descriptor; /* it is open already                                            */
    dev_t device;    /* of the file or, where there is none yet, of its folder        */
    ino_t number;
    char name[256]; /* in that folder; "" when the file is there                     */
};

/* A path that leads nowhere is not known. */
void cv_file_identify(const char *path, struct cv_file_identity *out);
void cv_descriptor_identify(int fd, struct cv_file_identity *out);
bool cv_file_same(const struct cv_file_identity *a, const struct cv_file_identity *b);

/* Length of the folder part of a path, its last '/' included; 0: it has none. */
size_t cv_folder_length(const char *path);
/* What stands behind it. */
const char *cv_file_name(const char *path);
/* Whether a name ends so, with something before it. */
bool cv_name_ends_in(const char *name, const char *end);

#endif
