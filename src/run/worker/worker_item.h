/* worker_item.h -- items at a worker: their files come and go with them.
 * SPDX-License-Identifier: MIT */
#ifndef CV_WORKER_ITEM_H
#define CV_WORKER_ITEM_H
#include "run/wire/protocol.h"
#include "run/worker/worker_internal.h"

struct cv_task_item {
    struct cv_arena arena;
    struct cv_item_message message;
    struct cv_range
        bytes;   /* of the spool: those of the files                           */
    int fd;      /* borrowed: of the spool                                     */
    int errors;  /* owned: what it writes to standard error; -1                */
    bool placed; /* its files are in their places                              */
    bool bad, unseen;
};

/* What the commands of items are made of: fill in the members of a slot. */
void cv_worker_item_seat(struct cv_worker *worker, struct cv_slot *slot);
/* All of its parcel is here: read what it says, and put the files for all items in their
 * places. */
enum cleave_status cv_worker_item_open(struct cv_worker *worker, struct cv_task *task,
                                       struct cleave_error *err);
/* Its turn has come: its own files. */
enum cleave_status cv_worker_item_begin(struct cv_worker *worker, struct cv_task *task,
                                        struct cleave_error *err);
/* Its command has ended: keep the files that go back, and remove what is to be removed. */
enum cleave_status cv_worker_item_end(struct cv_worker *worker, struct cv_task *task,
                                      struct cleave_error *err);
/* worker_parcel.c: what is said of it. */
enum cleave_status cv_worker_item_read(struct cv_task *task, struct cleave_error *err);
/* Whether the same file is here under its name. */
bool cv_worker_item_is_here(const struct cv_item_message_file *file);
/* Whether a file that was not sent is not. */
bool cv_worker_item_unseen(const struct cv_task *task);
void cv_worker_item_free(struct cv_task *task);

/* Go to the folder of the job, which is made if need be; and, at the end, remove what was made
 * for the job, if that was asked for. */
enum cleave_status cv_worker_enter(struct cv_worker *worker, struct cleave_error *err);
void cv_worker_clean(struct cv_worker *worker);

#endif
