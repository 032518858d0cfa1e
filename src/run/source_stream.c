/* source_stream.c -- a stream, kept in memory that belongs to no process.
 * SPDX-License-Identifier: MIT
 *
 * A pipe is emptied by splice; anything else is read and written. Memory is given back by
 * whole pages once all of a page is finished: nothing that is left is touched. */
#include "run/source_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fail.h"

enum {
    READ_MOST = 4 << 20,   /* by one call                       */
    SPLICE_MOST = 1 << 20, /* also what the pipe is widened to  */
    BUFFER = 256 * 1024,
    SHARES = 4,
};
static const uint64_t HOLD = 64 << 20;

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

static enum cleave_status open_input(struct cv_stream *stream, const char *path,
                                     struct cleave_error *err)
{
    struct stat now;

    stream->borrowed = strcmp(path, "-") == 0;
    stream->name = strdup(stream->borrowed ? "standard input" : path);
    if (stream->name == NULL)
        return cv_fail_memory(err, "an input");
    do
        stream->fd = stream->borrowed ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    while (stream->fd < 0 && errno == EINTR);
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
    stream->splices = S_ISFIFO(now.st_mode);
    if (stream->splices) /* fewer turns; without the right to it, it goes on as it is */
        fcntl(stream->fd, F_SETPIPE_SZ, SPLICE_MOST);
    stream->polls = can_poll(stream->fd);
    stream->memory = memfd_create("cleave-input", MFD_CLOEXEC);
    if (stream->memory < 0)
        return cannot(stream, "make room for it in memory", err);
    return CLEAVE_OK;
}

enum cleave_status cv_stream_new(const char *path,
                                 const struct cv_source_options *options,
                                 struct cv_stream **out, struct cleave_error *err)
{
    struct cv_stream *stream = calloc(1, sizeof *stream);
    enum cleave_status status;

    if (stream == NULL)
        return cv_fail_memory(err, "an input");
    stream->fd = stream->memory = -1;
    stream->numbers = options->numbers;
    stream->hold = options->hold > 0 ? options->hold : HOLD;
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
    if (stream->fd >= 0 && !stream->borrowed)
        close(stream->fd);
    if (stream->memory >= 0)
        close(stream->memory);
    free(stream->name);
    free(stream->path);
    free(stream->buffer);
    free(stream->done);
    free(stream->marks);
    free(stream);
}

/* --- reading ---------------------------------------------------------------------------- */

bool cv_stream_full(const struct cv_stream *stream)
{
    /* What is not settled is one record: that has to be kept in any case. */
    return stream->settled - stream->finished >= stream->hold;
}

/* All of a buffer, which was read already, to memory. */
static enum cleave_status keep(struct cv_stream *stream, size_t length,
                               struct cleave_error *err)
{
    for (size_t at = 0; at < length;) {
        const ssize_t put = pwrite(stream->memory, stream->buffer + at, length - at,
                                   (off_t)stream->received);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return cannot(stream, "keep it in memory", err);
        at += (size_t)put;
        stream->received += (uint64_t)put;
    }
    return CLEAVE_OK;
}

/* One read, which may be waited for if the descriptor is not readable. *got is 0 if there
 * is nothing now. */
static enum cleave_status copy(struct cv_stream *stream, size_t *got,
                               struct cleave_error *err)
{
    ssize_t length;

    if (stream->buffer == NULL)
        stream->buffer = malloc(BUFFER);
    if (stream->buffer == NULL)
        return cv_fail_memory(err, "a buffer for the input");
    length = read(stream->fd, stream->buffer, BUFFER);
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) {
        *got = 0;
        return CLEAVE_OK;
    }
    if (length < 0)
        return cannot(stream, "read", err);
    stream->ended = length == 0;
    *got = (size_t)length;
    return keep(stream, *got, err);
}

static enum cleave_status transfer(struct cv_stream *stream, size_t *got,
                                   struct cleave_error *err)
{
    off_t at = (off_t)stream->received;
    const ssize_t moved = splice(stream->fd, NULL, stream->memory, &at, SPLICE_MOST,
                                 SPLICE_F_NONBLOCK | SPLICE_F_MOVE);

    if (moved < 0 && (errno == EINVAL || errno == ENOSYS)) {
        stream->splices = false;
        return copy(stream, got, err);
    }
    *got = moved > 0 ? (size_t)moved : 0;
    stream->received += *got;
    stream->ended = moved == 0;
    if (moved < 0 && errno != EAGAIN && errno != EINTR)
        return cannot(stream, "keep it in memory", err);
    return CLEAVE_OK;
}

enum cleave_status cv_stream_read(struct cv_stream *stream, struct cleave_error *err)
{
    const uint64_t before = stream->received;
    size_t got = 1;

    while (got > 0 && !stream->ended && stream->received - before < READ_MOST) {
        if (stream->splices) {
            CV_TRY(transfer(stream, &got, err));
        } else {
            CV_TRY(copy(stream, &got, err));
            /* Only the first read is known not to wait. */
            if (stream->polls)
                break;
        }
    }
    return CLEAVE_OK;
}

/* --- memory ----------------------------------------------------------------------------- */

static uint64_t page_size(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

enum cleave_status cv_stream_map(const struct cv_stream *stream, uint64_t begin,
                                 uint64_t end, const char **out, struct cleave_error *err)
{
    const uint64_t from = begin & ~(page_size() - 1);
    const char *bytes = mmap(NULL, (size_t)(end - from), PROT_READ, MAP_SHARED,
                             stream->memory, (off_t)from);

    if (bytes == MAP_FAILED)
        return cannot(stream, "look at it in memory", err);
    *out = bytes + (size_t)(begin - from);
    return CLEAVE_OK;
}

void cv_stream_unmap(const char *bytes, uint64_t begin, uint64_t end)
{
    const size_t into = (size_t)(begin & (page_size() - 1));

    munmap((char *)bytes - into, (size_t)(end - begin) + into);
}

static enum cleave_status count(const struct cv_stream *stream, uint64_t begin,
                                uint64_t end, uint64_t *out, struct cleave_error *err)
{
    const char *bytes;
    enum cleave_status status;

    *out = 0;
    if (begin == end)
        return CLEAVE_OK;
    CV_TRY(cv_stream_map(stream, begin, end, &bytes, err));
    status = cv_splitter_count(stream->window.splitter, bytes, (size_t)(end - begin), out,
                               err);
    cv_stream_unmap(bytes, begin, end);
    return status;
}

/* --- finishing ---------------------------------------------------------------------------- */

/* Add to what is finished; *out is what it has become part of. */
static enum cleave_status note_done(struct cv_stream *stream, struct cv_stream_done new,
                                    struct cv_stream_done *out, struct cleave_error *err)
{
    struct cv_stream_done *done = stream->done;
    size_t index = stream->ndone, gone = 0;

    if (stream->ndone == stream->done_capacity) {
        done = cv_grow(done, &stream->done_capacity, stream->ndone + 1, sizeof *done);
        if (done == NULL)
            return cv_fail_memory(err, "a list of what is finished");
        stream->done = done;
    }
    while (index > 0 && done[index - 1].begin > new.begin)
        index--;
    if (index < stream->ndone && done[index].begin == new.end) {
        new.end = done[index].end;
        new.records += done[index].records;
        gone++;
    }
    if (index > 0 && done[index - 1].end == new.begin) {
        index--;
        new.begin = done[index].begin;
        new.records += done[index].records;
        gone++;
    }
    memmove(done + index + 1, done + index + gone,
            (stream->ndone - index - gone) * sizeof *done);
    done[index] = new;
    stream->ndone += 1 - gone;
    *out = new;
    return CLEAVE_OK;
}

static size_t marks_before(const struct cv_stream *stream, uint64_t offset)
{
    size_t low = 0, high = stream->nmarks;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (stream->marks[middle] < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum cleave_status cv_stream_finish(struct cv_stream *stream, uint64_t begin,
                                    uint64_t end, struct cleave_error *err)
{
    const uint64_t page = page_size();
    struct cv_stream_done new = { begin, end, 0 }, whole = new;
    uint64_t from, to;
    size_t first, last;

    if (stream->numbers)
        CV_TRY(count(stream, begin, end, &new.records, err));
    CV_TRY(note_done(stream, new, &whole, err));
    stream->finished += end - begin;
    first = marks_before(stream, begin);
    last = marks_before(stream, end);
    if (first < last)
        memmove(stream->marks + first, stream->marks + last,
                (stream->nmarks - last) * sizeof *stream->marks);
    stream->nmarks -= last - first;

    /* The pages with bytes of this piece on which nothing is left. The header stays. */
    if (whole.begin < stream->header_end)
        whole.begin = stream->header_end;
    from = begin & ~(page - 1);
    to = (end + page - 1) & ~(page - 1);
    if (from < whole.begin)
        from = (whole.begin + page - 1) & ~(page - 1);
    if (to > whole.end)
        to = whole.end & ~(page - 1);
    if (from < to && fallocate(stream->memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                               (off_t)from, (off_t)(to - from)) != 0)
        return cannot(stream, "give back memory of it", err);
    return CLEAVE_OK;
}

enum cleave_status cv_stream_records(const struct cv_stream *stream, uint64_t begin,
                                     uint64_t end, uint64_t *first, uint64_t *number,
                                     struct cleave_error *err)
{
    uint64_t before = 0, at = 0, records;

    CV_TRY(count(stream, begin, end, number, err));
    if (!stream->numbers) {
        *first = 0;
        return CLEAVE_OK;
    }
    for (size_t i = 0; i < stream->ndone && stream->done[i].begin < begin; i++) {
        CV_TRY(count(stream, at, stream->done[i].begin, &records, err));
        before += records + stream->done[i].records;
        at = stream->done[i].end;
    }
    CV_TRY(count(stream, at, begin, &records, err));
    *first = before + records + 1;
    return CLEAVE_OK;
}
