/* worker_folder.c -- the folder that a worker works in. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/new_file.h"
#include "run/worker/worker_item.h"

enum { OPEN_FOLDERS = 16 };

/* One of its own, for the name "...". */
static enum cleave_status make_own(struct cv_worker *worker, struct cleave_error *err)
{
    const char *home = getenv("HOME");

    if (asprintf(&worker->own_folder, "%s/.cache/cleave/work-XXXXXX",
                 home != NULL && home[0] != '\0' ? home : ".") < 0) {
        worker->own_folder = NULL;
        return cv_fail_memory(err, "a folder");
    }
    CV_TRY(cv_folders_make(worker->own_folder, err));
    if (mkdtemp(worker->own_folder) == NULL || chdir(worker->own_folder) != 0)
        return cv_fail(err, CLEAVE_EINPUT, "cannot make a folder like %s: %s",
                       worker->own_folder, strerror(errno));
    return CLEAVE_OK;
}

/* "~/" begins what is below the home. */
static char *expand(const char *name)
{
    const char *home = getenv("HOME");
    char *path;

    if (strncmp(name, "~/", 2) != 0 || home == NULL)
        return strdup(name);
    return asprintf(&path, "%s/%s", home, name + 2) < 0 ? NULL : path;
}

enum cleave_status cv_worker_enter(struct cv_worker *worker, struct cleave_error *err)
{
    const char *name = worker->job.directory;
    enum cleave_status status = CLEAVE_OK;
    char *path, *inside;

    if (name[0] == '\0')
        return CLEAVE_OK;
    if (worker->job.items && strcmp(name, "...") == 0)
        return make_own(worker, err);
    path = expand(name);
    if (path == NULL || asprintf(&inside, "%s/x", path) < 0) {
        free(path);
        return cv_fail_memory(err, "a folder");
    }
    if (worker->job.items)
        status = cv_folders_make(inside, err);
    if (status == CLEAVE_OK && chdir(path) != 0)
        status =
            cv_fail(err, CLEAVE_EINPUT, "cannot work in %s: %s", path, strerror(errno));
    free(inside);
    free(path);
    return status;
}

static int remove_one(const char *path, const struct stat *facts, int kind,
                      struct FTW *where)
{
    (void)facts;
    (void)kind;
    (void)where;
    (void)remove(path);
    return 0;
}

void cv_worker_clean(struct cv_worker *worker)
{
    while (worker->nbase > 0) {
        char *name = worker->base[--worker->nbase];

        if (worker->job.cleanup)
            cv_created_files_remove(&worker->ours, name);
        free(name);
    }
    free(worker->base);
    worker->base = NULL;
    cv_created_files_done(&worker->ours);
    if (worker->own_folder != NULL && worker->job.cleanup && chdir("/") == 0)
        (void)nftw(worker->own_folder, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    free(worker->own_folder);
    worker->own_folder = NULL;
}
