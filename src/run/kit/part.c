/* part.c -- bytes that a command is given. SPDX-License-Identifier: MIT */
#include "run/kit/part.h"

#include <string.h>
#include <unistd.h>

struct cv_part cv_closing_part(enum cv_closing closing)
{
    static const struct {
        char bytes[2];
        uint64_t length;
    } closings[CV_CLOSINGS] = {
        [CV_CLOSING_NONE] = { { 0 }, 0 },           [CV_CLOSING_LINE] = { { '\n' }, 1 },
        [CV_CLOSING_EMPTY] = { { '\n', '\n' }, 2 }, [CV_CLOSING_ZERO] = { { '\0' }, 1 },
        [CV_CLOSING_TEXT] = { { 0 }, 0 },
        [CV_CLOSING_ARRAY] = { { ']', '\n' }, 2 },
    };

    return (struct cv_part){ .bytes = closings[closing].bytes,
                             .fd = -1,
                             .end = closings[closing].length };
}

ssize_t cv_part_read(const struct cv_part *part, uint64_t offset, void *out, size_t most)
{
    if (most > part->end - offset)
        most = (size_t)(part->end - offset);
    if (most == 0)
        return 0;
    if (part->bytes == NULL)
        return pread(part->fd, out, most, (off_t)offset);
    memcpy(out, (const char *)part->bytes + (offset - part->begin), most);
    return (ssize_t)most;
}
