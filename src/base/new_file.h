/* new_file.h -- files that get their name when they are complete.
 * SPDX-License-Identifier: MIT
 *
 * A file is written as ".NAME.part-PID" in the same directory, readable by its owner
 * only, and renamed by cv_new_file_place. Until then an older file of that name is
 * unchanged. A symbolic link stays: its target is replaced. Other hard links to the older
 * file keep its contents. While it is written, the process holds a lock on it, and its mode has
 * S_ISVTX: a file with that bit and without a lock is left by a process that was killed. The new
 * file gets the permissions and, if allowed, the owner
 * and group of the older one, but no access lists or attributes.
 *
 * Devices and pipes are written in place, and a name of an open descriptor (/dev/stdout,
 * /dev/fd/3, /proc/self/fd/3) is that descriptor. */
#ifndef CV_NEW_FILE_H
#define CV_NEW_FILE_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <cleave/error.h>

enum cv_new_file_how {
    CV_NEW_FILE_ONLY = 1,   /* an older regular file is an error, CLEAVE_EREFUSED     */
    CV_NEW_FILE_SECRET = 2, /* mode 0600                                              */
    CV_NEW_FILE_HASTY = 4,  /* one of many: do not wait for the disk, or for a reader */
};

struct cv_new_file {
    int fd;             /* owned: to write to; -1: not open                        */
    char *path;         /* owned: final name, with symbolic links followed         */
    char *beside;       /* owned: temporary name; NULL: none                       */
    int copy_of;        /* written in place: the descriptor; -1: none              */
    bool replaces;      /* there is an older file                                  */
    bool only, guessed; /* guessed: the umask determines the mode                  */
    bool hasty;         /* CV_NEW_FILE_HASTY                                       */
    struct stat older;  /* st_mode is the mode of the new file                     */
};

/* Texts of errors are reasons that follow "cannot write 'NAME': ". */
enum cleave_status cv_new_file_open(const char *path, unsigned how,
                                    struct cv_new_file *out, struct cleave_error *err);
/* Remove temporary files of this name that killed processes have left, and call `removed` for
 * each.
 * Only for a file that is written under a temporary name. *busy: another process writes a file
 * of this name; it may have placed it already. */
enum cleave_status cv_new_file_clear(const struct cv_new_file *file,
                                     void (*removed)(const char *name, uint64_t bytes),
                                     bool *busy, struct cleave_error *err);
/* Whether the file could be opened; devices and pipes are not opened, and no file
 * remains. */
enum cleave_status cv_new_file_check(const char *path, unsigned how,
                                     struct cleave_error *err);
/* Rename the complete file; the descriptor stays open. Does nothing for files written in
 * place, and the second time. */
enum cleave_status cv_new_file_place(struct cv_new_file *file, struct cleave_error *err);
/* Close the file. A file that was not placed keeps its temporary name, also when others are
 * cleared. Fails if the system reports a write error now. */
enum cleave_status cv_new_file_close(struct cv_new_file *file, struct cleave_error *err);
/* Close the file and remove it if it was not placed. */
void cv_new_file_drop(struct cv_new_file *file);
/* Size of the file in bytes; 0 if it was removed. */
uint64_t cv_new_file_size(const struct cv_new_file *file);

/* open() for writing that fails for a pipe without a reader. Later writes block as
 * usual. */
int cv_open_at_once(const char *path, int flags);

/* Make the missing directories of a path. Texts of errors are complete. */
enum cleave_status cv_folders_make(const char *path, struct cleave_error *err);

#endif
