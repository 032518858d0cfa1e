/* connect_stderr.c -- what a command that connects says on standard error. SPDX-License-Identifier: MIT */
#include "run/wire/connect_stderr.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/common/process.h"

enum {
    AT_A_TIME = 4096
}; /* of a pipe that can be written to, there is room for so much */

/* So long it is waited where nobody takes our standard error. */
static const double AGAIN_S = 0.02;

/* --- passing on --------------------------------------------------------------------------- */

static bool can_say(int wait_ms)
{
    struct pollfd place = { .fd = STDERR_FILENO, .events = POLLOUT };

    return poll(&place, 1, wait_ms) != 0; /* an error shows when it is written to */
}

/* All of it, however long that takes; nothing where nobody can hear it. */
static void say(const char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t n = write(STDERR_FILENO, bytes, length);

        if (n > 0) {
            bytes += n;
            length -= (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            can_say(-1);
        } else if (n == 0 || errno != EINTR) {
            return;
        }
    }
}

/* --- keeping ------------------------------------------------------------------------------ */

static bool begins(const char *line, size_t length, const char *with)
{
    return length >= strlen(with) && memcmp(line, with, strlen(with)) == 0;
}

static void drop(struct cv_connect_stderr *aside, size_t at, size_t length)
{
    memmove(aside->kept + at, aside->kept + at + length, aside->nkept - at - length);
    aside->nkept -= length;
    if (aside->before >= at + length)
        aside->before -= length;
    else if (aside->before > at)
        aside->before = at;
}

/* Whole lines that are for the user as they are do not stay. */
static void pass_own_lines(struct cv_connect_stderr *aside)
{
    size_t at = 0;
    const char *end;

    while ((end = memchr(aside->kept + at, '\n', aside->nkept - at)) != NULL) {
        const char *line = aside->kept + at;
        const size_t length = (size_t)(end - line) + 1;

        if (begins(line, length, "cleave: ") || begins(line, length, "debug1: ") ||
            begins(line, length, "debug2: ") || begins(line, length, "debug3: ")) {
            say(line, length);
            drop(aside, at, length);
        } else {
            at += length;
        }
    }
}

/* The older half makes room, up to the end of a line if there is one. */
static void grow_array(struct cv_connect_stderr *aside)
{
    const size_t half = CV_ASIDE_ROOM / 2;
    const char *end = memchr(aside->kept + half, '\n', aside->nkept - half);
    const size_t gone = end != NULL ? (size_t)(end - aside->kept) + 1 : half;

    drop(aside, 0, gone);
}

static void forget(struct cv_connect_stderr *aside)
{
    free(aside->kept);
    aside->kept = NULL;
    aside->nkept = aside->before = 0;
}

/* The mark is not to be seen, and what was before it ends with a line. */
static void find_mark(struct cv_connect_stderr *aside)
{
    const size_t length = strlen(aside->mark);
    const char *mark = aside->marked || length == 0
                           ? NULL
                           : memmem(aside->kept, aside->nkept, aside->mark, length);
    size_t at, glued;

    if (mark == NULL)
        return;
    aside->marked = true;
    at = (size_t)(mark - aside->kept);
    glued = at > 0 && mark[-1] != '\n';
    drop(aside, at, length - glued);
    aside->before = at + glued;
}

/* It is known what was said before it began, as far as it ever will be. */
static void pass(struct cv_connect_stderr *aside)
{
    const size_t all = aside->nkept, before = aside->before;
    void (*tell)(void *context) = aside->tell;

    aside->tell = NULL;
    aside->passes = true;
    aside->nkept = before;
    tell(aside->context);
    if (all > before)
        say(aside->kept + before, all - before);
    forget(aside);
}

static void keep(struct cv_connect_stderr *aside, const char *bytes, size_t length)
{
    if (aside->kept == NULL)
        aside->kept = malloc(CV_ASIDE_ROOM);
    if (aside->kept == NULL) { /* it is better heard than lost */
        say(bytes, length);
        return;
    }
    /* Where no mark is among so much, none will come. */
    if (aside->nkept + length > CV_ASIDE_ROOM && aside->tell != NULL) {
        pass(aside);
        say(bytes, length);
        return;
    }
    if (aside->nkept + length > CV_ASIDE_ROOM)
        grow_array(aside);
    memcpy(aside->kept + aside->nkept, bytes, length);
    aside->nkept += length;
    find_mark(aside);
    if (aside->tell != NULL && aside->marked)
        pass(aside);
    else
        pass_own_lines(aside);
}

/* --- hearing ------------------------------------------------------------------------------ */

static void stop(struct cv_connect_stderr *aside)
{
    if (!aside->on)
        return;
    cv_poller_remove(aside->poller, &aside->watch);
    cv_poller_cancel(aside->poller, &aside->timer);
    close(aside->from);
    aside->on = false;
    if (aside->tell != NULL)
        pass(aside);
}

/* False: there is nothing more, for now or for ever. */
static bool take(struct cv_connect_stderr *aside)
{
    char bytes[AT_A_TIME];
    const ssize_t n = read(aside->from, bytes, sizeof bytes);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return errno == EINTR;
    if (n <= 0)
        stop(aside);
    else if (aside->passes)
        say(bytes, (size_t)n);
    else
        keep(aside, bytes, (size_t)n);
    return n > 0;
}

static void heard(void *context, unsigned events);

static void listen_again(void *context)
{
    struct cv_connect_stderr *aside = context;

    if (cv_poller_add(aside->poller, &aside->watch, aside->from, CV_READABLE, heard,
                      aside, NULL) != CLEAVE_OK)
        stop(aside);
}

static void heard(void *context, unsigned events)
{
    struct cv_connect_stderr *aside = context;

    (void)events;
    if (!aside->passes || can_say(0)) {
        (void)take(aside);
        return;
    }
    cv_poller_remove(aside->poller, &aside->watch);
    if (cv_poller_set(aside->poller, &aside->timer, cv_clock_s() + AGAIN_S, listen_again,
                      aside, NULL) != CLEAVE_OK)
        stop(aside);
}

enum cleave_status cv_connect_stderr_open(struct cv_connect_stderr *aside,
                                          struct cv_poller *poller, int from,
                                          struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;

    cv_connect_stderr_done(aside);
    aside->poller = poller;
    aside->from = from;
    aside->on = true;
    aside->passes = aside->marked = false;
    aside->mark[0] = '\0';
    if (!cv_never_wait(from))
        status = cv_fail(err, CLEAVE_EENGINE, "cannot hear a host: %s", strerror(errno));
    else
        status =
            cv_poller_add(poller, &aside->watch, from, CV_READABLE, heard, aside, err);
    if (status != CLEAVE_OK)
        stop(aside);
    return status;
}

/* Somebody may say more and more: no more than a pipe holds was there. */
static void hear(struct cv_connect_stderr *aside)
{
    enum { MOST = 1 << 20 };

    for (size_t taken = 0; aside->on && taken < MOST && take(aside); taken += AT_A_TIME)
        ;
}

void cv_connect_stderr_expect(struct cv_connect_stderr *aside, uint64_t key)
{
    cv_begin_mark(key, aside->mark);
}

void cv_connect_stderr_ready(struct cv_connect_stderr *aside, bool marks,
                             void (*tell)(void *context), void *context)
{
    hear(aside);
    if (!aside->marked) {
        if (aside->nkept > CV_ASIDE_ROOM / 2)
            grow_array(aside);
        aside->before = aside->nkept;
    }
    aside->tell = tell;
    aside->context = context;
    if (aside->marked || !marks || !aside->on)
        pass(aside);
}

/* What it has left behind may hold the other end, so that the end need not come. */
void cv_connect_stderr_end(struct cv_connect_stderr *aside)
{
    hear(aside);
    stop(aside);
}

void cv_connect_stderr_done(struct cv_connect_stderr *aside)
{
    cv_connect_stderr_end(aside);
    forget(aside);
}
