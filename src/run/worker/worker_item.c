/* worker_item.c -- items at a worker: their commands, files and directory.
 * SPDX-License-Identifier: MIT
 *
 * A host may be this machine or share its disk: a file in the directory of the job may be the
 * very file that is sent. Only files that did not exist before are cleaned up. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/new_file.h"
#include "run/common/transfer.h"
#include "run/worker/worker_internal.h"

enum {
    SOME = 128 * 1024,   /* bytes copied at a time */
    LONG_WAY = 64 << 20, /* bytes copied between two frames to the master */
    OPEN_FOLDERS = 16,
};

bool cv_worker_item_unseen(const struct cv_task *task)
{
    return task->item != NULL && task->item->unseen;
}

/* The name is valid and does not leave the directory. The master has checked it, but this worker
 * does not rely on that. */
static bool is_safe(const char *name)
{
    const char *there;

    return cv_item_transfer_name(name, &there, NULL) == CLEAVE_OK && there == name;
}

static enum cleave_status read_message(struct cv_task *task, struct cleave_error *err)
{
    struct cv_task_item *item = task->item;
    const struct cv_item_message *message = &item->message;
    const struct cv_range head = task->piece.header;
    const uint64_t length = head.end - head.begin;
    unsigned char *bytes, end = 0;
    uint64_t sum = 1;
    bool good;

    bytes = length <= CV_ITEM_HEAD_MOST ? cv_array(&task->arena, (size_t)length + 1, 1)
                                        : NULL;
    item->bytes = task->piece.body;
    item->fd = task->piece.fd;
    good = bytes != NULL &&
           pread(item->fd, bytes, (size_t)length, (off_t)head.begin) == (ssize_t)length &&
           cv_unpack_item(bytes, (size_t)length, &task->arena, &item->message) &&
           item->bytes.end > item->bytes.begin &&
           pread(item->fd, &end, 1, (off_t)item->bytes.end - 1) == 1;
    for (uint64_t i = 0; good && i < message->nfiles; i++) {
        sum += message->files[i].travels ? message->files[i].size : 0;
        good = is_safe(message->files[i].name);
    }
    for (size_t i = 0; good && message->returns[i] != NULL; i++)
        good = message->fault[0] != '\0' || is_safe(message->returns[i]);
    if (!good || sum != item->bytes.end - item->bytes.begin ||
        (end != CV_ITEM_GOOD && end != CV_ITEM_BAD))
        return cv_fail(err, CLEAVE_EINPUT, "expected an item, got something else");
    item->bad = end == CV_ITEM_BAD;
    return CLEAVE_OK;
}

bool cv_worker_same_file(int fd, const struct cv_remote_file *file, char *why,
                         size_t size)
{
    struct cv_content_hash ends;
    struct stat facts;

    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode))
        snprintf(why, size, "%s is not a regular file", file->path);
    else if ((uint64_t)facts.st_size != file->size ||
             cv_stat_mtime_ns(&facts) != file->mtime_ns)
        snprintf(why, size, "%s has another size or was changed at another time",
                 file->path);
    else if (cv_remote_ends(fd, file->size, file->path, &ends, NULL) != CLEAVE_OK ||
             !cv_content_hash_equal(ends, file->ends))
        snprintf(why, size, "%s begins or ends with other bytes", file->path);
    else
        return true;
    return false;
}

static bool is_here(const struct cv_item_message_file *file)
{
    const int fd = open(file->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool same =
        fd >= 0 &&
        cv_worker_same_file(fd,
                            &(struct cv_remote_file){ .path = file->name,
                                                      .size = file->size,
                                                      .mtime_ns = file->mtime_ns,
                                                      .ends = file->ends },
                            NULL, 0);

    if (fd >= 0)
        close(fd);
    return same;
}

/* --- files that are cleaned up ------------------------------------------------------------ */

static struct cv_created_file *find_created(const struct cv_worker *worker,
                                            const char *name)
{
    for (size_t i = 0; i < worker->ncreated; i++)
        if (strcmp(worker->created[i].name, name) == 0)
            return &worker->created[i];
    return NULL;
}

/* A file of this name is about to be written: it will be cleaned up if it does not exist. */
static enum cleave_status claim(struct cv_worker *worker, const char *name, bool base,
                                struct cleave_error *err)
{
    struct cv_created_file *known = find_created(worker, name);
    struct stat facts;
    char *copy;

    if (known != NULL)
        known->base = known->base || base;
    if (!worker->job.cleanup || known != NULL || lstat(name, &facts) == 0)
        return CLEAVE_OK;
    copy = strdup(name);
    if (copy == NULL ||
        !CV_ROOM(worker->created, &worker->created_room, worker->ncreated + 1)) {
        free(copy);
        return cv_fail_memory(err, "the files of items");
    }
    worker->created[worker->ncreated].name = copy;
    worker->created[worker->ncreated++].base = base;
    return CLEAVE_OK;
}

static void remove_created(struct cv_worker *worker, struct cv_created_file *file)
{
    cv_item_transfer_remove(file->name);
    free(file->name);
    *file = worker->created[--worker->ncreated];
}

static enum cleave_status get_words(void *context, uint64_t item, uint32_t slot,
                                    char ***out, struct cleave_error *err)
{
    const struct cv_worker *worker = context;
    const char *const *words = worker->seats[slot - 1].tasks.first->item->message.words;
    size_t count = 0, bytes = 0;
    char **block, *at;

    (void)item;
    for (; words[count] != NULL; count++)
        bytes += strlen(words[count]) + 1;
    block = malloc((count + 1) * sizeof *block + bytes);
    if (block == NULL)
        return cv_fail_memory(err, "a command");
    at = (char *)(block + count + 1);
    for (size_t i = 0; i < count; i++) {
        block[i] = at;
        at = stpcpy(at, words[i]) + 1;
    }
    block[count] = NULL;
    *out = block;
    return CLEAVE_OK;
}

/* Standard error goes to a file without a name, which is returned with the others. */
static enum cleave_status open_errors(void *context, uint64_t item, int *out,
                                      struct cleave_error *err)
{
    struct cv_worker *worker = context;

    for (uint32_t i = 0; i < worker->nseats; i++) {
        struct cv_task *task = worker->seats[i].tasks.first;

        if (task == NULL || !task->running || task->item->message.item != item ||
            !task->item->message.errors || task->item->errors >= 0)
            continue;
        CV_TRY(cv_ordered_output_file(worker->outputs, &task->item->errors, err));
        *out = fcntl(task->item->errors, F_DUPFD_CLOEXEC, 3);
        return *out >= 0 ? CLEAVE_OK
                         : cv_fail_errno(err, errno, "cannot keep standard error");
    }
    return CLEAVE_OK;
}

void cv_worker_item_seat(struct cv_worker *worker, struct cv_slot *slot)
{
    static const struct cleave_items none;

    if (!worker->job.items)
        return;
    if (worker->items == NULL)
        worker->items = cv_array(&worker->arena, 1, sizeof none);
    if (worker->items == NULL)
        return; /* cv_worker_item_open fails */
    *worker->items = (struct cleave_items){ .words = get_words,
                                            .errors = open_errors,
                                            .context = worker };
    slot->base = slot->command;
    slot->items = worker->items;
}

/* --- files that arrive -------------------------------------------------------------- */

static enum cleave_status put_file(struct cv_worker *worker,
                                   const struct cv_task_item *item,
                                   const struct cv_item_message_file *file, uint64_t at,
                                   struct cleave_error *err)
{
    const bool base = file < item->message.files + item->message.nbase;

    CV_TRY(claim(worker, file->name, base, err));
    return cv_item_transfer_put(file->name,
                                &(struct cv_item_transfer_file){
                                    .fd = item->fd,
                                    .begin = at,
                                    .end = at + file->size,
                                    .mode = (unsigned)file->mode,
                                    .mtime_ns = file->mtime_ns,
                                    .overwrites = true },
                                err);
}

/* Write or check the files [first, last) of the message. */
static enum cleave_status place(struct cv_worker *worker, struct cv_task_item *item,
                                uint64_t first, uint64_t last, struct cleave_error *err)
{
    uint64_t at = item->bytes.begin, since = 0;

    for (uint64_t i = 0; i < last; i++) {
        const struct cv_item_message_file *file = &item->message.files[i];

        if (i >= first && file->travels)
            CV_TRY(put_file(worker, item, file, at, err));
        else if (i >= first && !is_here(file)) {
            item->unseen = true;
            return cv_fail(err, CLEAVE_EINPUT, "%.150s is not here, or another one",
                           file->name);
        }
        at += file->travels ? file->size : 0;
        since += i >= first && file->travels ? file->size : 0;
        if (since > LONG_WAY) { /* a sign of life for the master */
            cv_worker_send(worker, CV_FRAME_PING, 0, 0, 0);
            since = 0;
        }
    }
    return CLEAVE_OK;
}

enum cleave_status cv_worker_item_open(struct cv_worker *worker, struct cv_task *task,
                                       struct cleave_error *err)
{
    struct cv_task_item *item = cv_array(&task->arena, 1, sizeof *item);
    enum cleave_status status;

    if (item == NULL)
        return cv_fail_memory(err, "an item");
    task->item = item;
    item->errors = -1;
    if (worker->items == NULL)
        return cv_fail_memory(err, "an item");
    CV_TRY(read_message(task, err));
    task->piece = (struct cv_piece){ .begin = item->message.item,
                                     .end = item->message.item + 1,
                                     .name = "the item",
                                     .fd = -1,
                                     .mate_fd = -1 };
    if (item->bad || item->message.nbase == 0)
        return CLEAVE_OK;
    status = place(worker, item, 0, item->message.nbase, err);
    return item->unseen ? CLEAVE_OK : status;
}

enum cleave_status cv_worker_item_begin(struct cv_worker *worker, struct cv_task *task,
                                        struct cleave_error *err)
{
    struct cv_task_item *item = task->item;

    worker->seats[task->seat].slot.told = item->message.told;
    if (item->placed)
        return CLEAVE_OK; /* the item had to wait for a process */
    if (item->message.fault[0] != '\0')
        return cv_fail(err, CLEAVE_EINPUT, "%.250s", item->message.fault);
    if (item->bad)
        return cv_fail(err, CLEAVE_EINPUT, "a file of it was changed while it was sent");
    if (item->unseen)
        return cv_fail(err, CLEAVE_EINPUT, "%.150s is not here, or another one",
                       item->message.files[0].name);
    item->placed = true;
    for (size_t i = 0; item->message.returns[i] != NULL; i++)
        CV_TRY(claim(worker, item->message.returns[i], false, err));
    return place(worker, item, item->message.nbase, item->message.nfiles, err);
}

/* --- files that return -------------------------------------------------------------- */

static enum cleave_status keep_bytes(struct cv_worker *worker, int fd, uint64_t size,
                                     struct cv_chunk_output *to, struct cleave_error *err)
{
    char *bytes = malloc(SOME);
    enum cleave_status status =
        bytes != NULL ? CLEAVE_OK : cv_fail_memory(err, "a file that goes back");

    for (uint64_t at = 0; status == CLEAVE_OK && at < size;) {
        const uint64_t left = size - at;
        const ssize_t got =
            pread(fd, bytes, left < SOME ? (size_t)left : SOME, (off_t)at);

        if (got <= 0)
            status = cv_fail(err, CLEAVE_EENGINE,
                             "a file that goes back was changed while it was read");
        else
            status = cv_chunk_output_write(to, bytes, (size_t)got, err);
        at += got > 0 ? (uint64_t)got : 0;
        if (at % LONG_WAY < SOME)
            cv_worker_send(worker, CV_FRAME_PING, 0, 0, 0);
    }
    free(bytes);
    return status;
}

/* Describe standard error and files in task->back, followed by their bytes. */
static enum cleave_status keep_files(struct cv_worker *worker, struct cv_task *task,
                                     int *fds, struct cv_item_message_back *back,
                                     struct cleave_error *err)
{
    struct cv_packer head = { NULL, 0, 0, false }, length = { NULL, 0, 0, false };
    enum cleave_status status = CLEAVE_OK;

    for (uint64_t i = 0; i < back->nfiles; i++) {
        struct stat facts;

        back->files[i].name = "";
        if (fds[i] < 0 || fstat(fds[i], &facts) != 0 || !S_ISREG(facts.st_mode))
            continue;
        back->files[i] = (struct cv_item_message_file){
            .name = "",
            .size = (uint64_t)facts.st_size,
            .mode = facts.st_mode & 0777,
            .mtime_ns = cv_stat_mtime_ns(&facts),
            .travels = true,
        };
    }
    cv_pack_back(&head, back);
    cv_pack_number(&length, head.length);
    if (head.failed || length.failed)
        status = cv_fail_memory(err, "the files that go back");
    CV_THEN(status, cv_chunk_output_open(worker->outputs, &task->back, err));
    CV_THEN(status, cv_chunk_output_write(task->back, length.bytes, length.length, err));
    CV_THEN(status, cv_chunk_output_write(task->back, head.bytes, head.length, err));
    for (uint64_t i = 0; status == CLEAVE_OK && i < back->nfiles; i++)
        if (back->files[i].travels)
            status = keep_bytes(worker, fds[i], back->files[i].size, task->back, err);
    cv_pack_done(&head);
    cv_pack_done(&length);
    return status;
}

static enum cleave_status keep_back(struct cv_worker *worker, struct cv_task *task,
                                    struct cleave_error *err)
{
    struct cv_task_item *item = task->item;
    const char *const *names = item->message.returns;
    struct cv_item_message_back back = { .nfiles = item->message.errors };
    const uint64_t first = back.nfiles;
    enum cleave_status status;
    int *fds;

    for (size_t i = 0; names[i] != NULL; i++)
        back.nfiles++;
    if (back.nfiles == 0)
        return CLEAVE_OK;
    fds = cv_array(&task->arena, (size_t)back.nfiles, sizeof *fds);
    back.files = cv_array(&task->arena, (size_t)back.nfiles, sizeof *back.files);
    if (fds == NULL || back.files == NULL)
        return cv_fail_memory(err, "the files that go back");
    for (uint64_t i = 0; i < back.nfiles; i++)
        fds[i] = i < first ? item->errors
                           : open(names[i - first], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    status = keep_files(worker, task, fds, &back, err);
    for (uint64_t i = first; i < back.nfiles; i++)
        cv_close(&fds[i]);
    if (status != CLEAVE_OK && task->back != NULL) {
        cv_chunk_output_drop(task->back);
        task->back = NULL;
    }
    return status;
}

static bool has_file(const struct cv_task *task, const char *name)
{
    const struct cv_item_message *message = &task->item->message;

    for (uint64_t i = 0; i < message->nfiles; i++)
        if (strcmp(message->files[i].name, name) == 0)
            return true;
    return false;
}

/* Another item uses the file: it will be removed with the last one. */
static bool is_used(const struct cv_worker *worker, const struct cv_task *by,
                    const char *name)
{
    for (uint32_t i = 0; i < worker->nseats; i++) {
        const struct cv_task *task = worker->seats[i].tasks.first;

        if (task != NULL && task != by && task->item != NULL && task->item->placed &&
            has_file(task, name))
            return true;
    }
    return false;
}

static void remove_unused(struct cv_worker *worker, const struct cv_task *task,
                          const char *name)
{
    struct cv_created_file *file = find_created(worker, name);

    if (file != NULL && !file->base && !is_used(worker, task, name))
        remove_created(worker, file);
}

/* Files that were sent or returned, except those that existed before. */
static void remove_files(struct cv_worker *worker, const struct cv_task *task)
{
    const struct cv_item_message *message = &task->item->message;

    for (size_t i = 0; message->returns[i] != NULL; i++)
        remove_unused(worker, task, message->returns[i]);
    for (uint64_t i = message->nbase; i < message->nfiles; i++)
        remove_unused(worker, task, message->files[i].name);
}

enum cleave_status cv_worker_item_end(struct cv_worker *worker, struct cv_task *task,
                                      struct cleave_error *err)
{
    struct cv_task_item *item = task->item;
    enum cleave_status status = CLEAVE_OK;

    if (item == NULL || !item->placed)
        return CLEAVE_OK;
    if (task->running && (task->end.flags & CV_END_STOPPED) == 0)
        status = keep_back(worker, task, err);
    item->placed = false;
    if (worker->job.cleanup)
        remove_files(worker, task);
    return status;
}

/* --- the directory ------------------------------------------------------------------ */

/* The directory "..." is a new one. */
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

/* "~/" is the home directory. */
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
    while (worker->ncreated > 0)
        remove_created(worker, &worker->created[worker->ncreated - 1]);
    free(worker->created);
    if (worker->own_folder != NULL && worker->job.cleanup && chdir("/") == 0)
        (void)nftw(worker->own_folder, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    free(worker->own_folder);
    worker->own_folder = NULL;
}
