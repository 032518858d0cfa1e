/* worker_ours.h -- files that a worker has made for items, and may remove.
 * SPDX-License-Identifier: MIT
 *
 * A host may be this machine, or share its disk: what is in the folder there may be the very file
 * that was to be sent. Only what was not there before is removed (--cleanup). */
#ifndef CV_WORKER_OURS_H
#define CV_WORKER_OURS_H
#include <stdbool.h>
#include <stddef.h>
#include <cleave/error.h>

/* All zero: none. */
struct cv_worker_ours {
    char **names; /* owned */
    size_t count, room;
};

/* A file of that name is about to be made: it is ours if there is none. */
enum cleave_status cv_worker_ours_claim(struct cv_worker_ours *ours, const char *name,
                                        struct cleave_error *err);
bool cv_worker_ours_has(const struct cv_worker_ours *ours, const char *name);
/* Remove it, if it is ours. */
void cv_worker_ours_remove(struct cv_worker_ours *ours, const char *name);
void cv_worker_ours_done(struct cv_worker_ours *ours);

#endif
