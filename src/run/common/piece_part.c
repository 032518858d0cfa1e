/* piece_part.c -- bytes that a command is given. SPDX-License-Identifier: MIT */
#include "run/common/piece_part.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "run/common/lazy_reader.h"

struct cv_part cv_closing_part(enum cv_closing closing)
{
    static const struct {
        char bytes[2];
        uint64_t length;
    } closings[CV_CLOSINGS] = {
        [CV_CLOSING_NONE] = { { 0 }, 0 },
        [CV_CLOSING_LINE] = { { '\n' }, 1 },
        [CV_CLOSING_EMPTY] = { { '\n', '\n' }, 2 },
        [CV_CLOSING_ZERO] = { { '\0' }, 1 },
        [CV_CLOSING_TEXT] = { { 0 }, 0 },
        [CV_CLOSING_ARRAY] = { { ']', '\n' }, 2 },
    };

    return (struct cv_part){ .bytes = closings[closing].bytes,
                             .fd = -1,
                             .end = closings[closing].length };
}

/* A well gives what it has at hand; callers want all. */
static ssize_t read_well(struct cv_lazy_reader *well, uint64_t offset, char *out,
                         size_t max)
{
    size_t done = 0, got = 1;

    while (done < max && got > 0) {
        if (well->read(well, offset + done, out + done, max - done, &got, NULL) !=
            CLEAVE_OK) {
            errno = EBADMSG;
            return done > 0 ? (ssize_t)done : -1;
        }
        done += got;
    }
    return (ssize_t)done;
}

ssize_t cv_part_read(const struct cv_part *part, uint64_t offset, void *out, size_t max)
{
    if (max > part->end - offset)
        max = (size_t)(part->end - offset);
    if (max == 0)
        return 0;
    if (part->bytes == NULL && part->well != NULL)
        return read_well(part->well, offset, out, max);
    if (part->bytes == NULL)
        return pread(part->fd, out, max, (off_t)offset);
    memcpy(out, (const char *)part->bytes + (offset - part->begin), max);
    return (ssize_t)max;
}
