/* item_transfer.c -- files that travel with an item. SPDX-License-Identifier: MIT */
#include "run/common/item_transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/new_file.h"
#include "base/text.h"
#include "base/write_all.h"

static enum cleave_status refuse(const char *name, const char *why,
                                 struct cleave_error *err)
{
    char shown[160];

    return cv_fail(err, CLEAVE_EINPUT, "cannot send '%s': %s",
                   cv_shown(name, strlen(name), shown, sizeof shown), why);
}

enum cleave_status cv_item_transfer_name(const char *name, const char **out,
                                         struct cleave_error *err)
{
    const char *dot = strstr(name, "/./");
    const char *there = dot != NULL ? dot + 3 : name;

    while (dot != NULL && *there == '/') /* it is not to be absolute */
        there++;
    if (*there == '\0' || there[strlen(there) - 1] == '/')
        return refuse(name, "it is no name of a file", err);
    for (const char *at = there; at != NULL; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
            return refuse(name, "'..' leads out of the folder there", err);
    }
    *out = there;
    return CLEAVE_OK;
}

static enum cleave_status put(struct cv_new_file *made,
                              const struct cv_item_transfer_file *file,
                              struct cleave_error *err)
{
    const struct timespec times[2] = { { .tv_nsec = UTIME_NOW },
                                       { .tv_sec = (time_t)(file->mtime_ns / 1000000000),
                                         .tv_nsec =
                                             (long)(file->mtime_ns % 1000000000) } };

    const int error = cv_copy_range(file->fd, file->begin, file->end, made->fd);

    if (error != 0)
        return cv_fail(err, CLEAVE_EENGINE, "%s", strerror(error));
    made->older.st_mode = file->mode & 0777;
    if (file->mtime_ns > 0 && futimens(made->fd, times) != 0)
        return cv_fail(err, CLEAVE_EENGINE, "%s", strerror(errno));
    CV_TRY(cv_new_file_place(made, err));
    return cv_new_file_close(made, err);
}

enum cleave_status cv_item_transfer_put(const char *path,
                                        const struct cv_item_transfer_file *file,
                                        struct cleave_error *err)
{
    struct cv_new_file made = { .fd = -1 };
    struct cleave_error why;
    struct stat older;
    enum cleave_status status;

    CV_TRY(cv_folders_make(path, err));
    if (file->overwrites && lstat(path, &older) == 0 && S_ISREG(older.st_mode))
        (void)chmod(path,
                    (older.st_mode & 0777) | S_IWUSR); /* if not, it is said below */
    status = cv_new_file_open(path, 0, &made, &why);
    if (status == CLEAVE_OK)
        status = put(&made, file, &why);
    if (status == CLEAVE_OK)
        return CLEAVE_OK;
    cv_new_file_drop(&made);
    return cv_fail(err, status, "cannot write '%.200s': %.200s", path, why.text);
}

void cv_item_transfer_remove(const char *path)
{
    char *copy = strdup(path), *slash;

    (void)unlink(path);
    while (copy != NULL && *path != '/' && (slash = strrchr(copy, '/')) != NULL) {
        *slash = '\0';
        if (*copy == '\0' || rmdir(copy) != 0)
            break;
    }
    free(copy);
}
