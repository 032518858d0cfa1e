/* spill_file.c -- files that outputs are kept in. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/output/ordered_output_internal.h"
#include "run/common/process.h"

enum {
    SHELF_LEAST = 64 * 1024,
    SHELF_MEMORY = 4 << 20,
    SHELF_DISK = 64 << 20,
    SHELVES = 32, /* about how many there are when all is used */
};

enum cleave_status cv_spill_file_fail(const struct cv_ordered_output *gather, bool disk,
                                      int error, struct cleave_error *err)
{
    if (disk)
        return cv_fail(err, CLEAVE_EENGINE, "cannot keep output in '%s': %s",
                       gather->directory, strerror(error));
    return cv_fail(err, CLEAVE_EENGINE, "cannot keep output in memory: %s",
                   strerror(error));
}

/* A file in the directory that has no name and goes away with its descriptor. */
static int open_nameless(const char *directory)
{
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char *path;

    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    if (asprintf(&path, "%s/cleave-XXXXXX", directory) < 0) {
        errno = ENOMEM;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    free(path);
    return fd;
}

enum cleave_status cv_ordered_output_file(const struct cv_ordered_output *gather,
                                          int *out, struct cleave_error *err)
{
    *out = open_nameless(gather->directory);
    return *out >= 0 ? CLEAVE_OK : cv_spill_file_fail(gather, true, errno, err);
}

static enum cleave_status new_shelf(struct cv_ordered_output *gather, bool disk,
                                    struct cv_spill_file **out, struct cleave_error *err)
{
    struct cv_spill_file *shelf = calloc(1, sizeof *shelf);

    if (shelf == NULL)
        return cv_fail_memory(err, "an output");
    shelf->disk = disk;
    shelf->fd = disk ? open_nameless(gather->directory)
                     : memfd_create("cleave-output", MFD_CLOEXEC);
    if (shelf->fd < 0) {
        const int error = errno;

        free(shelf);
        return cv_spill_file_fail(gather, disk, error, err);
    }
    shelf->next = gather->shelves;
    if (shelf->next != NULL)
        shelf->next->previous = shelf;
    gather->shelves = shelf;
    *out = shelf;
    return CLEAVE_OK;
}

static void close_shelf(struct cv_ordered_output *gather, struct cv_spill_file *shelf)
{
    cv_spill_file_count(gather, shelf, -(int64_t)shelf->held);
    if (shelf->next != NULL)
        shelf->next->previous = shelf->previous;
    if (shelf->previous != NULL)
        shelf->previous->next = shelf->next;
    else
        gather->shelves = shelf->next;
    cv_close(&shelf->fd);
    free(shelf);
}

void cv_spill_files_close(struct cv_ordered_output *gather)
{
    struct cv_spill_file *next;

    for (struct cv_spill_file *shelf = gather->shelves; shelf != NULL; shelf = next) {
        next = shelf->next;
        close(shelf->fd);
        free(shelf);
    }
    gather->shelves = NULL;
}

/* From how many bytes on a shelf is not begun another store in. Few shelves means few
 * descriptors; small ones mean that space comes back soon. */
static uint64_t shelf_bytes(const struct cv_ordered_output *gather, bool disk)
{
    uint64_t bytes = (disk ? gather->disk : gather->options.memory) / SHELVES;

    if (gather->options.separate)
        return 0;
    if (disk)
        return bytes > SHELF_DISK ? bytes : SHELF_DISK;
    if (bytes > SHELF_MEMORY)
        bytes = SHELF_MEMORY;
    return bytes > SHELF_LEAST ? bytes : SHELF_LEAST;
}

static void list_shelf(struct cv_ordered_output *gather, struct cv_spill_file *shelf)
{
    shelf->listed = true;
    shelf->next_free = gather->free_shelves[shelf->disk];
    gather->free_shelves[shelf->disk] = shelf;
}

enum cleave_status cv_spill_file_take(struct cv_ordered_output *gather, bool disk,
                                      struct cv_spill_file **out,
                                      struct cleave_error *err)
{
    struct cv_spill_file *shelf = gather->free_shelves[disk];

    if (shelf != NULL) {
        gather->free_shelves[disk] = shelf->next_free;
        shelf->listed = false;
    } else {
        CV_TRY(new_shelf(gather, disk, &shelf, err));
    }
    shelf->taken = true;
    shelf->users++;
    *out = shelf;
    return CLEAVE_OK;
}

void cv_spill_file_return(struct cv_ordered_output *gather, struct cv_spill_file *shelf)
{
    shelf->taken = false;
    if (shelf->length < shelf_bytes(gather, shelf->disk))
        list_shelf(gather, shelf);
}

void cv_spill_file_count(struct cv_ordered_output *gather, struct cv_spill_file *shelf,
                         int64_t bytes)
{
    uint64_t *used = shelf->disk ? &gather->disk : &gather->memory;

    *used += (uint64_t)bytes;
    shelf->held += (uint64_t)bytes;
    if (gather->disk > gather->most_disk)
        gather->most_disk = gather->disk;
}

void cv_spill_file_leave(struct cv_ordered_output *gather, struct cv_spill_file *shelf)
{
    shelf->users--;
    if (shelf->users > 0 || shelf->taken)
        return;
    /* One that is listed goes on being filled; to empty it after every few bytes would
     * cost more than the bytes. */
    if (shelf->listed && shelf->length < SHELF_LEAST &&
        shelf->held < gather->options.memory / 4)
        return;
    if (gather->options.separate || ftruncate(shelf->fd, 0) != 0) {
        if (!shelf->listed)
            close_shelf(gather, shelf);
        return;
    }
    cv_spill_file_count(gather, shelf, -(int64_t)shelf->held);
    shelf->length = 0;
    if (!shelf->listed)
        list_shelf(gather, shelf);
}
