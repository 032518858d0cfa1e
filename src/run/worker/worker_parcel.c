/* worker_parcel.c -- what a worker is told of an item. SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/common/transfer.h"
#include "run/worker/worker_item.h"

bool cv_worker_item_unseen(const struct cv_task *task)
{
    return task->item != NULL && task->item->unseen;
}

void cv_worker_item_free(struct cv_task *task)
{
    if (task->item == NULL)
        return;
    cv_close(&task->item->errors);
    cv_arena_done(&task->item->arena);
    free(task->item);
    task->item = NULL;
}

enum cleave_status cv_worker_item_read(struct cv_task *task, struct cleave_error *err)
{
    struct cv_task_item *item = task->item;
    const struct cv_range head = task->piece.header;
    const uint64_t length = head.end - head.begin;
    unsigned char *bytes, end = 0;
    uint64_t sum = 1;
    bool good;

    bytes = length <= CV_PARCEL_HEAD_MOST ? cv_array(&item->arena, (size_t)length + 1, 1)
                                          : NULL;
    item->bytes = task->piece.body;
    item->fd = task->piece.fd;
    good = bytes != NULL &&
           pread(item->fd, bytes, (size_t)length, (off_t)head.begin) == (ssize_t)length &&
           cv_unpack_parcel(bytes, (size_t)length, &item->arena, &item->message) &&
           item->bytes.end > item->bytes.begin &&
           pread(item->fd, &end, 1, (off_t)item->bytes.end - 1) == 1;
    for (uint64_t i = 0; good && i < item->message.nfiles; i++) {
        const char *there;

        sum += item->message.files[i].travels ? item->message.files[i].size : 0;
        /* The master has looked; but who says that it is one? */
        good = cv_item_transfer_name(item->message.files[i].name, &there, err) ==
                   CLEAVE_OK &&
               there == item->message.files[i].name;
    }
    for (size_t i = 0; good && item->message.returns[i] != NULL; i++) {
        const char *there;

        good =
            item->message.fault[0] != '\0' ||
            (cv_item_transfer_name(item->message.returns[i], &there, err) == CLEAVE_OK &&
             there == item->message.returns[i]);
    }
    if (!good || sum != item->bytes.end - item->bytes.begin ||
        (end != CV_PARCEL_GOOD && end != CV_PARCEL_BAD))
        return cv_fail(err, CLEAVE_EINPUT, "expected an item, got something else");
    item->bad = end == CV_PARCEL_BAD;
    return CLEAVE_OK;
}

bool cv_worker_item_is_here(const struct cv_item_message_file *file)
{
    const int fd = open(file->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct cv_content_hash ends;
    struct stat facts;
    bool same = fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) &&
                (uint64_t)facts.st_size == file->size &&
                (int64_t)facts.st_mtim.tv_sec * 1000000000 + facts.st_mtim.tv_nsec ==
                    file->mtime_ns &&
                cv_remote_ends(fd, file->size, file->name, &ends, NULL) == CLEAVE_OK &&
                cv_content_hash_equal(ends, file->ends);

    if (fd >= 0)
        close(fd);
    return same;
}
