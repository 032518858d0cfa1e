/* file_target.c -- targets of paths, and names in paths. SPDX-License-Identifier: MIT */
#include "base/file_target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fail.h"

enum { MOST_LINKS = 40, PROC_MAGIC = 0x9fa0 };

size_t cv_folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

const char *cv_file_name(const char *path)
{
    return path + cv_folder_length(path);
}

bool cv_name_ends_in(const char *name, const char *end)
{
    const size_t length = strlen(name), size = strlen(end);

    return length > size && strcmp(name + length - size, end) == 0;
}

/* Links of /proc do not hold a name, they are the file. */
static bool is_magic(const char *link)
{
    const int fd = open(link, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct statfs facts;
    bool magic;

    if (fd < 0)
        return false;
    magic = fstatfs(fd, &facts) == 0 && facts.f_type == PROC_MAGIC;
    close(fd);
    return magic;
}

/* The descriptor of this process that a link of /proc is, or -1. */
static int descriptor_of(const char *link, const struct stat *info)
{
    const char *name = link + cv_folder_length(link);
    struct stat open_file;
    char *end;
    const long number = strtol(name, &end, 10);

    if (end == name || *end != '\0' || number < 0 || number > INT_MAX ||
        fstat((int)number, &open_file) != 0)
        return -1;
    return open_file.st_dev == info->st_dev && open_file.st_ino == info->st_ino
               ? (int)number
               : -1;
}

/* Replace *path by the target of that symbolic link. */
static enum cleave_status follow(char **path, struct cleave_error *err)
{
    char target[PATH_MAX], *next;
    const ssize_t length = readlink(*path, target, sizeof target);

    if (length < 0 || length == (ssize_t)sizeof target)
        return cv_fail(err, CLEAVE_EINPUT, "%s",
                       strerror(length < 0 ? errno : ENAMETOOLONG));
    if (asprintf(&next, "%.*s%.*s",
                 length > 0 && target[0] == '/' ? 0 : (int)cv_folder_length(*path), *path,
                 (int)length, target) < 0)
        return cv_fail_memory(err, "the name of a file");
    free(*path);
    *path = next;
    return CLEAVE_OK;
}

static enum cleave_status walk(struct cv_file_target *target, struct cleave_error *err)
{
    struct stat info;

    for (int links = 0; links <= MOST_LINKS; links++) {
        if (lstat(target->path, &info) != 0)
            return errno == ENOENT ? CLEAVE_OK
                                   : cv_fail(err, CLEAVE_EINPUT, "%s", strerror(errno));
        target->magic = S_ISLNK(info.st_mode) && is_magic(target->path);
        if (target->magic && stat(target->path, &info) != 0)
            return cv_fail(err, CLEAVE_EINPUT, "%s", strerror(errno));
        if (!S_ISLNK(info.st_mode)) {
            target->exists = true;
            target->info = info;
            if (target->magic)
                target->descriptor = descriptor_of(target->path, &info);
            return CLEAVE_OK;
        }
        CV_TRY(follow(&target->path, err));
    }
    return cv_fail(err, CLEAVE_EINPUT, "%s", strerror(ELOOP));
}

enum cleave_status cv_file_target_find(const char *path, struct cv_file_target *out,
                                       struct cleave_error *err)
{
    enum cleave_status status;

    *out = (struct cv_file_target){ .path = strdup(path), .descriptor = -1 };
    if (out->path == NULL)
        return cv_fail_memory(err, "the name of a file");
    status = walk(out, err);
    if (status != CLEAVE_OK)
        cv_file_target_done(out);
    return status;
}

void cv_file_target_done(struct cv_file_target *target)
{
    free(target->path);
    *target = (struct cv_file_target){ .descriptor = -1 };
}

/* Whether two uses of a file conflict: not for a terminal or /dev/null. */
static bool holds_bytes(mode_t mode)
{
    return S_ISREG(mode) || S_ISFIFO(mode) || S_ISBLK(mode);
}

void cv_descriptor_identify(int fd, struct cv_file_identity *out)
{
    struct stat info;

    *out = (struct cv_file_identity){ .descriptor = true };
    if (fstat(fd, &info) != 0 || !holds_bytes(info.st_mode))
        return;
    out->known = true;
    out->device = info.st_dev;
    out->number = info.st_ino;
}

void cv_file_identify(const char *path, struct cv_file_identity *out)
{
    struct cv_file_target target;
    struct stat info;
    size_t folder;

    *out = (struct cv_file_identity){ .known = false };
    if (cv_file_target_find(path, &target, NULL) != CLEAVE_OK)
        return;
    out->descriptor = target.magic;
    folder = cv_folder_length(target.path);
    info = target.info;
    if (target.exists) {
        out->known = holds_bytes(target.info.st_mode);
    } else if (strlen(target.path + folder) < sizeof out->name) {
        memcpy(out->name, target.path + folder, strlen(target.path + folder) + 1);
        target.path[folder] = '\0';
        out->known = stat(folder > 0 ? target.path : ".", &info) == 0;
    }
    out->device = info.st_dev;
    out->number = info.st_ino;
    cv_file_target_done(&target);
}

bool cv_file_same(const struct cv_file_identity *a, const struct cv_file_identity *b)
{
    return a->known && b->known && a->device == b->device && a->number == b->number &&
           strcmp(a->name, b->name) == 0;
}
