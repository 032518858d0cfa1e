/* poller.c -- wait for descriptors, timers and signals. SPDX-License-Identifier: MIT */
#include "run/common/poller.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fail.h"
#include "base/write_all.h"
#include "run/common/process.h"
#include "run/common/machine.h"
#include "run/spawn/starter.h"

enum { BATCH = 64 };

struct cv_poller {
    int epoll;
    size_t nwatches;                     /* known to epoll */
    struct cv_watch **always;            /* owned array: watches that are always ready */
    size_t nalways, always_room, cursor; /* cursor: the next one to be called */
    struct cv_timer *timers;             /* borrowed: the first timer */
    size_t ntimers;
    struct epoll_event batch[BATCH]; /* events not handled yet: [at, count) */
    int at, count;
    int looks; /* turns in which late timers were postponed */
    sigset_t old_mask;
    int signals;    /* signalfd, or -1 */
    bool signalled; /* a signal has arrived */
    bool holds;     /* signals stay blocked after the end */
    bool no_pwait2; /* neither an old kernel nor valgrind has epoll_pwait2 */
    sigset_t watched;
    struct cv_watch signal_watch;
    void (*signal_call)(void *context, int signal);
    void *signal_context;
    struct cv_guard *guard; /* owned unless it is lent; or NULL */
    bool guard_lent;
    struct cv_timer guard_timer; /* until the guard is forked */
    void (*guard_failed)(void *context, const struct cleave_error *err);
    void *guard_context;
    struct cv_starter *starter; /* owned, made on demand; or NULL */
    bool asked_starter;
    int null; /* or -1 */
};

static const double GUARD_AFTER_S = 0.01;

/* A timer that is this late belongs to a process that was stopped (SIGSTOP, Ctrl-Z) or had no
 * core. Events that happened meanwhile may be what the timer waits for, so they are handled
 * first, in at most LOOKS turns. */
static const double LATE_S = 0.1;
enum { LOOKS = 64 };

static double read_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double cv_cpu_clock_s(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

double cv_clock_s(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

enum cleave_status cv_poller_new(struct cv_poller **out, struct cleave_error *err)
{
    struct cv_poller *poller = calloc(1, sizeof *poller);
    sigset_t broken;

    if (poller == NULL)
        return cv_fail_memory(err, "a poller");
    poller->signals = -1;
    poller->null = -1;
    poller->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (poller->epoll < 0) {
        const int error = errno;

        free(poller);
        return cv_fail_errno(err, error, "cannot wait for descriptors");
    }
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken, &poller->old_mask);
    *out = poller;
    return CLEAVE_OK;
}

void cv_poller_free(struct cv_poller *poller)
{
    if (poller == NULL)
        return;
    if (!sigismember(&poller->old_mask, SIGPIPE)) {
        const struct timespec now = { 0, 0 };
        sigset_t broken;

        /* A SIGPIPE that arrived was handled as EPIPE. */
        sigemptyset(&broken);
        sigaddset(&broken, SIGPIPE);
        while (sigtimedwait(&broken, NULL, &now) == SIGPIPE)
            ;
    }
    /* A repeated signal means nothing new: batch systems send it to all processes of a job, and
     * scripts forward it. */
    if (poller->signalled) {
        struct signalfd_siginfo again;

        while (read(poller->signals, &again, sizeof again) == (ssize_t)sizeof again)
            ;
    }
    if (poller->holds) /* never unblocked in between */
        sigorset(&poller->old_mask, &poller->old_mask, &poller->watched);
    pthread_sigmask(SIG_SETMASK, &poller->old_mask, NULL);
    cv_close(&poller->signals);
    if (!poller->guard_lent)
        cv_guard_free(poller->guard);
    cv_starter_free(poller->starter);
    cv_close(&poller->null);
    close(poller->epoll);
    free(poller->always);
    free(poller);
}

static void begin_guard(void *context)
{
    const struct cv_poller *poller = context;
    struct cleave_error err, note;

    if (cv_guard_begin(poller->guard, &err) == CLEAVE_OK)
        return;
    cv_fail(&note, err.status, "commands will continue if this process is killed: %s",
            err.text);
    poller->guard_failed(poller->guard_context, &note);
}

enum cleave_status cv_poller_set_guard(struct cv_poller *poller,
                                       void (*failed)(void *context,
                                                      const struct cleave_error *err),
                                       void *context, struct cleave_error *err)
{
    assert(poller->guard == NULL);
    CV_TRY(cv_guard_new(&poller->guard, err));
    poller->guard_failed = failed;
    poller->guard_context = context;
    cv_poller_set(poller, &poller->guard_timer, cv_clock_s() + GUARD_AFTER_S, begin_guard,
                  poller);
    return CLEAVE_OK;
}

void cv_poller_lend_guard(struct cv_poller *poller, struct cv_guard *guard)
{
    assert(poller->guard == NULL);
    poller->guard = guard;
    poller->guard_lent = true;
}

struct cv_guard *cv_poller_guard(const struct cv_poller *poller)
{
    return poller->guard;
}

struct cv_starter *cv_poller_starter(struct cv_poller *poller)
{
    if (!poller->asked_starter)
        poller->starter = cv_starter_new(cv_usable_cores());
    poller->asked_starter = true;
    return poller->starter;
}

enum cleave_status cv_poller_null(struct cv_poller *poller, int *out,
                                  struct cleave_error *err)
{
    if (poller->null < 0) {
        const int fd = cv_dev_null_open(O_RDONLY);

        /* Above 2, as for pipes (process.c). */
        poller->null = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
        if (poller->null < 0)
            cv_fail_errno(err, errno, "cannot open /dev/null");
        if (fd >= 0)
            close(fd);
    }
    *out = poller->null;
    return poller->null >= 0 ? CLEAVE_OK : CLEAVE_EENGINE;
}

const sigset_t *cv_poller_old_mask(const struct cv_poller *poller)
{
    return &poller->old_mask;
}

/* --- watches ------------------------------------------------------------------------- */

static uint32_t epoll_events(unsigned events)
{
    return (events & CV_READABLE ? (uint32_t)EPOLLIN : 0) |
           (events & CV_WRITABLE ? (uint32_t)EPOLLOUT : 0);
}

enum cleave_status cv_poller_add(struct cv_poller *poller, struct cv_watch *watch, int fd,
                                 unsigned events,
                                 void (*call)(void *context, unsigned events),
                                 void *context, struct cleave_error *err)
{
    struct epoll_event event = { .events = epoll_events(events), .data.ptr = watch };
    struct cv_watch fresh = {
        .fd = fd, .events = events, .call = call, .context = context
    };

    assert(!watch->added);
    if (epoll_ctl(poller->epoll, EPOLL_CTL_ADD, fd, &event) == 0) {
        *watch = fresh;
        poller->nwatches++;
    } else if (errno == EPERM) {
        if (!CV_ROOM(poller->always, &poller->always_room, poller->nalways + 1))
            return cv_fail_memory(err, "a watch");
        *watch = fresh;
        watch->always = true;
        poller->always[poller->nalways++] = watch;
    } else {
        return cv_fail(err, CLEAVE_EENGINE, "cannot wait for descriptor %d: %s", fd,
                       strerror(errno));
    }
    watch->added = true;
    return CLEAVE_OK;
}

enum cleave_status cv_poller_add_aside(struct cv_poller *poller, struct cv_watch *watch,
                                       int fd,
                                       void (*call)(void *context, unsigned events),
                                       void *context, struct cleave_error *err)
{
    CV_TRY(cv_poller_add(poller, watch, fd, CV_READABLE, call, context, err));
    poller->nwatches--;
    return CLEAVE_OK;
}

enum cleave_status cv_poller_modify(struct cv_poller *poller, struct cv_watch *watch,
                                    unsigned events, struct cleave_error *err)
{
    struct epoll_event event = { .events = epoll_events(events), .data.ptr = watch };

    assert(watch->added);
    if (events == watch->events)
        return CLEAVE_OK;
    if (!watch->always && epoll_ctl(poller->epoll, EPOLL_CTL_MOD, watch->fd, &event) != 0)
        return cv_fail(err, CLEAVE_EENGINE, "cannot wait for descriptor %d: %s",
                       watch->fd, strerror(errno));
    watch->events = events;
    return CLEAVE_OK;
}

void cv_poller_remove(struct cv_poller *poller, struct cv_watch *watch)
{
    if (!watch->added)
        return;
    watch->added = false;
    if (watch->always) {
        size_t at = 0;

        while (poller->always[at] != watch)
            at++;
        poller->nalways--;
        memmove(poller->always + at, poller->always + at + 1,
                (poller->nalways - at) * sizeof *poller->always);
        poller->cursor -= at < poller->cursor;
        return;
    }
    epoll_ctl(poller->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
    poller->nwatches--;
    for (int i = poller->at; i < poller->count; i++)
        if (poller->batch[i].data.ptr == watch)
            poller->batch[i].data.ptr = NULL;
}

/* --- timers -------------------------------------------------------------------------- */

static struct cv_timer *meld(struct cv_timer *a, struct cv_timer *b)
{
    struct cv_timer *later;

    if (a == NULL || b == NULL)
        return a != NULL ? a : b;
    later = b->due_s < a->due_s ? a : b;
    a = later == a ? b : a;
    later->next = a->child;
    later->link = &a->child;
    if (later->next != NULL)
        later->next->link = &later->next;
    a->child = later;
    return a;
}

static void add_timers(struct cv_poller *poller, struct cv_timer *timers)
{
    poller->timers = meld(poller->timers, timers);
    if (poller->timers != NULL)
        poller->timers->link = &poller->timers;
}

void cv_poller_set(struct cv_poller *poller, struct cv_timer *timer, double due_s,
                   void (*call)(void *context), void *context)
{
    cv_poller_cancel(poller, timer);
    *timer = (struct cv_timer){
        .due_s = due_s, .call = call, .context = context, .is_set = true
    };
    poller->ntimers++;
    add_timers(poller, timer);
}

/* The children are melded in pairs, then the pairs from the last to the first: O(log n) on
 * average over all calls. */
void cv_poller_cancel(struct cv_poller *poller, struct cv_timer *timer)
{
    struct cv_timer *rest = timer->child, *pairs = NULL, *next;

    if (!timer->is_set)
        return;
    timer->is_set = false;
    poller->ntimers--;
    *timer->link = timer->next;
    if (timer->next != NULL)
        timer->next->link = timer->link;
    for (; rest != NULL; rest = next) {
        struct cv_timer *second = rest->next;

        next = second != NULL ? second->next : NULL;
        rest = meld(rest, second);
        rest->next = pairs;
        pairs = rest;
    }
    for (; pairs != NULL; pairs = next) {
        next = pairs->next;
        pairs->next = NULL;
        rest = meld(rest, pairs);
    }
    add_timers(poller, rest);
}

/* Whether to handle events before due timers. */
static bool looks_first(struct cv_poller *poller, bool interrupted)
{
    if ((interrupted || poller->count > 0) && poller->looks < LOOKS &&
        poller->timers->due_s < cv_clock_s() - LATE_S) {
        poller->looks++;
        return true;
    }
    poller->looks = 0;
    return false;
}

/* A timer that a callback sets for the past waits for the next turn, so that timers cannot starve
 * descriptors. */
static void call_timers(struct cv_poller *poller)
{
    const double now_s = cv_clock_s();
    size_t max = poller->ntimers;

    while (max-- > 0 && poller->timers != NULL && poller->timers->due_s <= now_s) {
        struct cv_timer *timer = poller->timers;

        cv_poller_cancel(poller, timer);
        timer->call(timer->context);
    }
}

/* --- signals ------------------------------------------------------------------------- */

static void read_signals(void *context, unsigned events)
{
    struct cv_poller *poller = context;
    struct signalfd_siginfo info;

    (void)events;
    poller->signalled = true;
    while (read(poller->signals, &info, sizeof info) == (ssize_t)sizeof info)
        poller->signal_call(poller->signal_context, (int)info.ssi_signo);
}

enum cleave_status cv_poller_signals(struct cv_poller *poller, const int *signals,
                                     size_t count,
                                     void (*call)(void *context, int signal),
                                     void *context, struct cleave_error *err)
{
    enum cleave_status status;
    sigset_t set;

    assert(poller->signals < 0);
    sigemptyset(&set);
    for (size_t i = 0; i < count; i++)
        sigaddset(&set, signals[i]);
    poller->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (poller->signals < 0)
        return cv_fail_errno(err, errno, "cannot wait for signals");
    poller->signal_call = call;
    poller->signal_context = context;
    status = cv_poller_add_aside(poller, &poller->signal_watch, poller->signals,
                                 read_signals, poller, err);
    if (status != CLEAVE_OK) {
        cv_close(&poller->signals);
        return status;
    }
    poller->watched = set;
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return CLEAVE_OK;
}

void cv_poller_hold_signals(struct cv_poller *poller)
{
    poller->holds = poller->signals >= 0;
}

/* --- waiting ------------------------------------------------------------------------- */

/* `timeout_s` < 0: no limit. */
static int wait_batch(struct cv_poller *poller, double timeout_s)
{
    const double most_s = 1e6; /* more does not fit into the arguments */
    struct timespec time;
    double whole;
    int count;

    if (timeout_s > most_s)
        timeout_s = most_s;
    if (timeout_s <= 0)
        return epoll_wait(poller->epoll, poller->batch, BATCH, timeout_s < 0 ? -1 : 0);
    time.tv_nsec = (long)(1e9 * modf(timeout_s, &whole));
    time.tv_sec = (time_t)whole;
    count = poller->no_pwait2
                ? -1
                : epoll_pwait2(poller->epoll, poller->batch, BATCH, &time, NULL);
    poller->no_pwait2 = poller->no_pwait2 || (count < 0 && errno == ENOSYS);
    if (poller->no_pwait2)
        count =
            epoll_wait(poller->epoll, poller->batch, BATCH, (int)ceil(1e3 * timeout_s));
    return count;
}

/* CV_OVER is only for watches of CV_READABLE. */
static unsigned watch_events(uint32_t events, unsigned request)
{
    const uint32_t end = (uint32_t)(EPOLLHUP | EPOLLERR), in = (uint32_t)EPOLLIN;
    const bool over =
        (events & (end | in)) == (uint32_t)EPOLLHUP && (request & CV_READABLE) != 0;

    return (events & (end | in) ? (unsigned)CV_READABLE : 0U) |
           (events & (end | (uint32_t)EPOLLOUT) ? (unsigned)CV_WRITABLE : 0U) |
           (over ? (unsigned)CV_OVER : 0U);
}

static void call_watches(struct cv_poller *poller)
{
    for (poller->at = 0; poller->at < poller->count;) {
        const struct epoll_event *event = &poller->batch[poller->at++];
        const struct cv_watch *watch = event->data.ptr;

        if (watch != NULL)
            watch->call(watch->context, watch_events(event->events, watch->events));
    }
    for (poller->cursor = 0; poller->cursor < poller->nalways;) {
        const struct cv_watch *watch = poller->always[poller->cursor++];

        if (watch->events != 0)
            watch->call(watch->context, watch->events);
    }
}

/* Make children ahead, one at a time, until an event happens. Returns the time to wait, at most
 * `timeout_s` (negative: no limit); 0: an event happened. */
static double get_ahead(struct cv_poller *poller, double timeout_s)
{
    struct epoll_event first;
    double rest_s;

    while (cv_starter_prepare(poller->starter, poller->null))
        if (epoll_wait(poller->epoll, &first, 1, 0) != 0)
            return 0;
    rest_s = cv_starter_rest(poller->starter);
    return rest_s >= 0 && (timeout_s < 0 || timeout_s > rest_s) ? rest_s : timeout_s;
}

enum cleave_status cv_poller_wait(struct cv_poller *poller, double timeout_s,
                                  struct cleave_error *err)
{
    bool interrupted = false;

    for (size_t i = 0; i < poller->nalways; i++)
        if (poller->always[i]->events != 0)
            timeout_s = 0;
    if (poller->timers != NULL) {
        const double left_s = poller->timers->due_s - cv_clock_s();

        if (timeout_s < 0 || left_s < timeout_s)
            timeout_s = left_s > 0 ? left_s : 0;
    } else if (timeout_s < 0 && poller->nwatches == 0) {
        timeout_s = 0;
    }
    if (poller->starter != NULL && poller->null >= 0 && timeout_s != 0)
        timeout_s = get_ahead(poller, timeout_s);
    poller->count = wait_batch(poller, timeout_s);
    if (poller->count < 0) {
        const int error = errno;

        poller->count = 0;
        interrupted = error == EINTR;
        if (!interrupted)
            return cv_fail_errno(err, error, "cannot wait for descriptors");
    }
    call_watches(poller);
    if (poller->timers != NULL && !looks_first(poller, interrupted))
        call_timers(poller);
    return CLEAVE_OK;
}
