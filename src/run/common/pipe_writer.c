/* pipe_writer.c -- put bytes of files and of memory into a pipe. SPDX-License-Identifier: MIT */
#include "run/common/pipe_writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/common/poller.h"
#include "run/common/process.h"
#include "run/common/writer_thread.h"
#include "run/common/lazy_reader.h"

enum {
    COPY = 64 * 1024, /* read and written at a time                */
    MOST = 16 << 20,  /* asked of one call                         */
    LEND = 16 * 1024, /* less is copied as fast                    */
    PAGE = 4096,
};

static const double SOON_S = 0.005; /* who has taken a sip by then may have more */
static const double ROOM_S = 1;     /* there may be room for a thread by then    */

void cv_pipe_writer_init(struct cv_pipe_writer *writer, int pipe,
                         const struct cv_part *parts, size_t nparts)
{
    assert(nparts <= CV_FEED_PARTS);
    *writer = (struct cv_pipe_writer){ .pipe = pipe,
                                       .nparts = nparts,
                                       .width = { CV_PIPE_NARROW, CV_PIPE_WIDE, 0, 0 } };
    for (size_t i = 0; i < nparts; i++) {
        assert(parts[i].begin <= parts[i].end);
        writer->parts[i] = parts[i];
    }
}

/* Whether a thread puts bytes into the pipe. */
static bool is_direct(const struct cv_pipe_writer *writer)
{
    return writer->threaded != NULL && writer->threaded->direct;
}

void cv_pipe_writer_hold(const struct cv_pipe_writer *writer)
{
    if (is_direct(writer))
        cv_writer_thread_hold(writer->threaded);
}

void cv_pipe_writer_go_on(const struct cv_pipe_writer *writer)
{
    if (is_direct(writer))
        cv_writer_thread_go_on(writer->threaded);
}

/* Bytes that a thread has put in and that are not counted yet. */
static uint64_t uncounted(const struct cv_pipe_writer *writer)
{
    return is_direct(writer) ? cv_writer_thread_at(writer->threaded) - writer->flow_at
                             : 0;
}

static void count(struct cv_pipe_writer *writer, uint64_t more)
{
    writer->flow_at += more;
    writer->parts[writer->flow_part].begin += more;
    writer->fed += more;
}

void cv_pipe_writer_done(struct cv_pipe_writer *writer)
{
    if (writer->threaded == NULL)
        return;
    if (is_direct(writer)) {
        cv_writer_thread_halt(writer->threaded);
        count(writer, uncounted(writer));
    }
    writer->parts[writer->flow_part].well->stop(writer->threaded);
    writer->threaded = NULL;
}

int cv_pipe_writer_source(const struct cv_pipe_writer *writer)
{
    return writer->threaded != NULL ? cv_writer_thread_fd(writer->threaded) : -1;
}

uint64_t cv_pipe_writer_fed(const struct cv_pipe_writer *writer)
{
    return writer->fed + uncounted(writer);
}

uint64_t cv_pipe_writer_unread(const struct cv_pipe_writer *writer)
{
    int unread = 0;
    uint64_t fed;

    if (ioctl(writer->pipe, FIONREAD, &unread) != 0 || unread < 0)
        return 0;
    fed = cv_pipe_writer_fed(writer);
    return (uint64_t)unread < fed ? (uint64_t)unread : fed;
}

/* The beginning of a part moves on as it is fed. */
uint64_t cv_pipe_writer_at(const struct cv_pipe_writer *writer, size_t part)
{
    assert(part < writer->nparts);
    return writer->parts[part].begin +
           (is_direct(writer) && writer->flow_part == part ? uncounted(writer) : 0);
}

bool cv_pipe_writer_cut(struct cv_pipe_writer *writer, size_t part, uint64_t end)
{
    assert(part < writer->nparts);
    if (end < writer->parts[part].begin || end > writer->parts[part].end)
        return false;
    if (is_direct(writer) && writer->flow_part == part &&
        !cv_writer_thread_until(writer->threaded, end))
        return false;
    writer->parts[part].end = end;
    return true;
}

void cv_pipe_writer_narrow(struct cv_pipe_writer *writer, size_t small_write)
{
    writer->width.bytes = PAGE;
    writer->small_write = small_write < PAGE ? small_write : 0;
    cv_pipe_widen(writer->pipe, PAGE);
}

void cv_pipe_writer_gulp(struct cv_pipe_writer *writer)
{
    writer->small_write = 0;
}

void cv_pipe_writer_grow(struct cv_pipe_writer *writer, const struct cv_part *parts,
                         size_t nparts)
{
    const bool under_way = is_direct(writer) && writer->part == writer->flow_part;

    assert(nparts <= CV_FEED_PARTS);
    for (size_t i = 0; i < nparts; i++) {
        assert(i >= writer->nparts || parts[i].end >= writer->parts[i].end);
        if (i < writer->nparts)
            writer->parts[i].end = parts[i].end;
        else
            writer->parts[writer->nparts++] = parts[i];
    }
    writer->part = 0;
    writer->copies = false;
    /* It need not come to the end of what it had to be told. */
    if (under_way && !writer->parts[writer->flow_part].well->bounded)
        (void)cv_writer_thread_until(writer->threaded,
                                     writer->parts[writer->flow_part].end);
}

/* The next sip, of a reader that has taken all before; 0: it has not. One that was faster with the
 * last than a pipe should hold gets twice as much: a record that is longer than a sip is read fast,
 * and then worked on. A pipe of one page has room when all in it was read, not before. */
static uint64_t next_small_write(struct cv_pipe_writer *writer)
{
    const double now_s = cv_clock_s();

    if (cv_pipe_writer_unread(writer) > 0)
        return 0;
    if (writer->sipped_s > 0 && now_s - writer->sipped_s < SOON_S)
        writer->small_write *= 2;
    /* When the first one was put in, its reader had not begun. */
    if (writer->fed > 0)
        writer->sipped_s = now_s;
    if (writer->small_write < PAGE)
        return writer->small_write;
    writer->small_write = 0;
    return UINT64_MAX;
}

/* Read and write instead. The pipe's end to write to is ours alone, so it may be told not
 * to wait. */
static ssize_t copy(struct cv_pipe_writer *writer, const struct cv_part *part,
                    size_t length)
{
    char bytes[COPY];
    const void *from = part->bytes;

    if (from == NULL) {
        const ssize_t got =
            pread(part->fd, bytes, length < COPY ? length : COPY, (off_t)part->begin);

        if (got <= 0)
            return got;
        length = (size_t)got;
        from = bytes;
    }
    return write(writer->pipe, from, length);
}

/* Without a copy; -1 with errno EINVAL or so if that does not work. */
static ssize_t lend(const struct cv_pipe_writer *writer, const struct cv_part *part,
                    size_t length)
{
    off_t offset = (off_t)part->begin;
    /* The type is for both directions; nothing is written there. */
    const union {
        const void *in;
        void *out;
    } bytes = { part->bytes };
    const struct iovec memory = { bytes.out, length };

    if (part->bytes == NULL)
        return splice(part->fd, &offset, writer->pipe, NULL, length,
                      SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
    return vmsplice(writer->pipe, &memory, 1, SPLICE_F_NONBLOCK);
}

/* Nothing came of a flow: is there room in the pipe, or nobody who reads it? */
static void look_at_pipe(struct cv_pipe_writer *writer)
{
    struct pollfd pipe = { .fd = writer->pipe, .events = POLLOUT };
    const int ready = poll(&pipe, 1, 0);

    writer->dry = ready > 0 && (pipe.revents & POLLOUT) != 0;
    errno = ready > 0 && (pipe.revents & POLLERR) != 0 ? EPIPE : EAGAIN;
}

/* What a thread has put in since, as if it had been put in here. */
static enum cleave_status hear(struct cv_pipe_writer *writer, const struct cv_part *part,
                               ssize_t *got, struct cleave_error *err)
{
    bool ended, refused;

    (void)cv_writer_thread_until(writer->threaded, part->end);
    *got = (ssize_t)(cv_writer_thread_heard(writer->threaded, &ended, &refused) -
                     writer->flow_at);
    if (*got > 0)
        return CLEAVE_OK;
    if (ended && !refused)
        return cv_writer_thread_end(writer->threaded, err);
    *got = -1;
    look_at_pipe(writer);
    writer->dry = true;
    if (refused)
        errno = EPIPE;
    return CLEAVE_OK;
}

/* To wait for room for a thread would not do: those who take the room may be commands that wait for
 * threads themselves. What comes is made here then, which is slower, as all others wait meanwhile. */
static enum cleave_status begin_flow(struct cv_pipe_writer *writer,
                                     const struct cv_part *part, struct cleave_error *err)
{
    const struct cv_writer_thread_into into = { .pipe = writer->pipe,
                                                .width = &writer->width,
                                                .step = writer->step,
                                                .fed = writer->fed,
                                                .at = part->begin,
                                                .until = part->end };
    enum cleave_status status =
        part->well->threaded(part->well, part->begin, part->end,
                             part->well->direct ? &into : NULL, &writer->threaded, err);

    if (status == CLEAVE_ERESOURCES && part->well->give != NULL &&
        cv_never_wait(writer->pipe)) {
        writer->here_s = cv_clock_s();
        status =
            part->well->threaded(part->well, part->begin, part->end,
                                 &(struct cv_writer_thread_into){ .pipe = CV_FLOW_HERE },
                                 &writer->threaded, err);
    }
    CV_TRY(status);
    writer->flow_part = writer->part;
    writer->flow_at = part->begin;
    writer->flow_until = part->end;
    return CLEAVE_OK;
}

/* Out of a flow without a thread. */
static enum cleave_status copy_from_thread(const struct cv_pipe_writer *writer,
                                           const struct cv_part *part, size_t length,
                                           ssize_t *got, struct cleave_error *err)
{
    const char *bytes;
    size_t some;

    if (part->well->bounded && length > writer->flow_until - part->begin)
        length = (size_t)(writer->flow_until - part->begin); /* no more was asked for */
    CV_TRY(part->well->give(writer->threaded, part->begin, &bytes, &some, err));
    *got = write(writer->pipe, bytes, some < length ? some : length);
    return CLEAVE_OK;
}

/* Out of what flows from a well. The two ends of splice say the same when the one is empty
 * and when the other is full. */
static enum cleave_status draw(struct cv_pipe_writer *writer, struct cv_part *part,
                               size_t length, ssize_t *got, struct cleave_error *err)
{
    if (writer->threaded != NULL &&
        (writer->flow_part != writer->part || writer->flow_at != part->begin ||
         (part->well->bounded && writer->flow_at == writer->flow_until) ||
         (writer->threaded->here && cv_clock_s() - writer->here_s > ROOM_S)))
        cv_pipe_writer_done(writer);
    if (writer->threaded == NULL)
        CV_TRY(begin_flow(writer, part, err));
    assert(writer->threaded != NULL);
    if (writer->threaded->here) {
        CV_TRY(copy_from_thread(writer, part, length, got, err));
    } else if (is_direct(writer)) {
        CV_TRY(hear(writer, part, got, err));
    } else {
        *got = splice(cv_pipe_writer_source(writer), NULL, writer->pipe, NULL, length,
                      SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
        if (*got == 0)
            CV_TRY(cv_writer_thread_end(writer->threaded, err));
        else if (*got < 0 && errno == EAGAIN)
            look_at_pipe(writer);
    }
    if (*got > 0)
        writer->flow_at += (uint64_t)*got;
    return CLEAVE_OK;
}

static ssize_t put(struct cv_pipe_writer *writer, const struct cv_part *part,
                   size_t length)
{
    if (!writer->copies && (part->bytes == NULL || (part->lasting && length >= LEND))) {
        const ssize_t got = lend(writer, part, length);

        if (got >= 0 || (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP))
            return got;
    }
    if (!writer->copies) {
        if (!cv_never_wait(writer->pipe))
            return -1;
        writer->copies = true;
    }
    return copy(writer, part, length);
}

static enum cleave_status fail_part(const struct cv_part *part, int error,
                                    struct cleave_error *err)
{
    const struct cv_place place = { part->name, 0, 0, NULL };

    if (error == 0)
        return cv_fail_at(err, &place,
                          "expected bytes up to %" PRIu64 ", got only %" PRIu64
                          ": has the file been cut meanwhile?",
                          part->end, part->begin);
    return cv_fail_at(err, &place, "cannot read at byte %" PRIu64 ": %s", part->begin,
                      strerror(error));
}

enum cleave_status cv_pipe_writer_pump(struct cv_pipe_writer *writer, uint64_t max,
                                       enum cv_pipe_writer_state *out,
                                       struct cleave_error *err)
{
    bool writes_small = false;

    for (; writer->part < writer->nparts; writer->part++, writer->copies = false) {
        struct cv_part *part = &writer->parts[writer->part];

        while (part->begin < part->end) {
            uint64_t length = part->end - part->begin;
            ssize_t got;

            if (part->well != NULL && part->well->direct)
                writer->small_write = 0; /* its thread puts in what there is room for */
            if (writer->small_write > 0 && !writes_small) {
                const uint64_t small_write = next_small_write(writer);

                writes_small = writer->small_write > 0;
                max = small_write < max ? small_write : max;
            }
            if (max == 0) {
                *out = writes_small ? CV_FEED_FULL : CV_FEED_BUSY;
                return CLEAVE_OK;
            }
            length = length < max ? length : max;
            length = length < MOST ? length : MOST;
            writer->dry = false;
            if (part->well != NULL)
                CV_TRY(draw(writer, part, (size_t)length, &got, err));
            else
                got = put(writer, part, (size_t)length);
            if (got < 0 && errno == EINTR)
                continue;
            if (got < 0 && (errno == EAGAIN || errno == EPIPE)) {
                *out = errno == EPIPE ? CV_FEED_REFUSED
                       : writer->dry  ? CV_FEED_DRY
                                      : CV_FEED_FULL;
                if (*out == CV_FEED_FULL && !writes_small)
                    cv_pipe_adapt(&writer->width, writer->pipe, writer->fed);
                return CLEAVE_OK;
            }
            if (got <= 0)
                return fail_part(part, got < 0 ? errno : 0, err);
            if (part->bytes != NULL)
                part->bytes = (const char *)part->bytes + got;
            part->begin += (uint64_t)got;
            writer->fed += (uint64_t)got;
            max -= (uint64_t)got < max ? (uint64_t)got : max;
        }
    }
    *out = CV_FEED_DONE;
    return CLEAVE_OK;
}
