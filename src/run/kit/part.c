/* part.c -- bytes that a command is given. SPDX-License-Identifier: MIT */
#include "run/kit/part.h"

#include <string.h>
#include <unistd.h>

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
