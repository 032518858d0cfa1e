/* new_file.c -- files that get their name when they are complete.
 * SPDX-License-Identifier: MIT */
#include "base/new_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/file_target.h"

enum { MOST_NAMES = 1000, NAME_ROOM = 255 };

static enum cleave_status fail_now(struct cleave_error *err, int error)
{
    return cv_fail(err, error == ENOMEM ? CLEAVE_ENOMEM : CLEAVE_EINPUT, "%s",
                   strerror(error));
}

static enum cleave_status fail_folder(struct cleave_error *err, int error)
{
    return cv_fail(err, CLEAVE_EINPUT,
                   "%s in its folder, where a new file is written first; '> FILE' writes "
                   "into the old one",
                   strerror(error));
}

int cv_open_at_once(const char *path, int flags)
{
    const int fd = open(path, flags | O_NONBLOCK, 0666);
    int now;

    if (fd < 0)
        return -1;
    now = fcntl(fd, F_GETFL);
    if (now >= 0)
        (void)fcntl(fd, F_SETFL, now & ~O_NONBLOCK);
    return fd;
}

/* For devices, pipes and open files, which cannot be replaced. */
static enum cleave_status open_in_place(const struct cv_file_target *target, unsigned how,
                                        struct cv_new_file *out, struct cleave_error *err)
{
    if (target->descriptor >= 0) {
        const int flags = fcntl(target->descriptor, F_GETFL);

        if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
            return fail_now(err, EBADF);
        out->fd = fcntl(target->descriptor, F_DUPFD_CLOEXEC, 3);
        out->copy_of = target->descriptor;
    } else {
        const int flags = O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC;

        out->fd = (how & CV_NEW_FILE_HASTY) != 0 ? cv_open_at_once(target->path, flags)
                                                 : open(target->path, flags);
    }
    return out->fd >= 0 ? CLEAVE_OK : fail_now(err, errno);
}

/* ".NAME.part-PID", or ".NAME.part-PID-1", ... if that exists: existing files, and links
 * that an attacker has made, are not opened. */
static enum cleave_status open_beside(struct cv_new_file *file, struct cleave_error *err)
{
    const int folder = (int)cv_folder_length(file->path);
    const char *name = file->path + folder;
    int error = EEXIST;

    for (int i = 0; i < MOST_NAMES && error == EEXIST; i++) {
        char ending[48];
        int max;

        snprintf(ending, sizeof ending, i == 0 ? ".part-%ld" : ".part-%ld-%d",
                 (long)getpid(), i);
        max = NAME_ROOM - 1 - (int)strlen(ending);
        if (asprintf(&file->beside, "%.*s.%.*s%s", folder, file->path, max, name,
                     ending) < 0) {
            file->beside = NULL;
            return cv_fail_memory(err, "the name of a file");
        }
        file->fd =
            open(file->beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                 file->guessed ? 0666 : 0600);
        if (file->fd >= 0)
            return CLEAVE_OK;
        error = errno;
        free(file->beside);
        file->beside = NULL;
    }
    return file->replaces && (error == EACCES || error == EPERM || error == EROFS)
               ? fail_folder(err, error)
               : fail_now(err, error);
}

/* In a sticky directory such as /tmp only the owner of a file may replace it: find out
 * now, and not when everything has been written. */
static bool is_fixed(const struct cv_new_file *file)
{
    const size_t folder = cv_folder_length(file->path);
    const uid_t me = geteuid();
    struct stat info;
    char *path;
    bool fixed;

    if (!file->replaces || me == 0 || file->older.st_uid == me)
        return false;
    path = folder > 0 ? strndup(file->path, folder) : strdup(".");
    fixed = path != NULL && stat(path, &info) == 0 && (info.st_mode & S_ISVTX) != 0 &&
            info.st_uid != me;
    free(path);
    return fixed;
}

/* The umask is read from the mode of a new, empty file: umask() would change it for all
 * threads for a moment. The lock comes before the bit. Not all file systems have both, and one of many
 * small files is not worth them. */
static enum cleave_status hide(struct cv_new_file *file, struct cleave_error *err)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    struct stat info;

    if (file->guessed) {
        if (fstat(file->fd, &info) != 0 || fchmod(file->fd, 0600) != 0)
            return fail_now(err, errno);
        file->older.st_mode = info.st_mode & 0777;
    }
    if (!file->hasty && fcntl(file->fd, F_OFD_SETLK, &lock) == 0)
        (void)fchmod(file->fd, 0600 | S_ISVTX);
    return CLEAVE_OK;
}

/* --- files of other processes --------------------------------------------------------------- */

enum other { ABSENT, LEFT, BUSY };

/* The state of a file that another process may have written. */
static enum other look_at(int folder, const char *name, off_t *size)
{
    const int fd =
        openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    enum other other = ABSENT;
    struct stat info;

    if (fd < 0)
        return ABSENT;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
        fcntl(fd, F_OFD_GETLK, &lock) == 0) {
        other = lock.l_type != F_UNLCK          ? BUSY
                : (info.st_mode & S_ISVTX) != 0 ? LEFT
                                                : ABSENT;
        *size = info.st_size;
    }
    close(fd);
    return other;
}

enum cleave_status cv_new_file_clear(const struct cv_new_file *file,
                                     void (*removed)(const char *name, uint64_t bytes),
                                     bool *busy, struct cleave_error *err)
{
    const size_t folder = cv_folder_length(file->path);
    const char *name = file->path + folder;
    char *path = folder > 0 ? strndup(file->path, folder) : strdup(".");
    DIR *list = path != NULL ? opendir(path) : NULL;

    *busy = false;
    if (path == NULL)
        return cv_fail_memory(err, "the name of a file");
    free(path);
    for (const struct dirent *entry; list != NULL && (entry = readdir(list)) != NULL;) {
        const char *other = entry->d_name;
        const bool part = other[0] == '.' &&
                          strncmp(other + 1, name, strlen(name)) == 0 &&
                          strncmp(other + 1 + strlen(name), ".part-", 6) == 0;
        enum other state = ABSENT;
        off_t size = 0;

        if ((part || strcmp(other, name) == 0) &&
            strcmp(other, file->beside + folder) != 0)
            state = look_at(dirfd(list), other, &size);
        *busy = *busy || state == BUSY;
        if (state == LEFT && part && unlinkat(dirfd(list), other, 0) == 0)
            removed(other, (uint64_t)size);
    }
    if (list != NULL)
        closedir(list);
    return CLEAVE_OK;
}

/* --- files of this process ------------------------------------------------------------------ */

static enum cleave_status open_new(struct cv_file_target *target, unsigned how,
                                   struct cv_new_file *out, struct cleave_error *err)
{
    const char *name = target->path + cv_folder_length(target->path);

    if (target->exists && (how & CV_NEW_FILE_ONLY) != 0)
        return cv_fail(err, CLEAVE_EREFUSED, "it exists");
    /* A write-protected file is kept. */
    if (target->exists && faccessat(AT_FDCWD, target->path, W_OK, AT_EACCESS) != 0)
        return fail_now(err, errno);
    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return fail_now(err, EISDIR);
    if (strlen(name) > NAME_ROOM)
        return fail_now(err, ENAMETOOLONG);
    out->path = target->path;
    target->path = NULL;
    out->only = (how & CV_NEW_FILE_ONLY) != 0;
    out->hasty = (how & CV_NEW_FILE_HASTY) != 0;
    out->replaces = target->exists;
    out->older = target->info;
    out->older.st_mode = target->info.st_mode & 0777;
    out->guessed = !target->exists && (how & CV_NEW_FILE_SECRET) == 0;
    if ((how & CV_NEW_FILE_SECRET) != 0)
        out->older.st_mode = 0600;
    if (is_fixed(out))
        return fail_folder(err, EPERM);
    CV_TRY(open_beside(out, err));
    return hide(out, err);
}

enum cleave_status cv_new_file_open(const char *path, unsigned how,
                                    struct cv_new_file *out, struct cleave_error *err)
{
    struct cv_file_target target;
    enum cleave_status status;

    *out = (struct cv_new_file){ .fd = -1, .copy_of = -1 };
    CV_TRY(cv_file_target_find(path, &target, err));
    if (target.exists && S_ISDIR(target.info.st_mode))
        status = fail_now(err, EISDIR);
    else if (target.exists && (target.magic || !S_ISREG(target.info.st_mode)))
        status = open_in_place(&target, how, out, err);
    else
        status = open_new(&target, how, out, err);
    cv_file_target_done(&target);
    if (status != CLEAVE_OK)
        cv_new_file_drop(out);
    return status;
}

enum cleave_status cv_new_file_check(const char *path, unsigned how,
                                     struct cleave_error *err)
{
    struct cv_file_target target;
    struct cv_new_file file;
    bool in_place;

    CV_TRY(cv_file_target_find(path, &target, err));
    in_place = target.exists && !S_ISDIR(target.info.st_mode) &&
               (target.magic || !S_ISREG(target.info.st_mode));
    cv_file_target_done(&target);
    if (in_place)
        return CLEAVE_OK;
    CV_TRY(cv_new_file_open(path, how, &file, err));
    cv_new_file_drop(&file);
    return CLEAVE_OK;
}

/* Owner, group and permissions. If the group cannot be kept, the other group gets no
 * access. */
static int set_rights(struct cv_new_file *file)
{
    mode_t mode = file->older.st_mode;
    struct stat info;

    if (fstat(file->fd, &info) != 0)
        return errno;
    if (file->replaces &&
        (info.st_uid != file->older.st_uid || info.st_gid != file->older.st_gid) &&
        fchown(file->fd, file->older.st_uid, file->older.st_gid) != 0 &&
        info.st_gid != file->older.st_gid &&
        fchown(file->fd, (uid_t)-1, file->older.st_gid) != 0)
        mode &= ~(mode_t)070;
    return fchmod(file->fd, mode) == 0 ? 0 : errno;
}

/* Buffered writes may still fail, and the rename can reach the disk before the bytes. If
 * an older file is replaced, fsync comes first: after a crash either file is complete.
 * Otherwise waiting for the disk only costs time. Network file systems report write
 * errors when a descriptor is closed, so a copy of it is closed. No fsync of the
 * directory is needed: either name leads to a complete file. */
static int settle(const struct cv_new_file *file)
{
    int copy;

    if (file->replaces && !file->hasty && fsync(file->fd) != 0 && errno != EINVAL &&
        errno != EROFS)
        return errno;
    copy = dup(file->fd);
    if (copy < 0)
        return errno;
    return close(copy) == 0 ? 0 : errno;
}

/* Rename, but do not replace a file that was created in the meantime. */
static int rename_only(const char *from, const char *to)
{
    struct stat info;

    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    if (lstat(to, &info) ==
        0) /* not atomic, if the file system has no RENAME_NOREPLACE */
        return EEXIST;
    return rename(from, to) == 0 ? 0 : errno;
}

enum cleave_status cv_new_file_place(struct cv_new_file *file, struct cleave_error *err)
{
    int error;

    if (file->beside == NULL)
        return CLEAVE_OK;
    error = set_rights(file);
    if (error == 0)
        error = settle(file);
    if (error == 0 && file->only)
        error = rename_only(file->beside, file->path);
    else if (error == 0)
        error = rename(file->beside, file->path) == 0 ? 0 : errno;
    if (error == EEXIST)
        return cv_fail(err, CLEAVE_EREFUSED, "it exists by now");
    if (error != 0)
        return fail_now(err, error);
    free(file->beside);
    file->beside = NULL;
    return CLEAVE_OK;
}

enum cleave_status cv_new_file_close(struct cv_new_file *file, struct cleave_error *err)
{
    int error;

    if (file->beside != NULL && !file->hasty) /* it is kept on purpose */
        (void)fchmod(file->fd, 0600);
    error = file->fd >= 0 && close(file->fd) != 0 ? errno : 0;
    free(file->path);
    free(file->beside);
    *file = (struct cv_new_file){ .fd = -1, .copy_of = -1 };
    return error == 0 ? CLEAVE_OK : fail_now(err, error);
}

void cv_new_file_drop(struct cv_new_file *file)
{
    if (file->beside != NULL)
        unlink(file->beside);
    (void)cv_new_file_close(file, NULL);
}

uint64_t cv_new_file_size(const struct cv_new_file *file)
{
    struct stat info;

    /* Another process may have removed the directory. */
    return file->fd >= 0 && fstat(file->fd, &info) == 0 && info.st_size > 0 &&
                   (file->beside == NULL || info.st_nlink > 0)
               ? (uint64_t)info.st_size
               : 0;
}

enum cleave_status cv_folders_make(const char *path, struct cleave_error *err)
{
    char folder[PATH_MAX];

    if (path[0] == '\0')
        return CLEAVE_OK;
    for (const char *at = strchr(path + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        const size_t length = (size_t)(at - path);
        int error = ENAMETOOLONG;

        if (length < sizeof folder) {
            memcpy(folder, path, length);
            folder[length] = '\0';
            error = mkdir(folder, 0777) == 0 ? 0 : errno;
        }
        if (error != 0 && error != EEXIST)
            return cv_fail(err, CLEAVE_EENGINE, "cannot make the folder '%.*s': %s",
                           (int)length, path, strerror(error));
    }
    return CLEAVE_OK;
}
