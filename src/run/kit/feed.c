/* feed.c -- put bytes of files and of memory into a pipe. SPDX-License-Identifier: MIT */
#include "run/kit/feed.h"

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
#include "run/kit/poller.h"
#include "run/kit/process.h"
#include "run/kit/flow.h"
#include "run/kit/well.h"

enum {
    COPY = 64 * 1024,   /* read and written at a time                */
    MOST = 16 << 20,    /* asked of one call                         */
    NARROW = 64 * 1024, /* room in a pipe as it is made              */
    PROBE = 4 * NARROW, /* fed before the reader's rate is looked at */
    LEND = 16 * 1024,   /* less is copied as fast                    */
    PAGE = 4096,
};

static const double AHEAD_S = 0.01; /* worth of reading that a pipe may hold */

void cv_feed_init(struct cv_feed *feed, int pipe, const struct cv_part *parts,
                  size_t nparts)
{
    assert(nparts <= CV_FEED_PARTS);
    *feed = (struct cv_feed){ .pipe = pipe, .nparts = nparts, .width = NARROW };
    for (size_t i = 0; i < nparts; i++) {
        assert(parts[i].begin <= parts[i].end);
        feed->parts[i] = parts[i];
    }
}

void cv_feed_done(struct cv_feed *feed)
{
    if (feed->flow != NULL)
        feed->parts[feed->flow_part].well->stop(feed->flow);
    feed->flow = NULL;
}

int cv_feed_source(const struct cv_feed *feed)
{
    return feed->flow != NULL ? cv_flow_fd(feed->flow) : -1;
}

uint64_t cv_feed_fed(const struct cv_feed *feed)
{
    return feed->fed;
}

uint64_t cv_feed_unread(const struct cv_feed *feed)
{
    int unread = 0;

    if (ioctl(feed->pipe, FIONREAD, &unread) != 0 || unread < 0)
        return 0;
    return (uint64_t)unread < feed->fed ? (uint64_t)unread : feed->fed;
}

/* The beginning of a part moves on as it is fed. */
uint64_t cv_feed_at(const struct cv_feed *feed, size_t part)
{
    assert(part < feed->nparts);
    return feed->parts[part].begin;
}

bool cv_feed_cut(struct cv_feed *feed, size_t part, uint64_t end)
{
    assert(part < feed->nparts);
    if (end < feed->parts[part].begin || end > feed->parts[part].end)
        return false;
    feed->parts[part].end = end;
    return true;
}

void cv_feed_narrow(struct cv_feed *feed)
{
    feed->width = PAGE;
    cv_pipe_widen(feed->pipe, PAGE);
}

void cv_feed_grow(struct cv_feed *feed, const struct cv_part *parts, size_t nparts)
{
    assert(nparts <= CV_FEED_PARTS);
    for (size_t i = 0; i < nparts; i++) {
        assert(i >= feed->nparts || parts[i].end >= feed->parts[i].end);
        if (i < feed->nparts)
            feed->parts[i].end = parts[i].end;
        else
            feed->parts[feed->nparts++] = parts[i];
    }
    feed->part = 0;
    feed->copies = false;
}

/* Room for what the reader takes in AHEAD_S, judged from when it first had to be waited
 * for; before, the time is that of a command which starts. */
static void widen(struct cv_feed *feed)
{
    double wanted, now_s;
    size_t width = feed->width;

    if (width >= CV_PIPE_WIDE ||
        (feed->started_s > 0 &&
         feed->fed - feed->before < (width < NARROW ? 4 * width : PROBE)))
        return;
    now_s = cv_clock_s();
    if (feed->started_s <= 0) {
        feed->started_s = now_s;
        feed->before = feed->fed;
        return;
    }
    wanted = AHEAD_S * (double)(feed->fed - feed->before) / (now_s - feed->started_s);
    while (width < CV_PIPE_WIDE && 2 * (double)width <= wanted)
        width *= 2;
    if (width > feed->width)
        cv_pipe_widen(feed->pipe, width);
    feed->width = width;
    feed->started_s = now_s;
    feed->before = feed->fed;
}

/* Read and write instead. The pipe's end to write to is ours alone, so it may be told not
 * to wait. */
static ssize_t copy(struct cv_feed *feed, const struct cv_part *part, size_t length)
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
    return write(feed->pipe, from, length);
}

/* Without a copy; -1 with errno EINVAL or so if that does not work. */
static ssize_t lend(const struct cv_feed *feed, const struct cv_part *part, size_t length)
{
    off_t offset = (off_t)part->begin;
    /* The type is for both directions; nothing is written there. */
    const union {
        const void *in;
        void *out;
    } bytes = { part->bytes };
    const struct iovec memory = { bytes.out, length };

    if (part->bytes == NULL)
        return splice(part->fd, &offset, feed->pipe, NULL, length,
                      SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
    return vmsplice(feed->pipe, &memory, 1, SPLICE_F_NONBLOCK);
}

/* Out of what flows from a well. The two ends of splice say the same when the one is empty
 * and when the other is full. */
static enum cleave_status draw(struct cv_feed *feed, struct cv_part *part, size_t length,
                               ssize_t *got, struct cleave_error *err)
{
    struct pollfd pipe = { .fd = feed->pipe, .events = POLLOUT };

    if (feed->flow != NULL &&
        (feed->flow_part != feed->part || feed->flow_at != part->begin ||
         (part->well->bounded && feed->flow_at == feed->flow_until)))
        cv_feed_done(feed);
    if (feed->flow == NULL) {
        CV_TRY(part->well->flow(part->well, part->begin, part->end, &feed->flow, err));
        feed->flow_part = feed->part;
        feed->flow_at = part->begin;
        feed->flow_until = part->end;
    }
    *got = splice(cv_feed_source(feed), NULL, feed->pipe, NULL, length,
                  SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
    if (*got > 0)
        feed->flow_at += (uint64_t)*got;
    if (*got == 0) {
        CV_TRY(cv_flow_end(feed->flow, err));
    } else if (*got < 0 && errno == EAGAIN) {
        const int ready = poll(&pipe, 1, 0);

        feed->dry = ready > 0 && (pipe.revents & POLLOUT) != 0;
        errno = ready > 0 && (pipe.revents & POLLERR) != 0 ? EPIPE : EAGAIN;
    }
    return CLEAVE_OK;
}

static ssize_t put(struct cv_feed *feed, const struct cv_part *part, size_t length)
{
    if (!feed->copies && (part->bytes == NULL || (part->lasting && length >= LEND))) {
        const ssize_t got = lend(feed, part, length);

        if (got >= 0 || (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP))
            return got;
    }
    if (!feed->copies) {
        const int flags = fcntl(feed->pipe, F_GETFL);

        if (flags < 0 || fcntl(feed->pipe, F_SETFL, flags | O_NONBLOCK) != 0)
            return -1;
        feed->copies = true;
    }
    return copy(feed, part, length);
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

enum cleave_status cv_feed_pump(struct cv_feed *feed, uint64_t most,
                                enum cv_feed_state *out, struct cleave_error *err)
{
    for (; feed->part < feed->nparts; feed->part++, feed->copies = false) {
        struct cv_part *part = &feed->parts[feed->part];

        while (part->begin < part->end) {
            uint64_t length = part->end - part->begin;
            ssize_t got;

            if (most == 0) {
                *out = CV_FEED_BUSY;
                return CLEAVE_OK;
            }
            length = length < most ? length : most;
            length = length < MOST ? length : MOST;
            feed->dry = false;
            if (part->well != NULL)
                CV_TRY(draw(feed, part, (size_t)length, &got, err));
            else
                got = put(feed, part, (size_t)length);
            if (got < 0 && errno == EINTR)
                continue;
            if (got < 0 && (errno == EAGAIN || errno == EPIPE)) {
                *out = errno == EPIPE ? CV_FEED_REFUSED
                       : feed->dry    ? CV_FEED_DRY
                                      : CV_FEED_FULL;
                if (*out == CV_FEED_FULL)
                    widen(feed);
                return CLEAVE_OK;
            }
            if (got <= 0)
                return fail_part(part, got < 0 ? errno : 0, err);
            if (part->bytes != NULL)
                part->bytes = (const char *)part->bytes + got;
            part->begin += (uint64_t)got;
            feed->fed += (uint64_t)got;
            most -= (uint64_t)got;
        }
    }
    *out = CV_FEED_DONE;
    return CLEAVE_OK;
}
