/* writer_thread.c -- a thread that writes bytes into a pipe. SPDX-License-Identifier: MIT */
#include "run/common/writer_thread.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/write_all.h"
#include "run/common/poller.h"
#include "run/common/threads.h"

enum {
    ROOM = 256 * 1024,
    FEW_CORES = 8,
    PROBE = 4 * CV_PIPE_NARROW, /* fed before the reader's rate is looked at */
};

static const double AHEAD_S = 0.01; /* worth of reading that a pipe may hold */

/* --- how wide ------------------------------------------------------------------------------- */

/* A wide pipe saves a run up to 7 % of its time, 4 % as a rule. All pipes of a user may
 * hold 64 MiB, and new ones are next to useless beyond that: no more where there may be many. */
static size_t room(void)
{
    cpu_set_t cores;

    return sched_getaffinity(0, sizeof cores, &cores) == 0 &&
                   CPU_COUNT(&cores) <= FEW_CORES
               ? (size_t)CV_PIPE_WIDE
               : (size_t)ROOM;
}

/* Judged from when the reader first had to be waited for; before, the time is that of a command
 * which starts. */
void cv_pipe_adapt(struct cv_pipe_width *width, int pipe, uint64_t fed)
{
    double wanted, now_s;
    size_t bytes = width->bytes;

    if (bytes >= width->max ||
        (width->started_s > 0 &&
         fed - width->before < (bytes < CV_PIPE_NARROW ? 4 * bytes : PROBE)))
        return;
    now_s = cv_clock_s();
    if (width->started_s <= 0) {
        width->started_s = now_s;
        width->before = fed;
        return;
    }
    wanted = AHEAD_S * (double)(fed - width->before) / (now_s - width->started_s);
    while (bytes < width->max && 2 * (double)bytes <= wanted)
        bytes *= 2;
    if (bytes > width->bytes)
        cv_pipe_widen(pipe, bytes);
    width->bytes = bytes;
    width->started_s = now_s;
    width->before = fed;
}

/* --- the thread ----------------------------------------------------------------------------- */

static void ring(int bell)
{
    const uint64_t one = 1;

    (void)!write(bell, &one, sizeof one);
}

static void *begin(void *context)
{
    struct cv_writer_thread *threaded = context;

    threaded->status = threaded->work(threaded, &threaded->err);
    if (!threaded->direct) {
        cv_close(&threaded->pipe.write);
        return NULL;
    }
    pthread_mutex_lock(&threaded->lock);
    threaded->over = true;
    ring(threaded->bell);
    pthread_mutex_unlock(&threaded->lock);
    return NULL;
}

/* How long to sleep when the pipe is full: until half of it has been read, if the reader goes on as it did since the
 * pipe was last full; 0: until there is room. To be woken for each few kilobytes would take turns with the reader. */
static double nap_s(struct cv_writer_thread *threaded)
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

/* With the lock: wait until it may write; false: nobody wants it any more. */
static bool may_write(struct cv_writer_thread *threaded)
{
    struct cv_writer_thread_into *into = &threaded->into;

    while (into->at >= into->until && !threaded->stopped) {
        ring(threaded->bell);
        pthread_cond_wait(&threaded->more, &threaded->lock);
        threaded->paced_s = 0; /* that was not the reader's pace */
    }
    return !threaded->stopped;
}

/* With the lock: some of the bytes; *sleep_s: how long there will be no room, 0: nobody knows, less: there was some. */
static size_t write_some(struct cv_writer_thread *threaded, const char *bytes,
                         size_t length, double *sleep_s)
{
    struct cv_writer_thread_into *into = &threaded->into;
    const uint64_t max = into->until - into->at;
    const ssize_t put = write(into->pipe, bytes, length < max ? length : (size_t)max);

    *sleep_s = -1;
    if (put < 0 && errno == EAGAIN) {
        cv_pipe_adapt(into->width, into->pipe, into->fed);
        *sleep_s = nap_s(threaded);
    } else if (put < 0 && errno != EINTR) {
        threaded->refused = threaded->stopped = true;
    }
    if (put <= 0)
        return 0;
    into->at += (uint64_t)put;
    into->fed += (uint64_t)put;
    if (into->step > 0 && into->at - threaded->told >= into->step) {
        threaded->told = into->at;
        ring(threaded->bell);
    }
    return (size_t)put;
}

static bool write_into(struct cv_writer_thread *threaded, const char *bytes,
                       size_t length)
{
    bool wanted = true;

    while (wanted && length > 0) {
        double sleep_s = -1;
        size_t put = 0;

        pthread_mutex_lock(&threaded->lock);
        wanted = may_write(threaded);
        if (wanted)
            put = write_some(threaded, bytes, length, &sleep_s);
        pthread_mutex_unlock(&threaded->lock);
        bytes += put;
        length -= put;
        if (sleep_s >= 0)
            wait_for_room(threaded, sleep_s);
    }
    return wanted;
}

bool cv_writer_thread_write(struct cv_writer_thread *threaded, const char *bytes,
                            size_t length)
{
    return threaded->direct ? write_into(threaded, bytes, length)
                            : cv_write_all(threaded->pipe.write, bytes, length) == 0;
}

/* --- its beginning and end ------------------------------------------------------------------ */

/* The end to write to is nobody else's, so that it may be told not to wait. */
static enum cleave_status open_into(struct cv_writer_thread *threaded,
                                    const struct cv_writer_thread_into *into,
                                    struct cleave_error *err)
{
    pthread_mutexattr_t kind;

    threaded->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    threaded->halt = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (threaded->bell < 0 || threaded->halt < 0 || !cv_never_wait(into->pipe)) {
        const int error = errno;

        cv_close(&threaded->bell);
        cv_close(&threaded->halt);
        return cv_fail(err,
                       error == EMFILE || error == ENFILE ? CLEAVE_ERESOURCES
                                                          : CLEAVE_EENGINE,
                       "cannot make a pipe: %s%s", strerror(error),
                       error == EMFILE ? " (ulimit -n says how many)" : "");
    }
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&threaded->lock, &kind);
    pthread_mutexattr_destroy(&kind);
    pthread_cond_init(&threaded->more, NULL);
    threaded->direct = true;
    threaded->into = *into;
    threaded->told = into->at;
    return CLEAVE_OK;
}

static void close_all(struct cv_writer_thread *threaded)
{
    cv_pipe_close(&threaded->pipe);
    if (!threaded->direct)
        return;
    cv_close(&threaded->bell);
    cv_close(&threaded->halt);
    pthread_mutex_destroy(&threaded->lock);
    pthread_cond_destroy(&threaded->more);
    threaded->direct = false;
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
    threaded->pipe = (struct cv_pipe){ -1, -1 };
    threaded->here = into != NULL && into->pipe == CV_FLOW_HERE;
    if (threaded->here)
        return CLEAVE_OK;
    if (into != NULL) {
        CV_TRY(open_into(threaded, into, err));
    } else {
        CV_TRY(cv_pipe_open(&threaded->pipe, err));
        cv_pipe_widen(threaded->pipe.write, room());
    }
    error = cv_nosignal_thread_create(&threaded->thread, NULL, begin, threaded);
    threaded->running = error == 0;
    if (error == 0)
        return CLEAVE_OK;
    close_all(threaded);
    /* Threads count as processes, and others end. */
    if (error == EAGAIN)
        return cv_fail(err, CLEAVE_ERESOURCES,
                       "cannot start a thread that %s: too many processes (ulimit -u "
                       "says how many)",
                       what);
    return cv_fail(err, CLEAVE_EENGINE, "cannot start a thread that %s: %s", what,
                   strerror(error));
}

int cv_writer_thread_fd(const struct cv_writer_thread *threaded)
{
    return threaded->direct ? threaded->bell : threaded->pipe.read;
}

enum cleave_status cv_writer_thread_end(struct cv_writer_thread *threaded,
                                        struct cleave_error *err)
{
    if (threaded->running)
        pthread_join(threaded->thread, NULL);
    threaded->running = false;
    if (threaded->status != CLEAVE_OK && err != NULL)
        *err = threaded->err;
    return threaded->status;
}

void cv_writer_thread_halt(struct cv_writer_thread *threaded)
{
    pthread_mutex_lock(&threaded->lock);
    threaded->stopped = true;
    ring(threaded->halt);
    pthread_cond_signal(&threaded->more);
    pthread_mutex_unlock(&threaded->lock);
}

void cv_writer_thread_stop(struct cv_writer_thread *threaded)
{
    cv_close(&threaded->pipe.read);
    if (threaded->direct)
        cv_writer_thread_halt(threaded);
    if (threaded->running)
        pthread_join(threaded->thread, NULL);
    threaded->running = false;
    close_all(threaded);
}

/* --- who feeds a command -------------------------------------------------------------------- */

uint64_t cv_writer_thread_at(struct cv_writer_thread *threaded)
{
    uint64_t at;

    cv_writer_thread_hold(threaded);
    at = threaded->into.at;
    cv_writer_thread_go_on(threaded);
    return at;
}

bool cv_writer_thread_until(struct cv_writer_thread *threaded, uint64_t until)
{
    bool good;

    cv_writer_thread_hold(threaded);
    good = threaded->into.at <= until;
    if (good && threaded->into.until != until) {
        threaded->into.until = until;
        pthread_cond_signal(&threaded->more);
    }
    if (good && threaded->into.at == until)
        ring(threaded->bell); /* it may be waiting for room */
    cv_writer_thread_go_on(threaded);
    return good;
}

uint64_t cv_writer_thread_heard(struct cv_writer_thread *threaded, bool *ended,
                                bool *refused)
{
    uint64_t rings, at;

    cv_writer_thread_hold(threaded);
    (void)!read(threaded->bell, &rings, sizeof rings);
    at = threaded->into.at;
    *ended = threaded->over;
    *refused = threaded->refused;
    cv_writer_thread_go_on(threaded);
    return at;
}

void cv_writer_thread_hold(struct cv_writer_thread *threaded)
{
    pthread_mutex_lock(&threaded->lock);
}

void cv_writer_thread_go_on(struct cv_writer_thread *threaded)
{
    pthread_mutex_unlock(&threaded->lock);
}
