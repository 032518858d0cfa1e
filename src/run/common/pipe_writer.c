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
#include "run/common/piece_part.h"
#include "run/common/poller.h"
#include "run/common/process.h"
#include "run/common/writer_thread.h"

enum {
    COPY = 64 * 1024, /* read and written at a time                */
    MOST = 16 << 20,  /* asked of one call                         */
    LEND = 16 * 1024, /* less is copied as fast                    */
    PAGE = 4096,
};

static const double SOON_S = 0.005; /* who has taken a sip by then may have more */
static const double ROOM_S = 1;     /* there may be room for a thread by then    */

static void ready(void *context, unsigned events);
static enum cleave_status watch(struct cv_read_monitor *drain, struct cleave_error *err);
static void read_monitor_rest(struct cv_read_monitor *drain);
static enum cleave_status feeder_go_on(struct cv_pipe_feeder *feeder, bool slept,
                                       struct cleave_error *err);

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

/* --- hear when a command reads, and when it has read all there is ------------------ */

enum { MONITOR_PAGE = 4096 };

/* Until it begins, it is looked at after such a part of the time that has passed. */
static const double SHARE = 0.02, SHORT_S = 1e-3, LONG_S = 20e-3;

static void look(void *context);

/* Whether nobody is left who could read it. */
static bool has_no_reader(const struct cv_read_monitor *drain)
{
    struct pollfd at = { .fd = drain->writer->pipe, .events = 0 };

    return poll(&at, 1, 0) == 1 && (at.revents & POLLERR) != 0;
}

static enum cleave_status look_later(struct cv_read_monitor *drain,
                                     struct cleave_error *err)
{
    const double now_s = cv_clock_s();
    double wait_s = drain->has_begun ? SHORT_S : SHARE * (now_s - drain->since_s);

    wait_s = wait_s < SHORT_S ? SHORT_S : wait_s > LONG_S ? LONG_S : wait_s;
    return cv_poller_set(drain->poller, &drain->timer, now_s + wait_s, look, drain, err);
}

static void ready(void *context, unsigned events)
{
    struct cv_read_monitor *drain = context;
    struct cleave_error err;

    (void)events;
    look(drain);
    if (!drain->watch.added)
        return;
    /* It is neither empty nor full: to wait for room would not be to wait. */
    cv_poller_remove(drain->poller, &drain->watch);
    if (look_later(drain, &err) != CLEAVE_OK)
        drain->broke(drain->context, &err);
}

/* What is in the pipe fills it, if it is no wider than a page. */
static enum cleave_status watch(struct cv_read_monitor *drain, struct cleave_error *err)
{
    if (drain->watch.added || fcntl(drain->writer->pipe, F_SETPIPE_SZ, MONITOR_PAGE) < 0)
        return CLEAVE_OK;
    drain->shrunk = true;
    return cv_poller_add(drain->poller, &drain->watch, drain->writer->pipe, CV_WRITABLE,
                         ready, drain, err);
}

/* Something may have been read. */
static void read_monitor_note(struct cv_read_monitor *drain)
{
    bool begun;

    if (drain->poller == NULL || drain->has_begun)
        return;
    cv_pipe_writer_hold(drain->writer);
    begun = cv_pipe_writer_unread(drain->writer) < cv_pipe_writer_fed(drain->writer);
    cv_pipe_writer_go_on(drain->writer);
    if (!begun)
        return;
    drain->has_begun = true;
    drain->began(drain->context);
}

/* Look whether it has begun, or come to the end, and see to it that this is done again. */
static enum cleave_status go_on(struct cv_read_monitor *drain, struct cleave_error *err)
{
    bool read;

    cv_poller_cancel(drain->poller, &drain->timer);
    read_monitor_note(drain);
    if (drain->waits) {
        read = cv_pipe_writer_unread(drain->writer) == 0;
        if (read) /* it may have begun just now */
            read_monitor_note(drain);
        if (read || has_no_reader(drain)) {
            read_monitor_rest(drain);
            drain->empty(drain->context, read);
            return CLEAVE_OK;
        }
        CV_TRY(watch(drain, err));
    }
    if (drain->has_begun && (!drain->waits || drain->watch.added))
        return CLEAVE_OK;
    return look_later(drain, err);
}

static void look(void *context)
{
    struct cv_read_monitor *drain = context;
    struct cleave_error err;

    if (go_on(drain, &err) != CLEAVE_OK)
        drain->broke(drain->context, &err);
}

enum cleave_status cv_read_monitor_begin(struct cv_read_monitor *drain, double since_s,
                                         struct cleave_error *err)
{
    drain->since_s = since_s;
    drain->has_begun = drain->waits = drain->shrunk = false;
    return look_later(drain, err);
}

enum cleave_status cv_read_monitor_wait(struct cv_read_monitor *drain,
                                        struct cleave_error *err)
{
    drain->waits = true;
    return go_on(drain, err);
}

/* Do not: more is put in. */
static void read_monitor_rest(struct cv_read_monitor *drain)
{
    if (drain->poller == NULL)
        return;
    drain->waits = false;
    cv_poller_remove(drain->poller, &drain->watch);
    if (drain->shrunk)
        cv_pipe_widen(drain->writer->pipe, drain->writer->width.bytes);
    drain->shrunk = false;
}

/* Nobody wants to hear any more. */
static void read_monitor_stop(struct cv_read_monitor *drain)
{
    if (drain->poller == NULL)
        return;
    drain->shrunk = false; /* nothing more will be put in */
    read_monitor_rest(drain);
    cv_poller_cancel(drain->poller, &drain->timer);
    drain->poller = NULL;
}

/* --- a pipe that a command reads from, and what goes into it ----------------------- */

enum {
    TURN = 8 << 20,   /* bytes moved before others get their turn      */
    MUCH = 64 * 1024, /* bytes for which it is worth while to be woken */
    STEP = 4 * MUCH,  /* put in by a thread before that is told        */
};

static const double FORGET = 0.98; /* of the best pace, with each nap */
/* Between two looks for room, and how long that is worth while. */
static const double SCARCE_S = 0.02, HOPE_S = 60;

void cv_pipe_feeder_init(struct cv_pipe_feeder *feeder)
{
    *feeder = (struct cv_pipe_feeder){ .fd = -1 };
}

/* How long to sleep, when so much was put in that the pipe is full: until half of what
 * is there has been read, if the reader goes on as it did; 0: until there is room. A reader
 * that makes much room at a time need not be slept for. One that had no core for a while
 * gets one again: so never longer than it would take for three quarters at its best. */
static double nap_s(struct cv_pipe_feeder *feeder, bool slept, uint64_t before,
                    uint64_t put, double now_s)
{
    const double since_s = now_s - feeder->fed_s;
    double unread, wait_s, most_s;

    if (feeder->fed_s <= 0 || put == 0 || feeder->writer.small_write > 0 ||
        (!slept && put >= MUCH))
        return 0;
    unread = (double)cv_pipe_writer_unread(&feeder->writer);
    feeder->best_Bps *= FORGET;
    if ((double)put > since_s * feeder->best_Bps)
        feeder->best_Bps = (double)put / since_s;
    /* Nothing was left: it was late. */
    wait_s = slept && before == 0 ? since_s / 2 : since_s * unread / 2 / (double)put;
    most_s = 0.75 * unread / feeder->best_Bps;
    if (wait_s > most_s)
        wait_s = most_s;
    return cv_writer_thread_pause_s(wait_s);
}

/* Put in what fits. `slept`: not just when there was some room. */
static enum cleave_status feed_on(struct cv_pipe_feeder *feeder, bool slept,
                                  double *sleep_s, struct cleave_error *err)
{
    const uint64_t before = slept ? cv_pipe_writer_unread(&feeder->writer) : 0;
    const uint64_t fed = cv_pipe_writer_fed(&feeder->writer);
    const double now_s = cv_clock_s();
    enum cv_pipe_writer_state state;

    CV_TRY(cv_pipe_writer_pump(&feeder->writer, TURN, &state, err));
    feeder->dry = state == CV_FEED_DRY;
    feeder->feeding = state == CV_FEED_FULL || state == CV_FEED_BUSY || feeder->dry;
    feeder->refused = state == CV_FEED_REFUSED;
    *sleep_s = state == CV_FEED_FULL
                   ? nap_s(feeder, slept, before,
                           cv_pipe_writer_fed(&feeder->writer) - fed, now_s)
                   : 0;
    feeder->fed_s = now_s;
    return CLEAVE_OK;
}

static void leave_source(struct cv_pipe_feeder *feeder)
{
    if (feeder->poller != NULL)
        cv_poller_remove(feeder->poller, &feeder->source);
}

enum cleave_status cv_pipe_feeder_begin(struct cv_pipe_feeder *feeder,
                                        const struct cv_part *parts, size_t count,
                                        struct cleave_error *err)
{
    double sleep_s;

    leave_source(feeder);
    cv_pipe_writer_done(&feeder->writer);
    cv_pipe_writer_init(&feeder->writer, feeder->fd, parts, count);
    feeder->writer.step = feeder->moved != NULL ? STEP : 0;
    if (feeder->narrow)
        cv_pipe_writer_narrow(&feeder->writer, feeder->small_write);
    CV_TRY(feed_on(feeder, false, &sleep_s, err));
    feeder->fed_s = 0; /* whoever reads it has not begun */
    return CLEAVE_OK;
}

bool cv_pipe_feeder_pause(struct cv_pipe_feeder *feeder)
{
    const struct cv_pipe_writer *writer = &feeder->writer;
    /* One that cannot do without a thread would have to wait for it behind its command. */
    const bool may_pause = writer->threaded != NULL && writer->threaded->running &&
                           writer->parts[writer->flow_part].well->give != NULL;

    if (may_pause)
        cv_pipe_writer_done(&feeder->writer);
    return may_pause;
}

static enum cleave_status feeder_go_on(struct cv_pipe_feeder *feeder, bool slept,
                                       struct cleave_error *err);

static void turn(struct cv_pipe_feeder *feeder, bool slept)
{
    struct cleave_error err;

    if (!feeder->dry)
        read_monitor_note(&feeder->drain); /* there is room: something has been read */
    leave_source(feeder);
    if (feeder_go_on(feeder, slept, &err) != CLEAVE_OK) {
        cv_poller_remove(feeder->poller, &feeder->watch);
        feeder->broke(feeder->context, &err);
        return;
    }
    if (feeder->moved != NULL)
        feeder->moved(feeder->context, feeder);
    if (!feeder->feeding) {
        cv_poller_remove(feeder->poller, &feeder->watch);
        feeder->over(feeder->context, feeder);
    }
}

static void feeder_ready(void *context, unsigned events)
{
    struct cv_pipe_feeder *feeder = context;

    (void)events;
    if (feeder->writer.small_write > 0 && !feeder->dry &&
        cv_pipe_writer_unread(&feeder->writer) > 0)
        cv_pipe_writer_gulp(&feeder->writer);
    turn(feeder, false);
}

static void woken(void *context)
{
    turn(context, true);
}

/* The next part is made by somebody for whom there is no room, behind a command that has begun: a little
 * later there is, as what made the part before has ended, and nobody begins who would need more than that.
 * False: that is not why, or it has been so for longer. */
static bool can_wait(struct cv_pipe_feeder *feeder, enum cleave_status status)
{
    const double now_s = cv_clock_s();

    if (status != CLEAVE_ERESOURCES) {
        feeder->scarce_s = 0;
        return false;
    }
    if (!(feeder->scarce_s > 0))
        feeder->scarce_s = now_s;
    feeder->dry = false;
    feeder->fed_s = now_s;
    return now_s - feeder->scarce_s < HOPE_S;
}

static enum cleave_status feeder_go_on(struct cv_pipe_feeder *feeder, bool slept,
                                       struct cleave_error *err)
{
    enum cleave_status status;
    double sleep_s;
    unsigned events;

    cv_poller_cancel(feeder->poller, &feeder->nap);
    status = feed_on(feeder, slept, &sleep_s, err);
    if (can_wait(feeder, status))
        sleep_s = SCARCE_S;
    else
        CV_TRY(status);
    events = sleep_s > 0 || feeder->dry ? 0 : CV_WRITABLE;
    if (feeder->feeding && feeder->watch.events != events)
        CV_TRY(cv_poller_modify(feeder->poller, &feeder->watch, events, err));
    if (feeder->dry)
        CV_TRY(cv_poller_add(feeder->poller, &feeder->source,
                             cv_pipe_writer_source(&feeder->writer), CV_READABLE,
                             feeder_ready, feeder, err));
    if (sleep_s > 0)
        CV_TRY(cv_poller_set(feeder->poller, &feeder->nap, feeder->fed_s + sleep_s, woken,
                             feeder, err));
    return CLEAVE_OK;
}

enum cleave_status cv_pipe_feeder_watch(struct cv_pipe_feeder *feeder,
                                        struct cleave_error *err)
{
    if (!feeder->feeding)
        return CLEAVE_OK;
    return cv_poller_add(feeder->poller, &feeder->watch, feeder->fd, CV_WRITABLE,
                         feeder_ready, feeder, err);
}

enum cleave_status cv_pipe_feeder_grow(struct cv_pipe_feeder *feeder,
                                       const struct cv_part *parts, size_t count,
                                       struct cleave_error *err)
{
    double sleep_s;

    cv_pipe_writer_grow(&feeder->writer, parts, count);
    if (feeder->feeding)
        return CLEAVE_OK;
    read_monitor_rest(&feeder->drain);
    CV_TRY(feed_on(feeder, false, &sleep_s, err));
    feeder->fed_s = 0; /* it had nothing to read: that is not its pace */
    if (feeder->feeding)
        return cv_pipe_feeder_watch(feeder, err);
    feeder->over(feeder->context, feeder);
    return CLEAVE_OK;
}

void cv_pipe_feeder_close(struct cv_pipe_feeder *feeder)
{
    read_monitor_stop(&feeder->drain);
    cv_poller_remove(feeder->poller, &feeder->watch);
    leave_source(feeder);
    cv_poller_cancel(feeder->poller, &feeder->nap);
    cv_pipe_writer_done(&feeder->writer);
    cv_close(&feeder->fd);
    feeder->feeding = false;
}
