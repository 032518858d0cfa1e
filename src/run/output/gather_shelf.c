/* gather_lane.c -- files that outputs are kept in. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/output/gather_parts.h"
#include "run/kit/process.h"

enum {
    LANE_LEAST = 64 * 1024,
    LANE_MEMORY = 4 << 20,
    LANE_DISK = 64 << 20,
    LANES = 32, /* about how many there are when all is used */
};

enum cleave_status cv_lane_fail(const struct cv_gather *gather, bool disk, int error,
                                struct cleave_error *err)
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

static enum cleave_status new_lane(struct cv_gather *gather, bool disk,
                                   struct cv_lane **out, struct cleave_error *err)
{
    struct cv_lane *lane = calloc(1, sizeof *lane);

    if (lane == NULL)
        return cv_fail_memory(err, "an output");
    lane->disk = disk;
    lane->fd = disk ? open_nameless(gather->directory)
                    : memfd_create("cleave-output", MFD_CLOEXEC);
    if (lane->fd < 0) {
        const int error = errno;

        free(lane);
        return cv_lane_fail(gather, disk, error, err);
    }
    lane->next = gather->lanes;
    if (lane->next != NULL)
        lane->next->previous = lane;
    gather->lanes = lane;
    *out = lane;
    return CLEAVE_OK;
}

static void close_lane(struct cv_gather *gather, struct cv_lane *lane)
{
    cv_lane_count(gather, lane, -(int64_t)lane->held);
    if (lane->next != NULL)
        lane->next->previous = lane->previous;
    if (lane->previous != NULL)
        lane->previous->next = lane->next;
    else
        gather->lanes = lane->next;
    cv_close(&lane->fd);
    free(lane);
}

void cv_lanes_close(struct cv_gather *gather)
{
    struct cv_lane *next;

    for (struct cv_lane *lane = gather->lanes; lane != NULL; lane = next) {
        next = lane->next;
        close(lane->fd);
        free(lane);
    }
    gather->lanes = NULL;
}

/* From how many bytes on a lane is not begun another store in. Few lanes means few
 * descriptors; small ones mean that space comes back soon. */
static uint64_t lane_bytes(const struct cv_gather *gather, bool disk)
{
    uint64_t bytes = (disk ? gather->disk : gather->options.memory) / LANES;

    if (gather->options.separate)
        return 0;
    if (disk)
        return bytes > LANE_DISK ? bytes : LANE_DISK;
    if (bytes > LANE_MEMORY)
        bytes = LANE_MEMORY;
    return bytes > LANE_LEAST ? bytes : LANE_LEAST;
}

static void list_lane(struct cv_gather *gather, struct cv_lane *lane)
{
    lane->listed = true;
    lane->next_free = gather->free_lanes[lane->disk];
    gather->free_lanes[lane->disk] = lane;
}

enum cleave_status cv_lane_take(struct cv_gather *gather, bool disk, struct cv_lane **out,
                                struct cleave_error *err)
{
    struct cv_lane *lane = gather->free_lanes[disk];

    if (lane != NULL) {
        gather->free_lanes[disk] = lane->next_free;
        lane->listed = false;
    } else {
        CV_TRY(new_lane(gather, disk, &lane, err));
    }
    lane->taken = true;
    lane->users++;
    *out = lane;
    return CLEAVE_OK;
}

void cv_lane_return(struct cv_gather *gather, struct cv_lane *lane)
{
    lane->taken = false;
    if (lane->length < lane_bytes(gather, lane->disk))
        list_lane(gather, lane);
}

void cv_lane_count(struct cv_gather *gather, struct cv_lane *lane, int64_t bytes)
{
    uint64_t *used = lane->disk ? &gather->disk : &gather->memory;

    *used += (uint64_t)bytes;
    lane->held += (uint64_t)bytes;
    if (gather->disk > gather->most_disk)
        gather->most_disk = gather->disk;
}

void cv_lane_leave(struct cv_gather *gather, struct cv_lane *lane)
{
    lane->users--;
    if (lane->users > 0 || lane->taken)
        return;
    /* One that is listed goes on being filled; to empty it after every few bytes would
     * cost more than the bytes. */
    if (lane->listed && lane->length < LANE_LEAST &&
        lane->held < gather->options.memory / 4)
        return;
    if (gather->options.separate || ftruncate(lane->fd, 0) != 0) {
        if (!lane->listed)
            close_lane(gather, lane);
        return;
    }
    cv_lane_count(gather, lane, -(int64_t)lane->held);
    lane->length = 0;
    if (!lane->listed)
        list_lane(gather, lane);
}
