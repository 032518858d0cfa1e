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

void cv_sink_init(struct cv_ordered_output *outputs)
{
    const int sink = outputs->options.sink;
    struct stat info;

    outputs->kind = sink < 0 ? CV_SINK_NONE : CV_SINK_OTHER;
    outputs->copy_bytes = COPY;
    if (sink < 0 || fstat(sink, &info) != 0)
        return;
    if (S_ISFIFO(info.st_mode)) {
        outputs->kind = CV_SINK_PIPE;
        outputs->copy_bytes = PIPE_BUF;
    } else if (S_ISSOCK(info.st_mode)) {
        outputs->socket = true;
    } else if (isatty(sink)) {
        outputs->copy_bytes = PIPE_BUF;
    } else {
        outputs->kind = CV_SINK_FILE;
    }
}

bool cv_sink_takes_bytes(const struct cv_ordered_output *outputs)
{
    return outputs->kind == CV_SINK_NONE || outputs->kind == CV_SINK_FILE;
}

/* Whether it takes something now, so that copy_bytes can be written at once. */
static bool has_room(const struct cv_ordered_output *outputs)
{
    struct pollfd wait = { .fd = outputs->options.sink, .events = POLLOUT };

    return poll(&wait, 1, 0) != 0;
}

int64_t cv_sink_write_bytes(const struct cv_ordered_output *outputs,
                            const unsigned char *bytes, size_t length)
{
    if (cv_sink_takes_bytes(outputs))
        return write(outputs->options.sink, bytes, length);
    if (!has_room(outputs)) {
        errno = EAGAIN;
        return -1;
    }
    length = length < outputs->copy_bytes ? length : outputs->copy_bytes;
    return outputs->socket ? send(outputs->options.sink, bytes, length, MSG_DONTWAIT)
                           : write(outputs->options.sink, bytes, length);
}

/* Whether a call does not know how, so that another one should be tried. */
static bool is_unsupported(int error)
{
    return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EXDEV ||
           error == EBADF;
}

static int64_t write_file(struct cv_ordered_output *outputs,
                          const struct cv_extent *extent, size_t length)
{
    off_t offset = (off_t)extent->begin;
    ssize_t got = 0;

    length = length < STEP ? length : STEP;
    if (extent->spill->disk)
        got = copy_file_range(extent->spill->fd, &offset, outputs->options.sink, NULL,
                              length, 0);
    if (got == 0 || (got < 0 && is_unsupported(errno)))
        got = sendfile(outputs->options.sink, extent->spill->fd, &offset, length);
    return got;
}

static int64_t copy(struct cv_ordered_output *outputs, const struct cv_extent *extent,
                    size_t length)
{
    char bytes[COPY];
    ssize_t got;

    if (!has_room(outputs)) {
        errno = EAGAIN;
        return -1;
    }
    got = pread(extent->spill->fd, bytes,
                length < outputs->copy_bytes ? length : outputs->copy_bytes,
                (off_t)extent->begin);
    if (got <= 0)
        return got;
    return outputs->socket ? send(outputs->options.sink, bytes, (size_t)got, MSG_DONTWAIT)
                           : write(outputs->options.sink, bytes, (size_t)got);
}

int64_t cv_sink_write(struct cv_ordered_output *outputs, const struct cv_extent *extent,
                      uint64_t length)
{
    const size_t max = length < INT_MAX ? (size_t)length : INT_MAX;
    off_t offset = (off_t)extent->begin;
    int64_t got = -1;

    if (outputs->kind == CV_SINK_PIPE)
        got = splice(extent->spill->fd, &offset, outputs->options.sink, NULL, max,
                     SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
    else if (outputs->kind == CV_SINK_FILE)
        got = write_file(outputs, extent, max);
    else
        return copy(outputs, extent, max);
    if (got >= 0 || !is_unsupported(errno))
        return got;
    outputs->kind = CV_SINK_OTHER;
    return copy(outputs, extent, max);
}

enum cleave_status cv_sink_broke(struct cv_ordered_output *outputs, int error)
{
    outputs->error = error;
    if (error == EPIPE)
        return cv_fail(&outputs->failure, CLEAVE_EENGINE,
                       "cannot write to %s: nobody reads it any more",
                       outputs->sink_name);
    return cv_fail(&outputs->failure, CLEAVE_EENGINE, "cannot write to %s: %s",
                   outputs->sink_name, strerror(error));
}

enum cleave_status cv_sink_wrote(struct cv_ordered_output *outputs, int64_t got,
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
        return cv_sink_broke(outputs, got < 0 ? errno : EIO);
    outputs->written += (uint64_t)got;
    *max -= (uint64_t)got;
    *out_bytes = (size_t)got;
    return CLEAVE_OK;
}
