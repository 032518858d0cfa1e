/* pipe_writer.c -- write the parts of a piece into a pipe. SPDX-License-Identifier: MIT */
#include "run/common/pipe_writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/common/poller.h"
#include "run/common/threads.h"

enum {
    PAGE = 4096,
    NARROW = 64 * 1024, /* capacity of a new pipe */
    PROBE = 4 * NARROW, /* bytes between two looks at the rate of the reader */
    COPY = 64 * 1024,   /* read and written at a time */
    MOST = 16 << 20,    /* bytes per system call */
    LEND = 16 * 1024,   /* less memory is copied as fast as it is spliced */
};

static const double AHEAD_S = 0.01; /* worth of reading that a pipe may hold */
static const double SOON_S = 0.005; /* a reader this fast gets twice as much next */
static const double AGAIN_S = 1;    /* try again to start a thread */

/* The pipe is full after `fed` bytes: widen it if its reader is fast. The rate is measured from
 * the first time that the pipe was full; before, the command was starting. */
static void adapt_width(struct cv_pipe_width *width, int pipe, uint64_t fed)
{
    double wanted, now_s;
    size_t bytes = width->bytes;

    if (bytes >= CV_PIPE_WIDE ||
        (width->started_s > 0 &&
         fed - width->before < (bytes < NARROW ? 4 * bytes : PROBE)))
        return;
    now_s = cv_clock_s();
    if (width->started_s > 0) {
        wanted = AHEAD_S * (double)(fed - width->before) / (now_s - width->started_s);
        while (bytes < CV_PIPE_WIDE && 2 * (double)bytes <= wanted)
            bytes *= 2;
        if (bytes > width->bytes)
            cv_pipe_widen(pipe, bytes);
        width->bytes = bytes;
    }
    width->started_s = now_s;
    width->before = fed;
}

/* --- the thread ---------------------------------------------------------------------- */

static void *run_thread(void *context)
{
    struct cv_writer_thread *threaded = context;

    threaded->status = threaded->work(threaded, &threaded->err);
    pthread_mutex_lock(&threaded->lock);
    threaded->over = true;
    (void)eventfd_write(threaded->progress, 1);
    pthread_mutex_unlock(&threaded->lock);
    return NULL;
}

/* The pipe is full: the time until half of it is read, at the pace since it was last full; 0:
 * wait for room. Being woken for every few kilobytes would alternate with the reader. */
static double pause_s(struct cv_writer_thread *threaded)
{
    const double now_s = cv_clock_s(), since_s = now_s - threaded->paced_s;
    const double put = (double)(threaded->into.fed - threaded->paced);
    int unread = 0;
    double wait_s = 0;

    if (threaded->paced_s > 0 && put > 0 &&
        ioctl(threaded->into.pipe, FIONREAD, &unread) == 0)
        wait_s = since_s * (double)unread / 2 / put;
    threaded->paced_s = now_s;
    threaded->paced = threaded->into.fed;
    return cv_writer_thread_pause_s(wait_s);
}

static void wait_for_room(struct cv_writer_thread *threaded, double sleep_s)
{
    struct pollfd at[] = { { .fd = threaded->halt, .events = POLLIN },
                           { .fd = threaded->into.pipe, .events = POLLOUT } };
    const struct timespec sleep = { .tv_nsec = (long)(1e9 * sleep_s) };

    if (sleep_s > 0)
        (void)ppoll(at, 1, &sleep, NULL);
    else
        (void)ppoll(at, 2, NULL, NULL);
}

/* With the lock: wait until the thread may write; false: it was stopped. */
static bool may_write(struct cv_writer_thread *threaded)
{
    struct cv_writer_thread_into *into = &threaded->into;

    while (into->at >= into->until && !threaded->stopped) {
        (void)eventfd_write(threaded->progress, 1);
        pthread_cond_wait(&threaded->more, &threaded->lock);
        threaded->paced_s = 0; /* the wait was not the pace of the reader */
    }
    return !threaded->stopped;
}

/* With the lock: write some bytes. *sleep_s: how long the pipe will be full, 0: unknown,
 * negative: it was not full. */
static size_t write_directly(struct cv_writer_thread *threaded, const char *bytes,
                             size_t length, double *sleep_s)
{
    struct cv_writer_thread_into *into = &threaded->into;
    const uint64_t max = into->until - into->at;
    const ssize_t put = write(into->pipe, bytes, length < max ? length : (size_t)max);

    *sleep_s = -1;
    if (put < 0 && errno == EAGAIN) {
        adapt_width(into->width, into->pipe, into->fed);
        *sleep_s = pause_s(threaded);
    } else if (put < 0 && errno != EINTR) {
        threaded->refused = errno;
        threaded->stopped = true;
    }
    if (put <= 0)
        return 0;
    into->at += (uint64_t)put;
    into->fed += (uint64_t)put;
    if (into->step > 0 && into->at - threaded->reported >= into->step) {
        threaded->reported = into->at;
        (void)eventfd_write(threaded->progress, 1);
    }
    return (size_t)put;
}

bool cv_writer_thread_write(struct cv_writer_thread *threaded, const char *bytes,
                            size_t length)
{
    bool wanted = true;

    while (wanted && length > 0) {
        double sleep_s = -1;
        size_t put = 0;

        pthread_mutex_lock(&threaded->lock);
        wanted = may_write(threaded);
        if (wanted)
            put = write_directly(threaded, bytes, length, &sleep_s);
        pthread_mutex_unlock(&threaded->lock);
        bytes += put;
        length -= put;
        if (sleep_s >= 0)
            wait_for_room(threaded, sleep_s);
    }
    return wanted;
}

static enum cleave_status open_events(struct cv_writer_thread *threaded,
                                      const struct cv_writer_thread_into *into,
                                      struct cleave_error *err)
{
    pthread_mutexattr_t kind;

    threaded->progress = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    threaded->halt = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (threaded->progress < 0 || threaded->halt < 0 || !cv_never_wait(into->pipe)) {
        const int error = errno;

        cv_close(&threaded->progress);
        cv_close(&threaded->halt);
        return cv_pipe_fail(error, err);
    }
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&threaded->lock, &kind);
    pthread_mutexattr_destroy(&kind);
    pthread_cond_init(&threaded->more, NULL);
    threaded->into = *into;
    threaded->reported = into->at;
    return CLEAVE_OK;
}

static void close_thread(struct cv_writer_thread *threaded)
{
    if (threaded->unthreaded)
        return;
    cv_close(&threaded->progress);
    cv_close(&threaded->halt);
    pthread_mutex_destroy(&threaded->lock);
    pthread_cond_destroy(&threaded->more);
}

enum cleave_status
cv_writer_thread_start(struct cv_writer_thread *threaded,
                       enum cleave_status (*work)(struct cv_writer_thread *threaded,
                                                  struct cleave_error *err),
                       const char *what, const struct cv_writer_thread_into *into,
                       struct cleave_error *err)
{
    int error;

    threaded->work = work;
    threaded->unthreaded = into->pipe == CV_FLOW_HERE;
    if (threaded->unthreaded)
        return CLEAVE_OK;
    CV_TRY(open_events(threaded, into, err));
    error = cv_nosignal_thread_create(&threaded->thread, run_thread, threaded);
    threaded->running = error == 0;
    if (error == 0)
        return CLEAVE_OK;
    close_thread(threaded);
    /* Threads count as processes, and the limit may pass. */
    if (error == EAGAIN)
        return cv_fail(
            err, CLEAVE_ERESOURCES,
            "cannot start a thread that %s: too many processes (see: ulimit -u)", what);
    return cv_fail(err, CLEAVE_EENGINE, "cannot start a thread that %s: %s", what,
                   strerror(error));
}

enum cleave_status cv_writer_thread_end(struct cv_writer_thread *threaded,
                                        struct cleave_error *err)
{
    if (threaded->running)
        pthread_join(threaded->thread, NULL);
    threaded->running = false;
    return threaded->status == CLEAVE_OK ? CLEAVE_OK : cv_fail_again(err, &threaded->err);
}

static void halt(struct cv_writer_thread *threaded)
{
    pthread_mutex_lock(&threaded->lock);
    threaded->stopped = true;
    (void)eventfd_write(threaded->halt, 1);
    pthread_cond_signal(&threaded->more);
    pthread_mutex_unlock(&threaded->lock);
}

void cv_writer_thread_stop(struct cv_writer_thread *threaded)
{
    if (!threaded->unthreaded)
        halt(threaded);
    (void)cv_writer_thread_end(threaded, NULL);
    close_thread(threaded);
}

/* Let the thread stop at `until`; false, without a change: it has gone
 * further. */
static bool set_until(struct cv_writer_thread *threaded, uint64_t until)
{
    bool good;

    pthread_mutex_lock(&threaded->lock);
    good = threaded->into.at <= until;
    if (good && threaded->into.until != until) {
        threaded->into.until = until;
        pthread_cond_signal(&threaded->more);
    }
    if (good && threaded->into.at == until)
        (void)eventfd_write(threaded->progress,
                            1); /* the thread may be waiting for room */
    pthread_mutex_unlock(&threaded->lock);
    return good;
}

/* --- the pipe writer ----------------------------------------------------------------- */

void cv_pipe_writer_init(struct cv_pipe_writer *writer, int pipe,
                         const struct cv_part *parts, size_t nparts)
{
    assert(nparts <= CV_FEED_PARTS);
    *writer = (struct cv_pipe_writer){ .pipe = pipe,
                                       .nparts = nparts,
                                       .width = { .bytes = NARROW } };
    for (size_t i = 0; i < nparts; i++) {
        assert(parts[i].begin <= parts[i].end);
        writer->parts[i] = parts[i];
    }
}

static bool has_thread(const struct cv_pipe_writer *writer)
{
    return writer->threaded != NULL && !writer->threaded->unthreaded;
}

void cv_pipe_writer_hold(const struct cv_pipe_writer *writer)
{
    if (has_thread(writer))
        pthread_mutex_lock(&writer->threaded->lock);
}

void cv_pipe_writer_go_on(const struct cv_pipe_writer *writer)
{
    if (has_thread(writer))
        pthread_mutex_unlock(&writer->threaded->lock);
}

/* Bytes that a thread has written since they were last counted. */
static uint64_t uncounted(const struct cv_pipe_writer *writer)
{
    uint64_t at;

    if (!has_thread(writer))
        return 0;
    cv_pipe_writer_hold(writer);
    at = writer->threaded->into.at;
    cv_pipe_writer_go_on(writer);
    return at - writer->thread_at;
}

void cv_pipe_writer_done(struct cv_pipe_writer *writer)
{
    if (writer->threaded == NULL)
        return;
    if (has_thread(writer)) {
        uint64_t more;

        halt(writer->threaded);
        more = uncounted(writer);
        writer->thread_at += more;
        writer->parts[writer->thread_part].begin += more;
        writer->fed += more;
    }
    writer->parts[writer->thread_part].lazy->stop(writer->threaded);
    writer->threaded = NULL;
}

int cv_pipe_writer_source(const struct cv_pipe_writer *writer)
{
    return has_thread(writer) ? writer->threaded->progress : -1;
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

uint64_t cv_pipe_writer_at(const struct cv_pipe_writer *writer, size_t part)
{
    assert(part < writer->nparts);
    return writer->parts[part].begin +
           (writer->thread_part == part ? uncounted(writer) : 0);
}

bool cv_pipe_writer_cut(struct cv_pipe_writer *writer, size_t part, uint64_t end)
{
    assert(part < writer->nparts);
    if (end < writer->parts[part].begin || end > writer->parts[part].end)
        return false;
    if (has_thread(writer) && writer->thread_part == part &&
        !set_until(writer->threaded, end))
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

void cv_pipe_writer_grow(struct cv_pipe_writer *writer, const struct cv_part *parts,
                         size_t nparts)
{
    const bool writes = has_thread(writer) && writer->part == writer->thread_part;

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
    /* The thread continues without a stop at the old end. */
    if (writes && !writer->parts[writer->thread_part].lazy->bounded)
        (void)set_until(writer->threaded, writer->parts[writer->thread_part].end);
}

/* --- parts in files and in memory ---------------------------------------------------- */

/* The end of the pipe to write to is not shared, so it can be set to O_NONBLOCK. */
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

/* Without a copy. */
static ssize_t lend(const struct cv_pipe_writer *writer, const struct cv_part *part,
                    size_t length)
{
    off_t offset = (off_t)part->begin;
    /* An iovec is for both directions; vmsplice does not write to it. */
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

static ssize_t write_stored(struct cv_pipe_writer *writer, const struct cv_part *part,
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

/* --- parts of lazy readers ----------------------------------------------------------- */

/* Set errno of a write that moved nothing: EPIPE if the reader has closed the pipe, else EAGAIN. */
static void look_at_pipe(const struct cv_pipe_writer *writer)
{
    struct pollfd pipe = { .fd = writer->pipe, .events = POLLOUT };
    const int ready = poll(&pipe, 1, 0);

    errno = ready > 0 && (pipe.revents & POLLERR) != 0 ? EPIPE : EAGAIN;
}

/* Without a thread if a limit prevents it. To wait for the limit to pass would not do: the
 * commands that count may be waiting for threads themselves. */
static enum cleave_status begin_thread(struct cv_pipe_writer *writer,
                                       const struct cv_part *part,
                                       struct cleave_error *err)
{
    const struct cv_writer_thread_into into = { .pipe = writer->pipe,
                                                .width = &writer->width,
                                                .step = writer->step,
                                                .fed = writer->fed,
                                                .at = part->begin,
                                                .until = part->end };
    enum cleave_status status = part->lazy->threaded(part->lazy, part->begin, part->end,
                                                     &into, &writer->threaded, err);

    if (status == CLEAVE_ERESOURCES && part->lazy->give != NULL &&
        cv_never_wait(writer->pipe)) {
        writer->unthreaded_s = cv_clock_s();
        status =
            part->lazy->threaded(part->lazy, part->begin, part->end,
                                 &(struct cv_writer_thread_into){ .pipe = CV_FLOW_HERE },
                                 &writer->threaded, err);
    }
    CV_TRY(status);
    writer->thread_part = writer->part;
    writer->thread_at = part->begin;
    writer->thread_until = part->end;
    return CLEAVE_OK;
}

/* Count the bytes that a thread has written into the pipe. */
static enum cleave_status count_written(struct cv_pipe_writer *writer,
                                        const struct cv_part *part, bool *dry,
                                        ssize_t *got, struct cleave_error *err)
{
    struct cv_writer_thread *threaded = writer->threaded;
    eventfd_t events;
    bool ended;
    int refused;

    (void)set_until(threaded, part->end);
    pthread_mutex_lock(&threaded->lock);
    (void)eventfd_read(threaded->progress, &events);
    *got = (ssize_t)(threaded->into.at - writer->thread_at);
    ended = threaded->over;
    refused = threaded->refused;
    pthread_mutex_unlock(&threaded->lock);
    if (*got > 0)
        return CLEAVE_OK;
    if (ended && refused == 0)
        return cv_writer_thread_end(threaded, err);
    *got = -1;
    *dry = true;
    look_at_pipe(writer);
    if (refused != 0)
        errno = refused;
    return CLEAVE_OK;
}

/* Write bytes that are made in this call. */
static enum cleave_status write_unthreaded(const struct cv_pipe_writer *writer,
                                           const struct cv_part *part, size_t length,
                                           ssize_t *got, struct cleave_error *err)
{
    const char *bytes;
    size_t some;

    if (part->lazy->bounded && length > writer->thread_until - part->begin)
        length = (size_t)(writer->thread_until - part->begin);
    CV_TRY(part->lazy->give(writer->threaded, part->begin, &bytes, &some, err));
    *got = write(writer->pipe, bytes, some < length ? some : length);
    return CLEAVE_OK;
}

static enum cleave_status write_lazy(struct cv_pipe_writer *writer, struct cv_part *part,
                                     size_t length, bool *dry, ssize_t *got,
                                     struct cleave_error *err)
{
    if (writer->threaded != NULL &&
        (writer->thread_part != writer->part || writer->thread_at != part->begin ||
         (part->lazy->bounded && writer->thread_at == writer->thread_until) ||
         (writer->threaded->unthreaded && cv_clock_s() - writer->unthreaded_s > AGAIN_S)))
        cv_pipe_writer_done(writer);
    if (writer->threaded == NULL)
        CV_TRY(begin_thread(writer, part, err));
    assert(writer->threaded != NULL);
    CV_TRY(writer->threaded->unthreaded ? write_unthreaded(writer, part, length, got, err)
                                        : count_written(writer, part, dry, got, err));
    if (*got > 0)
        writer->thread_at += (uint64_t)*got;
    return CLEAVE_OK;
}

/* The size of the next small write; 0: the last one has not been read, UINT64_MAX: no limit. A
 * reader that was fast gets twice as much, because it reads a record that is longer than a small
 * write at once before it works on it. A pipe of one page is writable only if it is empty. */
static uint64_t next_small_write(struct cv_pipe_writer *writer)
{
    const double now_s = cv_clock_s();

    if (cv_pipe_writer_unread(writer) > 0)
        return 0;
    if (writer->small_s > 0 && now_s - writer->small_s < SOON_S)
        writer->small_write *= 2;
    if (writer->fed > 0) /* the reader may not run before the first one */
        writer->small_s = now_s;
    if (writer->small_write < PAGE)
        return writer->small_write;
    writer->small_write = 0;
    return UINT64_MAX;
}

/* Write some bytes of a part. *got and errno are as of write(2); *dry: the source has no bytes
 * now, the pipe is not full. */
static enum cleave_status write_some(struct cv_pipe_writer *writer, struct cv_part *part,
                                     uint64_t max, bool *dry, ssize_t *got,
                                     struct cleave_error *err)
{
    uint64_t length = part->end - part->begin;

    length = length < max ? length : max;
    length = length < MOST ? length : MOST;
    *dry = false;
    if (part->lazy != NULL)
        return write_lazy(writer, part, (size_t)length, dry, got, err);
    *got = write_stored(writer, part, (size_t)length);
    return CLEAVE_OK;
}

enum cleave_status cv_pipe_writer_pump(struct cv_pipe_writer *writer, uint64_t max,
                                       enum cv_pipe_writer_state *out,
                                       struct cleave_error *err)
{
    bool small = false;

    for (; writer->part < writer->nparts; writer->part++, writer->copies = false) {
        struct cv_part *part = &writer->parts[writer->part];

        while (part->begin < part->end) {
            ssize_t got = 0;
            bool dry;

            if (part->lazy != NULL)
                writer->small_write = 0;
            if (writer->small_write > 0 && !small) {
                const uint64_t small_write = next_small_write(writer);

                small = writer->small_write > 0;
                max = small_write < max ? small_write : max;
            }
            if (max == 0) {
                *out = small ? CV_FEED_FULL : CV_FEED_BUSY;
                return CLEAVE_OK;
            }
            CV_TRY(write_some(writer, part, max, &dry, &got, err));
            if (got < 0 && errno == EINTR)
                continue;
            if (got < 0 && (errno == EAGAIN || errno == EPIPE)) {
                *out = errno == EPIPE ? CV_FEED_REFUSED
                       : dry          ? CV_FEED_DRY
                                      : CV_FEED_FULL;
                if (*out == CV_FEED_FULL && !small)
                    adapt_width(&writer->width, writer->pipe, writer->fed);
                return CLEAVE_OK;
            }
            if (got <= 0)
                return cv_part_fail(part, part->begin, got < 0 ? errno : 0, err);
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
