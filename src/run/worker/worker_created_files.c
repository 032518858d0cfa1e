/* worker_created_files.c -- files that a worker has made for items, and may remove.
 * SPDX-License-Identifier: MIT */
#include "run/worker/worker_created_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/common/transfer.h"

static size_t find(const struct cv_created_files *ours, const char *name)
{
    size_t i = 0;

    while (i < ours->count && strcmp(ours->names[i], name) != 0)
        i++;
    return i;
}

bool cv_created_files_has(const struct cv_created_files *ours, const char *name)
{
    return find(ours, name) < ours->count;
}

enum cleave_status cv_created_files_claim(struct cv_created_files *ours, const char *name,
                                          struct cleave_error *err)
{
    struct stat facts;

    if (cv_created_files_has(ours, name) || lstat(name, &facts) == 0)
        return CLEAVE_OK;
    if (!CV_ROOM(ours->names, &ours->room, ours->count + 1))
        return cv_fail_memory(err, "the files of items");
    ours->names[ours->count] = strdup(name);
    if (ours->names[ours->count] == NULL)
        return cv_fail_memory(err, "the files of items");
    ours->count++;
    return CLEAVE_OK;
}

void cv_created_files_remove(struct cv_created_files *ours, const char *name)
{
    const size_t at = find(ours, name);

    if (at == ours->count)
        return;
    cv_item_transfer_remove(name);
    free(ours->names[at]);
    ours->names[at] = ours->names[--ours->count];
}

void cv_created_files_done(struct cv_created_files *ours)
{
    while (ours->count > 0)
        free(ours->names[--ours->count]);
    free(ours->names);
    *ours = (struct cv_created_files){ .names = NULL };
}
