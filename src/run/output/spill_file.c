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

enum cleave_status cv_spill_file_fail(const struct cv_ordered_output *outputs, bool disk,
                                      int error, struct cleave_error *err)
{
    if (disk)
        return cv_fail(err, CLEAVE_EENGINE, "cannot keep output in '%s': %s",
                       outputs->directory, strerror(error));
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

enum cleave_status cv_ordered_output_file(const struct cv_ordered_output *outputs,
                                          int *out, struct cleave_error *err)
{
    *out = open_nameless(outputs->directory);
    return *out >= 0 ? CLEAVE_OK : cv_spill_file_fail(outputs, true, errno, err);
}

static enum cleave_status new_shelf(struct cv_ordered_output *outputs, bool disk,
                                    struct cv_spill_file **out, struct cleave_error *err)
{
    struct cv_spill_file *spill = calloc(1, sizeof *spill);

    if (spill == NULL)
        return cv_fail_memory(err, "an output");
    spill->disk = disk;
    spill->fd = disk ? open_nameless(outputs->directory)
                     : memfd_create("cleave-output", MFD_CLOEXEC);
    if (spill->fd < 0) {
        const int error = errno;

        free(spill);
        return cv_spill_file_fail(outputs, disk, error, err);
    }
    spill->next = outputs->spills;
    if (spill->next != NULL)
        spill->next->previous = spill;
    outputs->spills = spill;
    *out = spill;
    return CLEAVE_OK;
}

static void close_shelf(struct cv_ordered_output *outputs, struct cv_spill_file *spill)
{
    cv_spill_file_count(outputs, spill, -(int64_t)spill->held);
    if (spill->next != NULL)
        spill->next->previous = spill->previous;
    if (spill->previous != NULL)
        spill->previous->next = spill->next;
    else
        outputs->spills = spill->next;
    cv_close(&spill->fd);
    free(spill);
}

void cv_spill_files_close(struct cv_ordered_output *outputs)
{
    struct cv_spill_file *next;

    for (struct cv_spill_file *spill = outputs->spills; spill != NULL; spill = next) {
        next = spill->next;
        close(spill->fd);
        free(spill);
    }
    outputs->spills = NULL;
}

/* From how many bytes on a spill file is not begun another store in. Few spill files means few
 * descriptors; small ones mean that space comes back soon. */
static uint64_t shelf_bytes(const struct cv_ordered_output *outputs, bool disk)
{
    uint64_t bytes = (disk ? outputs->disk : outputs->options.memory) / SHELVES;

    if (outputs->options.separate)
        return 0;
    if (disk)
        return bytes > SHELF_DISK ? bytes : SHELF_DISK;
    if (bytes > SHELF_MEMORY)
        bytes = SHELF_MEMORY;
    return bytes > SHELF_LEAST ? bytes : SHELF_LEAST;
}

static void list_shelf(struct cv_ordered_output *outputs, struct cv_spill_file *spill)
{
    spill->listed = true;
    spill->next_free = outputs->free_shelves[spill->disk];
    outputs->free_shelves[spill->disk] = spill;
}

enum cleave_status cv_spill_file_take(struct cv_ordered_output *outputs, bool disk,
                                      struct cv_spill_file **out,
                                      struct cleave_error *err)
{
    struct cv_spill_file *spill = outputs->free_shelves[disk];

    if (spill != NULL) {
        outputs->free_shelves[disk] = spill->next_free;
        spill->listed = false;
    } else {
        CV_TRY(new_shelf(outputs, disk, &spill, err));
    }
    spill->taken = true;
    spill->users++;
    *out = spill;
    return CLEAVE_OK;
}

void cv_spill_file_return(struct cv_ordered_output *outputs, struct cv_spill_file *spill)
{
    spill->taken = false;
    if (spill->length < shelf_bytes(outputs, spill->disk))
        list_shelf(outputs, spill);
}

void cv_spill_file_count(struct cv_ordered_output *outputs, struct cv_spill_file *spill,
                         int64_t bytes)
{
    uint64_t *used = spill->disk ? &outputs->disk : &outputs->memory;

    *used += (uint64_t)bytes;
    spill->held += (uint64_t)bytes;
    if (outputs->disk > outputs->most_disk)
        outputs->most_disk = outputs->disk;
}

void cv_spill_file_leave(struct cv_ordered_output *outputs, struct cv_spill_file *spill)
{
    spill->users--;
    if (spill->users > 0 || spill->taken)
        return;
    /* One that is listed goes on being filled; to empty it after every few bytes would
     * cost more than the bytes. */
    if (spill->listed && spill->length < SHELF_LEAST &&
        spill->held < outputs->options.memory / 4)
        return;
    if (outputs->options.separate || ftruncate(spill->fd, 0) != 0) {
        if (!spill->listed)
            close_shelf(outputs, spill);
        return;
    }
    cv_spill_file_count(outputs, spill, -(int64_t)spill->held);
    spill->length = 0;
    if (!spill->listed)
        list_shelf(outputs, spill);
}
