/* output_sink.c -- write kept outputs to where they go. SPDX-License-Identifier: MIT
 *
 * A pipe takes references to pages and says when it is full. A file is filled within the
 * kernel. What is left is read and written: a terminal, a socket, a file that is only
 * appended to (which splice refuses). */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/output/ordered_output_internal.h"

enum {
    STEP = 1 << 20,   /* written to a file at a time, as this can take a while       */
    COPY = 64 * 1024, /* read and written at a time                                  */
};

void cv_sink_init(struct cv_ordered_output *gather)
{
    const int sink = gather->options.sink;
    struct stat info;

    gather->kind = sink < 0 ? CV_SINK_NONE : CV_SINK_OTHER;
    gather->copy_bytes = COPY;
    if (sink < 0 || fstat(sink, &info) != 0)
        return;
    if (S_ISFIFO(info.st_mode)) {
        gather->kind = CV_SINK_PIPE;
        gather->copy_bytes = PIPE_BUF;
    } else if (S_ISSOCK(info.st_mode)) {
        gather->socket = true;
    } else if (isatty(sink)) {
        gather->copy_bytes = PIPE_BUF;
    } else {
        gather->kind = CV_SINK_FILE;
    }
}

bool cv_sink_takes_bytes(const struct cv_ordered_output *gather)
{
    return gather->kind == CV_SINK_NONE || gather->kind == CV_SINK_FILE;
}

/* Whether it takes something now, so that copy_bytes can be written at once. */
static bool has_room(const struct cv_ordered_output *gather)
{
    struct pollfd wait = { .fd = gather->options.sink, .events = POLLOUT };

    return poll(&wait, 1, 0) != 0;
}

int64_t cv_sink_write_bytes(const struct cv_ordered_output *gather,
                            const unsigned char *bytes, size_t length)
{
    if (cv_sink_takes_bytes(gather))
        return write(gather->options.sink, bytes, length);
    if (!has_room(gather)) {
        errno = EAGAIN;
        return -1;
    }
    length = length < gather->copy_bytes ? length : gather->copy_bytes;
    return gather->socket ? send(gather->options.sink, bytes, length, MSG_DONTWAIT)
                          : write(gather->options.sink, bytes, length);
}

/* Whether a call does not know how, so that another one should be tried. */
static bool is_unsupported(int error)
{
    return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EXDEV ||
           error == EBADF;
}

static int64_t write_file(struct cv_ordered_output *gather,
                          const struct cv_extent *extent, size_t length)
{
    off_t offset = (off_t)extent->begin;
    ssize_t got = 0;

    length = length < STEP ? length : STEP;
    if (extent->shelf->disk)
        got = copy_file_range(extent->shelf->fd, &offset, gather->options.sink, NULL,
                              length, 0);
    if (got == 0 || (got < 0 && is_unsupported(errno)))
        got = sendfile(gather->options.sink, extent->shelf->fd, &offset, length);
    return got;
}

static int64_t copy(struct cv_ordered_output *gather, const struct cv_extent *extent,
                    size_t length)
{
    char bytes[COPY];
    ssize_t got;

    if (!has_room(gather)) {
        errno = EAGAIN;
        return -1;
    }
    got = pread(extent->shelf->fd, bytes,
                length < gather->copy_bytes ? length : gather->copy_bytes,
                (off_t)extent->begin);
    if (got <= 0)
        return got;
    return gather->socket ? send(gather->options.sink, bytes, (size_t)got, MSG_DONTWAIT)
                          : write(gather->options.sink, bytes, (size_t)got);
}

int64_t cv_sink_write(struct cv_ordered_output *gather, const struct cv_extent *extent,
                      uint64_t length)
{
    const size_t max = length < INT_MAX ? (size_t)length : INT_MAX;
    off_t offset = (off_t)extent->begin;
    int64_t got = -1;

    if (gather->kind == CV_SINK_PIPE)
        got = splice(extent->shelf->fd, &offset, gather->options.sink, NULL, max,
                     SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
    else if (gather->kind == CV_SINK_FILE)
        got = write_file(gather, extent, max);
    else
        return copy(gather, extent, max);
    if (got >= 0 || !is_unsupported(errno))
        return got;
    gather->kind = CV_SINK_OTHER;
    return copy(gather, extent, max);
}

enum cleave_status cv_sink_broke(struct cv_ordered_output *gather, int error)
{
    gather->error = error;
    if (error == EPIPE)
        return cv_fail(&gather->failure, CLEAVE_EENGINE,
                       "cannot write to %s: nobody reads it any more", gather->sink_name);
    return cv_fail(&gather->failure, CLEAVE_EENGINE, "cannot write to %s: %s",
                   gather->sink_name, strerror(error));
}

enum cleave_status cv_sink_wrote(struct cv_ordered_output *gather, int64_t got,
                                 uint64_t *max, size_t *out_bytes,
                                 enum cv_ordered_output_state *out)
{
    *out_bytes = 0;
    if (got < 0 && errno == EINTR)
        return CLEAVE_OK;
    if (got < 0 && errno == EAGAIN) {
        *out = CV_GATHER_BLOCKED;
        return CLEAVE_OK;
    }
    if (got <= 0)
        return cv_sink_broke(gather, got < 0 ? errno : EIO);
    gather->written += (uint64_t)got;
    *max -= (uint64_t)got;
    *out_bytes = (size_t)got;
    return CLEAVE_OK;
}
