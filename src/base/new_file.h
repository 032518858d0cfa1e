/* new_file.h -- a file that gets its name when it is whole. SPDX-License-Identifier: MIT
 *
 * It is written under another name in the same folder, ".NAME.part-PID", which only its
 * owner may read, and renamed by cv_new_file_place. Until then an older file of that name
 * is what it was, whatever happens. A symbolic link stays: the file that it leads to is
 * replaced. Other hard links of an older file keep what they had. The new file has the
 * permissions and, where that is allowed, the owner and the group of the older one; access
 * lists and attributes beyond these are not taken over.
 *
 * What is not a regular file (a device, a pipe) is written in place, and a name that means
 * an open descriptor (/dev/stdout, /dev/fd/3, /proc/self/fd/3) is that descriptor. */
#ifndef CV_NEW_FILE_H
#define CV_NEW_FILE_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <cleave/error.h>

enum cv_new_file_how {
    CV_NEW_FILE_ONLY = 1,   /* an older regular file is an error, CLEAVE_EREFUSED     */
    CV_NEW_FILE_SECRET = 2, /* 0600, whatever the umask and an older file say         */
    CV_NEW_FILE_HASTY = 4, /* one of many: none of them waits for the disk, or a reader */
};

struct cv_new_file {
    int fd;        /* owned: to write to; -1: not open                           */
    char *path;    /* owned: its name when it is whole, behind symbolic links    */
    char *beside;  /* owned: its name until then; NULL: it has none, or not any more */
    int copy_of;   /* written in place: the descriptor that it is; -1: none        */
    bool replaces; /* there is an older one                                      */
    bool only, guessed; /* guessed: the mode is what the umask says                   */
    bool hasty;         /* not even if it replaces an older one: see enum above       */
    struct stat older;  /* st_mode is that of the new one                             */
};

/* Texts of errors are reasons to be put behind "cannot write 'NAME': ". */
enum cleave_status cv_new_file_open(const char *path, unsigned how,
                                    struct cv_new_file *out, struct cleave_error *err);
/* Whether it could be opened, without opening a device or a pipe. Makes no file that stays. */
enum cleave_status cv_new_file_check(const char *path, unsigned how,
                                     struct cleave_error *err);
/* Give it its name: all has been written. The descriptor stays open. Does nothing for one
 * that is written in place, and the second time. */
enum cleave_status cv_new_file_place(struct cv_new_file *file, struct cleave_error *err);
/* Close what is open. A file that was not placed stays where it is, beside. Fails when the
 * system says only now that something was not written. */
enum cleave_status cv_new_file_close(struct cv_new_file *file, struct cleave_error *err);
/* The same, but a file that was not placed is removed. */
void cv_new_file_drop(struct cv_new_file *file);
/* Bytes in it, if it still has a name. */
uint64_t cv_new_file_size(const struct cv_new_file *file);

/* open() for writing that does not wait for whoever reads a pipe: without one it fails. What is written
 * then waits as ever. -1 and errno. */
int cv_open_at_once(const char *path, int flags);

/* Make the folders that a name is in, as far as they are not there. Texts of errors stand
 * alone. */
enum cleave_status cv_folders_make(const char *path, struct cleave_error *err);

#endif
