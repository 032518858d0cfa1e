/* worker_created_files.h -- files that a worker has made for items, and may remove.
 * SPDX-License-Identifier: MIT
 *
 * A host may be this machine, or share its disk: what is in the folder there may be the very file
 * that was to be sent. Only what was not there before is removed (--cleanup). */
#ifndef CV_WORKER_CREATED_FILES_H
#define CV_WORKER_CREATED_FILES_H
#include <stdbool.h>
#include <stddef.h>
#include <cleave/error.h>

/* All zero: none. */
struct cv_created_files {
    char **names; /* owned */
    size_t count, room;
};

/* A file of that name is about to be made: it is ours if there is none. */
enum cleave_status cv_created_files_claim(struct cv_created_files *ours, const char *name,
                                          struct cleave_error *err);
bool cv_created_files_has(const struct cv_created_files *ours, const char *name);
/* Remove it, if it is ours. */
void cv_created_files_remove(struct cv_created_files *ours, const char *name);
void cv_created_files_done(struct cv_created_files *ours);

#endif
