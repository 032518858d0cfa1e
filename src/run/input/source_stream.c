/* source_stream.c -- a stream, kept in memory. SPDX-License-Identifier: MIT
 *
 * It is read straight to where it stays. */
#include "run/input/source_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/decode/decode_ahead.h"
#include "run/common/poller.h"
#include "run/split/split_kind.h"

enum {
    READ_MOST = 4 << 20, /* by one call                                       */
    TURN = 256 * 1024,   /* by one read: commands are not to wait for long    */
    WIDE = 1 << 20,      /* what a pipe is widened to: the most for everybody */
    SHARES = 4,
};

static enum cleave_status cannot(const struct cv_stream *stream, const char *what,
                                 struct cleave_error *err)
{
    const struct cv_place place = { stream->name, 0, 0, NULL };

    return cv_fail_at(err, &place, "cannot %s: %s", what, strerror(errno));
}

/* --- opening ---------------------------------------------------------------------------- */

/* /dev/zero, and standard input in the middle of a file, cannot be waited for. */
static bool can_poll(int fd)
{
    struct epoll_event event = { .events = EPOLLIN };
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    const bool can =
        epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0 || errno != EPERM;

    if (epoll >= 0)
        close(epoll);
    return can;
}

/* A FIFO that nobody writes to is not waited for here, where no signal would end it: it is
 * readable when somebody does, or has done so. */
static int open_now(const char *path)
{
    int fd, flags;

    do
        fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
    if (flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static enum cleave_status open_input(struct cv_stream *stream, const char *path,
                                     struct cleave_error *err)
{
    struct stat now;

    stream->borrowed = strcmp(path, "-") == 0;
    stream->name = strdup(stream->borrowed ? "standard input" : path);
    if (stream->name == NULL)
        return cv_fail_memory(err, "an input");
    stream->fd = stream->borrowed ? STDIN_FILENO : open_now(path);
    if (stream->fd < 0 || fstat(stream->fd, &now) != 0)
        return cannot(stream, "read", err);
    /* What /dev/fd/3 leads to is no name that means anything later. */
    stream->path = stream->borrowed ? strdup(path) : realpath(path, NULL);
    if (stream->path == NULL)
        stream->path = strdup(path);
    if (stream->path == NULL)
        return cv_fail_memory(err, "an input");
    stream->device = (uint64_t)now.st_dev;
    stream->inode = (uint64_t)now.st_ino;
    if (S_ISFIFO(
            now.st_mode)) /* fewer turns; without the right to it, it goes on as it is */
        fcntl(stream->fd, F_SETPIPE_SZ, WIDE);
    stream->polls = can_poll(stream->fd);
    return cv_spool_init(&stream->spool, 0, err);
}

enum cleave_status cv_stream_new(const char *path,
                                 const struct cv_source_options *options,
                                 struct cv_stream **out, struct cleave_error *err)
{
    struct cv_stream *stream = calloc(1, sizeof *stream);
    enum cleave_status status;

    if (stream == NULL)
        return cv_fail_memory(err, "an input");
    stream->fd = -1;
    stream->numbers = options->numbers;
    stream->packed_fd = -1;
    stream->codec = options->codec;
    stream->eats = options->splitter->kind->eats;
    stream->looked =
        options->raw || (options->splitter->record_bytes > 0 && options->codec == NULL);
    stream->headed = !options->header && !cv_splitter_frames(options->splitter);
    stream->hold = options->hold > 0 ? options->hold : CV_SOURCE_HOLD;
    stream->piece_most = stream->hold / (options->shares > 0 ? options->shares : SHARES);
    if (stream->piece_most == 0)
        stream->piece_most = 1;
    cv_cut_window_init(&stream->window, options->splitter);
    status = open_input(stream, path, err);
    if (status == CLEAVE_OK)
        *out = stream;
    else
        cv_stream_free(stream);
    return status;
}

void cv_stream_free(struct cv_stream *stream)
{
    if (stream == NULL)
        return;
    if (stream->decoding != NULL) {
        cv_decode_thread_free(stream->decoding);
        stream->fd = stream->packed_fd;
    }
    if (stream->fd >= 0 && !stream->borrowed)
        close(stream->fd);
    cv_spool_done(&stream->spool);
    free(stream->name);
    free(stream->path);
    free(stream->header);
    free(stream->tail);
    free(stream->marks);
    free(stream);
}

/* --- reading ---------------------------------------------------------------------------- */

bool cv_stream_full(const struct cv_stream *stream)
{
    /* What is not settled is one record: that has to be kept in any case. */
    return stream->settled - stream->finished >= stream->hold;
}

/* One read, which waits if the descriptor is not readable. *got is 0 if there is nothing
 * now. */
static enum cleave_status read_once(struct cv_stream *stream, size_t *got,
                                    struct cleave_error *err)
{
    char *to;
    size_t room;
    ssize_t length;

    CV_TRY(cv_spool_room(&stream->spool, stream->settled, stream->received, &to, &room,
                         err));
    length = stream->decoding != NULL
                 ? cv_decode_thread_read(stream->decoding, to, room, TURN)
                 : read(stream->fd, to, room < TURN ? room : TURN);
    *got = 0;
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return CLEAVE_OK;
    if (length < 0)
        return cannot(stream, "read", err);
    stream->ended = length == 0;
    if (stream->ended)
        stream->ended_s = cv_clock_s();
    if (stream->ended && stream->decoding != NULL)
        cv_stream_unpacked(stream);
    if (stream->received == 0 && length > 0)
        stream->first_s = cv_clock_s();
    stream->received += (uint64_t)length;
    *got = (size_t)length;
    return CLEAVE_OK;
}

enum cleave_status cv_stream_read(struct cv_stream *stream, struct cleave_error *err)
{
    const uint64_t before = stream->received;
    size_t got;

    do
        CV_TRY(read_once(stream, &got, err));
    while (got > 0 && !stream->ended && stream->received - before < READ_MOST &&
           !stream->polls); /* only the first read is known not to wait */
    return CLEAVE_OK;
}

/* --- finishing -------------------------------------------------------------------------- */

enum cleave_status cv_stream_finish(struct cv_stream *stream, uint64_t begin,
                                    uint64_t end, struct cleave_error *err)
{
    const size_t first = cv_stream_marks_before(stream, begin);
    const size_t last = cv_stream_marks_before(stream, end);

    stream->finished += end - begin;
    if (first < last)
        memmove(stream->marks + first, stream->marks + last,
                (stream->nmarks - last) * sizeof *stream->marks);
    stream->nmarks -= last - first;
    return cv_spool_give_back(&stream->spool, begin, end, err);
}
